//! Naive models that every replacement policy is compared with: lists in order of age, searched from end to end.

use flashloom_nand::Lpn;
use flashloom_units::{Figure, MIB, Prng, Value};

use super::{OrderSetup, builtin};
use crate::SlotId;

/// Number of pages of a logical block.
pub(super) const PAGES_PER_BLOCK: u32 = 4;
/// Capacity of the buffer, in pages.
pub(super) const ROOM: usize = 24;
/// Number of logical pages.
const LPNS: u32 = 48;
const STEPS: u32 = 1_000_000;
/// What the policies are built with.
pub(super) const SETUP: OrderSetup =
    OrderSetup { pages: ROOM as u32, pages_per_block: PAGES_PER_BLOCK, page_bytes: MIB, logical_pages: LPNS };

/// A replacement policy as its paper describes it, by logical pages instead of slots.
pub(super) trait Naive {
    /// A page was written; `is_new` if the buffer did not hold it, or held it clean.
    fn written(&mut self, lpn: u32, is_new: bool);

    fn removed(&mut self, lpn: u32);

    fn victim(&mut self) -> Vec<u32>;

    fn read(&mut self, _lpn: u32) {}

    fn filled(&mut self, _lpn: u32) {}

    fn clean_victim(&mut self) -> Option<u32> {
        None
    }

    /// Number of clean pages that would be dropped one after another.
    fn clean_room(&self) -> u32 {
        0
    }

    /// Values of the policy's own statistics, all of which are counts.
    fn counts(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// The buffered pages of one logical block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) number: u32,
    pub(super) pages: Vec<u32>,
    /// All writes since the block entered the buffer.
    pub(super) writes: Vec<u32>,
}

impl Block {
    /// The pages by ascending address.
    pub(super) fn victim(mut self) -> Vec<u32> {
        self.pages.sort();
        self.pages
    }
}

/// Removes the block of a page from a list, if it is there.
pub(super) fn take(blocks: &mut Vec<Block>, lpn: u32) -> Option<Block> {
    let at = blocks.iter().position(|block| block.number == lpn / PAGES_PER_BLOCK)?;
    Some(blocks.remove(at))
}

/// Removes the block of a page from a list, or makes a new one, and adds the write of the page.
pub(super) fn take_written(blocks: &mut Vec<Block>, lpn: u32) -> Block {
    let new = Block { number: lpn / PAGES_PER_BLOCK, pages: Vec::new(), writes: Vec::new() };
    let mut block = take(blocks, lpn).unwrap_or(new);
    block.writes.push(lpn);
    if !block.pages.contains(&lpn) {
        block.pages.push(lpn);
    }
    block
}

/// A page that the tested policy holds.
struct Held {
    lpn: u32,
    slot: SlotId,
    is_clean: bool,
}

/// Applies random operations to a policy and to its naive model; asserts that they evict the same pages in the same
/// order, and count the same.
pub(super) fn assert_same_victims(name: &str, set: &[(&str, Value)], mut naive: impl Naive) {
    let chosen = builtin().choose(name, set).expect("the order takes these parameters");
    let mut order = chosen.build(&SETUP).expect("it can be built");
    let mut held: Vec<Held> = Vec::new();
    let mut free: Vec<SlotId> = (0..ROOM as u32).map(SlotId).collect();
    let mut prng = Prng::new(5);
    let (mut lpn, mut evicted) = (0, 0);
    for step in 0..STEPS {
        // Half the operations follow the one before, so that blocks become whole and are written in sequence.
        lpn = if prng.chance(0.5) { (lpn + 1) % LPNS } else { prng.below(u64::from(LPNS)) as u32 };
        let at = held.iter().position(|page| page.lpn == lpn);
        match (prng.below(12), at) {
            (0..7, Some(at)) => {
                let page = &mut held[at];
                if std::mem::take(&mut page.is_clean) {
                    order.removed(page.slot, Lpn(lpn));
                    order.inserted(page.slot, Lpn(lpn));
                    naive.removed(lpn);
                    naive.written(lpn, true);
                } else {
                    order.touched(page.slot, Lpn(lpn));
                    naive.written(lpn, false);
                }
            }
            (0..7, None) | (7, None) if !free.is_empty() => {
                let slot = free.swap_remove(prng.below(free.len() as u64) as usize);
                let is_clean = order.keeps_reads() && prng.chance(0.5);
                held.push(Held { lpn, slot, is_clean });
                if is_clean {
                    order.filled(slot, Lpn(lpn));
                    naive.filled(lpn);
                } else {
                    order.inserted(slot, Lpn(lpn));
                    naive.written(lpn, true);
                }
            }
            (7, Some(at)) => {
                order.read(held[at].slot, Lpn(lpn));
                naive.read(lpn);
            }
            (8, Some(at)) => {
                let page = held.remove(at);
                order.removed(page.slot, Lpn(lpn));
                naive.removed(lpn);
                free.push(page.slot);
            }
            (9, _) => {
                let slot = order.clean_victim();
                let page = slot.map(|slot| held.remove(held.iter().position(|page| page.slot == slot).unwrap()));
                assert_eq!(page.as_ref().map(|page| page.lpn), naive.clean_victim(), "{name}, step {step}");
                free.extend(slot);
                evicted += u32::from(slot.is_some());
            }
            (10, _) => {
                let mut slots = Vec::new();
                order.victim(&mut slots);
                let lpn_of = |slot: &SlotId| held.iter().find(|page| page.slot == *slot).unwrap().lpn;
                let victims: Vec<u32> = slots.iter().map(lpn_of).collect();
                assert_eq!(victims, naive.victim(), "{name}, step {step}");
                held.retain(|page| !slots.contains(&page.slot));
                evicted += slots.len() as u32;
                free.extend(slots);
            }
            _ => {}
        }
        assert_eq!(order.clean_room(), naive.clean_room(), "{name}, step {step}");
        if step % 1_000 == 0 {
            let dirty = held.iter().filter(|page| !page.is_clean).count() as u32;
            assert_eq!(order.check_dirty(dirty), Ok(()), "{name}, step {step}");
        }
    }
    let expected: Vec<Figure> = naive.counts().into_iter().map(Figure::Count).collect();
    assert_eq!(format!("{:?}", order.figures()), format!("{expected:?}"), "{name}");
    assert!(evicted > STEPS / 20, "{name}: only {evicted} pages were given up");
}
