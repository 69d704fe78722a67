//! Busy time of dies and channels at any time.

use flashloom_units::Ns;

use super::{Channel, Die, Timed};

impl Timed {
    /// Time that each die was occupied until `now`, at which nothing has happened since the array's own.
    pub(crate) fn die_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.dies.iter().map(move |die| die.busy_until(now))
    }

    /// Time that each channel carried something until `now`.
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
    /// A transfer is accounted for when it is booked, and those booked ahead follow each other without a gap.
    fn busy_until(&self, now: Ns) -> Ns {
        self.busy_ns - self.free_ns.saturating_sub(now)
    }
}
