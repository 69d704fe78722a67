//! The scheduler's place on the path, and the one table of the schedulers that are built in.
//!
//! Adding a scheduler: a file `scheduler/NAME.rs` with `SPEC`, `Params` and `State`, and its line in the table below;
//! or, from another crate, [`Slot::add`].

use flashloom_units::{Figure, Ns, ParamSet, Policy, PolicySpec, Refusal, Role, Slot, SlotSpec, Value};
use flashloom_workload::Request;

use crate::id::RequestId;
use crate::requests::Requests;

/// What a scheduler answers when it is asked for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This request, which leaves the scheduler.
    Request(RequestId),
    /// Nothing until a request is submitted or completed.
    Idle,
    /// Nothing before that time, unless a request is submitted or completed.
    NotBefore(Ns),
}

/// What a scheduler is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The device's capacity; every request begins below it.
    pub capacity_sectors: u64,
    /// The size of the request pool: identifiers are below it.
    pub requests: u32,
}

/// The order in which queued requests go to the device. The block layer merges, counts and enforces the limits.
///
/// Flushes never come here. `now` never decreases. A scheduler that names no neighbours is still grown at the back by
/// what continues a queued request; nothing else merges.
pub trait Scheduler: Send {
    /// Takes a request in and says by when it should be dispatched; `Ns::MAX` where there is no such time.
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns;

    /// The first request, in the scheduler's sorting, that begins where `incoming` ends; none where the scheduler has
    /// no sorting or does not want front merges.
    fn front_merge_candidate(&self, _requests: &Requests, _incoming: &Request) -> Option<RequestId> {
        None
    }

    /// Whether `incoming` may become a part of a queued request that it touches.
    fn allows_merge(&self, _requests: &Requests, _id: RequestId, _incoming: &Request) -> bool {
        true
    }

    /// The neighbour before in the scheduler's order.
    fn former(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// The neighbour after in the scheduler's order.
    fn latter(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// A front merge has moved the beginning of a queued request.
    fn moved(&mut self, _requests: &Requests, _id: RequestId) {}

    /// `gone` is about to become a part of `kept`: it leaves the scheduler, and where its deadline is the earlier one,
    /// `kept` takes its place among the waiting. Only neighbours are, so one that names none need not take part.
    fn absorb(&mut self, _requests: &Requests, _kept: RequestId, gone: RequestId) {
        unreachable!("request {gone:?} is absorbed by a neighbour that the scheduler did not name")
    }

    /// The next request for the device.
    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice;

    /// The device has completed a request that this scheduler dispatched.
    fn completed(&mut self, _now: Ns, _requests: &Requests, _id: RequestId) {}

    /// New values for every parameter of the policy while requests wait, one for each in the order of its table, as a
    /// write to a scheduler's attributes in sysfs. An error says why they cannot be, and then nothing has changed.
    fn reconfigure(&mut self, _requests: &Requests, _values: &[Value]) -> Result<(), Refusal> {
        Err(Refusal::new("parameters that are fixed for a run", "a scheduler whose parameters can change"))
    }

    /// The values of the policy's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks the scheduler's own structures against the queued requests of the pool.
    fn check(&self, requests: &Requests) -> Result<(), String>;

    /// Its state, to be saved; none if it cannot be saved, and then a block layer that uses it cannot be saved either.
    /// [`stateful!`](flashloom_units::stateful!) writes this and the next method.
    fn state(&self) -> Option<&dyn flashloom_units::State> {
        None
    }

    /// The same, to be loaded.
    fn state_mut(&mut self) -> Option<&mut dyn flashloom_units::State> {
        None
    }
}

pub mod anticipatory;
pub mod cfq;
pub mod deadline;
pub mod fios;
pub mod noop;
pub mod pardispatcher;

impl Role for dyn Scheduler {
    type Site<'a> = Setup;
    type Profile = ();
    type Context<'a> = Setup;
}

/// The place of the scheduler.
pub static SLOT: SlotSpec = SlotSpec {
    name: "schedulers",
    key: "host.scheduler",
    role: "I/O scheduler",
    help: "in which order the host's block layer sends requests to the device",
};

/// The schedulers that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Scheduler> {
    Slot::new(
        &SLOT,
        [
            policy(&noop::SPEC, noop::Noop::new),
            policy(&deadline::SPEC, deadline::Deadline::new),
            policy(&anticipatory::SPEC, anticipatory::Anticipatory::new),
            policy(&cfq::SPEC, cfq::Cfq::new),
            policy(&fios::SPEC, fios::Fios::new),
            policy(&pardispatcher::SPEC, pardispatcher::ParDispatcher::new),
        ],
    )
}

fn policy<P: ParamSet + 'static, S: Scheduler + 'static>(
    spec: &'static PolicySpec,
    new: fn(P, &Setup) -> Result<S, Refusal>,
) -> Policy<dyn Scheduler> {
    Policy::<dyn Scheduler>::new(spec, move |values, setup| Ok(Box::new(new(P::from_values(values), setup)?)))
}
