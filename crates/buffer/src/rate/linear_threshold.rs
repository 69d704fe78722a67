//! Linear threshold: evict before the buffer is full, the more at a time the fuller it is (named as future work by
//! CAVE, section 4.2).
//!
//! ```text
//! occupied <= low:   nothing
//! occupied >  low:   keep  dies * (occupied - low) / (high - low), rounded up,  victims on their way to flash
//! and never fewer pages than pages that wait, as far as `buffer.admission` has them count
//! superpages of p pages:  p pages on their way make one of these
//!
//! with a floor:   held = occupied + on their way + waiting;  most = the highest held since the marks moved last
//! held < high and most > high as given:               both marks fall by the difference, high not below the floor
//! else, once a buffer of pages was sent since then:   both marks rise by (high as given) - most, not above it
//! ```
//!
//! `low` and `high` are shares of the buffer's capacity. A victim is a page or a block, depending on the replacement
//! policy, and is on its way until its last page is programmed: a block occupies one chip, however many pages it has.
//! Eviction goes on until the low mark even when no more is written: each victim that is programmed lets another leave.
//! `occupied` counts the dirty pages, and the clean pages that cannot be dropped before a dirty one; other clean pages
//! are free room. A request then seldom finds the buffer full, at the price of hits that a page evicted late would have
//! had. O(1).
//!
//! The marks that follow bursts are those of WOW (Gill and Modha, FAST 2005, section IV-E; US patent 7,496,714), on
//! which STOW, CAVE's reference 4, goes on. There the high mark starts at the occupancy that is wanted, 90 %, the low
//! one lies 10 % of the cache below, and the floor is 10 %; here the given marks keep their distance as far as there is
//! room. What is enough time since the last move is left open there: here as many pages as the buffer has. Pages that
//! wait count, so that the marks know by how much a burst was too large; where writes get in whole, at most half of the
//! buffer does.

use flashloom_units::{
    Capability, Divisor, Kind, PolicySpec, Reader, Refusal, State, StateError, Value, Writer, params,
};

use super::{Occupancy, Rate, RateSetup};

params! {
    /// Parameters of the linear threshold.
    pub struct LinearThresholdParams {
        /// Share of the buffer above which eviction begins.
        low: f64 => "low", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "A lower mark keeps more room free and absorbs fewer rewrites.";
        /// Share of the buffer at which as many victims as dies are being programmed at a time.
        high: f64 => "high", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.9),
            "A mark near `low` turns eviction on at once, one far above it by degrees.";
        /// Share of the buffer to which `high` may fall after bursts that went beyond it; `low` falls with it. Both
        /// stay if not given.
        floor: Option<f64> => "floor", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Absent,
            "A lower floor has room for larger bursts, and absorbs fewer rewrites after them.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "linear-threshold",
    summary: "evicts before the buffer is full, the more at a time the fuller it is",
    details: "Between two marks the number of victims that are being programmed, pages or blocks depending on the \
              replacement policy, grows from none to one for each die. A low mark that is not below the high one acts \
              as a single threshold. With `floor` both marks fall by what a burst went beyond the high one, and rise \
              again when bursts are smaller.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2, future work; Gill and Modha: WOW, FAST 2005, section IV-E, for \
             `floor`",
    example: "buffer.rate=linear-threshold buffer.linear-threshold.low=0.25 buffer.linear-threshold.high=0.75",
    instead: "To repeat a paper that evicts only when the buffer is full, use `single` or `cave`. They also keep pages \
              longer, which counts where the buffer is small and pages are written again late.",
    offers: &[Capability::SAVED_STATE],
    params: LinearThresholdParams::PARAMS,
    ..PolicySpec::BLANK
};

/// Refuses a floor to which the high mark cannot fall.
///
/// # Errors
/// The floor is above the high mark.
pub(super) fn check(params: LinearThresholdParams, _on: &RateSetup) -> Result<(), Refusal> {
    let LinearThresholdParams { high, floor, .. } = params;
    let Some(floor) = floor.filter(|&floor| floor > high) else { return Ok(()) };
    let found = format!("a floor at {floor}, with the high mark at {high}");
    let refusal = Refusal::new(found, "a floor not above `buffer.linear-threshold.high`, which falls to it".to_owned());
    Err(refusal.at(["buffer.linear-threshold.floor", "buffer.linear-threshold.high"]))
}

pub(super) struct LinearThreshold {
    params: LinearThresholdParams,
    dies: u32,
    superpage: Divisor,
    /// None if the marks stay.
    bursts: Option<Bursts>,
}

