//! Delta, the chips that a stream is split over: a number that is given, or the ratio of what reads take.
//!
//! ```text
//! every delta_reads pages read from flash for the host:
//!     chip      a page's time in its chip, from when a die takes it up until it is in the registers
//!     channel   its time on the channel
//!     overhead  its time on the link, and its share of the controller's time for its command
//!     delta_channel = overhead:  Delta = ceil(chip / (channel + overhead))
//!     delta_channel = chip:      Delta = ceil((chip + channel) / overhead)
//! at least 1; at most the chips, as many as there are where nothing else takes time, and the pages of a stream
//! ```
//!
//! Section 3 of the paper: Delta "is determined by the ratio between the read latency of a NAND chip and the sum of
//! other FTL overheads". It leaves open how often the ratio is taken, what Delta is before (delta_start), what becomes
//! of a ratio that is no whole number, and whether the channel belongs to the chip or to the others. Rounded up,
//! because fewer chips would be waited for. Times are those of service, on average over the pages since the last
//! choice: a wait for a chip grows with the load, and with the Delta that it would set.

use flashloom_nand::PageReads;
use flashloom_units::{Choice, FieldType, Ns, Value, choice};

use crate::allocation::ObservedRead;

choice! {
    /// Side of the ratio that a page's time on the channel counts on.
    pub enum ChannelTime {
        /// With link and controller: chips of one channel take turns on it.
        Overhead = "overhead",
        /// With the read latency of the chip, whose registers are taken until the page has left them.
        Chip = "chip",
    }
}

/// Chips that a stream is split over, as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substreams {
    /// So many.
    Fixed(u32),
    /// As many as what reads take asks for.
    Auto,
}

pub(super) const AUTO: Choice =
    Choice { name: "auto", help: "As many as have to read at once to keep up with all else that a read takes." };

impl FieldType for Substreams {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Name(_) => Self::Auto,
            count => Self::Fixed(u32::from_value(count)),
        }
    }
}

/// How the ratio of what reads take is made.
pub(super) struct Ratio {
    /// Chips until the first choice.
    pub start: u32,
    /// Pages read between two choices.
    pub reads: u64,
    pub channel: ChannelTime,
}

/// Delta now, and what was read since it was chosen.
pub(super) struct Delta {
    chips: u32,
    /// The time of pages in the array when it was chosen last.
    since: PageReads,
    /// Pages that went to the host since then, and their time of link and controller.
    delivered: u64,
    interface_ns: Ns,
    most: u32,
    substreams: Substreams,
    interval: u64,
    channel_time: ChannelTime,
}

flashloom_units::state! {
    Delta {
        below chips [*most + 1];
        value since, delivered, interface_ns;
        fixed most, substreams, interval, channel_time;
    }
}

impl Delta {
    /// For a drive of so many chips. Ageing takes no time, and ends with the Delta that it began with.
    pub(super) fn new(substreams: Substreams, ratio: &Ratio, chips: u32) -> Self {
        let given = if let Substreams::Fixed(given) = substreams { given } else { ratio.start };
        Self {
            chips: given,
            since: PageReads::default(),
            delivered: 0,
            interface_ns: 0,
            most: chips.max(given),
            substreams,
            interval: ratio.reads,
            channel_time: ratio.channel,
        }
    }

    #[inline]
    pub(super) fn chips(&self) -> u32 {
        self.chips
    }

    /// Whether what reads take decides.
    pub(super) fn is_auto(&self) -> bool {
        self.substreams == Substreams::Auto
    }

    /// The figure for reports: none where it is given.
    pub(super) fn reported(&self) -> Option<u64> {
        self.is_auto().then_some(self.chips.into())
    }

    /// Whether it is a Delta that the configuration can have.
    pub(super) fn is_possible(&self) -> bool {
        match self.substreams {
            Substreams::Fixed(given) => self.chips == given,
            Substreams::Auto => self.chips > 0,
        }
    }

    /// A page went to the host.
    pub(super) fn observe(&mut self, read: ObservedRead) {
        self.delivered = self.delivered.saturating_add(1);
        self.interface_ns = self.interface_ns.saturating_add(read.interface_ns);
        // Saturating, because a state that was loaded may say anything.
        if read.array.pages.saturating_sub(self.since.pages) >= self.interval {
            self.choose(read.array);
        }
    }

