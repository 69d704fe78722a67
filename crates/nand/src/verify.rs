//! The independent checks of a verified run: is every command legal, and does every read return what was written?
//!
//! Two parts that know nothing of the FTL, the buffer or the timing model:
//!
//! - The **NAND checker** follows the commands as the chips see them, at the time when they start and end. It rejects
//!   the program of a page that is not erased or not the next of its block, the read of a page that was never
//!   programmed, any command to a block that is being erased or an erase under a running command, and the program or
//!   erase of a block that is bad.
//! - The **integrity oracle** gives every host write of a page a new stamp, keeps for each logical sector the stamp
//!   that a read must return, carries stamps with the data through buffer and flash, and compares them when a read
//!   ends. A stamp belongs to one logical page and one write, so data of another page or an older version is found.

use flashloom_units::{BlockId, Lpn, NO_INDEX, Ppn};
use serde::{Deserialize, Serialize};

use crate::contents::Contents;
use crate::operation::Kind;
use crate::{Data, Expect, Geometry};

/// Stamps on their way to or from a page; [`Payload::NONE`] where nothing is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload(u32);

impl Payload {
    /// No stamps.
    pub const NONE: Self = Self(NO_INDEX);
}

/// The stamp of a sector whose last write failed, until it is read.
const IN_DOUBT: u32 = (1 << 31) - 1;

/// What a payload carries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Carried {
    stamps: [u32; 32],
    /// The page that a read must find; [`Lpn::NONE`] on the way to flash.
    lpn: Lpn,
}

/// Commands of one kind that run on a block, and what the block holds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Block {
    /// Pages whose program has started since the last erase.
    started: u32,
    /// Pages whose program has ended since the last erase.
    ended: u32,
    reading: u32,
    erasing: bool,
    /// From birth, or since a program or an erase failed.
    bad: bool,
}

/// The NAND checker and the integrity oracle.
#[derive(Debug)]
pub struct Verifier {
    geometry: Geometry,
    blocks: Vec<Block>,
    flash: Contents,
    logical: Contents,
    payloads: Vec<Carried>,
    free_payloads: Vec<u32>,
    last_stamp: u32,
    sectors_checked: u64,
    violation: Option<String>,
}

flashloom_units::state! {
    Verifier {
        value payloads, free_payloads, last_stamp, sectors_checked, violation;
        array blocks;
        nested flash, logical;
        fixed geometry;
    }
}

impl Verifier {
    /// Checks for an erased array under a never-written logical space.
    pub fn new(geometry: Geometry, logical_pages: u64) -> Self {
        Self {
            geometry,
            blocks: vec![Block::default(); geometry.total_blocks() as usize],
            flash: Contents::new(geometry.total_pages() as usize),
            logical: Contents::new(logical_pages as usize),
            payloads: Vec::new(),
            free_payloads: Vec::new(),
            last_stamp: 0,
            sectors_checked: 0,
            violation: None,
        }
    }

    /// Host sectors compared so far.
    pub fn sectors_checked(&self) -> u64 {
        self.sectors_checked
    }

