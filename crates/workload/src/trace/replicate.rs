//! A replicate of a recording: its requests in their order, begun elsewhere, and arriving a little earlier.
//!
//! ```text
//! beginning  one of the 64 requests after the first, or of an eighth of a shorter recording, is drawn; the requests
//!            before it follow the last one, after the gap that was before the beginning
//! arrival    each moment at which requests arrive comes earlier by up to a quarter of the gap before it, but by at
//!            most 100 us, and the last one not at all; requests of one moment stay together, and a beginning does not
//!            part them
//! ```
//!
//! Recordings do not say why they begin where they do, nor when requests would arrive on another day, so neither may
//! decide a comparison. Every request is replayed once, the order changes at the beginning alone, and the time from the
//! first arrival to the last stays: the rate of arrivals is the recording's in every replicate. Beginnings are few and
//! near, because a drive at its start is not as it is later: begun anywhere in the first eighth, recordings came out up
//! to 11 % faster or slower than as they are.

use flashloom_units::{Ns, Prng, Problem, US};

use crate::{Request, Source};

/// Number of requests at one of which a replicate begins, at most.
const BEGINNINGS_MAX: u64 = 64;
/// Share of a short recording in which a replicate may begin: one request in this many.
const BEGINNINGS: u64 = 8;
/// Share of the gap before it by which a moment may come earlier: one part in this many.
const SHIFTS: Ns = 4;
/// Time by which a moment may come earlier, at most.
const SHIFT_NS_MAX: Ns = 100 * US;

/// A source that replays a recording from another request on.
pub(crate) struct Replicate<S, O> {
    /// Opens the recording at its start.
    open: O,
    source: S,
    /// Number of requests of the recording.
    requests: u64,
    /// Number of requests from the recording's start that follow its last one.
    moved: u64,
    /// True if requests of one moment are not parted; false if times do not matter.
    keeps_moments: bool,
    /// Number of requests returned so far.
    returned: u64,
    /// The request read while the beginning was looked for.
    first: Option<Request>,
    /// Recorded arrival of the recording's first request, of the one that the replicate begins with, of the one that it
    /// ends with, and of the recording's last one, once it was read.
    origin_ns: Ns,
    begin_ns: Ns,
    end_ns: Ns,
    last_ns: Ns,
    moment: Moment,
    shifts: Prng,
}

/// The moment of the request returned last, in the time of the replicate.
#[derive(Clone, Copy, Default)]
struct Moment {
    /// Arrival without a shift.
    at_ns: Ns,
    /// Arrival with it.
    shifted_ns: Ns,
}

impl<S: Source, O: Fn() -> Result<S, Problem>> Replicate<S, O> {
    /// A replicate of the `requests` requests of a recording, drawn from `prng`.
    ///
    /// # Errors
    /// The recording cannot be opened.
    pub fn new(open: O, requests: u64, keeps_moments: bool, prng: &Prng) -> Result<Self, Problem> {
        let beginnings = (requests / BEGINNINGS).clamp(2, BEGINNINGS_MAX).min(requests.saturating_sub(1).max(1));
        Ok(Self {
            source: open()?,
            open,
            requests,
            moved: 1 + prng.branch("beginning").below(beginnings),
            keeps_moments,
            returned: 0,
            first: None,
            origin_ns: 0,
            begin_ns: 0,
            end_ns: 0,
            last_ns: 0,
            moment: Moment::default(),
            shifts: prng.branch("shifts"),
        })
    }

