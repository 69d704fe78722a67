//! The checks can fail: each illegal command and each wrong datum is found and named.
#![allow(missing_docs)]

use flashloom_nand::{
    BlockId, CellMode, Command, Data, DieId, Erase, Event, HostPage, Lpn, Nand, NandParams, OpId, OperationKind,
    Origin, PageCopy, Ppn, Program, Read, Status, Urgency,
};
use flashloom_units::{ParamSet, Prng};
use flashloom_verify::{Checker, Oracle, Verifier};

/// An array with a verifier that follows every command and every sector.
struct Array {
    nand: Nand,
    verifier: Verifier,
}

impl Array {
    fn new(params: &NandParams, seed: u64) -> Self {
        let mut nand = Nand::new(params).with_failures(params, &Prng::new(seed));
        let verifier = Verifier::new(&mut nand, params.geometry().total_pages());
        Self { nand, verifier }
    }

    fn write(&mut self, lpn: u32, block: u32, page: u32) {
        self.write_over(lpn, 0xffff, Ppn::NONE, block, page);
    }

    fn write_over(&mut self, lpn: u32, mask: u32, base: Ppn, block: u32, index: u32) {
        let page = self.given(lpn, mask);
        self.program(page, base, block, index);
    }

    /// Programs a page as the FTL would, with the data that it was given.
    fn program(&mut self, page: HostPage, base: Ppn, block: u32, index: u32) {
        let data = Data::Host { page, base };
        self.nand.program(Program::new(BlockId(block), index, data, Origin::Host));
    }

    /// The next page that the FTL is given to write.
    fn given(&mut self, lpn: u32, mask: u32) -> HostPage {
        let page = HostPage { lpn: Lpn(lpn), mask, write: self.oracle().writes() };
        self.oracle().written_through(page);
        page
    }

    fn erase(&mut self, block: u32) -> Status {
        self.nand.erase(Erase { urgency: Urgency::Spare, ..Erase::new(BlockId(block), Origin::Gc) })
    }

    /// Copies page 0 to the first page of block 1.
    fn copy(&mut self) {
        self.nand.copy(PageCopy { urgency: Urgency::Spare, ..PageCopy::new(Ppn(0), BlockId(1), 0, Origin::Gc) });
    }

    fn fill(&mut self, page: u32) {
        let filler = Program::new(BlockId(0), page, Data::Filler, Origin::Gc);
        self.nand.program(Program { urgency: Urgency::Spare, ..filler });
    }

    fn read(&mut self, lpn: u32, ppn: u32) {
        self.oracle().read_flash(Lpn(lpn), 0xffff, None);
        self.nand.read(Read { lpn: Lpn(lpn), ..Read::new(Ppn(ppn), 0xffff, Origin::Host) });
    }

    /// The oracle, after it has followed all commands emitted so far.
    fn oracle(&mut self) -> &mut Oracle {
        self.verifier.follow(&mut self.nand);
        &mut self.verifier.oracle
    }

    fn check(&mut self) -> Result<(), String> {
        self.verifier.follow(&mut self.nand);
        Ok(self.verifier.check()?)
    }
}

fn small() -> NandParams {
    NandParams { blocks: 4, pages: 8, ..NandParams::defaults() }
}

fn array() -> Array {
    Array::new(&small(), 0)
}

fn violation(act: impl FnOnce(&mut Array)) -> String {
    let mut array = array();
    array.write(0, 0, 0);
    assert_eq!(array.check(), Ok(()));
    act(&mut array);
    array.check().unwrap_err()
}

/// An array whose first page is written has a violation with this text after `act`.
#[track_caller]
fn assert_found(text: &str, act: impl FnOnce(&mut Array)) {
    let found = violation(act);
    assert!(found.contains(text), "{found}");
}

/// An array whose blocks can be used in a mode of three pages.
fn array_of_two_modes() -> Array {
    let params = small();
    let mut nand = Nand::new(&params).with_cells(CellMode { pages: 3, read_ns: 1, program_ns: 1 });
    let verifier = Verifier::new(&mut nand, params.geometry().total_pages());
    Array { nand, verifier }
}

#[test]
fn a_block_is_in_another_cell_mode_from_its_first_page_to_its_erase() {
    let mut array = array_of_two_modes();
    array.nand.use_other_cells(BlockId(1));
    (0..3).for_each(|page| array.write(page, 1, page));
    array.read(0, 8);
    assert_eq!((array.nand.pages_of(BlockId(1)), array.check()), (3, Ok(())));
    array.nand.erase(Erase::new(BlockId(1), Origin::Fold));
    (0..8).for_each(|page| array.write(page, 1, page));
    assert_eq!((array.nand.pages_of(BlockId(1)), array.check()), (8, Ok(())));
}

