//! Generator of requests that fit a published characterisation.
//!
//! The footprint lies in zones spread over the span, by seed. Each zone has a front: everything before it has been
//! touched. A request either continues where the previous one ended, or jumps: to the front of a zone while less has
//! been touched than the footprint needs at this point of the stream, else to a random place before a front. Reads and
//! jumps are drawn without replacement (selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2), so that
//! their shares are exact at the end.

mod target;

use flashloom_units::{MIB, Prng, Problem, Refusal, SECTOR_BYTES, format_size};

use crate::trace::TouchedPages;
use crate::{Op, Request, Source};
pub(crate) use target::SPEC;
pub use target::{Character, Characterisation, SynthesizedParams};

/// Sectors of a page, the unit of footprints.
const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: u64 = PAGE_SECTORS * SECTOR_BYTES;
/// Maximum number of zones.
const MOST_ZONES: u64 = 64;
/// Gaps between zones are whole multiples of at most this: the stripe of 64 chips with blocks of 256 pages of 16 KiB.
const LARGEST_STEP_PAGES: u64 = 256 * MIB / PAGE_BYTES;
/// Minimum number of steps that all gaps together have, so that zones lie apart in a narrow span too.
const LEAST_STEPS: u64 = 8;
/// Attempts of a jump to find a random place, before it takes the next zone that has one.
const TRIES: u32 = 16;

/// Selection sampling: of `left` draws to come, exactly `wanted` return true, in random order.
struct Selection {
    left: u64,
    wanted: u64,
}

impl Selection {
    fn new(share: f64, of: u64) -> Self {
        Self { left: of, wanted: (share * of as f64).round() as u64 }
    }

    fn draw(&mut self, prng: &mut Prng) -> bool {
        prng.below(self.left) < self.wanted
    }

    /// Records the outcome of a draw.
    fn settle(&mut self, yes: bool) {
        self.left -= 1;
        // Where more were forced than are wanted, none are left; the shortfall of the others is made up for later.
        self.wanted = self.wanted.saturating_sub(u64::from(yes)).min(self.left);
    }
}

/// A part of the span, in sectors, touched up to its front.
struct Zone {
    start: u64,
    front: u64,
    end: u64,
}

impl Zone {
    /// Sector at which a request of `sectors` sectors continues the zone; at the zone's end, the request that ends with
    /// it.
    fn front_for(&self, sectors: u64) -> u64 {
        self.front.min(self.end - sectors)
    }
}

/// A source of requests that fit a characterisation.
pub struct Synthesized {
    target: Character,
    zones: Vec<Zone>,
    /// Zone and sector at which the previous request ended.
    last: Option<(usize, u64)>,
    reads: Selection,
    jumps: Selection,
    made: u64,
    touched_sectors: u64,
    sized: u64,
    /// Second size of a pair.
    second: Option<u64>,
    prng: Prng,
}

fn refuse(key: &str, found: String, expected: String) -> Refusal {
    Refusal::new(found, expected).at([format!("workload.synthesized.{key}")])
}

/// Refuses a footprint that the requests are too few to touch, naming the three keys that can be at fault.
fn check_reach(target: &Character) -> Result<(), Refusal> {
    let reached = (target.requests as f64 * target.mean_bytes) as u64 / PAGE_BYTES * PAGE_BYTES;
    if target.footprint_bytes <= reached {
        return Ok(());
    }
    let (footprint, mean) = (format_size(target.footprint_bytes), format_size(target.mean_bytes.round() as u64));
    let needed = ((target.footprint_bytes + PAGE_BYTES) as f64 / target.mean_bytes).ceil() as u64;
    let keys = ["requests", "footprint", "mean_request_size"].map(|key| format!("workload.synthesized.{key}"));
    let found = format!("{} requests of {mean} on average for a footprint of {footprint}", target.requests);
    let expected = format!("at least {needed} requests, so that together they reach the whole footprint");
    let help = "raise the number of requests, or lower workload.synthesized.footprint";
    Err(Refusal::new(found, expected).at(keys).help(help))
}

