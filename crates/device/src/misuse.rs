//! Errors of a target's caller.

use std::fmt;

use flashloom_units::Ns;
use flashloom_workload::{Op, Request};

/// Why a target refused a call. The target is unchanged, so a corrected call can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The time has passed.
    Past {
        /// The time of the call.
        now_ns: Ns,
        /// The target's current time.
        target_ns: Ns,
    },
    /// An event is pending before the time of a submission: advance the engine first.
    Skipped {
        /// The time of the call.
        now_ns: Ns,
        /// Time of the pending event.
        due_ns: Ns,
    },
    /// The time is later than [`Engine::LAST_NS`](crate::Engine::LAST_NS).
    TooLate {
        /// The time of the call.
        now_ns: Ns,
    },
    /// The request arrives after the time of its submission.
    NotArrived {
        /// Its arrival time.
        arrival_ns: Ns,
        /// The time of the call.
        now_ns: Ns,
    },
    /// The cookie is that of an outstanding request.
    CookieInUse(u32),
    /// The request ends after the last sector of the target.
    BeyondEnd {
        /// Its first sector.
        lba: u64,
        /// Its length in sectors.
        sectors: u32,
        /// Sectors of the target.
        capacity_sectors: u64,
    },
    /// The request has no sectors, and is not a flush.
    NoSectors(Op),
    /// The request is for a queue that the target does not have.
    NoQueue {
        /// Its queue.
        queue: u8,
        /// The number of queues of the target.
        queues: usize,
    },
    /// Anatomies can only be recorded from the first request on, and the engine has had requests.
    Begun,
    /// Anatomies need an engine in timed mode.
    Untimed,
}

impl Misuse {
    /// Checks the time of a call to a target whose current time is `target_ns`.
    ///
    /// # Errors
    /// [`Self::Past`] and [`Self::TooLate`].
    #[inline]
    pub fn check_time(now_ns: Ns, target_ns: Ns) -> Result<(), Self> {
        match now_ns {
            _ if now_ns < target_ns => Err(Self::Past { now_ns, target_ns }),
            _ if now_ns > Request::LAST_ARRIVAL_NS => Err(Self::TooLate { now_ns }),
            _ => Ok(()),
        }
    }

    /// Checks the sectors of a request to a target of `capacity_sectors`.
    ///
    /// # Errors
    /// [`Self::NoSectors`] and [`Self::BeyondEnd`].
    #[inline]
    pub fn check_sectors(request: &Request, capacity_sectors: u64) -> Result<(), Self> {
        let Request { lba, sectors, op, .. } = *request;
        if sectors == 0 && op != Op::Flush {
            return Err(Self::NoSectors(op));
        }
        if lba.checked_add(u64::from(sectors)).is_none_or(|end| end > capacity_sectors) {
            return Err(Self::BeyondEnd { lba, sectors, capacity_sectors });
        }
        Ok(())
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Past { now_ns, target_ns } => {
                write!(f, "{now_ns} ns has passed: the target has come to {target_ns} ns")
            }
            Self::Skipped { now_ns, due_ns } => {
                write!(f, "a request cannot arrive at {now_ns} ns before what is due at {due_ns} ns has happened")
            }
            Self::TooLate { now_ns } => {
                write!(f, "{now_ns} ns is later than the engine can count: {} ns", Request::LAST_ARRIVAL_NS)
            }
            Self::NotArrived { arrival_ns, now_ns } => {
                write!(f, "a request that arrives at {arrival_ns} ns cannot be submitted at {now_ns} ns")
            }
            Self::CookieInUse(cookie) => {
                write!(f, "cookie {cookie} is that of a request that has not come back yet")
            }
            Self::BeyondEnd { lba, sectors, capacity_sectors } => {
                write!(f, "{sectors} sectors from sector {lba} on end after the {capacity_sectors} of the target")
            }
            Self::NoQueue { queue, queues } => write!(f, "there is no queue {queue} among the {queues} of the target"),
            Self::Begun => f.write_str("the engine was given requests already"),
            Self::Untimed => f.write_str("nothing takes time in this engine, so there are no latencies"),
            Self::NoSectors(op) => write!(f, "a request of no sectors cannot be a {op:?}"),
        }
    }
}

impl std::error::Error for Misuse {}
