//! A replacement policy in Python. Pages are told by their logical page numbers.
//!
//! ```text
//! answers      dirty pages of the buffer, each once, those of a padded victim in one block; a clean page
//! by itself    the page that was written longest ago; the clean page that was read longest ago
//! ```

use std::collections::BTreeMap;

use flashloom::buffer::order::OrderSetup;
use flashloom::prelude::{Lpn, Order, Policy, PolicySpec, SlotId};
use flashloom::units::{Lists, Value};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of replacement policies.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Order> {
    Policy::<dyn Order>::new(spec, move |values: Vec<Value>, setup| {
        let OrderSetup { pages, pages_per_block, .. } = *setup;
        let wrap = |py: Python<'_>, instance| ScriptedOrder::new(py, &site, instance, setup);
        Ok(Box::new(site.begin(&values, |py| make(py, "OrderSetup", (pages, pages_per_block)).map(Some), wrap)?))
    })
}

struct ScriptedOrder {
    inserted: Method,
    touched: Method,
    removed: Method,
    victim: Method,
    read: Option<Method>,
    filled: Option<Method>,
    clean_victim: Option<Method>,
    clean_room: Option<Method>,
    instance: Instance,
    pages: Pages,
    keeps_reads: bool,
    padded_block: Option<u32>,
}

/// The pages of the buffer that the policy was told of.
struct Pages {
    /// Dirty pages, then clean ones, each list in the order of the last write or read.
    lists: Lists<SlotId>,
    slots: BTreeMap<u32, SlotId>,
    lpns: Vec<u32>,
    is_clean: Vec<bool>,
    counts: [u32; 2],
}

const DIRTY: usize = 0;
const CLEAN: usize = 1;

impl Pages {
    fn enter(&mut self, slot: SlotId, lpn: Lpn, is_clean: bool) {
        self.lists.push_back(usize::from(is_clean), slot);
        self.slots.insert(lpn.0, slot);
        (self.lpns[slot.at()], self.is_clean[slot.at()]) = (lpn.0, is_clean);
        self.counts[usize::from(is_clean)] += 1;
    }

    fn leave(&mut self, slot: SlotId) {
        self.lists.remove(slot);
        self.slots.remove(&self.lpns[slot.at()]);
        self.counts[usize::from(self.is_clean[slot.at()])] -= 1;
    }

    fn refresh(&mut self, slot: SlotId) {
        self.lists.remove(slot);
        self.lists.push_back(usize::from(self.is_clean[slot.at()]), slot);
    }

    /// The slot of a page that is an answer.
    fn answered(&self, answer: &Bound<'_, PyAny>, is_clean: bool, expected: &str) -> Result<SlotId, Wrong> {
        let lpn = answer::below_u32(answer, u32::MAX, expected)?;
        match self.slots.get(&lpn) {
            Some(&slot) if self.is_clean[slot.at()] == is_clean => Ok(slot),
            Some(_) if is_clean => Err(Wrong::remark(answer, "a dirty page", expected)),
            Some(_) => Err(Wrong::remark(answer, "a clean page", expected)),
            None => Err(Wrong::remark(answer, "a page that is not in the buffer", expected)),
        }
    }

    /// The slots of a victim that is an answer.
    fn victim(&self, answer: &Bound<'_, PyAny>, block: Option<u32>) -> Result<Vec<SlotId>, Wrong> {
        const EXPECTED: &str = "a dirty page of the buffer, or a sequence of them";
        if answer.is_instance_of::<PyInt>() || answer.hasattr("__index__").unwrap_or(false) {
            return Ok(vec![self.answered(answer, false, EXPECTED)?]);
        }
        let items = answer::items(answer, EXPECTED)?;
        let slots = items.iter().map(|item| self.answered(item, false, EXPECTED)).collect::<Result<Vec<_>, _>>()?;
        let mut lpns: Vec<u32> = slots.iter().map(|slot| self.lpns[slot.at()]).collect();
        let is_ascending = lpns.is_sorted();
        lpns.sort_unstable();
        if lpns.is_empty() {
            return Err(Wrong::remark(answer, "no page", EXPECTED));
        }
        if lpns.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Wrong::remark(answer, "a page twice", EXPECTED));
        }
        let is_block = |pages: u32| is_ascending && lpns.iter().all(|lpn| lpn / pages == lpns[0] / pages);
        if block.is_some_and(|pages| !is_block(pages)) {
            return Err(Wrong::value(answer, "pages of one logical block in ascending order, because it is padded"));
        }
        Ok(slots)
    }
}

