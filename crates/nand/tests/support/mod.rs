//! An array whose commands are all followed, and what is asked of it.
//!
//! tR 50 us, tPROG 600 us, tBERS 3 ms, one page over the channel 10 us, no command time unless a test says so.

use std::ops::{Deref, DerefMut};

use flashloom_nand::{
    BlockId, Data, Erase, MultiPlane, Nand, NandParams, OpId, Origin, PageCopy, Ppn, Program, Read, Urgency,
};
use flashloom_units::{MS, Ns, ParamSet, Prng, US};
use flashloom_verify::Verifier;

pub const READ: Ns = 50 * US;
pub const PROGRAM: Ns = 600 * US;
pub const ERASE: Ns = 3 * MS;
pub const PAGE: Ns = 10 * US;

pub fn device() -> NandParams {
    NandParams {
        channels: 1,
        ways: 2,
        dies: 1,
        planes: 2,
        blocks: 4,
        pages: 8,
        page_bytes: 4_096,
        read_ns: READ,
        program_ns: PROGRAM,
        erase_ns: ERASE,
        bus_rate: 409_600_000,
        multi_plane: MultiPlane::None,
        ..NandParams::defaults()
    }
}

/// An array with the checks of every command.
pub struct Array {
    pub nand: Nand,
    pub verifier: Verifier,
}

impl Array {
    pub fn new(params: &NandParams, prng: &Prng) -> Self {
        let mut nand = Nand::new(params).with_failures(params, prng);
        let verifier = Verifier::new(&mut nand, 16);
        Self { nand, verifier }
    }

    pub fn check(&mut self) {
        self.verifier.follow(&mut self.nand);
        assert_eq!((self.nand.check(), self.verifier.check()), (Ok(()), Ok(())));
    }
}

impl Deref for Array {
    type Target = Nand;

    fn deref(&self) -> &Nand {
        &self.nand
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }
}

/// An array whose block 0 (first plane of the first die) holds pages 0 to 3, and blocks 4 and 8 (second plane, second
/// die) pages 0 and 1.
pub fn array(params: &NandParams) -> Array {
    let mut nand = Array::new(params, &Prng::new(0));
    for (block, pages) in [(0, 4), (4, 2), (8, 2)] {
        (0..pages).for_each(|page| program(&mut nand, block, page, Origin::Host, Nand::NO_TAG));
    }
    nand.start_timing(params);
    nand
}

pub fn program(nand: &mut Nand, block: u32, page: u32, origin: Origin, tag: u32) {
    nand.program(Program { tag, ..Program::new(BlockId(block), page, Data::Map { page: 0, base: Ppn::NONE }, origin) });
}

pub fn read(nand: &mut Nand, block: u32, page: u32, origin: Origin, tag: u32) -> OpId {
    nand.read(Read { tag, ..Read::new(Ppn(block * 8 + page), 0xff, origin) })
}

pub fn erase(nand: &mut Nand, block: u32) {
    nand.erase(Erase::new(BlockId(block), Origin::Gc));
}

/// An erase ahead of need.
pub fn spare_erase(nand: &mut Nand, block: u32) {
    nand.erase(Erase { urgency: Urgency::Spare, ..Erase::new(BlockId(block), Origin::Gc) });
}

/// Copies a page to `page` of `block`: a read and a program of collection, of the class of host programs.
pub fn copy(nand: &mut Nand, from: u32, block: u32, page: u32) {
    nand.copy(PageCopy::new(Ppn(from), BlockId(block), page, Origin::Gc));
}

/// A copy ahead of need.
pub fn spare_copy(nand: &mut Nand, from: u32, block: u32, page: u32) {
    nand.copy(PageCopy { urgency: Urgency::Spare, ..PageCopy::new(Ppn(from), BlockId(block), page, Origin::Gc) });
}

/// A read for the host that waits for another operation.
pub fn read_after(nand: &mut Nand, block: u32, page: u32, after: OpId, tag: u32) -> OpId {
    nand.read(Read { after, tag, ..Read::new(Ppn(block * 8 + page), 0xff, Origin::Host) })
}

/// Processes the events up to a time; returns that of the last one.
pub fn run_to(nand: &mut Nand, to: Ns) -> Ns {
    let mut last = 0;
    while let Some(now) = nand.next_event_ns().filter(|&next| next <= to) {
        last = nand.step(now, now);
    }
    last
}

/// Runs until nothing is in flight; returns when each tagged operation ended, in that order.
pub fn run(nand: &mut Array) -> Vec<(u32, Ns)> {
    let mut ended = Vec::new();
    while let Some(now) = nand.next_event_ns() {
        nand.step(now, now);
        while let Some(tag) = nand.take_completed() {
            ended.push((tag, now));
        }
    }
    nand.check();
    ended
}
