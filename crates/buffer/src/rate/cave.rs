//! CAVE: when the buffer is full, evict as many victims at a time as there are chips (Park et al., SAC 2011, section
//! 4.2).
//!
//! ```text
//! when a page waits and no slot is about to be free:  evict `victims` victims (default: the number of dies)
//! ```
//!
//! A victim is a page or a block, as the order has it. So the buffer keeps every chip busy whatever the FTL does; what
//! it evicts early it cannot absorb rewrites for, which costs hits where the buffer is small. A slot is free as soon as
//! its own page is programmed, where the paper has the request wait for the whole batch. O(1).

use flashloom_units::{Kind, ParamSet, PolicySpec, Value, params};

use super::{Occupancy, Rate};

params! {
    /// Parameters of CAVE.
    pub struct Params {
        /// How many victims leave at a time; as many as the drive has dies where not given.
        victims: Option<u32> => "victims", Kind::Count { min: 1, max: 65_536 }, Value::Absent, "More victims use more chips at once and leave less in the buffer to be written again.";
    }
}

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "cave",
    summary: "as many victims as chips when the buffer is full",
    details: "A victim is a page or a block, as the order has it.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2",
    needs: &[],
    params: Params::PARAMS,
    statistics: &[],
};

pub(super) struct State {
    victims: u32,
}

impl State {
    pub(super) fn new(values: &[Value], dies: u32) -> Self {
        Self { victims: Params::from_values(values).victims.unwrap_or(dies) }
    }
}

impl Rate for State {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        if occupancy.waiting > occupancy.evicting { self.victims } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_evicts_a_victim_for_each_die_and_then_waits() {
        let occupancy = |evicting, waiting| Occupancy { pages: 64, occupied: 40, evicting, leaving: evicting, waiting };
        let mut rate = State::new(&[Value::Absent], 32);
        assert_eq!(rate.victims(&occupancy(0, 0)), 0);
        assert_eq!(rate.victims(&occupancy(0, 1)), 32);
        assert_eq!(rate.victims(&occupancy(32, 1)), 0);
        assert_eq!(State::new(&[Value::Count(4)], 32).victims(&occupancy(0, 1)), 4);
    }
}
