//! Disk layout and free blocks: block groups as ext4 lays them out.
//!
//! A group is 128 MiB of 4 KiB blocks. Sixteen groups share a flexible group, whose first group begins with the block
//! bitmaps, the inode bitmaps and the inode tables of all sixteen. The journal lies in the middle of the disk.
//!
//! In the packed layout, blocks are allocated from a cursor that moves on through the disk and returns to freed blocks;
//! files below 64 KiB share chunks of 2 MiB, the locality groups of ext4's mballoc. In the spread layout, inodes are
//! divided evenly among the groups in order of number, as ext4 spreads the top-level directories of a disk (the Orlov
//! allocator), and a file's blocks begin in the group of its inode, each group with a cursor of its own.

use flashloom_units::choice;

use crate::filebench::BLOCK_BYTES;

choice! {
    /// Placement of the files of a set on the file system.
    pub enum Layout {
        /// One after another from the start of the file system.
        Packed = "packed",
        /// Divided evenly among the block groups of the whole file system.
        Spread = "spread",
    }
}

/// Blocks of a group.
pub const GROUP_BLOCKS: u32 = 32_768;
/// Groups of a flexible group.
const FLEX_GROUPS: u32 = 16;
/// Inodes of a group: one for every 16 KiB.
const GROUP_INODES: u32 = 8_192;
/// Inodes of a block, 256 bytes each.
const BLOCK_INODES: u32 = 16;
const TABLE_BLOCKS: u32 = GROUP_INODES / BLOCK_INODES;
/// Blocks of the superblock and the group descriptors, with those reserved for growth.
const HEAD_BLOCKS: u32 = 1_024;
/// Allocations below this many blocks come from the chunk that small files share.
const SMALL_BLOCKS: u32 = 16;
const CHUNK_BLOCKS: u32 = 512;
/// Blocks that a search examines for a run of the wanted length before it accepts shorter ones.
const PATIENCE_BLOCKS: u32 = 4 * GROUP_BLOCKS;

/// A run of consecutive blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// First block.
    pub start: u32,
    /// Number of blocks.
    pub blocks: u32,
}

impl Extent {
    /// The block after the last one.
    pub fn end(self) -> u32 {
        self.start + self.blocks
    }
}

/// The disk of a file system: fixed locations of metadata, and a bitmap of used blocks.
pub struct Disk {
    blocks: u32,
    used: Vec<u64>,
    free: u32,
    journal: Extent,
    /// Number of inodes divided among the groups; `None` in the packed layout.
    spread: Option<u32>,
    /// Start of the search for free blocks: one for the disk, or one per group in the spread layout.
    cursors: Vec<u32>,
    chunk: Extent,
}

impl Disk {
    /// Smallest disk, in blocks: one group, which holds its journal.
    pub const MIN_BLOCKS: u32 = GROUP_BLOCKS;

    /// An empty file system of `blocks` blocks, for `inodes` inodes.
    pub fn new(blocks: u32, layout: Layout, inodes: u32) -> Self {
        let journal_blocks = journal_blocks(blocks);
        // The journal follows the tables of the flexible group in the middle, which has room for the largest.
        let flex_blocks = FLEX_GROUPS * GROUP_BLOCKS;
        let middle = (blocks / 2 / flex_blocks * flex_blocks).max(HEAD_BLOCKS);
        let mut disk = Self {
            blocks,
            used: vec![0; blocks.div_ceil(64) as usize],
            free: blocks,
            journal: Extent::default(),
            spread: None,
            cursors: vec![0],
            chunk: Extent::default(),
        };
        disk.occupy(Extent { start: 0, blocks: HEAD_BLOCKS });
        for flex in (0..blocks.div_ceil(GROUP_BLOCKS)).step_by(FLEX_GROUPS as usize) {
            let start = disk.tables(flex);
            let groups = FLEX_GROUPS.min(blocks.div_ceil(GROUP_BLOCKS) - flex);
            let end = (start + 2 * FLEX_GROUPS + groups * TABLE_BLOCKS).min(blocks);
            disk.occupy(Extent { start, blocks: end - start });
        }
        let start = disk.next_free(middle, blocks).expect("a disk of a group holds more than its tables");
        disk.journal = Extent { start, blocks: journal_blocks };
        disk.occupy(disk.journal);
        if layout == Layout::Spread {
            disk.spread = Some(inodes);
            disk.cursors = (0..blocks / GROUP_BLOCKS).map(|group| group * GROUP_BLOCKS).collect();
        }
        disk
    }