// Marks that stay save nothing, as in saved drives from before there were others.
impl State for LinearThreshold {
    fn save(&self, to: &mut Writer) {
        self.bursts.iter().for_each(|bursts| bursts.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.bursts.iter_mut().try_for_each(|bursts| bursts.load(from))
    }
}

/// How far the marks have fallen after bursts, in pages.
#[derive(Default)]
struct Bursts {
    lowered: u32,
    /// The most that the buffer held, or was to hold, since the marks moved last.
    most: u32,
    /// Pages sent to flash since then.
    sent: u32,
    /// Pages on their way when asked last.
    evicting: u32,
}

flashloom_units::state! { Bursts { value lowered, most, sent, evicting; } }

impl Bursts {
    /// Moves the marks, of which the high one is given as `high` and may fall to `floor`.
    fn observe(&mut self, occupancy: &Occupancy, high: u32, floor: u32) {
        let Occupancy { pages, occupied, evicting, waiting, .. } = *occupancy;
        let held = occupied.saturating_add(evicting).saturating_add(waiting);
        self.most = self.most.max(held);
        self.sent = self.sent.saturating_add(evicting.saturating_sub(self.evicting));
        self.evicting = evicting;
        if held < high.saturating_sub(self.lowered) && self.most > high {
            self.lowered = self.lowered.saturating_add(self.most - high).min(high.saturating_sub(floor));
        } else if self.sent >= pages && self.most <= high {
            self.lowered = self.lowered.saturating_sub(high - self.most);
        } else {
            return;
        }
        (self.most, self.sent) = (held, 0);
    }
}

impl LinearThreshold {
    pub(super) fn new(params: LinearThresholdParams, on: &RateSetup) -> Self {
        let bursts = params.floor.map(|_| Bursts::default());
        Self { params, dies: on.dies, superpage: Divisor::new(on.superpage), bursts }
    }

    /// Number of dies that should have a victim to program.
    fn wanted(&self, occupancy: &Occupancy) -> u32 {
        let pages = f64::from(occupancy.pages);
        let filled = f64::from(occupancy.occupied) / pages;
        let lowered = self.bursts.as_ref().map_or(0.0, |bursts| f64::from(bursts.lowered) / pages);
        let (low, high) = ((self.params.low - lowered).max(0.0), self.params.high - lowered);
        if filled <= low {
            return 0;
        }
        let range = high - low;
        let share = if range > 0.0 { ((filled - low) / range).min(1.0) } else { 1.0 };
        (f64::from(self.dies) * share).ceil() as u32
    }
}

flashloom_units::component! { LinearThreshold }

impl Rate for LinearThreshold {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        let LinearThresholdParams { high, floor, .. } = self.params;
        if let (Some(bursts), Some(floor)) = (&mut self.bursts, floor) {
            let mark = |share: f64| (f64::from(occupancy.pages) * share) as u32;
            bursts.observe(occupancy, mark(high), mark(floor));
        }
        let Occupancy { leaving, evicting, waiting, .. } = *occupancy;
        // One at a time, because what has left may have filled half a superpage.
        let busy = leaving.min(self.superpage.quotient(evicting));
        // No more are ever wanted than dies.
        u32::from(evicting < waiting || (busy < self.dies && busy < self.wanted(occupancy)))
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::{load_state, save_state};

    use super::*;

    /// Of a buffer of 100 pages, with one page a victim.
    fn occupancy(occupied: u32, leaving: u32, waiting: u32) -> Occupancy {
        Occupancy { pages: 100, occupied, evicting: leaving, leaving, waiting }
    }

    /// With 8 dies.
    fn threshold(low: f64, high: f64, superpage: u32) -> LinearThreshold {
        let params = LinearThresholdParams { low, high, floor: None };
        LinearThreshold { params, dies: 8, superpage: Divisor::new(superpage), bursts: None }
    }

    #[test]
    fn victims_on_their_way_grow_with_what_the_buffer_holds() {
        let mut rate = threshold(0.5, 0.9, 1);
        assert_eq!([50, 51, 60, 70, 90, 100].map(|pages| rate.wanted(&occupancy(pages, 0, 0))), [0, 1, 2, 4, 8, 8]);
        assert_eq!([(50, 0), (70, 3), (70, 4)].map(|(held, out)| rate.victims(&occupancy(held, out, 0))), [0, 1, 0]);
        let step = threshold(0.9, 0.5, 1);
        assert_eq!([90, 91].map(|pages| step.wanted(&occupancy(pages, 0, 0))), [0, 8]);
    }

    #[test]
    fn a_block_on_its_way_keeps_one_die_busy_however_many_pages_it_has() {
        let blocks = |leaving| Occupancy { evicting: 64 * leaving, ..occupancy(90, leaving, 0) };
        let mut rate = threshold(0.5, 0.9, 2);
        assert_eq!([1, 7, 8].map(|leaving| rate.victims(&blocks(leaving))), [1, 1, 0]);
    }

