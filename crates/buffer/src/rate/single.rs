//! Single: evict one victim for each page that finds the buffer full (the behaviour of earlier buffers according to
//! CAVE, section 3.1).
//!
//! ```text
//! while more pages wait than slots are about to be free:  evict one victim
//! ```
//!
//! O(1).

use flashloom_units::{Capability, PolicySpec};

use super::{Occupancy, Rate, RateSetup};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "single",
    summary: "evicts one victim for each page that finds the buffer full",
    details: "No page is evicted before another waits for its slot.",
    source: "CAVE, section 3.1",
    example: "buffer.rate=single buffer.capacity=8MiB",
    instead: "The baseline of the papers on eviction. Real drives evict before the buffer is full, as \
              `linear-threshold` does; `cave` uses all chips and still evicts only when the buffer is full.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Single;

flashloom_units::state! { Single {} }

impl Single {
    pub(super) fn new((): (), _on: &RateSetup) -> Self {
        Self
    }
}

flashloom_units::component! { Single }

impl Rate for Single {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        u32::from(occupancy.waiting > occupancy.evicting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_leaves_only_for_a_page_that_no_freed_slot_awaits() {
        let occupancy = |evicting, waiting| Occupancy { pages: 8, occupied: 4, evicting, leaving: evicting, waiting };
        assert_eq!(Single.victims(&occupancy(0, 0)), 0);
        assert_eq!(Single.victims(&occupancy(0, 3)), 1);
        assert_eq!(Single.victims(&occupancy(3, 3)), 0);
    }
}
