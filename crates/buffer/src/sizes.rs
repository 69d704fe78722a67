//! Groups of pages sorted by size, for replacement policies whose victim is the largest.

use flashloom_units::Lists;

/// A list of groups for each number of pages, and a bitmap of the lists that are not empty. O(1) an operation; the
/// largest group is found by a scan of the bitmap, 64 sizes at a time.
pub(crate) struct Sizes {
    groups: Lists<u32>,
    has_groups: Vec<u64>,
}

flashloom_units::state! { Sizes { nested groups, has_groups; } }

impl Sizes {
    /// Makes empty lists for `groups` groups of at most `largest` pages.
    pub(crate) fn new(groups: u32, largest: u32) -> Self {
        Self { groups: Lists::new(groups, largest + 1), has_groups: vec![0; largest as usize / 64 + 1] }
    }

    /// Adds a group of `pages` pages, as the youngest of its size.
    pub(crate) fn push(&mut self, group: u32, pages: u32) {
        self.groups.push_back(pages as usize, group);
        self.has_groups[pages as usize / 64] |= 1 << (pages % 64);
    }

    /// Sorts a group anew that has `pages` pages now, as the youngest of its size; one without pages is removed.
    pub(crate) fn update(&mut self, group: u32, pages: u32) {
        if self.groups.contains(group) {
            self.remove(group);
        }
        if pages > 0 {
            self.push(group, pages);
        }
    }

    /// Removes a group.
    pub(crate) fn remove(&mut self, group: u32) {
        if let Some(pages) = self.groups.alone_in(group) {
            self.has_groups[pages / 64] &= !(1 << (pages % 64));
        }
        self.groups.remove(group);
    }

    /// Removes the group with the most pages, the oldest of its size, and returns it.
    pub(crate) fn take_largest(&mut self) -> Option<u32> {
        let word = self.has_groups.iter().rposition(|&word| word != 0)?;
        let pages = 64 * word as u32 + self.has_groups[word].ilog2();
        let oldest = self.groups.front(pages as usize).expect("its bit says that there are some");
        self.remove(oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_group_is_found_whatever_has_left_before() {
        let mut sizes = Sizes::new(8, 200);
        for (group, pages) in [(0, 64), (1, 200), (2, 63), (3, 200), (4, 1)] {
            sizes.push(group, pages);
        }
        sizes.remove(1);
        assert_eq!(sizes.take_largest(), Some(3));
        sizes.push(5, 128);
        sizes.remove(5);
        assert_eq!([0; 4].map(|_| sizes.take_largest()), [Some(0), Some(2), Some(4), None]);
    }
}
