//! Typed identifiers of the block layer, and what the intrusive structures ask of one.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

/// An identifier that is an index into flat arrays.
pub trait Id: Copy + PartialEq + Debug {
    /// The identifier of that index.
    fn new(index: u32) -> Self;
    /// Its index.
    fn index(self) -> u32;

    /// As an index into a flat array.
    #[inline(always)]
    fn at(self) -> usize {
        self.index() as usize
    }
}

/// A request of the block layer, from its queueing to its completion; reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct RequestId(pub u32);

impl Id for RequestId {
    #[inline(always)]
    fn new(index: u32) -> Self {
        Self(index)
    }

    #[inline(always)]
    fn index(self) -> u32 {
        self.0
    }
}

/// A task that a scheduler remembers, dense over those that it remembers; reused when a task is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct TaskSlot(pub u32);

flashloom_units::word!(TaskSlot);

impl Id for TaskSlot {
    #[inline(always)]
    fn new(index: u32) -> Self {
        Self(index)
    }

    #[inline(always)]
    fn index(self) -> u32 {
        self.0
    }
}
