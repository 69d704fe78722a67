//! The naive model that every order is held against: a list of the buffered pages, searched from end to end.

use flashloom_units::{Lpn, Prng};

use crate::SlotId;

/// Pages in a logical block of the model.
pub(super) const PAGES_PER_BLOCK: u32 = 4;

/// A buffered page of the model; times are steps of the test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) lpn: u32,
    slot: u32,
    /// When the page was written last.
    pub(super) written: u64,
    /// When any page of its block was written last.
    pub(super) block_written: u64,
    /// When any page of its block was written, or left out of turn.
    pub(super) block_changed: u64,
}

/// The logical block of a page.
pub(super) fn block_of(lpn: u32) -> u32 {
    lpn / PAGES_PER_BLOCK
}

/// The buffered pages of a block.
pub(super) fn pages_of(pages: &[Entry], block: u32) -> impl Iterator<Item = &Entry> {
    pages.iter().filter(move |entry| block_of(entry.lpn) == block)
}

/// Random operations on an order and on the list: `victim` says which pages of the list leave next, in their order.
pub(super) fn assert_same_victims(name: &str, victim: impl Fn(&[Entry]) -> Option<Vec<u32>>) {
    let room = 24;
    let mut order = super::build(name, &[], room, PAGES_PER_BLOCK);
    let mut pages: Vec<Entry> = Vec::new();
    let mut free: Vec<u32> = (0..room).collect();
    let mut prng = Prng::new(5);
    for step in 0..200_000 {
        let lpn = prng.below(48) as u32;
        let at = pages.iter().position(|entry| entry.lpn == lpn);
        let block_changes = |pages: &mut Vec<Entry>, is_write: bool| {
            for entry in pages.iter_mut().filter(|entry| block_of(entry.lpn) == block_of(lpn)) {
                entry.block_changed = step;
                entry.block_written = if is_write { step } else { entry.block_written };
            }
        };
        match (prng.below(8), at) {
            (0..5, Some(at)) => {
                pages[at].written = step;
                block_changes(&mut pages, true);
                order.touched(SlotId(pages[at].slot), Lpn(lpn));
            }
            (0..5, None) if !free.is_empty() => {
                let slot = free.swap_remove(prng.below(free.len() as u64) as usize);
                pages.push(Entry { lpn, slot, written: step, block_written: step, block_changed: step });
                block_changes(&mut pages, true);
                order.inserted(SlotId(slot), Lpn(lpn));
            }
            (5, Some(at)) => {
                let gone = pages.remove(at);
                block_changes(&mut pages, false);
                order.removed(SlotId(gone.slot), Lpn(lpn));
                free.push(gone.slot);
            }
            (6, _) => {
                let mut slots = Vec::new();
                order.victim(&mut slots);
                let lpn_of = |slot: &SlotId| pages.iter().find(|entry| entry.slot == slot.0).map(|entry| entry.lpn);
                let victims: Vec<u32> = slots.iter().filter_map(lpn_of).collect();
                assert_eq!(victims, victim(&pages).unwrap_or_default(), "{name}, step {step}");
                pages.retain(|entry| !victims.contains(&entry.lpn));
                free.extend(slots.iter().map(|slot| slot.0));
            }
            _ => {}
        }
    }
}
