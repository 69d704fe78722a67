//! CAVE: when the buffer is full, evict as many victims at a time as there are chips (Park et al., SAC 2011, section
//! 4.2).
//!
//! ```text
//! when a page waits and no slot is about to be free:  evict `victims` victims (default: the number of dies)
//! ```
//!
//! A victim is a page or a block, depending on the replacement policy. Evicting one victim a chip keeps every chip
//! busy if each goes to a chip of its own: that is the paper's channel allocator, `ftl.placement`. Pages that are
//! evicted early absorb no more rewrites, which lowers the hit ratio of a small buffer.
//!
//! "A new request is blocked until victims are fully written to SSD", says the paper. With `wait = "own-page"` a slot
//! is free as soon as its own page is programmed, and the request continues when it has the slots that it needs; with
//! `wait = "batch"` it continues when all victims are programmed. O(1).

use flashloom_units::{Capability, Kind, PolicySpec, Value, choice, params};

use super::{Occupancy, Rate, RateSetup};

choice! {
    /// Event that a write waits for if it finds the buffer full.
    pub enum Wait {
        /// Free slots for its own pages.
        OwnPage = "own-page",
        /// The programs of all evicted pages.
        Batch = "batch",
    }
}

params! {
    /// Parameters of CAVE.
    pub struct CaveParams {
        /// Number of victims that are evicted at a time; the number of the drive's dies if not given.
        victims: Option<u32> => "victims", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "More victims use more chips at once and leave less in the buffer to be written again.";
        /// Event that a write waits for if it finds the buffer full.
        wait: Wait => "wait", Kind::Choice(Wait::CHOICES), Value::Name("own-page"),
            "Waiting for the whole batch, as the paper can be read, makes a write as slow as the slowest chip.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "cave",
    summary: "evicts as many victims as there are chips when the buffer is full",
    details: "A victim is a page or a block, depending on the replacement policy. This is half of CAVE: the chips that \
              victims go to are chosen by the paper's channel allocator, which is `ftl.placement` = \"first-touch\" \
              (or \"round-robin\", to the letter) over a mapping for each chip (bast, fast, sast, kast). With \
              \"static\" victims that leave together may meet on a chip; page-level mappings spread pages themselves \
              (`ftl.allocation`).",
    source: "Park et al.: CAVE, SAC 2011, section 4.2",
    example: "buffer.rate=cave buffer.order=block-lru ftl.mapping=bast ftl.placement=first-touch",
    instead: "In a small buffer a batch evicts pages that would have been written again: `single` keeps them. For \
              short waits use `linear-threshold`, which evicts before the buffer is full.",
    offers: &[Capability::SAVED_STATE],
    params: CaveParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct Cave {
    victims: u32,
    wait: Wait,
}

flashloom_units::state! { Cave { fixed victims, wait; } }

impl Cave {
    pub(super) fn new(params: CaveParams, on: &RateSetup) -> Self {
        let CaveParams { victims, wait } = params;
        Self { victims: victims.unwrap_or(on.dies), wait }
    }
}

flashloom_units::component! { Cave }

impl Rate for Cave {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        if occupancy.waiting > occupancy.evicting { self.victims } else { 0 }
    }

    fn waits_for_all(&self) -> bool {
        self.wait == Wait::Batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_evicts_a_victim_for_each_die_and_then_waits() {
        let occupancy = |evicting, waiting| Occupancy { pages: 64, occupied: 40, evicting, leaving: evicting, waiting };
        let cave = |victims| {
            let params = CaveParams { victims, wait: Wait::OwnPage };
            Cave::new(params, &RateSetup { dies: 32, superpage: 1 })
        };
        let mut rate = cave(None);
        assert_eq!(rate.victims(&occupancy(0, 0)), 0);
        assert_eq!(rate.victims(&occupancy(0, 1)), 32);
        assert_eq!(rate.victims(&occupancy(32, 1)), 0);
        assert_eq!(cave(Some(4)).victims(&occupancy(0, 1)), 4);
    }
}