impl ScriptedOrder {
    fn new(py: Python<'_>, site: &Site, instance: Instance, setup: &OrderSetup) -> PyResult<Self> {
        let own = |name| site.own(py, &instance, name);
        let pages = setup.pages as usize;
        Ok(Self {
            inserted: instance.method(py, "inserted")?,
            touched: instance.method(py, "touched")?,
            removed: instance.method(py, "removed")?,
            victim: instance.method(py, "victim")?,
            read: own("read")?,
            filled: own("filled")?,
            clean_victim: own("clean_victim")?,
            clean_room: own("clean_room")?,
            keeps_reads: site.class.flag("keeps_reads"),
            padded_block: site.class.flag("pads_blocks").then_some(setup.pages_per_block),
            instance,
            pages: Pages {
                lists: Lists::new(setup.pages, 2),
                slots: BTreeMap::new(),
                lpns: vec![0; pages],
                is_clean: vec![false; pages],
                counts: [0; 2],
            },
        })
    }
}

figures_of_instance!(ScriptedOrder);

impl Order for ScriptedOrder {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.enter(slot, lpn, false);
        self.instance.notify(&self.inserted, (lpn.0,));
    }

    fn touched(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.refresh(slot);
        self.instance.notify(&self.touched, (lpn.0,));
    }

    fn read(&mut self, slot: SlotId, lpn: Lpn) {
        if self.pages.is_clean[slot.at()] {
            self.pages.refresh(slot);
        }
        if let Some(method) = &self.read {
            self.instance.notify(method, (lpn.0,));
        }
    }

    fn removed(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.leave(slot);
        self.instance.notify(&self.removed, (lpn.0,));
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if self.pages.counts[DIRTY] == 0 {
            return;
        }
        let answer = self.instance.ask(&self.victim, (), |answer| self.pages.victim(answer, self.padded_block));
        let victim = answer.unwrap_or_else(|| self.pages.lists.front(DIRTY).into_iter().collect());
        victim.iter().for_each(|&slot| self.pages.leave(slot));
        pages.extend(victim);
    }

    fn padded_block(&self) -> Option<u32> {
        self.padded_block
    }

    fn keeps_reads(&self) -> bool {
        self.keeps_reads
    }

    fn filled(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.enter(slot, lpn, true);
        if let Some(method) = &self.filled {
            self.instance.notify(method, (lpn.0,));
        }
    }

    fn clean_victim(&mut self) -> Option<SlotId> {
        const EXPECTED: &str = "a clean page of the buffer";
        let oldest = self.pages.lists.front(CLEAN)?;
        let Some(method) = self.clean_victim.as_ref().filter(|_| !self.instance.has_failed()) else {
            self.pages.leave(oldest);
            return Some(oldest);
        };
        let room = self.clean_room();
        let answer = self.instance.ask(method, (), |answer| {
            if answer.is_none() && room == 0 {
                return Ok(None);
            }
            let expected =
                if room > 0 { format!("{EXPECTED}, because `clean_room` is {room}") } else { EXPECTED.into() };
            self.pages.answered(answer, true, &expected).map(Some)
        });
        let victim = answer.unwrap_or(Some(oldest))?;
        self.pages.leave(victim);
        Some(victim)
    }

    fn clean_room(&self) -> u32 {
        let clean = self.pages.counts[CLEAN];
        let Some(method) = self.clean_room.as_ref().filter(|_| clean > 0) else { return clean };
        let expected = || format!("a number from 0 to {clean}, the clean pages");
        self.instance.ask(method, (), |answer| answer::below_u32(answer, clean + 1, &expected())).unwrap_or(clean)
    }
}
