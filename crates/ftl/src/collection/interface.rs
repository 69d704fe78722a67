//! What a collection policy is, and what it is built for.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Component, Prng, Role, Violation};

/// A victim selection policy. It learns of every block that closes and of every page that dies in one.
pub trait Collection: Component {
    /// Pages that the host writes: the clock of policies that go by age.
    fn written(&mut self, _pages: u32) {}

    /// A full block and its valid pages: it becomes a candidate.
    fn closed(&mut self, block: BlockId, valid: u32);

    /// A candidate of which a page died, and the valid pages that it has left.
    fn invalidated(&mut self, block: BlockId, valid: u32);

    /// The victim of a plane, which is a candidate no more; none where no candidate has a dead page.
    fn victim(&mut self, plane: PlaneId) -> Option<BlockId>;

    /// A candidate that is taken for another reason than to gain its space, such as wear levelling.
    fn withdraw(&mut self, block: BlockId);

    /// Checks a state that was loaded: the candidates are the blocks that have an entry here, by block, with the valid
    /// pages that it says.
    ///
    /// # Errors
    /// The first candidate that is none, or is missing.
    fn check_candidates(&self, _candidates: &[Option<u32>]) -> Result<(), Violation> {
        Ok(())
    }
}

/// What a collection policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct CollectionSetup<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// The root of the run's random streams: a policy that draws branches off its own.
    pub prng: &'a Prng,
}

impl Role for dyn Collection {
    type Site<'a> = CollectionSetup<'a>;
    type Profile = ();
    type Context<'a> = CollectionSetup<'a>;
}