    /// First block of the metadata tables of a group's flexible group.
    fn tables(&self, group: u32) -> u32 {
        let first = group / FLEX_GROUPS * FLEX_GROUPS * GROUP_BLOCKS;
        if first == 0 { HEAD_BLOCKS } else { first }
    }

    /// Number of all blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Number of free blocks.
    #[cfg(test)]
    pub fn free_blocks(&self) -> u32 {
        self.free
    }

    /// The journal's blocks.
    pub fn journal(&self) -> Extent {
        self.journal
    }

    /// Number of inodes.
    pub fn inodes(&self) -> u32 {
        self.blocks / GROUP_BLOCKS * GROUP_INODES
    }

    /// True if inodes are divided among the groups.
    pub fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// The block that holds an inode. In the packed layout inodes fill one flexible group after another, the first
    /// group last, because the directories of the root are spread over the disk.
    pub fn inode_block(&self, inode: u32) -> u32 {
        let group = self.inode_group(inode);
        let table = self.tables(group) + 2 * FLEX_GROUPS + group % FLEX_GROUPS * TABLE_BLOCKS;
        let before = self.spread.map_or(inode / GROUP_INODES * GROUP_INODES, |inodes| self.first_inode(group, inodes));
        table + (inode - before) / BLOCK_INODES
    }

    /// The block of the inode bitmap of an inode's group.
    pub fn inode_bitmap(&self, inode: u32) -> u32 {
        let group = self.inode_group(inode);
        self.tables(group) + FLEX_GROUPS + group % FLEX_GROUPS
    }

    fn inode_group(&self, inode: u32) -> u32 {
        let groups = self.blocks / GROUP_BLOCKS;
        if let Some(inodes) = self.spread {
            return (u64::from(inode) * u64::from(groups) / u64::from(inodes)) as u32;
        }
        let first = if groups > FLEX_GROUPS { FLEX_GROUPS } else { 0 };
        (first + inode / GROUP_INODES) % groups
    }

    /// Lowest inode number of a group in the spread layout of `inodes` inodes.
    fn first_inode(&self, group: u32, inodes: u32) -> u32 {
        let groups = u64::from(self.blocks / GROUP_BLOCKS);
        (u64::from(group) * u64::from(inodes)).div_ceil(groups) as u32
    }

    /// Index of the cursor from which an inode's blocks are searched.
    fn home(&self, inode: u32) -> usize {
        self.spread.map_or(0, |_| self.inode_group(inode) as usize)
    }

    /// The block bitmap that marks a block.
    pub fn block_bitmap(&self, block: u32) -> u32 {
        let group = block / GROUP_BLOCKS;
        self.tables(group) + group % FLEX_GROUPS
    }

    /// The group descriptor block that describes a block's group; a descriptor has 64 bytes.
    pub fn descriptor(&self, block: u32) -> u32 {
        1 + block / GROUP_BLOCKS / (BLOCK_BYTES as u32 / 64)
    }

    /// Allocates blocks to an inode, starting at `near` if that is free, in as few extents as it finds. Returns false,
    /// with nothing allocated, if there are too few free blocks.
    pub fn allocate(&mut self, inode: u32, mut blocks: u32, near: Option<u32>, out: &mut Vec<Extent>) -> bool {
        if blocks > self.free {
            return false;
        }
        let home = self.home(inode);
        let small = blocks < SMALL_BLOCKS && self.spread.is_none();
        if let Some(near) = near.filter(|&near| near < self.blocks && !self.is_used(near)) {
            blocks -= self.take(near, blocks, out);
        }
        while blocks > 0 && small && self.chunk.blocks > 0 {
            match self.next_free(self.chunk.start, self.chunk.end()) {
                Some(start) => {
                    let taken = self.take(start, blocks.min(self.chunk.end() - start), out);
                    self.chunk = Extent { start: start + taken, blocks: self.chunk.end() - start - taken };
                    blocks -= taken;
                }
                None => self.chunk.blocks = 0,
            }
        }
        while blocks > 0 {
            let wanted = if small { CHUNK_BLOCKS } else { blocks };
            let start = self.search(self.cursors[home], wanted);
            let taken = self.take(start, blocks, out);
            blocks -= taken;
            if small {
                self.chunk = Extent { start: start + taken, blocks: self.run(start + taken, wanted - taken) };
                self.cursors[home] = self.chunk.end();
            } else {
                self.cursors[home] = start + taken;
            }
        }
        true
    }