impl Synthesized {
    /// A stream for a device of `capacity` sectors. A refusal names the key that does not fit.
    pub fn new(params: &SynthesizedParams, capacity: u64, prng: &Prng) -> Result<Self, Refusal> {
        let target = params.target();
        let capacity_bytes = capacity.saturating_mul(SECTOR_BYTES);
        if target.span_bytes > capacity_bytes {
            let found =
                format!("a span of {} on a device of {}", format_size(target.span_bytes), format_size(capacity_bytes));
            return Err(refuse("span", found, "at most the capacity of the device".to_owned()));
        }
        if target.footprint_bytes > target.span_bytes / PAGE_BYTES * PAGE_BYTES {
            let [footprint, span] = [target.footprint_bytes, target.span_bytes].map(format_size);
            let found = format!("a footprint of {footprint} in a span of {span}");
            return Err(refuse("footprint", found, format!("at most {span}: the footprint lies within the span")));
        }
        check_reach(&target)?;
        let largest = (2.0 * target.mean_bytes) as u64;
        if largest > target.footprint_bytes / 2 {
            let found = format!("requests of up to {}", format_size(largest));
            let expected = format!("at most half the footprint of {}", format_size(target.footprint_bytes));
            return Err(refuse("mean_request_size", found, expected));
        }
        let jumps = Selection::new(target.random_share, target.requests - 1);
        let prng = prng.branch("synthesized");
        Ok(Self {
            zones: zones(&target, jumps.wanted, &mut prng.branch("zones")),
            target,
            last: None,
            reads: Selection::new(target.read_share, target.requests),
            jumps,
            made: 0,
            touched_sectors: 0,
            sized: 0,
            second: None,
            prng,
        })
    }

    /// Measures the characterisation of a stream by generating all of it.
    pub fn measure(params: &SynthesizedParams, capacity: u64, prng: &Prng) -> Result<Character, Problem> {
        let mut source = Self::new(params, capacity, prng)?;
        let mut pages = TouchedPages::default();
        let (mut sectors, mut reads, mut jumps, mut end_sector) = (0, 0u64, 0u64, 0);
        let mut last_end = None;
        while let Some(request) = source.next_request()? {
            pages.touch(&request);
            sectors += u64::from(request.sectors);
            reads += u64::from(request.op == Op::Read);
            jumps += u64::from(last_end.is_some_and(|end| end != request.lba));
            last_end = Some(request.end());
            end_sector = end_sector.max(request.end());
        }
        let requests = source.made;
        Ok(Character {
            random_share: jumps as f64 / (requests - 1) as f64,
            mean_bytes: (sectors * SECTOR_BYTES) as f64 / requests as f64,
            read_share: reads as f64 / requests as f64,
            requests,
            footprint_bytes: pages.bytes(),
            span_bytes: end_sector * SECTOR_BYTES,
        })
    }

    /// Draws the sectors of the next request. The sizes of each pair add up to twice the mean, to a sector over all
    /// pairs.
    fn sectors(&mut self) -> u64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let twice = 2.0 * self.target.mean_bytes / SECTOR_BYTES as f64;
        let pairs = (self.made / 2 + 1) as f64;
        let pair = (twice * pairs).round() as u64 - self.sized;
        self.sized += pair;
        let first = 1 + self.prng.below(pair - 1);
        self.second = Some(pair - first);
        first
    }

    /// True if less has been touched than the footprint needs by now; it grows in proportion to the requests made.
    fn is_behind(&self) -> bool {
        let due = self.target.footprint_bytes as f64 * (self.made + 1) as f64 / self.target.requests as f64;
        (self.touched_sectors * SECTOR_BYTES) < due as u64
    }

    /// Chooses zone and sector of a request that does not begin where the previous one ended.
    fn jump(&mut self, sectors: u64) -> (usize, u64) {
        let behind = self.is_behind();
        let count = self.zones.len() as u64;
        let is_other = |zone: usize, at: u64, last: Option<(usize, u64)>| last != Some((zone, at));
        if behind {
            // The first zone that is not touched to its end, from a random one on.
            let first = self.prng.below(count);
            let unfinished = (first..count).chain(0..first).find_map(|index| {
                let zone = &self.zones[index as usize];
                let front = zone.front_for(sectors);
                (zone.front < zone.end && is_other(index as usize, front, self.last)).then_some((index as usize, front))
            });
            if let Some(place) = unfinished {
                return place;
            }
        }
        for _ in 0..TRIES {
            let index = self.prng.below(count) as usize;
            let zone = &self.zones[index];
            let room = zone.front.saturating_sub(zone.start + sectors);
            if room > 0 {
                let at = zone.start + self.prng.below(room + 1);
                if is_other(index, at, self.last) {
                    return (index, at);
                }
            }
        }
        // Hardly any zone has room yet: the front of another, from a random one on, so that they are opened alike.
        let first = self.prng.below(count);
        let front = |index: u64| (index as usize, self.zones[index as usize].front_for(sectors));
        let other = (first..count).chain(0..first).map(front).find(|&(zone, at)| is_other(zone, at, self.last));
        other.unwrap_or((0, self.zones[0].start))
    }
}