    /// Skips the requests that come at the end, and those that arrive with the last of them.
    fn begin(&mut self) -> Result<(), Problem> {
        for number in 0..self.moved {
            let Some(request) = self.source.next_request()? else { break };
            self.end_ns = request.arrival_ns;
            if number == 0 {
                self.origin_ns = request.arrival_ns;
            }
        }
        self.first = self.source.next_request()?;
        while self.keeps_moments
            && self.moved < self.requests
            && let Some(first) = self.first
            && first.arrival_ns == self.end_ns
        {
            self.moved += 1;
            self.first = self.source.next_request()?;
        }
        if self.first.is_none() || self.moved >= self.requests {
            // Everything from the drawn request on arrives at one moment: the replicate begins as the recording does.
            self.moved = 0;
            self.source = (self.open)()?;
            self.first = self.source.next_request()?;
        }
        self.begin_ns = self.first.map_or(0, |request| request.arrival_ns);
        Ok(())
    }

    /// The next request, as it was recorded, and its arrival in the time of the replicate, without a shift.
    fn next_unshifted(&mut self) -> Result<Option<(Request, Ns)>, Problem> {
        if self.returned == 0 {
            self.begin()?;
        }
        let before_seam = self.requests - self.moved.min(self.requests);
        if self.returned == before_seam && self.moved > 0 {
            self.source = (self.open)()?;
        }
        if self.returned >= self.requests {
            return Ok(None);
        }
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => self.source.next_request()?,
        };
        let Some(request) = next else { return Ok(None) };
        let at_ns = if self.returned < before_seam {
            self.last_ns = request.arrival_ns;
            request.arrival_ns - self.begin_ns
        } else {
            // The gap before the beginning closes the round, so that a replicate takes as long as the recording.
            request.arrival_ns - self.origin_ns + (self.last_ns - self.end_ns)
        };
        self.returned += 1;
        Ok(Some((request, at_ns)))
    }

    /// Arrival of a request that would arrive at `at_ns`, and is one of the last moment or not.
    fn shifted(&mut self, at_ns: Ns, is_last: bool) -> Ns {
        let gap_ns = at_ns - self.moment.at_ns;
        if gap_ns > 0 {
            let limit_ns = if is_last { 0 } else { (gap_ns / SHIFTS).min(SHIFT_NS_MAX) };
            self.moment = Moment { at_ns, shifted_ns: at_ns - self.shifts.below(limit_ns + 1) };
        }
        self.moment.shifted_ns
    }
}

