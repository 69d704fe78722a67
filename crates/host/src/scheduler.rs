//! The scheduler's place on the path, and the one table of all schedulers.
//!
//! Adding a scheduler: a file `scheduler/NAME.rs` with `SPEC`, `Params` and `State`, and its line in the table below.

use flashloom_units::{Ns, ParamSet, Slot, Value};
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
/// Flushes never come here. `now` never decreases.
pub trait Scheduler {
    /// Takes a request in and says by when it should be dispatched; `Ns::MAX` where there is no such time.
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns;

    /// The first request, in the scheduler's sorting, that begins where `incoming` ends; none where the scheduler has
    /// no sorting or does not want front merges.
    fn front_merge_candidate(&self, requests: &Requests, incoming: &Request) -> Option<RequestId>;

    /// Whether `incoming` may become a part of a queued request that it touches.
    fn allows_merge(&self, _requests: &Requests, _id: RequestId, _incoming: &Request) -> bool {
        true
    }

    /// The neighbour before in the scheduler's order.
    fn former(&self, requests: &Requests, id: RequestId) -> Option<RequestId>;

    /// The neighbour after in the scheduler's order.
    fn latter(&self, requests: &Requests, id: RequestId) -> Option<RequestId>;

    /// A front merge has moved the beginning of a queued request.
    fn moved(&mut self, requests: &Requests, id: RequestId);

    /// `gone` is about to become a part of `kept`: it leaves the scheduler, and where its deadline is the earlier one,
    /// `kept` takes its place among the waiting.
    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId);

    /// The next request for the device.
    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice;

    /// The device has completed a request that this scheduler dispatched.
    fn completed(&mut self, _now: Ns, _requests: &Requests, _id: RequestId) {}

    /// New values for every parameter of the policy while requests wait, one for each in the order of its table, as a
    /// write to a scheduler's attributes in sysfs. An error says why they cannot be, and then nothing has changed.
    fn reconfigure(&mut self, _requests: &Requests, _values: &[Value]) -> Result<(), String> {
        Err("this scheduler's parameters are fixed for a run".to_owned())
    }

    /// The figures that the policy's `statistics` describe, in that order.
    fn figures(&self) -> Vec<u64> {
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

macro_rules! schedulers {
    ($($module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// The schedulers, in the order in which they are listed.
        pub static SLOT: Slot = Slot {
            name: "schedulers",
            key: "host.scheduler",
            help: "In which order the host's block layer sends requests to the device.",
            policies: &[$(&$module::SPEC),+],
        };

        /// Builds the scheduler of that name from one checked value for each of its parameters, or says why it cannot
        /// work on this device. None where there is no scheduler of that name.
        pub fn build(name: &str, values: &[Value], setup: &Setup) -> Option<Result<Box<dyn Scheduler>, String>> {
            match name {
                $(stringify!($module) => Some(
                    $module::State::new($module::Params::from_values(values), setup)
                        .map(|state| Box::new(state) as Box<dyn Scheduler>),
                ),)+
                _ => None,
            }
        }
    };
}

schedulers! {
    noop,
    deadline,
    anticipatory,
    cfq,
    fios,
    pardispatcher,
}
