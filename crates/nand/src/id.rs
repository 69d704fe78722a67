//! Typed numbers of pages, blocks, planes and dies.

flashloom_units::ids! {
    /// A logical page number: the host's address space in flash pages.
    Lpn,
    /// A logical block number: consecutive logical pages, as many as a block (or a superblock) has.
    Lbn,
    /// A physical page, numbered contiguously over the whole array: `block * pages_per_block + page`.
    Ppn,
    /// An erase block, numbered contiguously over the whole array: `plane * blocks_per_plane + block`.
    BlockId,
    /// A plane, numbered contiguously over the whole array: `die * planes_per_die + plane`.
    PlaneId,
    /// A die, numbered contiguously over the whole array: `(channel * ways + way) * dies_per_way + die`.
    DieId,
}
