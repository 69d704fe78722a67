//! Which closed block of a plane is collected next.
//!
//! Adding a collection policy is one file here and one line in the table below.

use flashloom_nand::Geometry;
use flashloom_units::{BlockId, PlaneId, Prng, Slot, Value};

mod by_valid;
mod chains;
#[cfg(test)]
mod model;

/// A policy that chooses victims. It is told of every block that closes and of every page that dies in one.
pub trait Collection: Send {
    /// The host wrote that many pages: the clock of policies that go by age.
    fn written(&mut self, _pages: u32) {}

    /// A block is full, with that many valid pages, and becomes a candidate.
    fn closed(&mut self, block: BlockId, valid: u32);

    /// A page of a candidate died, which leaves it that many.
    fn invalidated(&mut self, block: BlockId, valid: u32);

    /// Takes the block of a plane to collect, which is a candidate no more; none where no candidate has a dead page.
    fn victim(&mut self, plane: PlaneId) -> Option<BlockId>;

    /// A candidate is taken for another reason than to gain its space, such as wear.
    fn withdraw(&mut self, block: BlockId);

    /// Its state, to be saved; none if it cannot be saved, and then a drive that uses it cannot be saved either.
    /// [`stateful!`](flashloom_units::stateful!) writes this and the next method.
    fn state(&self) -> Option<&dyn flashloom_units::State> {
        None
    }

    /// The same, to be loaded.
    fn state_mut(&mut self) -> Option<&mut dyn flashloom_units::State> {
        None
    }
}

macro_rules! collections {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// All collection policies.
        pub static SLOT: Slot = Slot {
            name: "gc",
            key: "ftl.gc",
            help: "which block is collected",
            policies: &[$(&$module::SPEC),+],
        };

        /// Builds the policy of that name, which the configuration has checked. What it draws comes from a branch of
        /// its own of `prng`.
        pub fn build(name: &str, values: &[Value], geometry: &Geometry, prng: &Prng) -> Box<dyn Collection> {
            $(if name == $module::SPEC.name {
                return Box::new($module::State::new(values, geometry, prng));
            })+
            unreachable!("the configuration accepts only names of the table")
        }
    };
}

collections! { greedy, cost_benefit, d_choices, fifo, windowed_greedy }