    fn choose(&mut self, array: PageReads) {
        let part = |of: fn(&PageReads) -> u64| u128::from(of(&array).saturating_sub(of(&self.since)));
        let (pages, delivered) = (part(|reads| reads.pages), u128::from(self.delivered));
        // Times a page, over one denominator: pages of flash have the array's, all that went to the host the others.
        let (array_ns, channel_ns) = (part(|reads| reads.array_ns), part(|reads| reads.channel_ns));
        let (chip_ns, others_ns) = match self.channel_time {
            ChannelTime::Overhead => (array_ns, channel_ns),
            ChannelTime::Chip => (array_ns + channel_ns, 0),
        };
        let chip = chip_ns.saturating_mul(delivered);
        let overhead = others_ns.saturating_mul(delivered).saturating_add(pages * u128::from(self.interface_ns));
        let most = u128::from(self.most);
        self.chips = if overhead == 0 { most } else { chip.div_ceil(overhead).clamp(1, most) } as u32;
        (self.since, self.delivered, self.interface_ns) = (array, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::{Prng, load_state, save_state};

    /// A Delta that reads decide every so many pages, on a drive of 8 chips.
    fn auto(reads: u64, channel: ChannelTime) -> Delta {
        Delta::new(Substreams::Auto, &Ratio { start: 1, reads, channel }, 8)
    }

    /// Delta after as many reads as it takes, each of so many microseconds in chip, channel, and link and controller.
    fn after(channel_time: ChannelTime, [chip_us, channel_us, interface_us]: [u64; 3]) -> u32 {
        let mut delta = auto(4, channel_time);
        for pages in 1..=4 {
            assert_eq!(delta.chips(), 1, "until enough was read");
            let (array_ns, channel_ns) = (pages * chip_us * 1_000, pages * channel_us * 1_000);
            let array = PageReads { pages, array_ns, channel_ns };
            delta.observe(ObservedRead { interface_ns: interface_us * 1_000, array });
        }
        delta.chips()
    }

    #[test]
    fn delta_is_the_ratio_of_the_chip_to_everything_else_rounded_up() {
        let overhead = |times| after(ChannelTime::Overhead, times);
        assert_eq!(overhead([150, 10, 40]), 3, "the paper's 150 us and 50 us");
        assert_eq!(overhead([150, 10, 39]), 4, "a little more than 3");
        assert_eq!(overhead([150, 150, 0]), 1);
        assert_eq!(overhead([10, 150, 0]), 1, "never none");
        assert_eq!(overhead([1_500, 10, 40]), 8, "no more than there are chips");
        assert_eq!(overhead([150, 0, 0]), 8, "where nothing else takes time");
        let chip = |times| after(ChannelTime::Chip, times);
        assert_eq!(chip([150, 10, 40]), 4);
        assert_eq!(chip([20, 100, 40]), 3);
        assert_eq!(chip([20, 100, 0]), 8);
    }

    /// Every page's times in a list, and averages over those since the last choice, in floating point.
    struct Naive {
        flash: Vec<[f64; 2]>,
        interface: Vec<f64>,
        chips: u32,
    }

    impl Naive {
        fn deliver(&mut self, interface_ns: u64, interval: u64, channel_time: ChannelTime) {
            self.interface.push(interface_ns as f64);
            if self.flash.len() < interval as usize {
                return;
            }
            let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
            let of = |at: usize| mean(&self.flash.iter().map(|times| times[at]).collect::<Vec<_>>());
            let (mut chip, mut others) = (of(0), mean(&self.interface));
            *(if channel_time == ChannelTime::Chip { &mut chip } else { &mut others }) += of(1);
            // A ratio that is whole but for the last digits of a floating number is whole.
            let ratio = (chip / others - 1e-9).ceil();
            self.chips = if others == 0.0 { 8 } else { ratio.clamp(1.0, 8.0) as u32 };
            (self.flash, self.interface) = (Vec::new(), Vec::new());
        }
    }

    /// Random reads, of which some come from the write buffer; half-way the state is saved and loaded into a new one.
    #[test]
    fn delta_is_that_of_lists_of_every_page_on_random_reads() {
        for seed in 0..300 {
            let mut prng = Prng::new(seed);
            let interval = 1 + prng.below(20);
            let channel_time = if prng.chance(0.5) { ChannelTime::Chip } else { ChannelTime::Overhead };
            let mut delta = auto(interval, channel_time);
            let mut naive = Naive { flash: Vec::new(), interface: Vec::new(), chips: 1 };
            let mut array = PageReads::default();
            let most = [1, 40, 200].map(|most| most + prng.below(60));
            for step in 0..400 {
                let [interface_ns, channel_ns, array_ns] = most.map(|most| prng.below(most));
                if prng.chance(0.7) {
                    naive.flash.push([array_ns as f64, channel_ns as f64]);
                    array.pages += 1;
                    array.array_ns += array_ns;
                    array.channel_ns += channel_ns;
                }
                delta.observe(ObservedRead { interface_ns, array });
                naive.deliver(interface_ns, interval, channel_time);
                assert_eq!(delta.chips(), naive.chips, "seed {seed}, step {step}");
                if step == 200 {
                    let saved = save_state(&delta).unwrap();
                    delta = auto(interval, channel_time);
                    load_state(&mut delta, &saved).unwrap();
                }
            }
        }
    }
}
