//! The causes of latency that a nanosecond of a request can be attributed to.

use std::ops::{Index, IndexMut};

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

flashloom_units::names! {
    /// What a request waits for, or that it is being served. A closed list, in the order of the I/O path. The names are
    /// those in results and in the header of a log.
    #[repr(u8)]
    pub enum Cause {
        /// Held before the block layer, which has as many requests of its class, or without a free tag, as
        /// `nr_requests` says.
        NrRequests = "nr_requests",
        /// In the scheduler, while `queue_depth` commands are outstanding in the drive.
        Tag = "tag",
        /// In the scheduler, which could dispatch a request but waits on purpose (anticipation, idling, a batch).
        Scheduler = "scheduler",
        /// Being processed by the controller, or waiting for one of its processors.
        Controller = "controller",
        /// On the host link, or waiting for it.
        Link = "link",
        /// Waiting for earlier data to be programmed: a flush, or a write with preflush.
        Flush = "flush",
        /// Waiting for a free slot of the write buffer.
        Slot = "slot",
        /// Waiting for a die that executes a host read: of another request, of another page of this one, or of the old
        /// copy for a partial write.
        HostRead = "host_read",
        /// Waiting for a die that executes a host program.
        HostProgram = "host_program",
        /// Waiting for a die that executes a read or a program of garbage collection.
        Collection = "collection",
        /// Waiting for a die that executes a read or a program of a merge.
        Merge = "merge",
        /// Waiting for a die that executes a read or a program of the map, including the read of its own map entry.
        Map = "map",
        /// Waiting for a die that executes a read or a program of wear levelling.
        Wear = "wear",
        /// Waiting for a die that executes an erase.
        Erase = "erase",
        /// Waiting while a die suspends an operation for a read, or resumes it.
        Suspension = "suspension",
        /// Waiting for the channel.
        Channel = "channel",
        /// Served by the array or the channel.
        Served = "served",
        /// Array time of retries of its last read, or of a read on another plane in the same command. Behind the
        /// others, because it is absent if reads succeed at once.
        Retry = "retry",
        /// Waiting for a die that executes a read or a program of folding, by which pages leave an SLC cache. Behind
        /// the others as [`Self::Retry`] is.
        Fold = "fold",
        /// In its submission queue, before the drive fetches it. Behind the others as [`Self::Retry`] is.
        Front = "front",
    }
}

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts([Ns; Cause::COUNT]);

impl Parts {
    /// Sum over all causes.
    pub fn total(&self) -> Ns {
        self.0.iter().sum()
    }

    /// Adds another set of parts.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(part, more)| *part += more);
    }

    /// Difference to an earlier reading of the same clocks.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let mut parts = *self;
        parts.0.iter_mut().zip(earlier.0).for_each(|(part, before)| *part -= before);
        parts
    }

    /// The parts of an operation as seen by one that waited for it from the start: its time of service becomes `cause`.
    pub(super) fn for_waiters(mut self, cause: Cause) -> Self {
        let served = std::mem::take(&mut self[Cause::Served]);
        self[cause] += served;
        self
    }

    /// Each cause with its time, in order.
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
