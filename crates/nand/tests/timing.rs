//! Exact times of the timed back end: each test says which rule it shows. The times of the array stand in `support`.

use flashloom_nand::{
    BlockId, Busiest, CellMode, Data, DieOrder, MultiPlane, Nand, NandParams, Origin, Ppn, Program, Region, Status,
    Suspend,
};
use flashloom_units::{MS, Ns, Prng, US};
use flashloom_verify::Verifier;

use crate::support::{
    Array, ERASE, PAGE, PROGRAM, READ, array, device, erase, program, read, read_after, run, run_to, spare_copy,
    spare_erase,
};

#[test]
fn operations_take_their_array_time_and_take_turns_on_die_and_channel() {
    let with_commands = NandParams { command_ns: US, ..device() };
    for (rule, params, pages, ends) in [
        ("array time and then the channel", device(), &[(0, 0)][..], &[READ + PAGE][..]),
        // The second command waits for the first, its data for the first's data.
        ("a command first", with_commands, &[(0, 0), (8, 0)], &[US + READ + PAGE, US + READ + 2 * PAGE]),
        ("dies at the same time", device(), &[(0, 0), (8, 0)], &[READ + PAGE, READ + 2 * PAGE]),
        ("a register held until the data has crossed", device(), &[(0, 0), (0, 1)], &[READ + PAGE, 2 * (READ + PAGE)]),
    ] {
        let mut nand = array(&params);
        for (tag, &(block, page)) in (0..).zip(pages) {
            read(&mut nand, block, page, Origin::Host, tag);
        }
        assert_eq!(run(&mut nand), (0..).zip(ends.iter().copied()).collect::<Vec<_>>(), "{rule}");
    }
    let mut nand = array(&device());
    program(&mut nand, 0, 4, Origin::Host, 1);
    assert_eq!(run(&mut nand), [(1, PAGE + PROGRAM)], "a program takes the channel first");
}

#[test]
fn a_read_that_needs_another_one_starts_after_it() {
    let mut nand = array(&device());
    let map = read(&mut nand, 0, 0, Origin::Map, 1);
    let data = read_after(&mut nand, 8, 0, map, 2);
    read_after(&mut nand, 4, 0, data, 3);
    assert_eq!(run(&mut nand), [1, 2, 3].map(|at| (at, Ns::from(at) * (READ + PAGE))));
}

#[test]
fn a_read_that_needs_another_one_waits_for_the_life_of_its_block_too() {
    let mut nand = array(&device());
    erase(&mut nand, 8);
    program(&mut nand, 8, 0, Origin::Host, Nand::NO_TAG);
    // What it needs is there long before its page is; the page of another block is there before what that one needs.
    let map = read(&mut nand, 0, 0, Origin::Map, 1);
    let data = read_after(&mut nand, 8, 0, map, 2);
    read_after(&mut nand, 4, 0, data, 3);
    erase(&mut nand, 4);
    let written = ERASE + PAGE + PROGRAM;
    assert_eq!(run(&mut nand), [(1, READ + PAGE), (2, written + READ + PAGE), (3, written + 2 * (READ + PAGE))]);
}

fn order_of_ends(nand: &mut Array) -> Vec<u32> {
    run(nand).into_iter().map(|(tag, _)| tag).collect()
}

#[test]
fn a_host_read_goes_before_a_program_and_that_before_spare_collection() {
    for (order, expected) in [(DieOrder::Priority, [4, 1, 3, 2]), (DieOrder::Fifo, [1, 2, 3, 4])] {
        let mut nand = array(&NandParams { die_order: order, ..device() });
        program(&mut nand, 0, 4, Origin::Host, 1);
        spare_erase(&mut nand, 2);
        program(&mut nand, 2, 0, Origin::Host, 2);
        program(&mut nand, 4, 2, Origin::Host, 3);
        read(&mut nand, 4, 0, Origin::Host, 4);
        assert_eq!(order_of_ends(&mut nand), expected);
    }
}

#[test]
fn what_a_write_needs_collected_has_the_priority_of_the_write() {
    let mut nand = array(&device());
    program(&mut nand, 0, 4, Origin::Host, 1);
    erase(&mut nand, 2);
    program(&mut nand, 4, 2, Origin::Host, 2);
    assert_eq!(run(&mut nand), [(1, PAGE + PROGRAM), (2, 2 * (PAGE + PROGRAM) + ERASE)]);
}

