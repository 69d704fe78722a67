//! Delta, the number of chips that a stream is split over: configured, or the ratio of measured read times.
//!
//! ```text
//! every delta_reads pages read from flash for the host:
//!     chip      mean time of a page in its chip, from when the die begins until the data is in the registers
//!     channel   mean transfer time on the channel
//!     overhead  mean time on the link, and share of the controller time of its command
//!     delta_channel = overhead:  Delta = ceil(chip / (channel + overhead))
//!     delta_channel = chip:      Delta = ceil((chip + channel) / overhead)
//! at least 1, at most the number of chips and the pages of a stream; the number of chips if the divisor is zero
//! ```
//!
//! Section 3 of the paper: Delta "is determined by the ratio between the read latency of a NAND chip and the sum of
//! other FTL overheads". It leaves open how often the ratio is taken, what Delta is before (delta_start), how a ratio
//! is rounded, and whether the channel belongs to the chip or to the overhead. It is rounded up, because the link would
//! wait for fewer chips. Times are means over the pages since the last choice, of service without waits: waits for a
//! chip grow with the load, and would depend on Delta itself.

use flashloom_nand::PageReads;
use flashloom_units::{Choice, Ns, OrName, choice};

use crate::allocation::ObservedRead;

choice! {
    /// Side of the ratio on which the channel time of a page counts.
    pub enum ChannelTime {
        /// As overhead, with link and controller: the chips of a channel share it.
        Overhead = "overhead",
        /// As read latency of the chip, whose registers hold the page until its transfer has ended.
        Chip = "chip",
    }
}

/// The configured number of chips that a stream is split over; by name it is chosen by the measured read times.
pub type Substreams = OrName<u32>;

pub(super) const AUTO: Choice =
    Choice { name: "auto", help: "As many as have to read at once to keep up with all else that a read takes." };

/// Parameters of the ratio.
pub(super) struct Ratio {
    /// Delta before the first choice.
    pub start: u32,
    /// Pages read between two choices.
    pub reads: u64,
    pub channel: ChannelTime,
}

/// The current Delta, and the reads since it was chosen.
pub(super) struct Delta {
    chips: u32,
    /// The array's totals of page times at the last choice.
    since: PageReads,
    /// Pages returned to the host since then, and their link and controller time.
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
    /// Delta for a drive with this many chips. It does not change while a drive is aged, because reads take no time
    /// then.
    pub(super) fn new(substreams: Substreams, ratio: &Ratio, chips: u32) -> Self {
        let given = substreams.number_or(ratio.start);
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

    /// True if Delta is chosen by read times.
    pub(super) fn is_auto(&self) -> bool {
        self.substreams == Substreams::Name
    }

    /// The figure for reports; `None` if Delta is fixed.
    pub(super) fn reported(&self) -> Option<u64> {
        self.is_auto().then_some(self.chips.into())
    }

    /// True if the configuration allows this Delta.
    pub(super) fn is_possible(&self) -> bool {
        match self.substreams {
            Substreams::Number(given) => self.chips == given,
            Substreams::Name => self.chips > 0,
        }
    }

    /// Counts a page returned to the host.
    pub(super) fn observe(&mut self, read: ObservedRead) {
        self.delivered = self.delivered.saturating_add(1);
        self.interface_ns = self.interface_ns.saturating_add(read.interface_ns);
        // Saturating, because a loaded state may contain any number.
        if read.array.pages.saturating_sub(self.since.pages) >= self.interval {
            self.choose(read.array);
        }
    }

    fn choose(&mut self, array: PageReads) {
        let part = |of: fn(&PageReads) -> u64| u128::from(of(&array).saturating_sub(of(&self.since)));
        let (pages, delivered) = (part(|reads| reads.pages), u128::from(self.delivered));
        // Mean times over a common denominator: array times are means over pages read from flash, link and controller
        // times over all pages returned to the host.
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

    /// An adaptive Delta on a drive of 8 chips, chosen again after every `reads` pages read.
    fn auto(reads: u64, channel: ChannelTime) -> Delta {
        Delta::new(Substreams::Name, &Ratio { start: 1, reads, channel }, 8)
    }

    /// Delta after enough reads with these service times in microseconds: chip, channel, and link with controller.
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

    /// A naive model: lists of every page's times, and floating-point means over those since the last choice.
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
            // Rounding errors must not push a whole ratio to the next number.
            let ratio = (chip / others - 1e-9).ceil();
            self.chips = if others == 0.0 { 8 } else { ratio.clamp(1.0, 8.0) as u32 };
            (self.flash, self.interface) = (Vec::new(), Vec::new());
        }
    }

    /// Random reads, some of them from the write buffer; half-way the state is saved and loaded into a new Delta.
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
