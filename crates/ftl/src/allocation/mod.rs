//! Which plane, and which of its open blocks, a page is written to.
//!
//! Adding an allocation is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_nand::{Geometry, PlaneId};
use flashloom_units::{Figure, Policy, PolicySpec, Role, Slot, SlotSpec, Value};

use crate::lane::{Demands, Lane};
use crate::superblock::{superpage, units};
use crate::{FtlParams, PageWrite, Space, StreamReport, StripeOrder};

/// Where a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The plane; a plane that has no room is passed over for the next of the stripe.
    pub plane: PlaneId,
    /// Which of the plane's open blocks.
    pub lane: Lane,
}

/// Streams that an allocation or a mapping wants written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedStreams {
    /// Consecutive pages of a stream, now: an adaptive threshold moves. With 1 there are no streams.
    pub pages: u32,
    /// Whether the write buffer is to look for them among all that it holds when a victim leaves.
    pub in_buffer: bool,
    /// Pages of a logical block, if a stream is the first pages of one; else it begins anywhere.
    pub block_pages: Option<u32>,
}

/// A policy of allocation.
pub trait Allocation: Send {
    /// Appends the place of each page of `writes`, which the layer above writes together, in their order. `copies` are
    /// the pages copied by garbage collection so far. The allocation uses it to judge its earlier placements.
    fn place(&mut self, writes: &[PageWrite], copies: u64, places: &mut Vec<Place>);

    /// The streams that the layer above is to write together, where it can; nothing where it looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// The streams that it found; nothing where it looks for none.
    fn streams(&self) -> Option<StreamReport> {
        None
    }

    /// Starts its counters again at zero, after preconditioning.
    fn reset_report(&mut self) {}

    /// The values of the policy's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks a state that was loaded, as far as its parts depend on each other.
    ///
    /// # Errors
    /// What cannot be.
    fn check(&self) -> Result<(), String> {
        Ok(())
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

mod interleave;
mod slap;
mod r#static;

/// What an allocation is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The array, and how much of it the host sees.
    pub space: &'a Space,
    /// Planes and blocks as the allocation sees them: where blocks make superblocks (`ftl.superblock`), a die has one
    /// plane whose blocks are the superblocks.
    pub geometry: Geometry,
    /// Consecutive pages of such a block that are programmed at once: a stripe fills them before it goes on.
    pub superpage: u32,
    /// The order in which a stripe visits the planes.
    pub stripe_order: StripeOrder,
}

impl<'a> Setup<'a> {
    /// For that space under the `[ftl]` section.
    pub fn new(space: &'a Space, params: &FtlParams) -> Self {
        let geometry = units(&space.geometry(), params.superblock);
        let superpage = superpage(&space.geometry(), params.superblock);
        Self { space, geometry, superpage, stripe_order: params.stripe_order }
    }
}

/// What an allocation states before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What the store beneath must do for it.
    pub demands: Demands,
    /// Pages of the streams that it wants written together from the start; nothing where it looks for none.
    pub stream_pages: Option<u32>,
}

impl Role for dyn Allocation {
    type Site<'a> = Setup<'a>;
    type Profile = Profile;
    type Context<'a> = Setup<'a>;
}

/// The place of the allocation.
pub static SLOT: SlotSpec = SlotSpec {
    name: "allocations",
    key: "ftl.allocation",
    role: "page allocation",
    help: "which plane a page is written to",
};

/// The allocations that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Allocation> {
    Slot::new(
        &SLOT,
        [
            policy(&interleave::SPEC, |values, on| Box::new(interleave::Interleave::new(values, on))),
            policy(&r#static::SPEC, |values, on| Box::new(r#static::Static::new(values, on)))
                .with_profile(|values, on| r#static::profile(values, &on.space.nand)),
            policy(&slap::SPEC, |values, on| Box::new(slap::Slap::new(values, on))).with_profile(slap::profile),
        ],
    )
}

fn policy(spec: &'static PolicySpec, build: fn(&[Value], &Setup<'_>) -> Box<dyn Allocation>) -> Policy<dyn Allocation> {
    Policy::<dyn Allocation>::new(spec, move |values, on| Ok(build(values, on)))
}

/// Round-robin over all planes.
struct Rotation {
    stripe: Vec<PlaneId>,
    at: usize,
}

flashloom_units::state! { Rotation { below at [stripe.len()]; fixed stripe; } }

impl Rotation {
    fn new(stripe: Vec<PlaneId>) -> Self {
        Self { stripe, at: 0 }
    }

    /// The plane whose turn it is.
    #[inline]
    fn next(&mut self) -> PlaneId {
        let plane = self.stripe[self.at];
        self.at = if self.at + 1 == self.stripe.len() { 0 } else { self.at + 1 };
        plane
    }
}

/// All planes in the order in which a stripe visits them.
pub(crate) fn stripe(geometry: &Geometry, order: StripeOrder) -> Vec<PlaneId> {
    let size = |letter| match letter {
        'C' => geometry.channels,
        'W' => geometry.ways,
        'D' => geometry.dies,
        _ => geometry.planes,
    };
    let plane = |index: u32| {
        let (mut rest, mut at) = (index, [0; 4]);
        for letter in order.name().chars() {
            at["CWDP".find(letter).expect("an order is made of these letters")] = rest % size(letter);
            rest /= size(letter);
        }
        let [channel, way, die, plane] = at;
        PlaneId(((channel * geometry.ways + way) * geometry.dies + die) * geometry.planes + plane)
    };
    (0..geometry.total_planes()).map(plane).collect()
}

/// The same, each plane as often in a row as a superpage has pages.
pub(crate) fn stripe_of_superpages(geometry: &Geometry, superpage: u32, order: StripeOrder) -> Vec<PlaneId> {
    let planes = stripe(geometry, order).into_iter();
    planes.flat_map(|plane| std::iter::repeat_n(plane, superpage as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::Shape;

    #[test]
    fn every_order_visits_every_plane_once_and_its_first_letter_varies_fastest() {
        let geometry =
            Geometry::new(Shape { channels: 2, ways: 3, dies: 2, planes: 4, blocks: 1, pages: 1, page_bytes: 512 });
        for choice in StripeOrder::CHOICES {
            let order = StripeOrder::named(choice.name).unwrap();
            let mut planes = stripe(&geometry, order);
            let channel = |plane: PlaneId| geometry.channel_of(geometry.die_of(plane));
            assert_eq!(channel(planes[0]) != channel(planes[1]), choice.name.starts_with('C'), "{}", choice.name);
            planes.sort();
            assert!(planes.iter().enumerate().all(|(index, plane)| plane.at() == index));
        }
    }
}