#[test]
fn nothing_is_overtaken_more_often_than_the_bound() {
    let mut nand = array(&NandParams { max_overtakes: 2, ..device() });
    program(&mut nand, 0, 4, Origin::Host, 0);
    program(&mut nand, 4, 2, Origin::Host, 9);
    for tag in 1..5 {
        read(&mut nand, 0, 0, Origin::Host, tag);
    }
    assert_eq!(order_of_ends(&mut nand), [1, 2, 0, 3, 4, 9]);
}

#[test]
fn pages_of_a_block_are_programmed_in_order_whatever_their_class() {
    let mut nand = array(&device());
    program(&mut nand, 0, 4, Origin::Gc, 1);
    program(&mut nand, 0, 5, Origin::Gc, 2);
    // Of a higher class, and yet it waits for the pages below it; the verifier would reject any other order.
    program(&mut nand, 0, 6, Origin::Host, 3);
    let step = PAGE + PROGRAM;
    assert_eq!(run(&mut nand), [(1, step), (2, 2 * step), (3, 3 * step)]);
}

#[test]
fn a_read_waits_for_the_program_of_its_page() {
    let mut nand = array(&device());
    program(&mut nand, 0, 4, Origin::Host, 1);
    read(&mut nand, 0, 4, Origin::Host, 2);
    assert_eq!(run(&mut nand), [(1, PAGE + PROGRAM), (2, PAGE + PROGRAM + READ + PAGE)]);
}

#[test]
fn an_erase_waits_for_the_copies_out_of_its_block_and_programs_wait_for_the_erase() {
    let mut nand = array(&device());
    spare_copy(&mut nand, 0, 8, 2);
    spare_erase(&mut nand, 0);
    program(&mut nand, 0, 0, Origin::Host, 1);
    read(&mut nand, 0, 0, Origin::Host, 2);
    let copied = READ + PAGE + PAGE + PROGRAM;
    let programmed = copied + ERASE + PAGE + PROGRAM;
    assert_eq!(run(&mut nand), [(1, programmed), (2, programmed + READ + PAGE)]);
}

#[test]
fn a_block_can_be_rewritten_and_erased_again_before_its_first_erase_has_run() {
    let mut nand = array(&device());
    spare_erase(&mut nand, 0);
    program(&mut nand, 0, 0, Origin::Host, 1);
    spare_copy(&mut nand, 0, 8, 2);
    spare_erase(&mut nand, 0);
    program(&mut nand, 0, 0, Origin::Host, 2);
    let copied = ERASE + PAGE + PROGRAM + READ + PAGE + PAGE + PROGRAM;
    assert_eq!(run(&mut nand), [(1, ERASE + PAGE + PROGRAM), (2, copied + ERASE + PAGE + PROGRAM)]);
}

#[test]
fn copyback_moves_a_page_within_its_plane_without_the_channel() {
    let last = |to: u32| {
        let mut nand = array(&NandParams { copyback: true, ..device() });
        spare_copy(&mut nand, 0, to, 0);
        let counts = (nand.counts().reads[1], nand.counts().programs[1]);
        (run_to(&mut nand, Ns::MAX), counts)
    };
    assert_eq!(last(1), (READ + PROGRAM, (1, 1)));
    // Another plane: the page goes over the channel and back.
    assert_eq!(last(5), (READ + 2 * PAGE + PROGRAM, (1, 1)));
}

#[test]
fn planes_work_together_on_one_kind_and_if_aligned_on_one_page_index() {
    let last = |multi_plane, page: u32| {
        let mut nand = array(&NandParams { multi_plane, ..device() });
        read(&mut nand, 0, 0, Origin::Host, 1);
        read(&mut nand, 4, page, Origin::Host, 2);
        run(&mut nand).last().map(|(_, at)| *at)
    };
    assert_eq!(last(MultiPlane::None, 0), Some(2 * (READ + PAGE)));
    assert_eq!(last(MultiPlane::Aligned, 0), Some(READ + 2 * PAGE));
    assert_eq!(last(MultiPlane::Aligned, 1), Some(2 * (READ + PAGE)));
    assert_eq!(last(MultiPlane::Independent, 1), Some(READ + 2 * PAGE));
}

#[test]
fn programs_of_other_page_indices_run_alone_where_planes_must_be_aligned() {
    let mut nand = array(&NandParams { multi_plane: MultiPlane::Aligned, ..device() });
    program(&mut nand, 0, 4, Origin::Host, Nand::NO_TAG);
    (2..5).for_each(|page| program(&mut nand, 4, page, Origin::Host, Nand::NO_TAG));
    read(&mut nand, 0, 4, Origin::Host, 1);
    read(&mut nand, 4, 4, Origin::Host, 2);
    let programs = PAGE + PROGRAM;
    // Page 4 of the second plane is its third program; the first plane's read is long done by then.
    assert_eq!(run(&mut nand), [(1, programs + READ + PAGE), (2, 4 * programs + READ + PAGE + READ + PAGE)]);
}

