//! Requests that are larger than the block layer lets one be, as Linux splits them (`bio_split_rw`): they enter it in
//! parts, in order of address, and end with the last of these. A part that finds no room waits in front of all that
//! come later and wait for the same. Discards are not split.

use flashloom_host::Completed;
use flashloom_units::{Ns, Violation, violation};
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::status::Status;

/// A request of which a part has entered the block layer, and that has not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Whole {
    request: Request,
    cookie: u32,
    /// What tells it from others, whose cookies may be the same.
    number: u64,
    /// Sectors of the parts that have entered so far.
    entered: u32,
    /// Parts that have entered and not ended.
    parts: u32,
    /// Time at which the first of them was dispatched.
    dispatched_ns: Ns,
    status: Status,
}

impl Whole {
    fn waits(&self) -> bool {
        self.entered < self.request.sectors
    }
}

/// The requests that are split.
pub(super) struct Splits {
    /// Sectors that a request has at most.
    most: u32,
    /// In order of arrival.
    wholes: Vec<Whole>,
    /// Their number so far.
    begun: u64,
    /// Member numbers of the parts that have entered and not ended, and the numbers of the requests that they are of.
    parts: Vec<(u32, u64)>,
    /// Requests of which a part waits for room.
    waiting: u32,
}

flashloom_units::state! { Splits { value wholes, begun, parts, waiting; fixed most; } }

impl Splits {
    pub(super) fn new(most: u32) -> Self {
        Self { most, wholes: Vec::new(), begun: 0, parts: Vec::new(), waiting: 0 }
    }

    /// True for a request that has to be split.
    #[inline]
    pub(super) fn splits(&self, request: &Request) -> bool {
        request.sectors > self.most && matches!(request.op, Op::Read | Op::Write)
    }

    /// True if no request is in parts.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wholes.is_empty()
    }

    /// True if a part waits for room.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The part of a request that follows those of `entered` sectors.
    fn part(&self, request: &Request, entered: u32) -> Request {
        let mut part = *request;
        part.lba += u64::from(entered);
        part.sectors = self.most.min(request.sectors - entered);
        part
    }

    /// Follows a part of a request in parts that has entered.
    fn entered(&mut self, place: usize, part: &Request, member: u32) {
        let whole = &mut self.wholes[place];
        self.parts.push((member, whole.number));
        whole.entered += part.sectors;
        whole.parts += 1;
        self.waiting -= u32::from(!whole.waits());
    }

    /// Follows what has ended. Returns the request that ended with it, if one did: its own if it is no part.
    pub(super) fn ended(&mut self, ended: &Completed, status: Status) -> Option<(Completed, Status)> {
        let Some(part) = self.parts.iter().position(|&(member, _)| member == ended.member) else {
            return Some((*ended, status));
        };
        let (_, number) = self.parts.swap_remove(part);
        let place = self.wholes.iter().position(|whole| whole.number == number)?;
        let whole = &mut self.wholes[place];
        whole.parts -= 1;
        whole.dispatched_ns = whole.dispatched_ns.min(ended.dispatched_ns);
        whole.status = whole.status.and(status);
        if whole.parts > 0 || whole.waits() {
            return None;
        }
        let Whole { request, dispatched_ns, status, .. } = self.wholes.remove(place);
        Some((Completed { sectors: request.sectors, dispatched_ns, ..*ended }, status))
    }

    /// Forgets requests that will not end, because the drive's life has.
    pub(super) fn abandon(&mut self) {
        self.wholes.clear();
        self.parts.clear();
        self.waiting = 0;
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        match self.wholes.first() {
            None => Ok(()),
            Some(whole) => Err(violation!("host: a request in parts has not ended: {whole:?}")),
        }
    }
}

impl Engine {
    /// Submits a request in parts; false if there is no room for the first.
    #[cold]
    pub(super) fn enter_in_parts(&mut self, request: &Request, cookie: u32) -> bool {
        let first = self.splits.part(request, 0);
        if !self.enter_whole(&first, cookie) {
            return false;
        }
        let (request, number, status) = (*request, self.splits.begun, Status::DONE);
        self.splits.wholes.push(Whole {
            request,
            cookie,
            number,
            entered: 0,
            parts: 0,
            dispatched_ns: Ns::MAX,
            status,
        });
        self.splits.begun += 1;
        self.splits.waiting += 1;
        self.splits.entered(self.splits.wholes.len() - 1, &first, self.host.newest_member());
        self.enter_rest();
        true
    }

    /// Submits the parts that wait for room, of each request until one finds none.
    #[cold]
    pub(super) fn enter_rest(&mut self) {
        for place in 0..self.splits.wholes.len() {
            while self.splits.wholes[place].waits() {
                let Whole { request, cookie, entered, .. } = self.splits.wholes[place];
                let part = self.splits.part(&request, entered);
                if !self.enter_whole(&part, cookie) {
                    break;
                }
                self.splits.entered(place, &part, self.host.newest_member());
            }
        }
    }

    /// True if a part waits for the room that a request asks for.
    #[cold]
    pub(super) fn is_behind_a_part(&self, request: &Request) -> bool {
        let line = self.host.line_of(request);
        let is_before = |whole: &Whole| whole.waits() && self.host.line_of(&whole.request) == line;
        request.op != Op::Flush && self.splits.wholes.iter().any(is_before)
    }
}
