//! Reads of pages that are being moved. Each test is named after a rule; `support` has the times of the array.

use flashloom_nand::{
    BlockId, Data, Erase, HostPage, Lpn, MultiPlane, Nand, NandParams, OpId, Origin, PageCopy, Ppn, Program, Read,
    Urgency,
};
use flashloom_units::Ns;

use crate::support::{
    Array, ERASE, PAGE, PROGRAM, READ, array, copy, device, erase, program, read, read_after, run, run_to,
};

/// Latency of a read on an idle die.
const UNLOADED: Ns = READ + PAGE;
/// Latency of a program on an idle die.
const PROGRAMMED: Ns = PAGE + PROGRAM;

/// Overwrites half a page for the host; the other half is read from `base`.
fn write_over(nand: &mut Array, base: u32, block: u32, page: u32, tag: u32) {
    let given = HostPage { lpn: Lpn(3), mask: 0x0f, write: 0 };
    nand.verifier.oracle.written_through(given);
    let after = nand.read(Read::new(Ppn(base), 0xf0, Origin::Host));
    let data = Data::Host { page: given, base: Ppn(base) };
    nand.program(Program { tag, after, ..Program::new(BlockId(block), page, data, Origin::Host) });
}

fn ended(ends: &[(u32, Ns)], tag: u32) -> Ns {
    ends.iter().find(|end| end.0 == tag).expect("it ended").1
}

#[test]
fn a_page_that_is_being_moved_is_read_where_it_still_is() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    erase(&mut nand, 0);
    read(&mut nand, 8, 2, Origin::Host, 1);
    program(&mut nand, 0, 0, Origin::Host, 2);
    // The read goes before that of the copy, and the erase waits for both.
    let copied = 2 * UNLOADED + PROGRAMMED;
    assert_eq!(run(&mut nand), [(1, UNLOADED), (2, copied + ERASE + PROGRAMMED)]);
}

#[test]
fn a_read_that_comes_while_the_copy_programs_goes_to_the_old_page_and_the_erase_waits_for_it() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    erase(&mut nand, 0);
    program(&mut nand, 0, 0, Origin::Host, 2);
    let programming = UNLOADED + PAGE;
    run_to(&mut nand, programming + PROGRAM - 1);
    // One nanosecond before the program ends.
    nand.set_now(programming + PROGRAM - 1);
    read(&mut nand, 8, 2, Origin::Host, 1);
    let read = programming + PROGRAM - 1 + UNLOADED;
    assert_eq!(run(&mut nand), [(1, read), (2, read + ERASE + PROGRAMMED)]);
}

#[test]
fn once_its_program_has_ended_a_moved_page_is_read_where_it_is() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    let now = run_to(&mut nand, Ns::MAX);
    erase(&mut nand, 0);
    read(&mut nand, 8, 2, Origin::Host, 1);
    assert_eq!(run(&mut nand), [(1, now + UNLOADED)]);
}

#[test]
fn a_page_that_has_moved_several_times_is_read_from_the_last_page_that_is_programmed() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    copy(&mut nand, 8 * 8 + 2, 12, 0);
    copy(&mut nand, 12 * 8, 4, 2);
    [0, 8, 12].iter().for_each(|&block| erase(&mut nand, block));
    read(&mut nand, 4, 2, Origin::Host, 1);
    // Each copy is made from the one before it.
    assert_eq!(run(&mut nand), [(1, UNLOADED)]);
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    copy(&mut nand, 8 * 8 + 2, 12, 0);
    let first_copied = UNLOADED + PROGRAMMED;
    run_to(&mut nand, first_copied);
    erase(&mut nand, 1);
    read(&mut nand, 12, 0, Origin::Host, 1);
    // The first copy is programmed: it is read on the second die, behind the read of the second copy.
    assert_eq!(run(&mut nand), [(1, first_copied + 2 * UNLOADED)]);
}

#[test]
fn a_read_of_a_page_that_an_uninterrupted_job_moves_waits_for_the_job() {
    let mut nand = array(&device());
    nand.copy(PageCopy { urgency: Urgency::Blocking, ..PageCopy::new(Ppn(0), BlockId(1), 0, Origin::Merge) });
    nand.erase(Erase { urgency: Urgency::Blocking, ..Erase::new(BlockId(0), Origin::Merge) });
    read(&mut nand, 1, 0, Origin::Host, 1);
    assert_eq!(run(&mut nand), [(1, UNLOADED + PROGRAMMED + ERASE + UNLOADED)]);
}

#[test]
fn reads_that_copies_are_made_from_wait_for_their_page() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    read(&mut nand, 8, 2, Origin::Gc, 1);
    assert_eq!(run(&mut nand), [(1, UNLOADED + PROGRAMMED + UNLOADED)]);
}

