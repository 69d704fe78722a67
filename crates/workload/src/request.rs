//! One request of the host's block layer.

use flashloom_units::{Capability, Ns};
use serde::{Deserialize, Serialize};

/// Requests that carry task ids. It depends on the workload.
pub const TASK_IDS: Capability = Capability::new("requests that carry task ids");

/// Operation that a request asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Op {
    /// Transfers data to the host.
    Read,
    /// Transfers data to the device.
    Write,
    /// Tells the device that the data is no longer needed (TRIM, UNMAP).
    Discard,
    /// Makes completed writes durable (flush); carries no data and has neither address nor length.
    Flush,
}

/// A request as it arrives at the host's block layer. 32 bytes, because millions of them pass through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Arrival time, in nanoseconds from the start of the workload.
    pub arrival_ns: Ns,
    /// First 512-byte sector; zero for a flush.
    pub lba: u64,
    /// Length in sectors, at least one; zero for a flush.
    pub sectors: u32,
    /// Id of the issuing task (process); zero for all requests of a workload without task ids.
    pub task: u32,
    /// Latency on the recorded device, in nanoseconds up to 4.2 s; zero if the trace does not record it.
    pub recorded_latency_ns: u32,
    /// Operation.
    pub op: Op,
    /// [`Request::SYNC`], [`Request::FUA`] and [`Request::PREFLUSH`], or-ed together.
    pub flags: u8,
}

impl Request {
    /// Latest possible arrival time: 146 years after the first request of the workload.
    pub const LAST_ARRIVAL_NS: Ns = 1 << 62;
    /// A task waits for the request: set on every read, and on synchronous writes.
    pub const SYNC: u8 = 1;
    /// A write that must be durable when it completes (force unit access).
    pub const FUA: u8 = 2;
    /// A write that the device precedes with a flush.
    pub const PREFLUSH: u8 = 4;

    /// True if a flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The sector after the last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// True if a task waits for it.
    #[inline]
    pub fn is_sync(&self) -> bool {
        self.op == Op::Read || self.has(Self::SYNC)
    }
}

const _: () = assert!(size_of::<Request>() == 32);
