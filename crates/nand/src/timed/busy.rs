//! Busy time of dies and channels up to any time.

use flashloom_units::Ns;

use super::{Channel, Die, Timed};

impl Timed {
    /// Busy time of each die up to `now`; no event is due between the array's time and `now`.
    pub(crate) fn die_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.dies.iter().map(move |die| die.busy_until(now))
    }

    /// Busy time of each channel up to `now`.
    pub(crate) fn channel_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.channels.iter().map(move |channel| channel.busy_until(now))
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