/// Zones from the start to the end of the span: as many as there are jumps to reach them. Each has room for several of
/// the largest requests, and for several runs between two jumps, so that few runs are cut short by the end of a zone.
///
/// A drive chooses the chip of a page by the remainder of its address for some power of two. Two rules keep zones from
/// sharing remainders, which would send all requests to a few chips:
///
/// - Gaps are whole multiples of a step, a power of two above the stripe of nearly every drive: by their remainders the
///   zones lie end to end, and every chip has an equal part of the footprint.
/// - The number of zones is a prime, so that their starts, which are touched first and most often, divide every power
///   of two evenly. (Zones of 64 blocks each would all begin on one chip.)
fn zones(target: &Character, jumps: u64, prng: &mut Prng) -> Vec<Zone> {
    let pages = target.footprint_bytes / PAGE_BYTES;
    let largest_pages = (2.0 * target.mean_bytes / PAGE_BYTES as f64).ceil() as u64;
    let run_pages = target.requests * largest_pages / (jumps + 1);
    let most = (jumps / 8).min(pages / (4 * largest_pages + 8 * run_pages)).clamp(1, MOST_ZONES);
    let count = (2..=most).rev().find(|&count| is_prime(count)).unwrap_or(1);
    let untouched = target.span_bytes / PAGE_BYTES - pages;
    let step = prev_power_of_two(untouched / LEAST_STEPS).min(LARGEST_STEP_PAGES);
    // The steps fall before the zones at random; what they leave comes before the first. The last ends with the span.
    let mut steps_before = vec![0; count as usize];
    (0..untouched / step).for_each(|_| steps_before[prng.below(count) as usize] += 1);
    let mut end = untouched % step;
    let zone = |index: u64| {
        let share = pages * (index + 1) / count - pages * index / count;
        let start = end + steps_before[index as usize] * step;
        end = start + share;
        Zone { start: start * PAGE_SECTORS, front: start * PAGE_SECTORS, end: end * PAGE_SECTORS }
    };
    (0..count).map(zone).collect()
}

/// The largest power of two up to `number`; 1 for zero, so that it can divide.
fn prev_power_of_two(number: u64) -> u64 {
    1 << number.max(1).ilog2()
}

fn is_prime(number: u64) -> bool {
    (2..number).take_while(|divisor| divisor * divisor <= number).all(|divisor| !number.is_multiple_of(divisor))
}

