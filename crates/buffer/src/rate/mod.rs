//! The eviction batch size: how many victims leave the buffer at a time.
//!
//! Adding a rate is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Figure, Policy, PolicySpec, Role, Slot, SlotSpec, Value};

/// What a rate decides by, in pages but for victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Room of the buffer.
    pub pages: u32,
    /// Pages that are no room: those that flash does not have yet, and clean ones that cannot be given up before some
    /// of these have left.
    pub occupied: u32,
    /// Pages on their way to flash, whose slots will be free.
    pub evicting: u32,
    /// Victims on their way to flash: pages or blocks, as the order has it, each until its last page is programmed. A
    /// page that leaves out of turn is one of them.
    pub leaving: u32,
    /// Pages of requests that found the buffer full, and find no slot now.
    pub waiting: u32,
}

/// A policy of the eviction batch size.
pub trait Rate: Send {
    /// How many victims to evict now. Asked after each write of the host, each page that has come to flash, and each
    /// read that an order would have kept; and again after the victims have left the order, until it answers none.
    fn victims(&mut self, occupancy: &Occupancy) -> u32;

    /// Whether a write that found the buffer full goes on only when all that was evicted is in flash, though slots are
    /// free before.
    fn waits_for_all(&self) -> bool {
        false
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

mod cave;
mod linear_threshold;
mod single;

/// What a rate is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Dies of the drive.
    pub dies: u32,
    /// Pages that a die programs at once where the FTL writes whole superpages; else 1.
    pub superpage: u32,
}

impl Role for dyn Rate {
    type Site<'a> = Setup;
    type Profile = ();
    type Context<'a> = Setup;
}

/// The slot of the eviction batch size.
pub static SLOT: SlotSpec = SlotSpec {
    name: "rates",
    key: "buffer.rate",
    role: "eviction batch size",
    help: "how many victims leave the write buffer at a time",
};

/// The eviction rates that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Rate> {
    Slot::new(
        &SLOT,
        [
            policy(&single::SPEC, |values, on| Box::new(single::Single::new(values, on.dies))),
            policy(&cave::SPEC, |values, on| Box::new(cave::Cave::new(values, on.dies))),
            policy(&linear_threshold::SPEC, |values, on| Box::new(linear_threshold::LinearThreshold::new(values, on))),
        ],
    )
}

fn policy(spec: &'static PolicySpec, build: fn(&[Value], &Setup) -> Box<dyn Rate>) -> Policy<dyn Rate> {
    Policy::<dyn Rate>::new(spec, move |values, on| Ok(build(values, on)))
}
