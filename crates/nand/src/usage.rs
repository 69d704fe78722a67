//! What an array with time tells of its use: busy times, idle dies, and service times of reads.

use flashloom_units::Ns;

use crate::{DieId, Nand, PageReads, Utilization};

impl Nand {
    /// Busy time of channels and dies; `None` in counting mode.
    pub fn utilization(&self) -> Option<Utilization> {
        self.timed.as_ref().map(|timed| timed.utilization())
    }

    /// Whether a die has neither an operation under way nor one that could begin on it. True in counting mode.
    pub fn is_idle(&self, die: DieId) -> bool {
        self.timed.as_ref().is_none_or(|timed| timed.is_idle(die))
    }

    /// Starts measuring the service times of host reads, in timed mode. Without this call it costs nothing.
    pub fn observe_host_reads(&mut self) {
        self.timed.iter_mut().for_each(|timed| timed.observe_host_reads());
    }

    /// Service times of the host reads; `None` in counting mode, or if they are not measured.
    pub fn host_reads(&self) -> Option<PageReads> {
        self.timed.as_ref().and_then(|timed| timed.host_reads())
    }

    /// Busy time of each die until `now`, in order of their numbers; empty in counting mode. `now` must not be before
    /// the array's time or after its next event.
    pub fn die_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(move |timed| timed.die_busy_ns(now))
    }

    /// Busy time of each channel until `now`, like [`Self::die_busy_ns`].
    pub fn channel_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(move |timed| timed.channel_busy_ns(now))
    }
}