    /// Frees blocks. They are found again before the free space beyond them.
    pub fn release(&mut self, extent: Extent) {
        for block in extent.start..extent.end() {
            debug_assert!(self.is_used(block), "block {block} is released once");
            self.used[(block / 64) as usize] &= !(1 << (block % 64));
        }
        self.free += extent.blocks;
        let home = if self.spread.is_some() { (extent.start / GROUP_BLOCKS) as usize } else { 0 };
        if let Some(cursor) = self.cursors.get_mut(home) {
            *cursor = extent.start.min(*cursor);
        }
    }

    fn is_used(&self, block: u32) -> bool {
        self.used[(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    fn occupy(&mut self, extent: Extent) {
        for block in extent.start..extent.end() {
            assert!(!self.is_used(block), "block {block} is given out once");
            self.used[(block / 64) as usize] |= 1 << (block % 64);
        }
        self.free -= extent.blocks;
    }

    /// Allocates the free run at `start`, at most `most` blocks of it, and joins it to the extents allocated before it.
    fn take(&mut self, start: u32, most: u32, out: &mut Vec<Extent>) -> u32 {
        let blocks = self.run(start, most);
        self.occupy(Extent { start, blocks });
        match out.last_mut() {
            Some(last) if last.end() == start => last.blocks += blocks,
            _ => out.push(Extent { start, blocks }),
        }
        blocks
    }

    /// Length of the free run at `start`, at most `most`.
    fn run(&self, start: u32, most: u32) -> u32 {
        let end = self.blocks.min(start.saturating_add(most));
        (start..end).find(|&block| self.is_used(block)).unwrap_or(end).saturating_sub(start)
    }

    fn next_free(&self, from: u32, end: u32) -> Option<u32> {
        let mut block = from;
        while block < end {
            let word = !self.used[(block / 64) as usize] >> (block % 64);
            if word != 0 {
                let found = block + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            block = (block / 64 + 1) * 64;
        }
        None
    }

    /// Start of the next free run of `wanted` blocks after a cursor, or of the next run of any length if none is near.
    /// The caller knows that a free block exists.
    fn search(&self, cursor: u32, wanted: u32) -> u32 {
        let (mut from, mut passed) = (cursor, 0);
        while passed < PATIENCE_BLOCKS {
            let Some(start) = self.next_free(from, self.blocks) else { break };
            let run = self.run(start, wanted);
            if run == wanted {
                return start;
            }
            passed += start + run - from;
            from = start + run;
        }
        let next = self.next_free(cursor, self.blocks).or_else(|| self.next_free(0, self.blocks));
        next.expect("there are as many free blocks as are asked for")
    }
}

/// Journal size that mke2fs chooses, in blocks.
fn journal_blocks(blocks: u32) -> u32 {
    match blocks {
        0..=0x3_ffff => 4_096,
        0x4_0000..=0x7_ffff => 8_192,
        0x8_0000..=0x3f_ffff => 16_384,
        0x40_0000..=0x7f_ffff => 32_768,
        0x80_0000..=0xff_ffff => 65_536,
        0x100_0000..=0x1ff_ffff => 131_072,
        _ => 262_144,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(blocks: u32) -> Disk {
        Disk::new(blocks, Layout::Packed, 1)
    }

    /// The extents that an inode gets.
    fn get(disk: &mut Disk, inode: u32, blocks: u32) -> Vec<Extent> {
        let mut out = Vec::new();
        assert!(disk.allocate(inode, blocks, None, &mut out));
        out
    }

    #[test]
    fn tables_and_journal_lie_where_ext4_puts_them() {
        let disk = packed(64 * GROUP_BLOCKS);
        assert_eq!(disk.journal(), Extent { start: 32 * GROUP_BLOCKS + 32 + 16 * 512, blocks: 16_384 });
        assert_eq!(disk.block_bitmap(5 * GROUP_BLOCKS), HEAD_BLOCKS + 5);
        assert_eq!(disk.inode_block(0), 16 * GROUP_BLOCKS + 32, "the first table of the second flexible group");
        assert_eq!(disk.inode_block(GROUP_INODES + 17), 16 * GROUP_BLOCKS + 32 + 512 + 1);
    }

    #[test]
    fn small_files_share_a_chunk_and_large_ones_lie_elsewhere() {
        let mut disk = packed(16 * GROUP_BLOCKS);
        let [small, large, next] = [4, 100, 4].map(|blocks| get(&mut disk, 0, blocks));
        assert_eq!(next[0].start, small[0].end());
        assert_eq!(large, [Extent { start: small[0].start + CHUNK_BLOCKS, blocks: 100 }]);
    }

    #[test]
    fn spread_files_begin_in_the_group_of_their_inode_one_after_another() {
        let mut disk = Disk::new(16 * GROUP_BLOCKS, Layout::Spread, 32);
        // Two inodes a group; groups 1 to 15 hold nothing but their blocks.
        let [first, second, far] = [(2, 4), (3, 100), (31, 4)].map(|(inode, blocks)| get(&mut disk, inode, blocks)[0]);
        assert_eq!((first.start, second.start, far.start), (GROUP_BLOCKS, first.end(), 15 * GROUP_BLOCKS));
        disk.release(first);
        assert_eq!(get(&mut disk, 3, 4), [first], "what is freed is used again by its group");
    }

    #[test]
    fn what_is_freed_is_used_again_before_the_space_beyond() {
        let mut disk = packed(16 * GROUP_BLOCKS);
        let [first, _] = [(); 2].map(|()| get(&mut disk, 0, 100)[0]);
        disk.release(first);
        assert_eq!(get(&mut disk, 0, 90)[0].start, first.start);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn fixed_places_do_not_overlap_whatever_the_size(blocks in Disk::MIN_BLOCKS..1 << 24) {
            let disk = packed(blocks);
            prop_assert!(disk.journal().end() <= blocks);
            prop_assert!(disk.inode_block(disk.inodes() - 1) < blocks);
        }

        #[test]
        fn spread_inodes_ascend_through_the_tables_of_all_groups(groups in 1u32..200, share in 0.000_1_f64..1.0) {
            let inodes = ((f64::from(groups * GROUP_INODES) * share) as u32).max(1);
            let disk = Disk::new(groups * GROUP_BLOCKS, Layout::Spread, inodes);
            let blocks: Vec<u32> = (0..inodes).map(|inode| disk.inode_block(inode)).collect();
            let mut held = std::collections::BTreeMap::new();
            blocks.iter().for_each(|&block| *held.entry(block).or_insert(0) += 1);
            prop_assert!(held.values().all(|&inodes| inodes <= BLOCK_INODES), "no block holds more than fit");
            prop_assert!(blocks.is_sorted());
            let (first, last) = (disk.home(0), disk.home(inodes - 1));
            prop_assert!(first == 0 && last as u32 >= groups - 1 - groups / inodes, "{last} of {groups}");
        }

        #[test]
        fn extents_never_overlap_and_blocks_are_conserved(
            sizes in prop::collection::vec((1u32..3_000, any::<bool>(), 0u32..300), 1..200),
            spread in any::<bool>(),
        ) {
            let spread_out = || Disk::new(2 * GROUP_BLOCKS, Layout::Spread, 300);
            let mut disk = if spread { spread_out() } else { packed(Disk::MIN_BLOCKS) };
            let all = disk.free_blocks();
            let mut owner = vec![false; 2 * Disk::MIN_BLOCKS as usize];
            let mut held: Vec<Vec<Extent>> = Vec::new();
            for (blocks, release, inode) in sizes {
                if release && let Some(extents) = held.pop() {
                    for extent in extents {
                        disk.release(extent);
                        owner[extent.start as usize..extent.end() as usize].fill(false);
                    }
                }
                let (before, mut out) = (disk.free_blocks(), Vec::new());
                let near = held.last().and_then(|extents| extents.last()).map(|extent| extent.end());
                prop_assert_eq!(disk.allocate(inode, blocks, near, &mut out), blocks <= before);
                prop_assert_eq!(out.iter().map(|extent| extent.blocks).sum::<u32>(), before - disk.free_blocks());
                for extent in &out {
                    for block in extent.start..extent.end() {
                        prop_assert!(!std::mem::replace(&mut owner[block as usize], true), "block {} twice", block);
                        let journal = disk.journal();
                        prop_assert!(!(journal.start..journal.end()).contains(&block) && block >= HEAD_BLOCKS);
                    }
                }
                held.push(out);
            }
            held.iter().flatten().for_each(|&extent| disk.release(extent));
            prop_assert_eq!(disk.free_blocks(), all);
        }
    }
}
