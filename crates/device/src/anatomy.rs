//! The anatomy of latency: where each nanosecond of a request went.

mod cause;
mod sums;

use flashloom_nand::Origin;
use flashloom_units::{Lpn, Ns, Ppn};
use flashloom_workload::Request;

use crate::status::Status;
pub use cause::{Cause, Parts};
pub use sums::{AnatomyReport, Sums, Tail};

/// A request that has ended, with its anatomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// As the workload issued it, before merging.
    pub request: Request,
    /// When it was let into the block layer, after it was held for `nr_requests` if it was.
    pub admitted_ns: Ns,
    /// When the command that it is part of went to the drive.
    pub dispatched_ns: Ns,
    /// When it completed or failed.
    pub ended_ns: Ns,
    /// How.
    pub status: Status,
    /// First sector and length of the command that went to the drive: more than the request's own where it was merged.
    pub command: (u64, u32),
    /// Where the time went, from arrival to end; the parts add up to its latency.
    pub parts: Parts,
    /// The flash operation that it waited for last, if it waited for one.
    pub last: Option<LastOperation>,
}

impl Served {
    /// From arrival to end.
    pub fn latency_ns(&self) -> Ns {
        self.ended_ns - self.request.arrival_ns
    }
}

/// The flash operation at the end of a request's critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastOperation {
    /// Which logical page.
    pub lpn: Lpn,
    /// Which physical page.
    pub ppn: Ppn,
    /// Whether it is a program, not a read.
    pub is_program: bool,
    /// On whose behalf; of a request's own pages that is the host.
    pub origin: Origin,
    /// When the FTL asked for it.
    pub issued_ns: Ns,
    /// When a die took it up.
    pub started_ns: Ns,
    /// When it was done.
    pub ended_ns: Ns,
}
