//! The kernel's clock: the ticks in which schedulers of blk-mq measure time (docs/linux-schedulers.md, "The clock").

use flashloom_units::{MS, Ns, S};

/// Time after which a scheduler that had requests and sent none is asked again: `BLK_MQ_BUDGET_DELAY`.
const RETRY_NS: Ns = 3 * MS;

/// A clock of so many ticks a second that began at time zero.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    hz: u32,
}

impl Ticks {
    /// Makes a clock of `hz` ticks a second.
    pub fn new(hz: u32) -> Self {
        Self { hz }
    }

    /// Number of ticks a second.
    pub fn a_second(self) -> u64 {
        u64::from(self.hz)
    }

    /// The tick that a moment lies in.
    pub fn at(self, now: Ns) -> u64 {
        (u128::from(now) * u128::from(self.hz) / u128::from(S)) as u64
    }

    /// The first moment of a tick; `Ns::MAX` if it is further away than that.
    pub fn moment(self, tick: u64) -> Ns {
        Ns::try_from((u128::from(tick) * u128::from(S)).div_ceil(self.hz.into())).unwrap_or(Ns::MAX)
    }

    /// When a scheduler that had requests and sent none is asked again.
    pub fn retry(self, now: Ns) -> Ns {
        self.moment(self.at(now) + self.lasting(RETRY_NS))
    }

    /// Whole ticks of a duration.
    pub fn whole(self, duration_ns: Ns) -> u64 {
        self.at(duration_ns)
    }

    /// Ticks of a duration, rounded up.
    pub fn lasting(self, duration_ns: Ns) -> u64 {
        (u128::from(duration_ns) * u128::from(self.hz)).div_ceil(S.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_begins_at_its_first_nanosecond_and_durations_are_rounded_up() {
        let ticks = Ticks::new(250);
        assert_eq!((ticks.at(4 * MS - 1), ticks.at(4 * MS), ticks.moment(1)), (0, 1, 4 * MS));
        assert_eq!((ticks.lasting(3 * MS), ticks.lasting(500 * MS), ticks.lasting(0)), (1, 125, 0));
    }

    #[test]
    fn the_first_moment_of_a_tick_lies_in_it_where_ticks_are_no_whole_nanoseconds() {
        let ticks = Ticks::new(300);
        for tick in 0..1_000 {
            let moment = ticks.moment(tick);
            assert_eq!(ticks.at(moment), tick);
            assert!(tick == 0 || ticks.at(moment - 1) == tick - 1, "{tick}");
        }
    }
}
