//! The causes of latency: where each nanosecond of a request can go.

use std::ops::{Index, IndexMut};

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

/// What a request waits for, or that it is being served. A closed list, in the order of the I/O path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Cause {
    /// Held in front of the block layer, because its class had `nr_requests` there.
    NrRequests,
    /// In the scheduler, while the drive held as many commands as it takes (`queue_depth`).
    Tag,
    /// In the scheduler, which could have sent something and chose to wait (anticipation, idling, a batch).
    Scheduler,
    /// With a processor of the controller, or behind other commands for one.
    Controller,
    /// On the host link, or behind others on it.
    Link,
    /// Until what a flush has to make durable is in flash: the flush itself, or a write with a flush before it.
    Flush,
    /// Waiting for a slot of the write buffer.
    Slot,
    /// Behind a read for the host on the die: another request's, another page's of its own, or that of the sectors
    /// beneath a partial write.
    HostRead,
    /// Behind a program for the host on the die.
    HostProgram,
    /// Behind a read or a program of a garbage collection.
    Collection,
    /// Behind a read or a program of a merge.
    Merge,
    /// Behind a read or a program of the map itself, its own entry's included.
    Map,
    /// Behind a read or a program of wear levelling.
    Wear,
    /// Behind an erase.
    Erase,
    /// While a die stops an operation for a read, or takes it up again.
    Suspension,
    /// Waiting for the channel's bus.
    Channel,
    /// The array and the bus work for it.
    Served,
    /// The array repeats its last read: its own, or that of another plane by the same command. Last, because there is
    /// none where reads succeed at once.
    Retry,
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 18;

    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NrRequests,
        Self::Tag,
        Self::Scheduler,
        Self::Controller,
        Self::Link,
        Self::Flush,
        Self::Slot,
        Self::HostRead,
        Self::HostProgram,
        Self::Collection,
        Self::Merge,
        Self::Map,
        Self::Wear,
        Self::Erase,
        Self::Suspension,
        Self::Channel,
        Self::Served,
        Self::Retry,
    ];

    /// As in a result and in the header of a log.
    pub const fn name(self) -> &'static str {
        [
            "nr_requests",
            "tag",
            "scheduler",
            "controller",
            "link",
            "flush",
            "slot",
            "host_read",
            "host_program",
            "collection",
            "merge",
            "map",
            "wear",
            "erase",
            "suspension",
            "channel",
            "served",
            "retry",
        ][self as usize]
    }
}

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts([Ns; Cause::COUNT]);

impl Parts {
    /// All of them together.
    pub fn total(&self) -> Ns {
        self.0.iter().sum()
    }

    /// Adds what another has.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(part, more)| *part += more);
    }

    /// What was added since an earlier reading of the same clocks.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let mut parts = *self;
        parts.0.iter_mut().zip(earlier.0).for_each(|(part, before)| *part -= before);
        parts
    }

    /// The parts of what waits for this from the start: the time that it is served is `cause` to them.
    pub(super) fn for_waiters(mut self, cause: Cause) -> Self {
        let served = std::mem::take(&mut self[Cause::Served]);
        self[cause] += served;
        self
    }

    /// Each cause with its part, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Ns)> + '_ {
        Cause::ALL.into_iter().zip(self.0)
    }
}

impl Index<Cause> for Parts {
    type Output = Ns;

    fn index(&self, cause: Cause) -> &Ns {
        &self.0[cause as usize]
    }
}

impl IndexMut<Cause> for Parts {
    fn index_mut(&mut self, cause: Cause) -> &mut Ns {
        &mut self.0[cause as usize]
    }
}
