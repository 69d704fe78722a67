//! The request pool: all requests from queueing to completion, with the original requests merged into each.
//!
//! A request of the pool is dispatched to the device as a whole; its *members* are the requests of the workload that
//! were merged into it, in a second slab, chained in address order. The slab of requests is as large as the queue
//! limits allow and never grows; the slab of members grows to the greatest number ever queued and is then reused.

use std::ops::Index;

use flashloom_units::{NO_INDEX, Ns};
use flashloom_workload::{Op, Priority, Request};
use serde::{Deserialize, Serialize};

use crate::id::RequestId;

/// Stage of a request of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// The slot is not in use.
    Free,
    /// Waiting in the scheduler.
    Queued,
    /// At the device.
    InFlight,
    /// Taken from the scheduler, waiting in its hardware queue for a tag of the device.
    Taken,
    /// In the plug of its task, before the scheduler gets it.
    Plugged,
}

/// A request of the block layer, grown by merging.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Queued {
    /// First sector.
    pub lba: u64,
    /// Deadline of its dispatch, set by the scheduler; `Ns::MAX` for none.
    pub deadline_ns: Ns,
    /// Time of its dispatch.
    pub dispatched_ns: Ns,
    /// Length in sectors.
    pub sectors: u32,
    /// Task of the first original request in it.
    pub task: u32,
    /// Operation, the same for all of its members.
    pub op: Op,
    /// Flags and priority of the first original request in it, as [`Request`] defines them.
    pub flags: u8,
    /// Queue of all of its original requests.
    pub queue: u8,
    /// Placement handle of all of its original requests.
    pub handle: u8,
    /// Stage.
    pub stage: Stage,
    /// True if it merges no more because another one did not fit while it was in a plug.
    pub is_closed: bool,
    first_member: u32,
    last_member: u32,
}

impl Queued {
    /// The sector after the last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// Direction of the data transfer.
    #[inline]
    pub fn direction(&self) -> Direction {
        Direction::of(self.op)
    }

    /// Class that `nr_requests` counts it in: that of the first original request in it.
    #[inline]
    pub fn class(&self) -> Class {
        if self.is_sync() { Class::Sync } else { Class::Async }
    }

    /// True if a task waits for it: a read, or a write that was first queued as synchronous.
    #[inline]
    pub fn is_sync(&self) -> bool {
        self.op == Op::Read || self.flags & Request::SYNC != 0
    }

    /// Whether a request of that queue, placement handle and priority can be part of this one.
    #[inline]
    pub(crate) fn goes_with(&self, queue: u8, handle: u8, flags: u8) -> bool {
        (self.queue, self.handle, self.flags & Priority::MASK) == (queue, handle, flags & Priority::MASK)
    }
}

/// Direction of a request. A discard counts as a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Direction {
    /// Both directions, reads first.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// Returns the direction of an operation.
    #[inline]
    pub fn of(op: Op) -> Self {
        if op == Op::Read { Self::Read } else { Self::Write }
    }

    /// The other direction.
    #[inline]
    pub fn opposite(self) -> Self {
        if self == Self::Read { Self::Write } else { Self::Read }
    }

    /// Index into an array with an entry for each.
    #[inline]
    pub fn at(self) -> usize {
        self as usize
    }
}

/// Class of a request. Each class has its own limit of `nr_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Requests that a task waits for: reads and synchronous writes.
    Sync,
    /// Requests that no task waits for: all other writes, and discards.
    Async,
}

impl Class {
    /// Both classes, the synchronous one first.
    pub const BOTH: [Self; 2] = [Self::Sync, Self::Async];

    /// Returns the class of a request of the workload.
    #[inline]
    pub fn of(request: &Request) -> Self {
        if request.is_sync() { Self::Sync } else { Self::Async }
    }

