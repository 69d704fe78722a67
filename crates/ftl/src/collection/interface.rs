//! The interface of a garbage collection policy, and what it is built from.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Component, Prng, Role, Violation};

/// A victim selection policy. A block is a candidate from the time it is full until it is taken as a victim or
/// withdrawn.
pub trait Collection: Component {
    /// Called with the number of pages that the host writes. Policies that weigh the age of blocks use it as their clock.
    fn written(&mut self, _pages: u32) {}

    /// Called when a block is full, with its number of valid pages: the block becomes a candidate.
    fn closed(&mut self, block: BlockId, valid: u32);

    /// Called when a page of a candidate dies, with the number of valid pages left.
    fn invalidated(&mut self, block: BlockId, valid: u32);

    /// Chooses the victim of a plane, which stops being a candidate. `None` if no candidate has a dead page.
    fn victim(&mut self, plane: PlaneId) -> Option<BlockId>;

    /// Called when a candidate is taken for another reason than its free space, such as wear levelling. It stops being
    /// a candidate.
    fn withdraw(&mut self, block: BlockId);

    /// Checks a loaded state. `candidates` has an entry for every block: the valid pages of a candidate, or `None`.
    ///
    /// # Errors
    /// The first block that the policy takes for a candidate and is none, or the reverse.
    fn check_candidates(&self, _candidates: &[Option<u32>]) -> Result<(), Violation> {
        Ok(())
    }
}

/// What a collection policy is built from.
#[derive(Clone, Copy, Debug)]
pub struct CollectionSetup<'a> {
    /// Geometry of the array.
    pub geometry: &'a Geometry,
    /// Root of the run's random streams. A policy that draws random numbers takes a branch of its own.
    pub prng: &'a Prng,
}

impl Role for dyn Collection {
    type Site<'a> = CollectionSetup<'a>;
    type Profile = ();
    type Context<'a> = CollectionSetup<'a>;
}