    /// The first violation, in words.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    fn reject(&mut self, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            self.violation = Some(what());
        }
    }

    /// The host writes the sectors in the mask: from now on reads of them must return the stamp that this returns.
    pub fn host_write(&mut self, lpn: Lpn, mask: u32) -> u32 {
        assert!(self.last_stamp < IN_DOUBT - 1, "a verified run is limited to 2^31 page writes");
        self.last_stamp += 1;
        self.logical.stamp(lpn.at(), mask, self.last_stamp, self.geometry.sectors_per_page());
        self.last_stamp
    }

    /// The host discards a whole page: reads return nothing until it is written again.
    pub fn host_discard(&mut self, lpn: Lpn) {
        self.logical.clear(lpn.at());
    }

    /// A write of the sectors in the mask has failed: they hold what they held before, or what was to be written. What
    /// the next read of a sector returns is what it holds from then on.
    pub fn host_write_failed(&mut self, lpn: Lpn, mask: u32) {
        self.logical.stamp(lpn.at(), mask, IN_DOUBT, self.geometry.sectors_per_page());
    }

    /// What a read of the page must return at this moment.
    pub fn expected(&mut self, lpn: Lpn) -> Payload {
        let stamps = self.logical.get(lpn.at());
        self.carry(Carried { stamps, lpn })
    }

    /// Keeps stamps until the operation that carries them ends.
    pub fn payload(&mut self, stamps: [u32; 32]) -> Payload {
        self.carry(Carried { stamps, lpn: Lpn::NONE })
    }

    fn carry(&mut self, carried: Carried) -> Payload {
        let Some(index) = self.free_payloads.pop() else {
            self.payloads.push(carried);
            return Payload(self.payloads.len() as u32 - 1);
        };
        self.payloads[index as usize] = carried;
        Payload(index)
    }

    /// The stamps that a payload carries.
    pub fn stamps(&self, payload: Payload) -> &[u32; 32] {
        &self.payloads[payload.0 as usize].stamps
    }

    /// Forgets stamps whose operation is not going to happen.
    pub(crate) fn drop_payload(&mut self, payload: Payload) {
        self.free_payloads.push(payload.0);
    }

    fn take(&mut self, payload: Payload) -> Carried {
        self.free_payloads.push(payload.0);
        self.payloads[payload.0 as usize]
    }

    /// Compares what the buffer returns for the sectors in the mask with what it must return.
    pub fn buffer_read(&mut self, lpn: Lpn, mask: u32, stamps: &[u32; 32]) {
        let expected = self.logical.get(lpn.at());
        self.compare(lpn, mask, stamps, &expected, || format!("the write buffer, logical page {}", lpn.0));
    }

    /// The sectors in the mask of a logical page that nothing is mapped to: they must never have been written.
    pub fn unmapped_read(&mut self, lpn: Lpn, mask: u32) {
        let expected = self.logical.get(lpn.at());
        self.compare(lpn, mask, &[0; 32], &expected, || format!("logical page {}, which is not mapped", lpn.0));
    }

    fn compare(
        &mut self,
        lpn: Lpn,
        mask: u32,
        found: &[u32; 32],
        expected: &[u32; 32],
        place: impl FnOnce() -> String,
    ) {
        self.sectors_checked += u64::from(mask.count_ones());
        let masked = |sector: usize| mask >> sector & 1 == 1;
        let in_doubt = |sector: usize| found[sector] == IN_DOUBT || expected[sector] == IN_DOUBT;
        let wrong = (0..32).find(|&sector| masked(sector) && found[sector] != expected[sector] && !in_doubt(sector));
        for sector in (0..32).filter(|&sector| masked(sector) && expected[sector] == IN_DOUBT) {
            // Written again since the read was asked for, or read by another, it is in doubt no more.
            if self.logical.get(lpn.at())[sector] == IN_DOUBT {
                self.logical.stamp(lpn.at(), 1 << sector, found[sector], self.geometry.sectors_per_page());
            }
        }
        if let Some(sector) = wrong {
            let (found, expected) = (found[sector], expected[sector]);
            self.reject(|| format!("sector {sector} of {} holds version {found}, not {expected}", place()));
        }
    }

    pub(crate) fn mark_bad(&mut self, block: BlockId) {
        self.blocks[block.at()].bad = true;
    }

    pub(crate) fn start(&mut self, kind: Kind, ppn: Ppn, from: Ppn, block: BlockId) {
        let page = self.geometry.page_in_block(ppn);
        let state = self.blocks[block.at()];
        if state.erasing {
            return self.reject(|| format!("{kind:?} on block {}, which is being erased", block.0));
        }
        if state.bad && kind != Kind::Read {
            return self.reject(|| format!("{kind:?} on block {}, which is bad", block.0));
        }
        match kind {
            Kind::Read => {
                if page >= state.ended {
                    self.reject(|| format!("read of page {page} of block {}, which is not programmed", block.0));
                }
                self.blocks[block.at()].reading += 1;
            }
            Kind::Program | Kind::Copyback => {
                if page != state.started {
                    let next = state.started;
                    self.reject(|| format!("program of page {page} of block {}, whose next page is {next}", block.0));
                }
                self.blocks[block.at()].started += 1;
                if kind == Kind::Copyback {
                    self.start(Kind::Read, from, Ppn::NONE, self.geometry.block_of(from));
                }
            }
            Kind::Erase => {
                if state.reading > 0 || state.started != state.ended {
                    self.reject(|| format!("erase of block {} under a command that runs on it", block.0));
                }
                self.blocks[block.at()].erasing = true;
            }
            Kind::Hold => self.reject(|| format!("a hold on block {} reached the chips as a command", block.0)),
        }
    }

    pub(crate) fn end_program(&mut self, ppn: Ppn, data: Data, copyback: bool, failed: bool) {
        let block = self.geometry.block_of(ppn);
        self.blocks[block.at()].ended += 1;
        self.blocks[block.at()].bad |= failed;
        let stamps = match data {
            Data::Map => [0; 32],
            Data::Copy(from) => {
                let source = self.geometry.block_of(from);
                if self.geometry.page_in_block(from) >= self.blocks[source.at()].ended {
                    self.reject(|| format!("copy out of page {}, which was erased before the copy was whole", from.0));
                }
                if copyback {
                    self.blocks[source.at()].reading -= 1;
                }
                self.flash.get(from.at())
            }
            Data::Host { payload, mask, base } => {
                let host = self.take(payload).stamps;
                let mut stamps = if base.is_some() { self.flash.get(base.at()) } else { [0; 32] };
                (0..32).filter(|sector| mask >> sector & 1 == 1).for_each(|sector| stamps[sector] = host[sector]);
                stamps
            }
        };
        let stamps = if failed { [0; 32] } else { stamps };
        self.flash.set(ppn.at(), &stamps, self.geometry.sectors_per_page());
    }

    pub(crate) fn end_read(&mut self, ppn: Ppn, mask: u32, expect: Expect) {
        let block = self.geometry.block_of(ppn);
        self.blocks[block.at()].reading -= 1;
        if let Expect::Stamps(payload) = expect {
            let Carried { stamps: expected, lpn } = self.take(payload);
            let found = self.flash.get(ppn.at());
            self.compare(lpn, mask, &found, &expected, || format!("physical page {}", ppn.0));
        }
    }

    pub(crate) fn end_erase(&mut self, block: BlockId, failed: bool) {
        let bad = self.blocks[block.at()].bad || failed;
        self.blocks[block.at()] = Block { bad, ..Block::default() };
        (0..self.geometry.pages).for_each(|page| self.flash.clear(self.geometry.page(block, page).at()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn verifier() -> Verifier {
        let shape = Shape { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 2, pages: 4, page_bytes: 512 };
        Verifier::new(Geometry::new(shape), 4)
    }

    /// The facade asserts these too, so only a command that does not come through it can show that the checker does.
    #[test]
    fn commands_against_the_rules_of_the_chips_are_rejected() {
        let block = BlockId(0);
        let rejected = |commands: &[(Kind, u32)]| {
            let mut verifier = verifier();
            commands.iter().for_each(|&(kind, page)| verifier.start(kind, Ppn(page), Ppn::NONE, block));
            verifier.violation.unwrap_or_default()
        };
        assert_eq!(rejected(&[(Kind::Program, 0), (Kind::Program, 1)]), "");
        assert!(rejected(&[(Kind::Program, 0), (Kind::Program, 0)]).contains("whose next page is 1"));
        assert!(rejected(&[(Kind::Program, 1)]).contains("whose next page is 0"));
        assert!(rejected(&[(Kind::Program, 0), (Kind::Read, 0)]).contains("not programmed"));
        assert!(rejected(&[(Kind::Program, 0), (Kind::Erase, 0)]).contains("under a command that runs on it"));
        assert!(rejected(&[(Kind::Erase, 0), (Kind::Program, 0)]).contains("which is being erased"));
        assert!(rejected(&[(Kind::Hold, 0)]).contains("reached the chips"));
    }
}
