//! The checks can fail: each illegal command and each wrong datum is found and named.
#![allow(missing_docs)]

use flashloom_nand::{Data, DeviceParams, Expect, Nand, OpId, Origin, Status, Urgency};
use flashloom_units::{BlockId, Lpn, ParamSet, Ppn, Prng};

fn array() -> Nand {
    let small = DeviceParams { blocks: 4, pages: 8, ..DeviceParams::defaults() };
    Nand::new(&small, true)
}

fn write(nand: &mut Nand, lpn: u32, block: u32, page: u32) {
    let verifier = nand.verifier().unwrap();
    let stamp = verifier.host_write(Lpn(lpn), 0xffff);
    let payload = verifier.payload([stamp; 32]);
    let data = Data::Host { payload, mask: 0xffff, base: Ppn::NONE };
    nand.program(BlockId(block), page, Origin::Host, data, OpId::DONE, Nand::NO_TAG);
}

fn read(nand: &mut Nand, lpn: u32, ppn: u32) {
    let payload = nand.verifier().unwrap().expected(Lpn(lpn));
    nand.read(Ppn(ppn), 0xffff, Origin::Host, Expect::Stamps(payload), Nand::NO_TAG);
}

fn violation(act: impl FnOnce(&mut Nand)) -> String {
    let mut nand = array();
    write(&mut nand, 0, 0, 0);
    assert_eq!(nand.check(), Ok(()));
    act(&mut nand);
    nand.check().unwrap_err()
}

#[test]
fn a_legal_sequence_is_accepted_and_its_sectors_are_counted() {
    let mut nand = array();
    write(&mut nand, 7, 0, 0);
    read(&mut nand, 7, 0);
    nand.copy(Ppn(0), BlockId(1), 0, Origin::Gc, Urgency::Spare);
    nand.erase(BlockId(0), Origin::Gc, Urgency::Spare);
    write(&mut nand, 8, 0, 0);
    read(&mut nand, 7, 8);
    read(&mut nand, 8, 0);
    assert_eq!(nand.check(), Ok(()));
    assert_eq!(nand.sectors_checked(), Some(48));
}

#[test]
fn a_read_of_a_page_that_was_never_programmed_is_found() {
    let found = violation(|nand| read(nand, 1, 1));
    assert!(found.contains("read of page 1 of block 0, which is not programmed"), "{found}");
}

#[test]
fn a_copy_out_of_an_erased_block_is_found() {
    let found = violation(|nand| {
        nand.erase(BlockId(0), Origin::Gc, Urgency::Spare);
        nand.copy(Ppn(0), BlockId(1), 0, Origin::Gc, Urgency::Spare);
    });
    assert!(found.contains("read of page 0 of block 0, which is not programmed"), "{found}");
}

#[test]
fn an_older_version_of_a_page_is_found() {
    let found = violation(|nand| {
        write(nand, 0, 0, 1);
        read(nand, 0, 0);
    });
    assert!(found.contains("sector 0 of physical page 0 holds version 1, not 2"), "{found}");
}

#[test]
fn the_data_of_another_page_is_found() {
    let found = violation(|nand| {
        write(nand, 5, 0, 1);
        read(nand, 0, 1);
    });
    assert!(found.contains("holds version 2, not 1"), "{found}");
}

#[test]
fn a_lost_page_is_found_when_it_is_read() {
    let found = violation(|nand| nand.verifier().unwrap().unmapped_read(Lpn(0), 0xffff));
    assert!(found.contains("logical page 0, which is not mapped holds version 0, not 1"), "{found}");
}

#[test]
fn a_discarded_page_must_not_come_back() {
    let found = violation(|nand| {
        nand.verifier().unwrap().host_discard(Lpn(0));
        read(nand, 0, 0);
    });
    assert!(found.contains("holds version 1, not 0"), "{found}");
}

#[test]
fn sectors_that_a_partial_write_did_not_touch_are_those_of_the_page_beneath() {
    let mut nand = array();
    write(&mut nand, 0, 0, 0);
    let verifier = nand.verifier().unwrap();
    let stamp = verifier.host_write(Lpn(0), 0b1);
    let payload = verifier.payload([stamp; 32]);
    // The mapping forgot the page beneath: 15 sectors are lost.
    let data = Data::Host { payload, mask: 0b1, base: Ppn::NONE };
    nand.program(BlockId(0), 1, Origin::Host, data, OpId::DONE, Nand::NO_TAG);
    read(&mut nand, 0, 1);
    let found = nand.check().unwrap_err();
    assert!(found.contains("sector 1 of physical page 1 holds version 0, not 1"), "{found}");
}