    /// Index into an array with an entry for each.
    #[inline]
    pub fn at(self) -> usize {
        self as usize
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Member {
    arrival_ns: Ns,
    sectors: u32,
    cookie: u32,
    next: u32,
}

/// An original request that the device has completed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Time of its arrival.
    pub arrival_ns: Ns,
    /// Time at which the request that it is part of was dispatched.
    pub dispatched_ns: Ns,
    /// Length in sectors.
    pub sectors: u32,
    /// The cookie that it was submitted with.
    pub cookie: u32,
    /// Its member number, which may be reused from now on.
    pub member: u32,
    /// Operation.
    pub op: Op,
    /// Flags of the request that it was part of. A request with FUA or PREFLUSH has one member only.
    pub flags: u8,
}

/// Pool of requests and their members.
#[derive(Debug)]
pub struct Requests {
    slots: Vec<Queued>,
    free: Vec<RequestId>,
    members: Vec<Member>,
    free_member: u32,
    newest_member: u32,
}

flashloom_units::state! { Requests { array slots; value free, members, free_member, newest_member; } }

/// A slot that is not in use.
const UNUSED: Queued = Queued {
    lba: 0,
    deadline_ns: Ns::MAX,
    dispatched_ns: 0,
    sectors: 0,
    task: 0,
    op: Op::Flush,
    flags: 0,
    queue: 0,
    handle: 0,
    stage: Stage::Free,
    is_closed: false,
    first_member: NO_INDEX,
    last_member: NO_INDEX,
};

impl Index<RequestId> for Requests {
    type Output = Queued;

    #[inline]
    fn index(&self, id: RequestId) -> &Queued {
        &self.slots[id.at()]
    }
}

impl Requests {
    /// Makes a pool of `capacity` requests.
    pub fn new(capacity: u32) -> Self {
        Self {
            slots: vec![UNUSED; capacity as usize],
            free: (0..capacity).rev().map(RequestId).collect(),
            members: Vec::with_capacity(capacity as usize),
            free_member: NO_INDEX,
            newest_member: NO_INDEX,
        }
    }

    /// Maximum number of requests in the pool.
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Adds an original request that is a member of no request yet, and returns its member number. There is no limit.
    #[inline]
    pub fn admit(&mut self, request: &Request, cookie: u32) -> u32 {
        let member = Member { arrival_ns: request.arrival_ns, sectors: request.sectors, cookie, next: NO_INDEX };
        if self.free_member == NO_INDEX {
            self.members.push(member);
            self.newest_member = self.members.len() as u32 - 1;
        } else {
            self.newest_member = self.free_member;
            self.free_member = std::mem::replace(&mut self.members[self.newest_member as usize], member).next;
        }
        self.newest_member
    }

    /// Member number of the original request that was added last.
    #[inline]
    pub fn newest_member(&self) -> u32 {
        self.newest_member
    }

    /// Makes a request of one member that is part of no other. Panics if the pool is full; the block layer's limits
    /// rule that out.
    #[inline]
    pub fn queue(&mut self, request: &Request, member: u32) -> RequestId {
        let id = self.free.pop().expect("the pool is as large as the queue limits and the device's queue together");
        let Request { lba, sectors, task, op, flags, queue, handle, .. } = *request;
        let (stage, first_member, last_member) = (Stage::Queued, member, member);
        self.slots[id.at()] =
            Queued { lba, sectors, task, op, flags, queue, handle, stage, first_member, last_member, ..UNUSED };
        id
    }

    /// Merges a request with `id`: a front merge prepends one that ends where `id` begins, a back merge appends one
    /// that begins where `id` ends.
    pub(crate) fn grow(&mut self, id: RequestId, is_front: bool, request: &Request, cookie: u32) {
        let member = self.admit(request, cookie);
        let slot = &mut self.slots[id.at()];
        if is_front {
            assert_eq!(request.end(), slot.lba, "a front merge ends where the request begins");
            slot.lba = request.lba;
            self.members[member as usize].next = std::mem::replace(&mut slot.first_member, member);
        } else {
            assert_eq!(slot.end(), request.lba, "a back merge begins where the request ends");
            let last = std::mem::replace(&mut slot.last_member, member);
            self.members[last as usize].next = member;
        }
        slot.sectors += request.sectors;
    }

