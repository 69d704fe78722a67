//! What a caller of the engine can do wrong.

use std::fmt;

use flashloom_units::Ns;
use flashloom_workload::Op;

/// Why the engine refused a call. Nothing has changed then, and the next call can do better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The time has passed.
    Past {
        /// The time of the call.
        now_ns: Ns,
        /// The time that the engine has come to.
        engine_ns: Ns,
    },
    /// Something is due before the time of a submission: the engine is to be advanced first.
    Skipped {
        /// The time of the call.
        now_ns: Ns,
        /// When something is due.
        due_ns: Ns,
    },
    /// The time is later than [`crate::Engine::LAST_NS`].
    TooLate {
        /// The time of the call.
        now_ns: Ns,
    },
    /// The request arrives after the time of its submission.
    NotArrived {
        /// When it arrives.
        arrival_ns: Ns,
        /// The time of the call.
        now_ns: Ns,
    },
    /// The cookie is that of a request that has not come back yet.
    CookieInUse(u32),
    /// The request ends after the last sector of the drive.
    BeyondEnd {
        /// Its first sector.
        lba: u64,
        /// Its length in sectors.
        sectors: u32,
        /// Sectors of the drive.
        capacity_sectors: u64,
    },
    /// The request has no sectors, and its operation needs some.
    NoSectors(Op),
    /// The request is for a queue that the target does not have.
    NoQueue {
        /// Its queue.
        queue: u8,
        /// Queues of the target.
        queues: usize,
    },
    /// What was asked for can only be followed from the first request on, and there was one.
    Begun,
    /// What was asked for takes time, and the engine does not.
    Untimed,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Past { now_ns, engine_ns } => {
                write!(f, "{now_ns} ns has passed: the engine has come to {engine_ns} ns")
            }
            Self::Skipped { now_ns, due_ns } => {
                write!(f, "a request cannot arrive at {now_ns} ns before what is due at {due_ns} ns has happened")
            }
            Self::TooLate { now_ns } => {
                write!(f, "{now_ns} ns is later than the engine can count: {} ns", crate::Engine::LAST_NS)
            }
            Self::NotArrived { arrival_ns, now_ns } => {
                write!(f, "a request that arrives at {arrival_ns} ns cannot be submitted at {now_ns} ns")
            }
            Self::CookieInUse(cookie) => {
                write!(f, "cookie {cookie} is that of a request that has not come back yet")
            }
            Self::BeyondEnd { lba, sectors, capacity_sectors } => {
                write!(f, "{sectors} sectors from sector {lba} on end after the {capacity_sectors} of the drive")
            }
            Self::NoQueue { queue, queues } => write!(f, "there is no queue {queue} among the {queues} of the target"),
            Self::Begun => f.write_str("the engine was given requests already"),
            Self::Untimed => f.write_str("nothing takes time in this engine, so there are no latencies"),
            Self::NoSectors(op) => write!(f, "a request of no sectors cannot be a {op:?}"),
        }
    }
}

impl std::error::Error for Misuse {}
