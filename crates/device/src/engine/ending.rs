//! The end of a run: at its last request, after a drain of the buffer, or at the drive's end of life.

use super::{Engine, Idle};
use crate::outcome::Outcome;
use crate::status::Reason;
use crate::target::Terms;

/// The rules for a run's end, and the state of the drain.
#[derive(Default)]
pub(super) struct Ending {
    /// True if the engine stops at the drive's end of life and leaves the rest to [`Engine::cut`].
    stops: bool,
    has_stopped: bool,
    drain: Drain,
    /// Figures up to the drive's end of life, if the run ended there.
    cut: Option<Box<Outcome>>,
}

/// Drain of the pages that only the buffer holds.
#[derive(Clone, Copy, Default)]
enum Drain {
    /// No drain.
    #[default]
    No,
    /// A drain after the last request.
    AtTheEnd,
    /// A drain of this many pages, begun or done.
    Begun(u64),
}

impl Engine {
    /// Sets the rules for the run's end. An engine that stops at the drive's end of life halts there, and no request
    /// fails before [`Self::cut`].
    pub(super) fn end_on(&mut self, terms: Terms) {
        let ending = &mut self.ending;
        ending.stops = terms.stops_at_end_of_life;
        ending.has_stopped = ending.stops && self.ended_ns.is_some();
        if terms.drains && matches!(ending.drain, Drain::No) {
            ending.drain = Drain::AtTheEnd;
        }
    }

    /// True if the engine has halted at the drive's end of life.
    #[inline]
    pub(super) fn has_stopped(&self) -> bool {
        self.ending.has_stopped
    }

    #[inline]
    pub(super) fn follow_life(&mut self) {
        if self.drive.is_worn_out() && self.ended_ns.is_none() {
            self.end_life();
        }
    }

    #[cold]
    fn end_life(&mut self) {
        self.ended_ns = Some(self.now);
        self.ending.has_stopped = self.ending.stops;
        if !self.ending.stops {
            self.drive.end_life(self.now);
            self.look();
        }
    }

    /// True if all requests have ended and the buffer is drained, if it has to be. Begins the drain otherwise, whose
    /// time is part of the run.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.report.outstanding() > 0 {
            return false;
        }
        if let Drain::AtTheEnd = self.ending.drain {
            self.ending.drain = Drain::Begun(self.drain_buffer());
        }
        let is_over = self.drive.is_idle();
        if is_over && matches!(self.ending.drain, Drain::Begun(_)) {
            self.report.duration_ns = self.now;
        }
        is_over
    }

    /// Evicts all dirty pages, in place of background work; returns their number.
    fn drain_buffer(&mut self) -> u64 {
        self.idle = Idle::No;
        let pages = self.drive.drain_buffer(self.now);
        self.follow_life();
        pages
    }

    /// Pages written by the drain; `None` without one.
    pub(super) fn drained_pages(&self) -> Option<u64> {
        if let Drain::Begun(pages) = self.ending.drain { Some(pages) } else { None }
    }

    /// The figures taken when the run was cut.
    pub(super) fn outcome_at_cut(&self) -> Option<Outcome> {
        self.ending.cut.as_deref().cloned()
    }

    /// Ends the run at the drive's end of life: takes the figures up to now, and fails all outstanding requests.
    pub(super) fn cut(&mut self) {
        if self.ending.cut.is_none() {
            self.report.failed[Reason::EndOfLife.at()] += self.report.outstanding();
            self.ending.cut = Some(Box::new(self.outcome()));
            self.abandon();
        }
    }

    /// Processes the remaining events of a stopped drive without reporting completions.
    #[cold]
    fn abandon(&mut self) {
        self.drive.end_life(self.now);
        self.splits.abandon();
        loop {
            while let Some((id, _)) = self.drive.take_completed() {
                self.host.fail(self.now, id, |_| {});
            }
            let Some(at) = self.drive_due() else { break };
            self.step(at, at);
        }
    }
}
