//! Which closed block of a plane is collected next.
//!
//! Adding a collection policy is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Figure, Policy, PolicySpec, Prng, Role, Slot, SlotSpec, Value};

mod by_valid;
pub mod clairvoyant;
#[cfg(test)]
mod model;

/// A victim selection policy. It learns of every block that closes and of every page that dies in one.
pub trait Collection: Send {
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
    fn check(&self, _candidates: &[Option<u32>]) -> Result<(), String> {
        Ok(())
    }

    /// The values of the policy's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

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

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod windowed_greedy;

/// The error of a policy that holds another number of candidates than there are, or one that is none.
fn mistaken(block: Option<BlockId>) -> String {
    block.map_or("collection policy: not every full block is a candidate".to_owned(), |block| {
        format!("collection policy: block {} is a candidate with another number of valid pages, or none", block.0)
    })
}

/// Checks that a policy holds the candidates, each once, with the valid pages that `held` says.
fn check_held(
    candidates: &[Option<u32>],
    held: impl Iterator<Item = BlockId>,
    valid: impl Fn(BlockId) -> u32,
) -> Result<(), String> {
    let mut count = 0;
    for block in held {
        count += 1;
        if candidates.get(block.at()).copied().flatten() != Some(valid(block)) {
            return Err(mistaken(Some(block)));
        }
    }
    if candidates.iter().flatten().count() == count { Ok(()) } else { Err(mistaken(None)) }
}

/// What a collection policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// The root of the run's random streams: a policy that draws branches off its own.
    pub prng: &'a Prng,
}

impl Role for dyn Collection {
    type Site<'a> = Setup<'a>;
    type Profile = ();
    type Context<'a> = Setup<'a>;
}

/// The place of the collection policy.
pub static SLOT: SlotSpec =
    SlotSpec { name: "gc", key: "ftl.gc", role: "garbage collection policy", help: "which block is collected" };

/// The collection policies that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Collection> {
    Slot::new(
        &SLOT,
        [
            policy(&greedy::SPEC, |values, on| Box::new(greedy::Greedy::new(values, on.geometry, on.prng))),
            policy(&cost_benefit::SPEC, |values, on| {
                Box::new(cost_benefit::CostBenefit::new(values, on.geometry, on.prng))
            }),
            policy(&d_choices::SPEC, |values, on| Box::new(d_choices::DChoices::new(values, on.geometry, on.prng))),
            policy(&fifo::SPEC, |values, on| Box::new(fifo::Fifo::new(values, on.geometry, on.prng))),
            policy(&windowed_greedy::SPEC, |values, on| {
                Box::new(windowed_greedy::WindowedGreedy::new(values, on.geometry, on.prng))
            }),
        ],
    )
}

fn policy(spec: &'static PolicySpec, build: fn(&[Value], &Setup<'_>) -> Box<dyn Collection>) -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(spec, move |values, on| Ok(build(values, on)))
}