    #[test]
    fn a_die_that_programs_superpages_has_one_on_its_way_and_not_a_page() {
        let mut rate = threshold(0.5, 0.9, 4);
        assert_eq!(rate.wanted(&occupancy(60, 0, 0)), 2);
        assert_eq!([0, 1, 4, 7, 8].map(|pages| rate.victims(&occupancy(60, pages, 0))), [1, 1, 1, 1, 0]);
    }

    #[test]
    fn pages_that_wait_have_as_many_pages_on_their_way() {
        let mut rate = threshold(0.5, 0.9, 1);
        assert_eq!([4, 5].map(|evicting| rate.victims(&Occupancy { evicting, ..occupancy(20, 1, 5) })), [1, 0]);
    }

    /// A rate with marks at 50 and 90 pages of 100, and how far they have fallen after what the buffer held.
    fn lowered(floor: f64, held: &[(u32, u32)]) -> u32 {
        let mut rate = threshold(0.5, 0.9, 1);
        (rate.params.floor, rate.bursts) = (Some(floor), Some(Bursts::default()));
        for &(occupied, waiting) in held {
            rate.victims(&occupancy(occupied, 0, waiting));
        }
        rate.bursts.unwrap().lowered
    }

    #[test]
    fn marks_fall_by_what_a_burst_went_beyond_the_high_one_once_it_is_over() {
        assert_eq!(lowered(0.1, &[(95, 0), (100, 20), (90, 0)]), 0, "it is not over");
        assert_eq!(lowered(0.1, &[(95, 0), (100, 20), (89, 0)]), 30);
        assert_eq!(lowered(0.1, &[(100, 20), (89, 0), (88, 0)]), 30, "once a burst");
        assert_eq!(lowered(0.1, &[(100, 20), (89, 0), (100, 0), (60, 0)]), 30, "the mark is at 60: it is not over");
        assert_eq!(lowered(0.1, &[(100, 20), (89, 0), (70, 0), (100, 0), (59, 0)]), 40, "the mark is at 60");
        assert_eq!(lowered(0.1, &[(100, 200), (50, 0)]), 80, "the floor is at 10");
        assert_eq!(lowered(0.1, &[(90, 0), (10, 0)]), 0, "nothing went beyond it");
    }

    #[test]
    fn fallen_marks_evict_sooner_and_keep_their_distance() {
        let wanted = |lowered, occupied| {
            let bursts = Some(Bursts { lowered, ..Bursts::default() });
            LinearThreshold { bursts, ..threshold(0.5, 0.9, 1) }.wanted(&occupancy(occupied, 0, 0))
        };
        assert_eq!([20, 21, 40, 60, 100].map(|pages| wanted(30, pages)), [0, 1, 4, 8, 8]);
        assert_eq!([0, 1, 10, 100].map(|pages| wanted(80, pages)), [0, 1, 8, 8], "low is at 0");
    }

    #[test]
    fn marks_rise_again_when_a_buffer_of_pages_was_sent_and_none_went_beyond_the_high_one() {
        let mut bursts = Bursts { lowered: 30, ..Bursts::default() };
        let mut send = |occupied, evicting| {
            bursts.observe(&occupancy(occupied, evicting, 0), 90, 10);
            bursts.lowered
        };
        assert_eq!([0; 9].map(|_| send(50, 20)), [30; 9], "those on their way were sent once");
        // Twenty pages at a time, with 70 or 80 held at most.
        let turns: Vec<u32> = (0..10).flat_map(|turn| [send(50, 0), send(50 + 30 * (turn / 9), 20)]).collect();
        assert_eq!(turns, [[30; 7].as_slice(), &[10; 10], &[0; 3]].concat());
    }

    #[test]
    fn a_floor_above_the_high_mark_is_refused() {
        let checked = |high: f64, floor: f64| {
            let params = LinearThresholdParams { low: 0.5, high, floor: Some(floor) };
            check(params, &RateSetup { dies: 8, superpage: 1 }).map_err(|refusal| refusal.to_string())
        };
        assert_eq!([checked(0.9, 0.1), checked(0.9, 0.9)], [Ok(()), Ok(())]);
        let refused = checked(0.9, 0.95).expect_err("the mark cannot fall there");
        assert!(refused.contains("0.95") && refused.contains("0.9"), "{refused}");
    }

    #[test]
    fn marks_that_may_fall_are_saved_and_marks_that_stay_save_nothing() {
        let with = |bursts| LinearThreshold { bursts, ..threshold(0.5, 0.9, 1) };
        assert_eq!(save_state(&with(None)), Ok(Vec::new()));
        let saved = save_state(&with(Some(Bursts { lowered: 30, most: 95, sent: 7, evicting: 3 }))).unwrap();
        let mut loaded = with(Some(Bursts::default()));
        load_state(&mut loaded, &saved).unwrap();
        let Bursts { lowered, most, sent, evicting } = loaded.bursts.unwrap();
        assert_eq!((lowered, most, sent, evicting), (30, 95, 7, 3));
    }
}