impl Source for Synthesized {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        if self.made == self.target.requests {
            return Ok(None);
        }
        let sectors = self.sectors();
        let follows = self.last.filter(|&(zone, at)| at + sectors <= self.zones[zone].end);
        let (zone, at) = match (self.last, follows) {
            (None, _) => self.jump(sectors),
            (Some(last), follows) => {
                let jumps = follows.is_none() || self.jumps.draw(&mut self.prng);
                let place = if jumps { self.jump(sectors) } else { last };
                self.jumps.settle(place != last);
                place
            }
        };
        let front = &mut self.zones[zone].front;
        self.touched_sectors += (at + sectors).saturating_sub(*front);
        *front = (*front).max(at + sectors);
        self.last = Some((zone, at + sectors));
        let is_read = self.reads.draw(&mut self.prng);
        self.reads.settle(is_read);
        self.made += 1;
        let (op, flags) = if is_read { (Op::Read, Request::SYNC) } else { (Op::Write, 0) };
        let sectors = u32::try_from(sectors).expect("twice the greatest mean has fewer than 2^32 sectors");
        Ok(Some(Request::new(op, at, sectors).with_flags(flags)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::{GIB, KIB, ParamSet};
    use proptest::prelude::*;

    fn near(name: &str, value: f64, wanted: f64) {
        assert!((value - wanted).abs() <= 0.01 * wanted.max(0.1), "{name}: {value}, not {wanted}");
    }

    fn fits(params: &SynthesizedParams, seed: u64) {
        let target = params.target();
        let has = Synthesized::measure(params, 1 << 27, &Prng::new(seed)).expect("the targets go together");
        assert_eq!(has.requests, target.requests);
        near("random share", has.random_share, target.random_share);
        near("read share", has.read_share, target.read_share);
        near("mean size", has.mean_bytes, target.mean_bytes);
        near("footprint", has.footprint_bytes as f64, target.footprint_bytes as f64);
        near("span", has.span_bytes as f64, target.span_bytes as f64);
    }

    #[test]
    fn a_shortened_stream_of_every_characterisation_is_within_a_hundredth_of_its_target() {
        for choice in Characterisation::CHOICES {
            let preset = Characterisation::named(choice.name).expect("it is a choice");
            let full = SynthesizedParams { preset, ..SynthesizedParams::defaults() };
            let footprint_bytes = Some(full.target().footprint_bytes / 20);
            fits(&SynthesizedParams { requests: Some(200_000), footprint_bytes, ..full }, 1);
        }
    }

    /// Writes to the least and to the most loaded chip, relative to the average, on drives of 2 KiB pages whose logical
    /// blocks follow each other over the chips.
    fn shares_of_chips(params: &SynthesizedParams, seed: u64, chips: u64, block_pages: u64) -> (f64, f64) {
        let mut source = Synthesized::new(params, 1 << 27, &Prng::new(seed)).expect("the targets go together");
        let block_sectors = block_pages * 2 * KIB / SECTOR_BYTES;
        let mut written = vec![0u64; chips as usize];
        while let Some(request) = source.next_request().expect("a generator reads nothing") {
            // A request is shorter than a block, and most are far shorter.
            written[(request.lba / block_sectors % chips) as usize] += u64::from(request.sectors);
        }
        let mean = written.iter().sum::<u64>() as f64 / chips as f64;
        let of_mean = |sectors: Option<&u64>| sectors.map_or(0.0, |&sectors| sectors as f64 / mean);
        (of_mean(written.iter().min()), of_mean(written.iter().max()))
    }

    /// Chips, and pages per block.
    const DRIVES: [(u64, u64); 5] = [(8, 64), (8, 256), (16, 128), (32, 64), (64, 64)];

    fn fall_on_all_chips_alike(params: &SynthesizedParams, seed: u64, within: f64) {
        for (chips, block_pages) in DRIVES {
            let (least, most) = shares_of_chips(params, seed, chips, block_pages);
            assert!(
                1.0 - least < within && most - 1.0 < within,
                "{params:?}, {chips} chips of {block_pages} pages a block: {least:.3} to {most:.3} of the mean"
            );
        }
    }

    /// 40 MiB in 64 zones that began every 8 MiB fell on 5 of 32 chips with a span of 512 MiB, and on all chips with
    /// 500 MiB.
    #[test]
    fn writes_fall_on_all_chips_alike_whatever_the_span() {
        for choice in Characterisation::CHOICES {
            let preset = Characterisation::named(choice.name).expect("it is a choice");
            let full = SynthesizedParams { preset, ..SynthesizedParams::defaults() };
            let Character { footprint_bytes, span_bytes, random_share, .. } = full.target();
            for span_bytes in [span_bytes, span_bytes / 128 * 125].map(Some) {
                let footprint_bytes = Some(footprint_bytes.min(512 * MIB));
                let params = SynthesizedParams { requests: Some(200_000), footprint_bytes, span_bytes, ..full.clone() };
                // Where few requests jump, and then write much, chance is what is left.
                fall_on_all_chips_alike(&params, 1, if random_share >= 0.9 { 0.06 } else { 0.13 });
            }
        }
    }

    #[test]
    fn so_do_those_of_a_shortened_stream() {
        let (requests, footprint_bytes) = (Some(8_000), Some(40 * MIB));
        for span_bytes in [500, 512].map(|mib| Some(mib * MIB)) {
            let params = SynthesizedParams { requests, footprint_bytes, span_bytes, ..SynthesizedParams::defaults() };
            (1..=3).for_each(|seed| fall_on_all_chips_alike(&params, seed, 0.13));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_target_is_met_within_a_hundredth(
            random_share in 0.05f64..1.0, read_share in 0.0f64..1.0, mean_bytes in 4 * KIB..64 * KIB,
            requests in 40_000u64..80_000, reuse in 0.05f64..0.9, sparse in 1.0f64..20.0, seed: u64,
        ) {
            let footprint = (requests as f64 * mean_bytes as f64 * reuse) as u64 / PAGE_BYTES * PAGE_BYTES;
            let params = SynthesizedParams {
                random_share: Some(random_share),
                mean_bytes: Some(mean_bytes),
                read_share: Some(read_share),
                requests: Some(requests),
                footprint_bytes: Some(footprint),
                span_bytes: Some(((footprint as f64 * sparse) as u64).min(64 * GIB)),
                ..SynthesizedParams::defaults()
            };
            fits(&params, seed);
        }
    }

    #[test]
    fn what_cannot_be_met_names_its_key() {
        let key = |change: fn(&mut SynthesizedParams)| {
            let mut params = SynthesizedParams::defaults();
            change(&mut params);
            Synthesized::new(&params, 1 << 27, &Prng::new(1)).err().map(|refusal| refusal.keys.join(", "))
        };
        for (change, name) in [
            ((|p| p.footprint_bytes = Some(13 * GIB)) as fn(&mut SynthesizedParams), "footprint"),
            (|p| (p.footprint_bytes, p.mean_bytes) = (Some(64 * KIB), Some(32 * KIB)), "mean_request_size"),
        ] {
            assert_eq!(key(change), Some(format!("workload.synthesized.{name}")));
        }
    }
}
