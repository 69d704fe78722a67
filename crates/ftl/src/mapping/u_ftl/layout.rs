//! How a page of the tree is divided, and how large the tree can get.
//!
//! ```text
//! a page:   the leaf takes half of it, the node above half of the rest, and so on; the root takes as much as the level
//!           below it
//! a node:   at least half full, but for the root and a leaf that is alone. A leaf of so many extents has at least as
//!           many logical pages, so the number of leaves is bounded, and that of each level above by it
//! ```

use flashloom_units::Refusal;

use crate::Space;

/// Bytes of an extent: its first logical page, its first physical page, its length.
pub(super) const EXTENT_BYTES: u64 = 12;
/// Bytes of a child in an inner node: its first logical page, and the page of the array that holds its copy.
pub(super) const CHILD_BYTES: u64 = 8;
/// Bytes that a node takes in memory besides its entries: its number and its neighbours in the list.
pub(super) const HEADER_BYTES: u64 = 8;
/// Fewest children that an inner node must have room for: two halves of one must have two each.
const LEAST_CHILDREN: u32 = 3;

/// The sizes of a tree. Levels are numbered from the leaves, which are level 0.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    page_bytes: u64,
    /// Logical pages, and the planes that consecutive ones are on.
    pub(super) entries: u32,
    pub(super) planes: u32,
    /// Most nodes of each level below the root, of the tallest tree.
    nodes: Vec<u32>,
    /// Whether the children of its root fit there.
    fits: bool,
}

impl Layout {
    /// The layout for a drive.
    pub(super) fn of(space: &Space) -> Self {
        Self::new(space.page_bytes(), space.logical_pages as u32, space.geometry().total_planes())
    }

    /// The layout for `entries` logical pages, of which consecutive ones are on consecutive `planes`.
    pub(super) fn new(page_bytes: u64, entries: u32, planes: u32) -> Self {
        let mut layout = Self { page_bytes, entries, planes, nodes: Vec::new(), fits: true };
        let mut nodes = layout.most_of(0, entries);
        layout.nodes.push(nodes);
        while nodes > layout.root_capacity(layout.nodes.len()) {
            let level = layout.nodes.len();
            if layout.capacity(level) < LEAST_CHILDREN {
                layout.fits = false;
                break;
            }
            nodes = layout.most_of(level, nodes);
            layout.nodes.push(nodes);
        }
        layout
    }

    /// Most nodes of a level that have so many entries together.
    fn most_of(&self, level: usize, entries: u32) -> u32 {
        (entries / self.least(level).max(1)).max(1)
    }

    /// Refuses pages that are too small.
    pub(super) fn suits(&self) -> Result<(), Refusal> {
        let (leaf, planes, keys) = (self.capacity(0), self.planes, ["device.page_size", "device.preset"]);
        // A leaf that is divided leaves up to an extent a plane on both sides.
        if self.least(0) <= planes {
            let found = format!("leaves of {leaf} extents, half a page, over {planes} planes");
            let expected = format!("leaves of {} extents at least, two for each plane and one", 2 * planes + 1);
            let refusal = Refusal::new(found, expected).at(keys);
            return Err(refusal.help("raise device.page_size, or use a drive of fewer planes"));
        }
        if self.fits {
            return Ok(());
        }
        let found = format!("pages of {} bytes for a tree of {} leaves", self.page_bytes, self.nodes[0]);
        let expected = format!("pages whose levels hold {LEAST_CHILDREN} children of a node each");
        Err(Refusal::new(found, expected).at(keys).help("raise device.page_size"))
    }

    /// Most leaves: each has a page of the array.
    pub(super) fn leaves(&self) -> u32 {
        self.nodes[0]
    }

    /// Most inner nodes, with the root.
    pub(super) fn inner(&self) -> u32 {
        self.nodes[1..].iter().sum::<u32>() + 1
    }

    /// Most levels, with that of the root.
    pub(super) const fn levels(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Most entries of a node below the root: extents of a leaf, children of another.
    pub(super) const fn capacity(&self, level: usize) -> u32 {
        let bytes = if level == 0 { EXTENT_BYTES } else { CHILD_BYTES };
        ((self.page_bytes >> (level + 1)) / bytes) as u32
    }

    /// Fewest entries of a node below the root.
    pub(super) const fn least(&self, level: usize) -> u32 {
        self.capacity(level).div_ceil(2)
    }

    /// Most children of a root of this level.
    pub(super) const fn root_capacity(&self, level: usize) -> u32 {
        ((self.page_bytes >> level) / CHILD_BYTES) as u32
    }

    /// Bytes that all nodes of a path take in memory.
    pub(super) const fn path_bytes(&self) -> u64 {
        self.page_bytes + HEADER_BYTES * self.levels() as u64
    }

    /// Most bytes that the whole tree takes in memory: with an extent for each logical page, and a child for each node
    /// below the root.
    pub(super) fn all_bytes(&self) -> u64 {
        let below_root: u64 = self.nodes.iter().map(|&nodes| u64::from(nodes)).sum();
        let of_leaves = u64::from(self.nodes[0]) * u64::from(self.capacity(0));
        let extents = of_leaves.min(u64::from(self.entries));
        EXTENT_BYTES * extents + CHILD_BYTES * below_root + HEADER_BYTES * (below_root + 1)
    }
}
