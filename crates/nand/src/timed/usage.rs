//! What an array with time tells of its use: busy times, idle dies, and service times of reads.

use flashloom_units::Ns;

use super::{Busiest, Channel, Die, PageReads, Used, Utilization};
use crate::{DieId, Nand};

impl Nand {
    /// Busy time of channels and dies; `None` in counting mode.
    pub fn utilization(&self) -> Option<Utilization> {
        let timed = self.timed.as_ref()?;
        let channels = || timed.channels.iter().map(|channel| channel.busy_ns);
        let dies = || timed.dies.iter().map(|die| die.busy_ns);
        let Used { write_ns, collection_ns, programs, erases } = timed.used;
        Some(Utilization {
            channel_busy_ns: channels().map(u128::from).sum(),
            die_busy_ns: dies().map(u128::from).sum(),
            busiest_channel: Busiest::of(channels()),
            busiest_die: Busiest::of(dies()),
            write_ns,
            collection_ns,
            programs,
            erases,
            moved_sectors: timed.channels.iter().map(|channel| channel.moved_sectors).sum(),
        })
    }

    /// Whether a die has neither an operation under way nor one that could begin on it. True in counting mode.
    pub fn is_idle(&self, die: DieId) -> bool {
        let Some(timed) = &self.timed else { return true };
        let Die { active, staged, suspended, classes, .. } = &timed.dies[die.at()];
        active.is_none() && staged.is_none() && suspended.is_none() && *classes == 0
    }

    /// Starts measuring the service times of host reads, in timed mode. Without this call it costs nothing.
    pub fn observe_host_reads(&mut self) {
        if let Some(timed) = &mut self.timed {
            timed.host_reads.get_or_insert_default();
            self.choose_path();
        }
    }

    /// Service times of the host reads; `None` in counting mode, or if they are not measured.
    pub fn host_reads(&self) -> Option<PageReads> {
        self.timed.as_ref()?.host_reads
    }

    /// Busy time of each die until `now`, in order of their numbers; empty in counting mode. `now` must not be before
    /// the array's time or after its next event.
    pub fn die_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(|timed| &timed.dies).map(move |die| die.busy_until(now))
    }

    /// Busy time of each channel until `now`, like [`Self::die_busy_ns`].
    pub fn channel_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(|timed| &timed.channels).map(move |channel| channel.busy_until(now))
    }
}

impl Die {
    fn busy_until(&self, now: Ns) -> Ns {
        let is_occupied = self.active.is_some() || self.suspended.is_some();
        self.busy_ns + if is_occupied { now - self.busy_since } else { 0 }
    }
}

impl Channel {
    /// `busy_ns` includes transfers that are reserved and still in the future. These follow each other without a gap,
    /// so their time after `now` is the time until the channel is free.
    fn busy_until(&self, now: Ns) -> Ns {
        self.busy_ns - self.free_ns.saturating_sub(now)
    }
}