impl<S: Source, O: Fn() -> Result<S, Problem>> Source for Replicate<S, O> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some((mut request, at_ns)) = self.next_unshifted()? else { return Ok(None) };
        request.arrival_ns = self.shifted(at_ns, request.arrival_ns == self.end_ns);
        Ok(Some(request))
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.source.address_problem(found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use proptest::prelude::*;

    fn request(arrival_ns: Ns, lba: u64) -> Request {
        Request::new(Op::Read, lba, 8).arriving_at(arrival_ns)
    }

    /// The replicate of a recording whose requests arrive after these gaps; the address of each is its number.
    fn replicate(gaps: &[Ns], keeps_moments: bool, seed: u64) -> Vec<Request> {
        replicate_of(gaps, gaps.len(), keeps_moments, seed)
    }

    /// That of its first `requests` requests.
    fn replicate_of(gaps: &[Ns], requests: usize, keeps_moments: bool, seed: u64) -> Vec<Request> {
        let mut now = 0;
        let number = |(lba, gap): (usize, &Ns)| {
            now += gap;
            request(now, lba as u64)
        };
        let recording: Vec<Request> = gaps.iter().enumerate().map(number).collect();
        let open = || Ok(&recording[..]);
        let prng = Prng::new(seed);
        let mut source = Replicate::new(open, requests as u64, keeps_moments, &prng).expect("a list can be opened");
        std::iter::from_fn(|| source.next_request().expect("a list can be read")).collect()
    }

    proptest! {
        #[test]
        fn the_requests_are_those_of_the_recording_and_their_order_is_one_rotation(
            gaps in prop::collection::vec(prop_oneof![Just(0u64), 1u64..2_000_000], 1..60),
            keeps_moments: bool,
            seed: u64,
        ) {
            let made = replicate(&gaps, keeps_moments, seed);
            let first = made[0].lba;
            let rotated: Vec<u64> = (first..gaps.len() as u64).chain(0..first).collect();
            prop_assert_eq!(made.iter().map(|request| request.lba).collect::<Vec<_>>(), rotated);
            prop_assert_eq!(made[0].arrival_ns, 0);
            prop_assert!(made.windows(2).all(|pair| pair[0].arrival_ns <= pair[1].arrival_ns));
        }

        #[test]
        fn a_moment_stays_one_and_comes_earlier_by_a_quarter_of_its_gap_at_most(
            gaps in prop::collection::vec(prop_oneof![Just(0u64), 1u64..2_000_000], 2..60), seed: u64,
        ) {
            let made = replicate(&gaps, true, seed);
            let recorded: Vec<Ns> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            prop_assert!(gaps[made[0].lba as usize] > 0 || made[0].lba == 0, "a moment was parted");
            for pair in made.windows(2) {
                let [from, to] = [pair[0].lba as usize, pair[1].lba as usize];
                // At the seam it is the gap before the beginning.
                let gap = if to > from { recorded[to] - recorded[from] } else { gaps[made[0].lba as usize] };
                let ours = pair[1].arrival_ns - pair[0].arrival_ns;
                prop_assert_eq!(gap == 0, ours == 0);
                prop_assert!(ours >= gap - (gap / 4).min(100_000) && ours <= gap + 100_000, "{} {}", gap, ours);
            }
        }
    }

    #[test]
    fn a_replicate_takes_as_long_as_the_recording() {
        // Moments of one to three requests, every tenth after a long gap; the recording does not begin at zero.
        let gaps: Vec<Ns> =
            (0..4_000).map(|number| [7_000_000, 0, 1_000][number % 3] * (1 + number as u64 % 10)).collect();
        let span: Ns = gaps[1..].iter().sum();
        for seed in 0..200 {
            let made = replicate(&gaps, true, seed);
            assert_eq!([made[0].arrival_ns, made[3_999].arrival_ns], [0, span], "seed {seed}");
        }
    }

    #[test]
    fn the_beginnings_are_spread_over_the_first_requests() {
        for (requests, beginnings) in [(4, 2), (80, 10), (800, 64)] {
            let begins = |seed| replicate(&vec![1; requests], false, seed)[0].lba;
            let first: Vec<u64> = (0..400).map(begins).collect();
            assert!(first.iter().all(|first| (1..=beginnings).contains(first)), "{requests}");
            // Of 400 draws 200 are expected in either half: five sigma are 50.
            let count = first.iter().filter(|first| **first <= beginnings / 2).count();
            assert!((150..=250).contains(&count), "{requests}: {count}");
        }
    }

    /// Where it cannot begin elsewhere without parting a moment it begins as the recording does.
    #[test]
    fn a_moment_that_goes_on_behind_the_last_request_is_left_where_it_is() {
        for seed in 0..20 {
            let same = [0; 20];
            let of_one_moment: Vec<Ns> = same.iter().copied().chain([9, 1]).collect();
            let of_two: Vec<Ns> = [0, 5].into_iter().chain(same).chain([4, 3]).collect();
            for (gaps, last_ns) in [(of_one_moment, 0), (of_two, 5)] {
                let made = replicate_of(&gaps, 10, true, seed);
                let lbas: Vec<u64> = made.iter().map(|request| request.lba).collect();
                assert!(made.len() == 10 && made[9].arrival_ns == last_ns, "{made:?}");
                assert!(lbas == (0..10).collect::<Vec<_>>() || lbas == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0], "{lbas:?}");
            }
        }
    }

    #[test]
    fn requests_without_times_begin_elsewhere_only_where_times_do_not_matter() {
        let begins = |keeps_moments| (0..50).any(|seed| replicate(&[0; 64], keeps_moments, seed)[0].lba > 0);
        assert_eq!([begins(false), begins(true)], [true, false]);
    }
}
