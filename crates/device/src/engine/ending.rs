//! How a run ends: with its last request, with what the buffer still holds, or with the drive's life.

use super::{Engine, Idle};
use crate::outcome::Outcome;
use crate::status::Reason;
use crate::target::Terms;

/// What a run agreed on about its end, and how far it has come.
#[derive(Default)]
pub(super) struct Ending {
    /// Whether the drive is left as it is when its life ends, for [`Engine::cut`].
    stops: bool,
    has_stopped: bool,
    drain: Drain,
    /// What was measured until the drive's life ended, where the run ended with it.
    cut: Option<Box<Outcome>>,
}

/// What becomes of pages that only the buffer holds.
#[derive(Clone, Copy, Default)]
enum Drain {
    /// They stay there.
    #[default]
    No,
    /// They will be written once the last request has completed.
    AtTheEnd,
    /// So many are being, or have been, written.
    Begun(u64),
}

impl Engine {
    /// A run ends on these terms. An engine that is to stop stands still when the drive's life ends: nothing fails
    /// before [`Self::cut`].
    pub(super) fn end_on(&mut self, terms: Terms) {
        let ending = &mut self.ending;
        ending.stops = terms.stops_at_end_of_life;
        ending.has_stopped = ending.stops && self.ended_ns.is_some();
        if terms.drains && matches!(ending.drain, Drain::No) {
            ending.drain = Drain::AtTheEnd;
        }
    }

    /// Whether the drive's life has ended in an engine that stands still then.
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

    /// Whether all requests have ended and nothing has to be written any more. If something has, it is now, and its
    /// time is part of the run's.
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

    /// Writes what only the buffer holds, in place of background work; returns how many pages that is.
    fn drain_buffer(&mut self) -> u64 {
        self.idle = Idle::No;
        let pages = self.drive.drain_buffer(self.now);
        self.follow_life();
        pages
    }

    /// Pages that the end of a run had to write; nothing where it leaves them in the buffer.
    pub(super) fn drained_pages(&self) -> Option<u64> {
        if let Drain::Begun(pages) = self.ending.drain { Some(pages) } else { None }
    }

    /// What was measured when the run was cut.
    pub(super) fn outcome_at_cut(&self) -> Option<Outcome> {
        self.ending.cut.as_deref().cloned()
    }

    /// The drive's life has ended, and the run with it: what was measured is what was until now, and all that had
    /// arrived and was not done has failed.
    pub(super) fn cut(&mut self) {
        if self.ending.cut.is_none() {
            self.report.failed[Reason::EndOfLife.at()] += self.report.outstanding();
            self.ending.cut = Some(Box::new(self.outcome()));
            self.abandon();
        }
    }

    /// Drains a drive that has stopped, without reporting what comes back.
    #[cold]
    fn abandon(&mut self) {
        self.drive.end_life(self.now);
        loop {
            while let Some((id, _)) = self.drive.take_completed() {
                self.host.fail(self.now, id, |_| {});
            }
            let Some(at) = self.drive_due() else { break };
            self.step(at, at);
        }
    }
}