#[test]
fn a_command_in_the_mode_of_another_life_is_found() {
    let mut array = array_of_two_modes();
    array.write(0, 1, 0);
    assert_eq!(array.check(), Ok(()));
    // The array would not let a block change its mode while it holds a page; so the checker is told of it.
    let event = |in_other_mode, page: u32| {
        let (kind, block, ppn) = (OperationKind::Program, BlockId(1), Ppn(8 + page));
        let command = Command { kind, ppn, block, in_other_mode, ..blank() };
        Event::Started { command, array_from: 0, transfer_ns: 0, is_staged: false }
    };
    let found = |events: &[Event]| {
        let mut checker = Checker::new(*array.nand.geometry(), &[false; 64], array.nand.other_cells());
        events.iter().for_each(|event| checker.flash(event));
        checker.violation().unwrap_or_default().to_owned()
    };
    assert_eq!(found(&[event(true, 0), event(true, 1), event(true, 2)]), "");
    assert!(found(&[event(false, 0), event(true, 1)]).contains("which is in another cell mode"));
    let all = [0, 1, 2, 3].map(|page| event(true, page));
    assert!(found(&all).contains("program of page 3 of block 1, which has 3 in its mode"), "{}", found(&all));
}

fn blank() -> Command {
    Command {
        number: 0,
        kind: OperationKind::Read,
        ppn: Ppn::NONE,
        block: BlockId(0),
        die: DieId(0),
        from: Ppn::NONE,
        lpn: Lpn::NONE,
        write: 0,
        mask: 0,
        origin: Origin::Host,
        urgency: Urgency::Needed,
        tag: Nand::NO_TAG,
        in_other_mode: false,
    }
}

#[test]
fn a_legal_sequence_is_accepted_and_its_sectors_are_counted() {
    let mut array = array();
    array.write(7, 0, 0);
    array.read(7, 0);
    array.copy();
    array.erase(0);
    array.write(8, 0, 0);
    array.read(7, 8);
    array.read(8, 0);
    assert_eq!(array.check(), Ok(()));
    assert_eq!(array.oracle().sectors_checked(), 48);
}

#[test]
fn what_is_read_against_the_rules_or_is_not_what_was_written_is_found() {
    type Act = fn(&mut Array);
    let rows: [(&str, &str, Act); 6] = [
        ("a page that was never programmed", "read of page 1 of block 0, which is not programmed", |array| {
            array.read(1, 1)
        }),
        ("a copy out of an erased block", "read of page 0 of block 0, which is not programmed", |array| {
            array.erase(0);
            array.copy();
        }),
        ("an older version", "sector 0 of physical page 0 holds version 1, not 2", |array| {
            array.write(0, 0, 1);
            array.read(0, 0);
        }),
        ("the data of another page", "holds version 2, not 1", |array| {
            array.write(5, 0, 1);
            array.read(0, 1);
        }),
        ("a page that the map has lost", "logical page 0, which is not mapped holds version 0, not 1", |array| {
            array.oracle().read_unmapped(Lpn(0), 0xffff)
        }),
        ("a discarded page that has come back", "holds version 1, not 0", |array| {
            array.oracle().discarded(Lpn(0));
            array.read(0, 0);
        }),
    ];
    for (what, expected, act) in rows {
        let found = violation(act);
        assert!(found.contains(expected), "{what}: {found}");
    }
}

#[test]
fn sectors_that_a_partial_write_did_not_touch_are_those_of_the_page_beneath() {
    let mut array = array();
    array.write(0, 0, 0);
    // The mapping forgot the page beneath: 15 sectors are lost.
    array.write_over(0, 0b1, Ppn::NONE, 0, 1);
    array.read(0, 1);
    let found = array.check().unwrap_err();
    assert!(found.contains("sector 1 of physical page 1 holds version 0, not 1"), "{found}");
}

#[test]
fn a_failed_program_keeps_the_pages_below_it_and_its_block_takes_no_other() {
    let small = NandParams { program_failures: 0.5, ..small() };
    let first_passes = |seed: &u64| {
        let mut array = Array::new(&small, *seed);
        array.write(0, 0, 0);
        !array.nand.is_bad(BlockId(0))
    };
    let seed = (0..).find(first_passes).unwrap();
    let mut array = Array::new(&small, seed);
    array.write(0, 0, 0);
    let mut page = 1;
    while !array.nand.is_bad(BlockId(0)) {
        array.fill(page);
        page += 1;
    }
    array.read(0, 0);
    assert_eq!(array.check(), Ok(()));
    assert_eq!(array.nand.counts().failed_programs[Origin::Gc as usize], 1);
    array.fill(page);
    assert!(array.check().unwrap_err().contains("Program on block 0, which is bad"));
}

