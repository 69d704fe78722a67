//! Typed 32-bit identifiers: an index of one kind cannot be used as another.

use serde::{Deserialize, Serialize};

/// The index that stands for "none" in flat arrays of 32-bit indices.
pub const NO_INDEX: u32 = u32::MAX;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// No such thing: an unmapped page, no open block.
            pub const NONE: Self = Self(NO_INDEX);

            /// As an index into a flat array.
            #[inline(always)]
            pub const fn at(self) -> usize {
                self.0 as usize
            }

            /// Whether this is [`Self::NONE`].
            #[inline(always)]
            pub const fn is_none(self) -> bool {
                self.0 == NO_INDEX
            }

            /// Whether this is not [`Self::NONE`].
            #[inline(always)]
            pub const fn is_some(self) -> bool {
                self.0 != NO_INDEX
            }
        }

        $crate::word!($name);
    )+};
}

ids! {
    /// A logical page number: the host's address space in flash pages.
    Lpn,
    /// A logical block number: consecutive logical pages, as many as a block (or a superblock) has.
    Lbn,
    /// Blocks of several chips, one of each, that are written and erased together; of one chip it is a block.
    SuperblockId,
    /// A physical page number, dense over the whole array: `block * pages_per_block + page`.
    Ppn,
    /// An erase block, dense over the whole array: `plane * blocks_per_plane + block`.
    BlockId,
    /// A plane, dense over the whole array: `die * planes_per_die + plane`.
    PlaneId,
    /// A die, dense over the whole array: `(channel * ways + way) * dies_per_way + die`.
    DieId,
}