#[test]
fn a_failed_program_keeps_the_pages_below_it_and_its_block_takes_no_other() {
    let small = DeviceParams { blocks: 4, pages: 8, program_failures: 0.5, ..DeviceParams::defaults() };
    let first_passes = |seed: &u64| {
        let mut nand = Nand::new(&small, true).with_failures(&small, &Prng::new(*seed));
        write(&mut nand, 0, 0, 0);
        !nand.is_bad(BlockId(0))
    };
    let seed = (0..).find(first_passes).unwrap();
    let mut nand = Nand::new(&small, true).with_failures(&small, &Prng::new(seed));
    write(&mut nand, 0, 0, 0);
    let mut page = 1;
    while !nand.is_bad(BlockId(0)) {
        nand.fill(BlockId(0), page, Origin::Gc, Urgency::Spare);
        page += 1;
    }
    read(&mut nand, 0, 0);
    assert_eq!(nand.check(), Ok(()));
    assert_eq!(nand.counts().failed_programs[Origin::Gc as usize], 1);
    nand.fill(BlockId(0), page, Origin::Gc, Urgency::Spare);
    assert!(nand.check().unwrap_err().contains("Program on block 0, which is bad"));
}

#[test]
fn a_failed_erase_loses_the_block_and_the_next_one_is_rejected() {
    let small = DeviceParams { blocks: 4, pages: 8, erase_failures: 1.0, ..DeviceParams::defaults() };
    let mut nand = Nand::new(&small, true).with_failures(&small, &Prng::new(1));
    write(&mut nand, 0, 0, 0);
    assert_eq!(nand.erase(BlockId(0), Origin::Gc, Urgency::Spare), Status::Failed(OpId::DONE));
    assert!(nand.is_bad(BlockId(0)));
    assert_eq!(nand.check(), Ok(()));
    nand.erase(BlockId(0), Origin::Gc, Urgency::Spare);
    assert!(nand.check().unwrap_err().contains("Erase on block 0, which is bad"));
}

#[test]
fn a_block_that_is_bad_from_birth_takes_nothing() {
    let small = DeviceParams { blocks: 4, pages: 8, bad_blocks: 0.25, ..DeviceParams::defaults() };
    let mut nand = Nand::new(&small, true).with_failures(&small, &Prng::new(1));
    let bad = (0..4).find(|&block| nand.is_bad(BlockId(block))).unwrap();
    write(&mut nand, 0, bad, 0);
    assert!(nand.check().unwrap_err().contains(&format!("Program on block {bad}, which is bad")));
}

#[test]
fn after_a_failed_write_a_sector_may_hold_either_and_must_hold_it_ever_after() {
    let fail = |nand: &mut Nand| {
        let verifier = nand.verifier().unwrap();
        verifier.host_write(Lpn(0), 0b11);
        verifier.host_write_failed(Lpn(0), 0b11);
    };
    let mut nand = array();
    write(&mut nand, 0, 0, 0);
    fail(&mut nand);
    read(&mut nand, 0, 0);
    read(&mut nand, 0, 0);
    assert_eq!(nand.check(), Ok(()));
    let found = violation(|nand| {
        fail(nand);
        read(nand, 0, 0);
        nand.verifier().unwrap().unmapped_read(Lpn(0), 0b10);
    });
    assert!(found.contains("sector 1 of logical page 0, which is not mapped holds version 0, not 1"), "{found}");
    let found = violation(|nand| {
        fail(nand);
        nand.verifier().unwrap().unmapped_read(Lpn(0), 0b100);
    });
    assert!(found.contains("sector 2 of logical page 0"), "only the sectors of that write are in doubt: {found}");
    let found = violation(|nand| {
        fail(nand);
        write(nand, 0, 0, 1);
        read(nand, 0, 0);
    });
    assert!(found.contains("holds version 1, not 3"), "the next write ends the doubt: {found}");
}

#[test]
fn a_refused_page_that_nobody_takes_is_found() {
    let found = violation(|nand| {
        let verifier = nand.verifier().unwrap();
        let stamp = verifier.host_write(Lpn(1), 0b1);
        let payload = verifier.payload([stamp; 32]);
        nand.refuse(Lpn(1), 0b1, payload, 5);
    });
    assert!(found.contains("1 pages were refused, and nobody was told"), "{found}");
}
