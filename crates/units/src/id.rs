//! Typed 32-bit identifiers: an index of one kind cannot be used as another.

/// The index that stands for "none" in flat arrays of 32-bit indices.
pub const NO_INDEX: u32 = u32::MAX;

/// An identifier that is an index into flat arrays.
pub trait Id: Copy + PartialEq + std::fmt::Debug {
    /// Makes an identifier from an index.
    fn new(index: u32) -> Self;

    /// Returns the index.
    fn index(self) -> u32;

    /// The index as a `usize`, to index a flat array with.
    #[inline(always)]
    fn at(self) -> usize {
        self.index() as usize
    }
}

/// A bare index, for members that have no type of their own.
impl Id for u32 {
    #[inline(always)]
    fn new(index: u32) -> Self {
        index
    }

    #[inline(always)]
    fn index(self) -> u32 {
        self
    }
}

/// Declares types of 32-bit identifiers, each with [`NO_INDEX`] as its `NONE`.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Stands for "none", such as the physical page of an unmapped logical page.
            pub const NONE: Self = Self($crate::NO_INDEX);

            /// The index as a `usize`, to index a flat array with.
            #[inline(always)]
            pub const fn at(self) -> usize {
                self.0 as usize
            }

            /// True for [`Self::NONE`].
            #[inline(always)]
            pub const fn is_none(self) -> bool {
                self.0 == $crate::NO_INDEX
            }

            /// True for every identifier but [`Self::NONE`].
            #[inline(always)]
            pub const fn is_some(self) -> bool {
                self.0 != $crate::NO_INDEX
            }
        }

        impl $crate::Id for $name {
            #[inline(always)]
            fn new(index: u32) -> Self {
                Self(index)
            }

            #[inline(always)]
            fn index(self) -> u32 {
                self.0
            }
        }

        $crate::word!($name);
    )+};
}