#[test]
fn cache_program_transfers_the_next_page_while_the_die_programs() {
    let mut nand = array(&NandParams { cache_program: true, ..device() });
    (4..7).for_each(|page| program(&mut nand, 0, page, Origin::Host, page));
    assert_eq!(run(&mut nand), [(4, PAGE + PROGRAM), (5, PAGE + 2 * PROGRAM), (6, PAGE + 3 * PROGRAM)]);
}

/// Issues a read of the second plane at `at` while the first plane's block 1 is being erased from time 0.
fn read_under_erase(params: &NandParams, at: &[Ns]) -> (Vec<Ns>, Ns) {
    let mut nand = array(params);
    program(&mut nand, 1, 0, Origin::Gc, Nand::NO_TAG);
    let programmed = run_to(&mut nand, Ns::MAX);
    spare_erase(&mut nand, 1);
    program(&mut nand, 1, 0, Origin::Gc, 99);
    let mut reads = Vec::new();
    let mut ends = Vec::new();
    let mut left = at.iter().map(|at| programmed + at).collect::<std::collections::VecDeque<_>>();
    let mut last = 0;
    loop {
        let next = nand.next_event_ns().unwrap_or(Ns::MAX);
        if left.front().is_some_and(|at| *at <= next) {
            let now = left.pop_front().unwrap();
            nand.set_now(now);
            read(&mut nand, 4, 0, Origin::Host, reads.len() as u32);
            reads.push(now);
            continue;
        }
        if next == Ns::MAX {
            break;
        }
        nand.step(next, next);
        while let Some(tag) = nand.take_completed() {
            if tag == 99 { last = next - programmed } else { ends.push(next - reads[tag as usize]) }
        }
    }
    nand.check();
    (ends, last)
}

#[test]
fn a_read_suspends_an_erase_which_goes_on_with_what_it_had_left() {
    let after = PAGE + PROGRAM;
    assert_eq!(read_under_erase(&device(), &[MS]), (vec![ERASE - MS + READ + PAGE], ERASE + READ + PAGE + after));
    let params = NandParams { suspend: Suspend::Erase, suspend_ns: 20 * US, ..device() };
    let served = 20 * US + READ + PAGE;
    assert_eq!(read_under_erase(&params, &[MS]), (vec![served], ERASE + served + 20 * US + after));
    // Too late to gain anything: what is left is not longer than the suspension.
    assert_eq!(read_under_erase(&params, &[ERASE - 20 * US]).0, [20 * US + READ + PAGE]);
    assert_eq!(read_under_erase(&params, &[ERASE - 20 * US]).1, ERASE + READ + PAGE + after);
}

#[test]
fn only_so_many_reads_overtake_a_suspended_operation() {
    let params = NandParams { suspend: Suspend::Erase, suspend_ns: 20 * US, max_overtakes: 2, ..device() };
    let (ends, _) = read_under_erase(&params, &[MS, MS, MS]);
    let left = ERASE - MS;
    let two = 20 * US + 2 * (READ + PAGE);
    assert_eq!(ends, [20 * US + READ + PAGE, two, two + 20 * US + left + READ + PAGE]);
}

#[test]
fn a_read_that_comes_too_early_to_suspend_suspends_as_soon_as_it_can() {
    let params = NandParams { suspend: Suspend::ProgramErase, suspend_ns: 20 * US, ..device() };
    for at in [0, 5 * US, 10 * US] {
        let mut nand = array(&params);
        program(&mut nand, 0, 4, Origin::Host, 1);
        assert_eq!(nand.next_event_ns(), Some(PAGE), "the array begins when the data is in");
        if at == PAGE {
            nand.step(at, at);
        }
        nand.set_now(at);
        read(&mut nand, 4, 0, Origin::Host, 2);
        let served = PAGE + 20 * US + READ + PAGE;
        assert_eq!(run(&mut nand), [(2, served), (1, served + 20 * US + PROGRAM)], "at {at} ns");
    }
}

#[test]
fn a_read_under_a_resumed_erase_may_suspend_it_again() {
    let params = NandParams { suspend: Suspend::Erase, suspend_ns: 20 * US, ..device() };
    let one = 20 * US + READ + PAGE;
    // The second read comes while the erase resumes; it waits for the resumption and suspends again.
    let (ends, last) = read_under_erase(&params, &[MS, MS + one + 5 * US]);
    assert_eq!(ends, [one, 15 * US + one]);
    assert_eq!(last, ERASE + 2 * (one + 20 * US) + PAGE + PROGRAM);
}