#[test]
fn a_page_of_the_map_and_one_that_is_copied_back_are_read_where_they_are_too() {
    for (copyback, multi_plane) in [(false, MultiPlane::Aligned), (true, MultiPlane::Independent)] {
        let mut nand = array(&NandParams { copyback, multi_plane, ..device() });
        copy(&mut nand, 0, 1, 0);
        read(&mut nand, 1, 0, Origin::Map, 1);
        assert_eq!(run(&mut nand), [(1, UNLOADED)], "copyback {copyback}");
    }
}

#[test]
fn a_partial_write_of_a_page_that_is_being_moved_reads_the_rest_where_it_still_is() {
    let mut nand = array(&device());
    copy(&mut nand, 0, 8, 2);
    write_over(&mut nand, 8 * 8 + 2, 4, 2, 1);
    // On the die its read goes before that of the copy; on the channel its data follows that of the copy.
    let ends = run(&mut nand);
    assert_eq!(ended(&ends, 1), READ + PAGE / 2 + UNLOADED + PAGE + PROGRAMMED);
}

#[test]
fn sectors_beneath_a_partial_write_are_read_where_they_still_are_and_those_that_it_writes_when_it_has_ended() {
    let ends = [0xf0, 0x0f, 0xff].map(|mask| {
        let mut nand = array(&device());
        write_over(&mut nand, 0, 8, 2, 1);
        nand.read(Read { tag: 2, ..Read::new(Ppn(8 * 8 + 2), mask, Origin::Host) });
        ended(&run(&mut nand), 2)
    });
    let written = READ + PAGE / 2 + PROGRAMMED;
    assert_eq!(ends, [2 * (READ + PAGE / 2), written + READ + PAGE / 2, written + UNLOADED]);
}

#[test]
fn a_read_that_waits_for_another_goes_where_the_page_is_when_it_is_queued() {
    // The page of the map is on the die that the page is moved to.
    let times = |wait: Ns| {
        let mut nand = array(&device());
        if wait > 0 {
            erase(&mut nand, 9);
            nand.next_event_ns();
        }
        let map = read(&mut nand, 8, 0, Origin::Map, Nand::NO_TAG);
        copy(&mut nand, 0, 4, 2);
        erase(&mut nand, 0);
        read_after(&mut nand, 4, 2, map, 1);
        ended(&run(&mut nand), 1)
    };
    // The read waits for the map, while the copy is being read on the other die.
    assert_eq!(times(0), UNLOADED + PAGE + UNLOADED);
    // The read waits for an erase and the map: the copy is programmed, and the old block is being erased.
    assert!(times(ERASE) > ERASE + 2 * UNLOADED);
}

#[test]
fn a_page_that_is_moved_to_a_block_whose_erase_is_pending_is_read_where_it_is() {
    for waits in [false, true] {
        let mut nand = array(&device());
        let map = if waits { read(&mut nand, 4, 0, Origin::Map, Nand::NO_TAG) } else { OpId::DONE };
        erase(&mut nand, 8);
        copy(&mut nand, 0, 8, 0);
        // Between others of the next life, and as the last of it.
        read_after(&mut nand, 8, 0, map, 1);
        program(&mut nand, 8, 1, Origin::Host, 2);
        read_after(&mut nand, 8, 0, map, 3);
        let ends = run(&mut nand);
        let first = if waits { 2 } else { 1 } * UNLOADED;
        assert!(ended(&ends, 1) <= first + UNLOADED && ended(&ends, 3) <= first + 2 * UNLOADED, "{ends:?}");
        assert_eq!(ended(&ends, 2), ERASE + 2 * PROGRAMMED);
    }
}

#[test]
fn a_page_that_was_moved_before_it_was_on_flash_is_read_as_soon_as_it_is() {
    let mut nand = array(&device());
    erase(&mut nand, 8);
    program(&mut nand, 8, 0, Origin::Host, 1);
    copy(&mut nand, 8 * 8, 4, 2);
    erase(&mut nand, 8);
    program(&mut nand, 8, 0, Origin::Host, 2);
    read(&mut nand, 4, 2, Origin::Host, 3);
    let programmed = ERASE + PROGRAMMED;
    let copied = programmed + 2 * UNLOADED + PROGRAMMED;
    assert_eq!(run(&mut nand), [(1, programmed), (3, programmed + UNLOADED), (2, copied + ERASE + PROGRAMMED)]);
}

#[test]
fn a_partial_write_whose_page_beneath_was_read_elsewhere_holds_nothing_afterwards() {
    let mut nand = array(&device());
    erase(&mut nand, 8);
    copy(&mut nand, 0, 8, 0);
    write_over(&mut nand, 8 * 8, 4, 2, 1);
    program(&mut nand, 8, 1, Origin::Host, 2);
    erase(&mut nand, 8);
    program(&mut nand, 8, 0, Origin::Host, 3);
    let ends = run(&mut nand);
    assert!(ended(&ends, 1) < ERASE, "{ends:?}");
    assert_eq!((ended(&ends, 2), ended(&ends, 3)), (ERASE + 2 * PROGRAMMED, 2 * ERASE + 3 * PROGRAMMED));
}
