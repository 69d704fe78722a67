//! The I/O scheduler: its interface to the block layer, and the table of built-in schedulers.
//!
//! Adding a scheduler: a file `scheduler/NAME.rs` with `SPEC`, `Params` and `State`, and its line in the table below;
//! or, from another crate, [`Slot::add`].

use flashloom_units::{Component, Lists, Ns, Refusal, Role, Slot, SlotSpec, Value, Violation, policy};
use flashloom_workload::Request;

use crate::id::RequestId;
use crate::linux::Linux;
use crate::queue_map::QueueMap;
use crate::requests::Requests;
use crate::tags::{TagSet, Tags};

/// Result of asking a scheduler for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Dispatch this request, which has left the scheduler.
    Request(RequestId),
    /// Dispatch nothing until a request is submitted or completed.
    Idle,
    /// Dispatch nothing before that time, unless a request is submitted or completed.
    NotBefore(Ns),
}

/// Facts of the block layer that a scheduler is built with.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerSetup {
    /// Capacity of the device, in sectors; every request begins below it.
    pub capacity_sectors: u64,
    /// Size of the request pool; all identifiers are below it.
    pub requests: u32,
    /// Maximum number of requests at the device.
    pub queue_depth: u32,
    /// Maximum size that a request may reach by merging, in sectors; zero if none may merge.
    pub max_request_sectors: u64,
    /// Limit on the requests of a class, for schedulers that count synchronous and asynchronous ones apart; see
    /// [`HostParams::nr_requests`](crate::HostParams).
    pub nr_requests: u32,
    /// The tags of a scheduler of blk-mq.
    pub tags: TagSet,
    /// Version of Linux, never [`Linux::Auto`].
    pub linux: Linux,
    /// Ticks of the kernel's clock a second.
    pub hz: u32,
    /// Processors and hardware queues. Only schedulers that serve them use them, see [`Scheduler::serves`].
    pub queues: QueueMap,
}

/// How a scheduler deals with the hardware queues of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// All requests go through one, whatever the device has.
    One,
    /// It is asked for one, and may give a request of any: the queues share its order.
    Any,
    /// It gives a request of the one that it is asked for.
    Each,
}

/// How a scheduler that merges by itself has merged a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The queued request that it becomes part of.
    pub into: RequestId,
    /// True if it comes before that request, false if behind it.
    pub is_front: bool,
}

/// Two queued requests that touch and become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The request that stays, the one of lower address.
    pub kept: RequestId,
    /// The request that becomes its end.
    pub gone: RequestId,
}

/// An I/O scheduler: decides the order in which queued requests go to the device. The block layer merges, counts and
/// enforces the limits.
///
/// Flushes bypass the scheduler. `now` never decreases. The default methods allow back merges of new requests; front
/// merges and joins of queued requests need [`Self::front_merge_candidate`], [`Self::former`] and [`Self::latter`].
pub trait Scheduler: Component {
    /// Limits on the set of tags that all requests share in blk-mq; none if every request may have any, and in Linux
    /// 2.6.32. Asked once, before any other method, and after each [`Self::reconfigure`].
    fn tags(&self) -> Option<Tags> {
        None
    }

    /// False if writes are not throttled under it unless `host.wbt` says so. Asked once.
    fn is_throttled(&self) -> bool {
        true
    }

    /// Adds a request, and returns the deadline of its dispatch, `Ns::MAX` for none.
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns;

    /// Adds the requests of an emptied plug, in the order of submission, and returns their deadlines in that order.
    /// None, and nothing added, if they are to be inserted one by one, each followed by its joins: as by default.
    fn insert_list(&mut self, _now: Ns, _requests: &Requests, _list: &[RequestId]) -> Option<Vec<Ns>> {
        None
    }

    /// Returns the first request, in the scheduler's order, that begins where `incoming` ends; none if the scheduler
    /// does not sort or does not want front merges.
    fn front_merge_candidate(&self, _requests: &Requests, _incoming: &Request) -> Option<RequestId> {
        None
    }

    /// True if `incoming` may be merged into an adjacent queued request.
    fn allows_merge(&self, _requests: &Requests, _id: RequestId, _incoming: &Request) -> bool {
        true
    }

