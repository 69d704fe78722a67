//! CAVE: when the buffer is full, evict as many victims at a time as there are chips (Park et al., SAC 2011, section
//! 4.2).
//!
//! ```text
//! when a page waits and no slot is about to be free:  evict `victims` victims (default: the number of dies)
//! ```
//!
//! A victim is a page or a block, as the order has it. So the buffer keeps every chip busy whatever the FTL does; what
//! it evicts early it cannot absorb rewrites for, which costs hits where the buffer is small.
//!
//! "A new request is blocked until victims are fully written to SSD", says the paper. With `wait = "own-page"` a slot
//! is free as soon as its own page is programmed, and the request goes on when it has the slots that it needs; with
//! `wait = "batch"` it goes on when all victims are in flash. O(1).

use flashloom_units::{Capability, Kind, ParamSet, PolicySpec, Value, choice, params};

use super::{Occupancy, Rate};

choice! {
    /// What a write that found the buffer full waits for.
    pub enum Wait {
        /// The slots that its own pages need.
        OwnPage = "own-page",
        /// All pages that are on their way to flash.
        Batch = "batch",
    }
}

params! {
    /// Parameters of CAVE.
    pub struct CaveParams {
        /// How many victims leave at a time; as many as the drive has dies where not given.
        victims: Option<u32> => "victims", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "More victims use more chips at once and leave less in the buffer to be written again.";
        /// What a write that found the buffer full waits for.
        wait: Wait => "wait", Kind::Choice(Wait::CHOICES), Value::Name("own-page"),
            "Waiting for the whole batch, as the paper can be read, makes a write as slow as the slowest chip.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "cave",
    summary: "as many victims as chips when the buffer is full",
    details: "A victim is a page or a block, as the order has it.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2",
    example: "buffer.rate=cave buffer.cave.victims=16 buffer.order=block-lru ftl.mapping=bast",
    instead: "In a small buffer a batch takes pages that would have been written again: `single` keeps them. For short \
              waits use `linear-threshold`, which evicts before the buffer is full.",
    needs: &[],
    offers: &[Capability::SavedState],
    params: CaveParams::PARAMS,
    statistics: &[],
};

pub(super) struct Cave {
    victims: u32,
    wait: Wait,
}

flashloom_units::state! { Cave { fixed victims, wait; } }

impl Cave {
    pub(super) fn new(values: &[Value], dies: u32) -> Self {
        let CaveParams { victims, wait } = CaveParams::from_values(values);
        Self { victims: victims.unwrap_or(dies), wait }
    }
}

impl Rate for Cave {
    flashloom_units::stateful!();

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
        let wait = Value::Name("own-page");
        let mut rate = Cave::new(&[Value::Absent, wait.clone()], 32);
        assert_eq!(rate.victims(&occupancy(0, 0)), 0);
        assert_eq!(rate.victims(&occupancy(0, 1)), 32);
        assert_eq!(rate.victims(&occupancy(32, 1)), 0);
        assert_eq!(Cave::new(&[Value::Count(4), wait], 32).victims(&occupancy(0, 1)), 4);
    }
}