#[test]
fn a_failed_erase_loses_the_block_and_the_next_one_is_rejected() {
    let small = NandParams { erase_failures: 1.0, ..small() };
    let mut array = Array::new(&small, 1);
    array.write(0, 0, 0);
    assert_eq!(array.erase(0), Status::Failed(OpId::DONE));
    assert!(array.nand.is_bad(BlockId(0)));
    assert_eq!(array.check(), Ok(()));
    array.erase(0);
    assert!(array.check().unwrap_err().contains("Erase on block 0, which is bad"));
}

#[test]
fn a_block_that_is_bad_from_birth_takes_nothing() {
    let small = NandParams { bad_blocks: 0.25, ..small() };
    let mut array = Array::new(&small, 1);
    let bad = (0..4).find(|&block| array.nand.is_bad(BlockId(block))).unwrap();
    array.write(0, bad, 0);
    assert!(array.check().unwrap_err().contains(&format!("Program on block {bad}, which is bad")));
}

#[test]
fn after_a_failed_write_a_sector_may_hold_either_and_must_hold_it_ever_after() {
    let fail = |array: &mut Array| {
        array.given(0, 0b11);
        array.oracle().write_failed(Lpn(0), 0b11);
    };
    let mut array = array();
    array.write(0, 0, 0);
    fail(&mut array);
    array.read(0, 0);
    array.read(0, 0);
    assert_eq!(array.check(), Ok(()));
    assert_found("sector 1 of logical page 0, which is not mapped holds version 0, not 1", |array| {
        fail(array);
        array.read(0, 0);
        array.oracle().read_unmapped(Lpn(0), 0b10);
    });
    // Only the sectors of that write are in doubt.
    assert_found("sector 2 of logical page 0", |array| {
        fail(array);
        array.oracle().read_unmapped(Lpn(0), 0b100);
    });
    // The next write ends the doubt.
    assert_found("holds version 1, not 3", |array| {
        fail(array);
        array.write(0, 0, 1);
        array.read(0, 0);
    });
}

#[test]
fn a_refused_page_that_nobody_takes_is_found() {
    let mut nand = array().nand;
    nand.refuse(Lpn(1), 0b1, 5);
    let found = nand.check().unwrap_err();
    assert!(found.contains("1 pages were refused, and nobody was told"), "{found}");
}

/// Commands of the FTL that do not match the calls to it.
#[test]
fn what_the_ftl_was_not_asked_for_is_found() {
    assert_found("read of physical page 1 for logical page 1, which was not asked for", |array| {
        array.write(1, 0, 1);
        array.oracle().read_flash(Lpn(0), 0xffff, None);
        array.nand.read(Read { lpn: Lpn(1), ..Read::new(Ppn(1), 0xffff, Origin::Host) });
    });
    // Half of what was asked for.
    assert_found("read of physical page 0 for logical page 0", |array| {
        array.oracle().read_flash(Lpn(0), 0xffff, None);
        array.nand.read(Read { lpn: Lpn(0), ..Read::new(Ppn(0), 0xff, Origin::Host) });
    });
    assert_found("logical page 0 was asked for, and not read", |array| {
        array.oracle().read_flash(Lpn(0), 0xffff, None);
        array.nand.read(Read::new(Ppn(0), 0xffff, Origin::Host));
        array.read(0, 0);
    });
    assert_found("program of physical page 2 for logical page 0, which was not asked for", |array| {
        let page = array.given(0, 0xffff);
        array.program(page, Ppn::NONE, 0, 1);
        array.program(page, Ppn::NONE, 0, 2);
    });
    assert_found("program of physical page 1 for logical page 3", |array| {
        let page = array.given(0, 0xffff);
        array.program(HostPage { lpn: Lpn(3), ..page }, Ppn::NONE, 0, 1);
    });
}

/// Two writes of a page are programmed in the wrong order, so that the last read returns the older one.
#[test]
fn writes_that_change_places_are_found() {
    assert_found("holds version 2, not 3", |array| {
        let (older, newer) = (array.given(0, 0xffff), array.given(0, 0xffff));
        array.program(newer, Ppn::NONE, 0, 1);
        array.program(older, Ppn::NONE, 0, 2);
        array.read(0, 2);
    });
}