    /// The previous request in the scheduler's order.
    fn former(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// The next request in the scheduler's order.
    fn latter(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    /// Updates the order after a front merge has moved the beginning of a queued request.
    fn moved(&mut self, _requests: &Requests, _id: RequestId) {}

    /// Removes `gone`, which is about to be joined to `kept`. If its deadline is the earlier one, `kept` takes its
    /// place in the FIFO. The two are neighbours, so a scheduler without [`Self::former`] and [`Self::latter`] never
    /// gets this call.
    fn absorb(&mut self, _requests: &Requests, _kept: RequestId, gone: RequestId) {
        unreachable!("request {gone:?} is absorbed by a neighbour that the scheduler did not name")
    }

    /// True if the scheduler decides which requests merge. It is then asked to [`Self::merge`] and [`Self::join`], and
    /// never for the neighbours and candidates of the methods above. Asked once.
    fn merges_itself(&self) -> bool {
        false
    }

    /// Chooses the queued request that an arriving one is merged with. Not asked if merging is off, nor for a request
    /// that merges with none. The block layer then makes the chosen one grow, and asks for [`Self::join`].
    fn merge(&mut self, _now: Ns, _requests: &Requests, _incoming: &Request) -> Option<Merge> {
        None
    }

    /// The next two requests to join, after a merge or an insertion and after each join, until there are none. The one
    /// that was inserted may be gone at once.
    fn join(&mut self, _requests: &Requests) -> Option<Join> {
        None
    }

    /// Takes back a request that it dispatched and that the device could not take, and returns the deadline of its next
    /// dispatch. By default as if it had completed and another one were inserted.
    fn requeue(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.completed(now, requests, id);
        self.insert(now, requests, id)
    }

    /// Removes the next request for the device and returns it, or says how long to wait.
    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice;

    /// How it deals with several hardware queues. Asked once.
    fn serves(&self) -> Serves {
        Serves::One
    }

    /// As [`Self::dispatch`], for a hardware queue of several; not asked of a scheduler that serves one.
    fn dispatch_for(&mut self, now: Ns, requests: &Requests, _queue: u32) -> Choice {
        self.dispatch(now, requests)
    }

    /// Follows the completion or failure of a request that this scheduler dispatched.
    fn completed(&mut self, _now: Ns, _requests: &Requests, _id: RequestId) {}

    /// Replaces the values of all parameters while requests wait, as a write to a scheduler's attributes in sysfs does.
    /// `values` has one value for each parameter, in the order of its specification.
    ///
    /// # Errors
    /// The values cannot be set, or the scheduler's parameters are fixed for a run. Nothing has changed then.
    fn reconfigure(&mut self, _requests: &Requests, _values: &[Value]) -> Result<(), Refusal> {
        Err(Refusal::new("parameters that are fixed for a run", "a scheduler whose parameters can change"))
    }

    /// Checks the scheduler's own structures against the queued requests of the pool.
    ///
    /// # Errors
    /// The first violation, in words.
    fn check_queued(&self, requests: &Requests) -> Result<(), Violation>;
}

/// Removes `gone` from a FIFO, as it is joined to `kept`, which takes its place if the deadline of `gone` is the
/// earlier one.
fn leave_fifo(fifo: &mut Lists<RequestId>, requests: &Requests, kept: RequestId, gone: RequestId) {
    if requests[gone].deadline_ns < requests[kept].deadline_ns {
        fifo.take_place(kept, gone);
    } else {
        fifo.remove(gone);
    }
}

/// The name in the place of a limit on the tags of some requests.
const NR_REQUESTS: flashloom_units::Choice =
    flashloom_units::Choice { name: "nr_requests", help: "As many as there are, by `host.async_limits`." };

/// What the schedulers import.
mod prelude {
    pub(super) use flashloom_units::{
        Capability, Kind, Lists, MIB, MS, Ns, OrName, ParamSet, PolicySpec, Refusal, S, SECTOR_BYTES, Statistic, US,
        Used, Value, Violation, choice, ensure, params,
    };
    pub(super) use flashloom_workload::{Op, Request};
    pub(super) use serde::{Deserialize, Serialize};

    pub(super) use super::{Choice, Merge, NR_REQUESTS, Scheduler, SchedulerSetup, Serves, leave_fifo};
    pub(super) use crate::id::{RequestId, TaskSlot};
    pub(super) use crate::linux::Linux;
    pub(super) use crate::requests::{Direction, Requests, Stage};
    pub(super) use crate::sorted::Forest;
    pub(super) use crate::tags::{Limit, Tags};
}

pub mod anticipatory;
pub mod cfq;
pub mod deadline;
pub mod fios;
pub mod kyber;
pub mod mq_deadline;
pub mod none;
pub mod noop;
pub mod pardispatcher;

impl Role for dyn Scheduler {
    type Site<'a> = SchedulerSetup;
    type Profile = ();
    type Context<'a> = SchedulerSetup;
}

/// The slot of the I/O scheduler.
pub static SLOT: SlotSpec = SlotSpec {
    name: "schedulers",
    key: "host.scheduler",
    role: "I/O scheduler",
    help: "the order in which the host's block layer sends requests to the device",
    statistics: crate::stats::COUNTED,
};

/// The built-in schedulers, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Scheduler> {
    Slot::new(
        &SLOT,
        [
            policy!(dyn Scheduler: noop::Noop?),
            policy!(dyn Scheduler: deadline::Deadline?),
            policy!(dyn Scheduler: anticipatory::Anticipatory?),
            policy!(dyn Scheduler: cfq::Cfq?),
            policy!(dyn Scheduler: fios::Fios?),
            policy!(dyn Scheduler: pardispatcher::ParDispatcher?),
            policy!(dyn Scheduler: none::NoScheduler?),
            policy!(dyn Scheduler: mq_deadline::MqDeadline?),
            policy!(dyn Scheduler: kyber::Kyber?),
        ],
    )
}
