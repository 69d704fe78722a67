//! Chip-aware LRU: among the pages written longest ago, evict one whose chip is idle (Seol, Shim, Kim and Maeng, CASES
//! 2009, which is CAVE's reference 17).
//!
//! ```text
//! written:  move the page to the young end
//! victim:   of the `window` pages at the old end the oldest whose chip is idle and that the buffer has whole; else the
//!           oldest whose chip is idle; the oldest of all if there is none
//! ```
//!
//! A page of which the buffer has some sectors costs its chip a read before the program, and may be written whole
//! before it is old: the paper begins with such pages. What it does about them its abstract does not say, so
//! `whole_first` is a choice of ours.
//!
//! A page has a chip if it is decided where it is programmed ([`Chips`]): under `ftl.allocation` = "static", and in a
//! mapping of one FTL a chip where the placement leaves its block there (not under "round-robin"). Any other page can
//! go to an idle chip, so that this is `page-lru` then, but for partial pages. Of what leaves at one time each page
//! takes its chip; without time (`run.timing` = "counting") all other chips are idle. Only its abstract could be read
//! here; what is done where no chip of the window is idle, and that the window counts pages and not chips, are choices
//! of ours.
//!
//! O(window) a victim, times the chips of what leaves with it; twelve bytes a page.

use super::Chips;
use super::prelude::*;

params! {
    /// Parameters of chip-aware LRU.
    pub struct ChipAwareParams {
        /// Pages at the old end of the list that a victim is chosen from.
        window: u32 => "window", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(64),
            "A longer one finds an idle chip more often, and evicts pages that are written again soon.";
        /// Of the pages with an idle chip evicts first those that the buffer has whole.
        whole_first: bool => "whole_first", Kind::Flag, Value::Flag(true),
            "Saves reads of the rest of a page, and keeps partial pages for longer.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "chip-aware",
    summary: "evicts an old page whose chip is idle",
    details: "Page-level LRU with a window at its old end. Pages whose chip is not decided by their address are taken \
              as in `page-lru`.",
    source: "Seol, Shim, Kim and Maeng, CASES 2009, which CAVE cites as [17]",
    example: "buffer.order=chip-aware buffer.chip-aware.window=128 ftl.allocation=static",
    instead: "Where the FTL itself spreads pages (`ftl.allocation` = `interleave`) it is `page-lru`, if pages are \
              written whole. With log blocks, single pages of many blocks cause full merges: `block-lru` behind \
              CAVE's rate and placement evicts blocks to all chips.",
    offers: &[Capability::SAVED_STATE],
    params: ChipAwareParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct ChipAware {
    pages: Lists<SlotId>,
    lpns: Vec<Lpn>,
    window: usize,
    whole_first: bool,
}

flashloom_units::state! { ChipAware { nested pages, lpns; fixed window, whole_first; } }

impl ChipAware {
    pub(super) fn new(params: ChipAwareParams, on: &OrderSetup) -> Self {
        let ChipAwareParams { window, whole_first } = params;
        let lpns = vec![Lpn::NONE; on.pages as usize];
        Self { pages: Lists::new(on.pages, 1), lpns, window: window as usize, whole_first }
    }
}

flashloom_units::component! { ChipAware }

impl Order for ChipAware {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.push_back(0, slot);
        self.lpns[slot.at()] = lpn;
    }

    fn touched(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.remove(slot);
        self.pages.push_back(0, slot);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.remove(slot);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        pages.extend(self.pages.pop_front(0));
    }

    fn looks_at_chips(&self) -> bool {
        true
    }

    fn victim_for(&mut self, chips: &dyn Chips, held: &dyn Fn(SlotId) -> u32, pages: &mut Vec<SlotId>) {
        let is_idle = |slot: &SlotId| chips.is_idle(self.lpns[slot.at()]);
        let idle = || self.pages.iter(0).take(self.window).filter(is_idle);
        let is_whole = |&slot: &SlotId| !self.whole_first || chips.is_whole(held(slot));
        let victim = idle().find(is_whole).or_else(|| idle().next()).or(self.pages.front(0));
        if let Some(victim) = victim {
            self.pages.remove(victim);
            pages.push(victim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::builtin;
    use crate::order::model::SETUP;
    use flashloom_units::Prng;

    /// Chip of a page: its address modulo the number of chips.
    struct Busy(Vec<bool>);

    impl Chips for Busy {
        fn is_idle(&self, lpn: Lpn) -> bool {
            !self.0[lpn.at() % self.0.len()]
        }

        fn is_whole(&self, mask: u32) -> bool {
            mask == 0b11
        }

        fn send(&mut self, lpn: Lpn) {
            let chips = self.0.len();
            self.0[lpn.at() % chips] = true;
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list_and_its_idle_chips() {
        for (window, whole_first) in [(1, true), (3, false), (8, true), (8, false), (100, true)] {
            let set = [("window", Value::Count(window)), ("whole_first", Value::Flag(whole_first))];
            let chosen = builtin().choose("chip-aware", &set).expect("parameters");
            let mut order = chosen.build(&SETUP).expect("it can be built");
            let (mut list, mut prng, mut others) = (Vec::new(), Prng::new(window), 0);
            for step in 0..100_000 {
                let slot = prng.below(u64::from(SETUP.pages)) as u32;
                // Page numbers differ from slots, and each slot holds one page.
                let lpn = Lpn(slot * 7 % SETUP.pages);
                if prng.chance(0.8) {
                    if list.contains(&slot) {
                        order.touched(SlotId(slot), lpn);
                        list.retain(|&other| other != slot);
                    } else {
                        order.inserted(SlotId(slot), lpn);
                    }
                    list.push(slot);
                } else if let Some(&oldest) = list.first() {
                    let busy = Busy((0..4).map(|_| prng.chance(0.6)).collect());
                    let is_idle = |slot: &&u32| busy.is_idle(Lpn(**slot * 7 % SETUP.pages));
                    let whole: Vec<bool> = (0..SETUP.pages).map(|_| prng.chance(0.5)).collect();
                    let idle: Vec<u32> = list.iter().take(window as usize).filter(is_idle).copied().collect();
                    let first_whole = idle.iter().find(|&&slot| whole_first && whole[slot as usize]);
                    let expected = first_whole.or(idle.first()).copied().unwrap_or(oldest);
                    let mut victims = Vec::new();
                    let held = |slot: SlotId| if whole[slot.at()] { 0b11 } else { 0b01 };
                    order.victim_for(&busy, &held, &mut victims);
                    assert_eq!(victims, [SlotId(expected)], "step {step}, window {window}");
                    others += u32::from(expected != oldest);
                    list.retain(|&other| other != expected);
                }
            }
            assert_eq!(others > 1_000, window > 1, "a window of one is the oldest page: {others}");
        }
    }
}