#[test]
fn a_read_may_suspend_a_program_while_the_next_is_staged() {
    let device = NandParams { suspend: Suspend::ProgramErase, suspend_ns: 20 * US, cache_program: true, ..device() };
    let mut nand = array(&device);
    program(&mut nand, 0, 4, Origin::Host, 1);
    program(&mut nand, 0, 5, Origin::Host, 2);
    run_to(&mut nand, 100 * US);
    nand.set_now(100 * US);
    read(&mut nand, 4, 0, Origin::Host, 3);
    let served = 100 * US + 20 * US + READ + PAGE;
    let first = PAGE + PROGRAM + (served - 100 * US) + 20 * US;
    assert_eq!(run(&mut nand), [(3, served), (1, first), (2, first + PROGRAM)]);
}

/// Two reads on the second die, one on the first.
#[test]
fn the_busiest_die_and_channel_stand_beside_the_sums() {
    let mut nand = array(&device());
    let idle = nand.utilization().unwrap();
    assert_eq!((idle.busiest_die, idle.busiest_channel), (Busiest { number: 0, busy_ns: 0 }, idle.busiest_die));
    read(&mut nand, 0, 0, Origin::Host, 1);
    run(&mut nand);
    read(&mut nand, 8, 0, Origin::Host, 2);
    read(&mut nand, 8, 1, Origin::Host, 3);
    run(&mut nand);
    let used = nand.utilization().unwrap();
    assert_eq!(used.busiest_die, Busiest { number: 1, busy_ns: 2 * (READ + PAGE) });
    assert_eq!(used.die_busy_ns, u128::from(3 * (READ + PAGE)));
    assert_eq!(used.busiest_channel, Busiest { number: 0, busy_ns: 3 * PAGE });
    assert_eq!(used.channel_busy_ns, u128::from(3 * PAGE));
}

#[test]
fn the_accounts_of_a_suspended_collection_do_not_hold_the_reads() {
    let params = NandParams { suspend: Suspend::Erase, suspend_ns: 20 * US, ..device() };
    let mut nand = array(&params);
    erase(&mut nand, 0);
    assert_eq!(nand.next_event_ns(), Some(ERASE));
    nand.set_now(MS);
    read(&mut nand, 4, 0, Origin::Host, 1);
    run(&mut nand);
    assert_eq!(nand.utilization().unwrap().collection_ns, u128::from(ERASE + 20 * US), "the erase and its resumption");
}

#[test]
fn a_program_that_fails_takes_its_time_and_what_replaces_it_waits_for_it() {
    let params = NandParams { program_failures: 0.5, ..device() };
    // The replacement goes to another die, where nothing but the failed program holds it back.
    let ended = (0..).find_map(|seed| {
        let mut nand = Array::new(&params, &Prng::new(seed));
        nand.start_timing(&params);
        let of_map = |block| Program::new(BlockId(block), 0, Data::Map { page: 0, base: Ppn::NONE }, Origin::Host);
        let Status::Failed(after) = nand.program(Program { tag: 1, ..of_map(0) }) else { return None };
        let again = nand.program(Program { after, tag: 1, ..of_map(8) });
        (again == Status::Passed).then(|| run(&mut nand))
    });
    assert_eq!(ended, Some(vec![(1, 2 * (PAGE + PROGRAM))]));
}

#[test]
fn blocks_of_a_region_take_the_times_of_their_cell_mode_and_hold_its_pages() {
    let (params, cells) = (device(), CellMode { pages: 2, read_ns: 5 * US, program_ns: 60 * US });
    let mut nand = Nand::new(&params).with_region(&Region::new(3, 1).with_cells(cells));
    assert_eq!([2, 3, 4, 7].map(|block| nand.pages_of(BlockId(block))), [8, 2, 8, 2]);
    assert_eq!(nand.erased_pages(), 4 * (3 * 8 + 2));
    let verifier = Verifier::new(&mut nand, 16);
    let mut nand = Array { nand, verifier };
    nand.start_timing(&params);
    program(&mut nand, 3, 0, Origin::Host, 1);
    program(&mut nand, 8, 0, Origin::Host, 2);
    assert_eq!(run(&mut nand), [(1, PAGE + 60 * US), (2, 2 * PAGE + PROGRAM)]);
    let now = 2 * PAGE + PROGRAM;
    read(&mut nand, 3, 0, Origin::Host, 1);
    assert_eq!(run(&mut nand), [(1, now + 5 * US + PAGE)]);
}