    /// Joins two requests: appends `gone`, which begins where `kept` ends, and frees it. The earlier deadline is kept.
    pub(crate) fn join(&mut self, kept: RequestId, gone: RequestId) {
        let later = self.slots[gone.at()];
        let slot = &mut self.slots[kept.at()];
        assert_eq!(slot.end(), later.lba, "joined requests touch");
        slot.sectors += later.sectors;
        slot.deadline_ns = slot.deadline_ns.min(later.deadline_ns);
        self.members[slot.last_member as usize].next = later.first_member;
        slot.last_member = later.last_member;
        self.release(gone);
    }

    #[inline]
    pub(crate) fn set_deadline(&mut self, id: RequestId, deadline_ns: Ns) {
        self.slots[id.at()].deadline_ns = deadline_ns;
    }

    /// Marks a request as dispatched to the device.
    #[inline]
    pub fn start(&mut self, id: RequestId, now: Ns) {
        let slot = &mut self.slots[id.at()];
        assert!(matches!(slot.stage, Stage::Queued | Stage::Taken), "only a request that waits is dispatched");
        slot.stage = Stage::InFlight;
        slot.dispatched_ns = now;
    }

    /// Moves a request from a stage, at which it has to be, to another one.
    pub(crate) fn pass(&mut self, id: RequestId, from: Stage, to: Stage) {
        let slot = &mut self.slots[id.at()];
        assert_eq!(slot.stage, from, "a request that becomes {to:?} was {from:?}");
        slot.stage = to;
    }

    /// Lets a request of a plug merge no more.
    pub(crate) fn close(&mut self, id: RequestId) {
        self.slots[id.at()].is_closed = true;
    }

    fn release(&mut self, id: RequestId) {
        self.slots[id.at()].stage = Stage::Free;
        self.free.push(id);
    }

    /// Frees a request that the device has completed or failed, and hands its members to `each`, in address order.
    #[inline]
    pub fn finish(&mut self, id: RequestId, mut each: impl FnMut(&Completed)) {
        let Queued { op, flags, dispatched_ns, stage, first_member, last_member, .. } = self.slots[id.at()];
        assert_eq!(stage, Stage::InFlight, "only a dispatched request completes");
        let mut at = first_member;
        while at != NO_INDEX {
            let Member { arrival_ns, sectors, cookie, next } = self.members[at as usize];
            each(&Completed { arrival_ns, dispatched_ns, sectors, cookie, member: at, op, flags });
            at = next;
        }
        self.members[last_member as usize].next = self.free_member;
        self.free_member = first_member;
        self.release(id);
    }

    /// Number of requests at a stage. Visits the whole pool: for checks.
    pub fn count(&self, stage: Stage) -> u64 {
        self.slots.iter().filter(|slot| slot.stage == stage).count() as u64
    }

    /// Number of members of the requests at a stage. Visits the whole pool: for checks.
    pub fn count_members(&self, stage: Stage) -> u64 {
        let next = |&at: &u32| Some(self.members[at as usize].next).filter(|&next| next != NO_INDEX);
        let members = |slot: &Queued| std::iter::successors(Some(slot.first_member), next).count() as u64;
        self.slots.iter().filter(|slot| slot.stage == stage).map(members).sum()
    }

    /// Identifiers of all requests at a stage. Visits the whole pool: for checks.
    pub fn at_stage(&self, stage: Stage) -> impl Iterator<Item = RequestId> + '_ {
        (0..self.capacity()).map(RequestId).filter(move |&id| self[id].stage == stage)
    }

    /// All requests at any stage, without flushes. Visits the whole pool: for checks.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = &Queued> {
        self.slots.iter().filter(|slot| slot.stage != Stage::Free && slot.op != Op::Flush)
    }

    /// Those of them that have come to the scheduler.
    pub(crate) fn in_scheduler_or_device(&self) -> impl Iterator<Item = &Queued> {
        self.in_use().filter(|slot| slot.stage != Stage::Plugged)
    }
}
