//! Room for sequences, an extension of the paper: reserved log blocks, and the merge that makes room to begin one.

use super::*;

fn reserving(log_blocks: u64, set: &[(&str, Value)]) -> Lab<Kast> {
    lab(&[&[("reserved_log_blocks", Value::Count(log_blocks))], set].concat())
}

#[test]
fn random_pages_leave_the_reserve_free_while_another_log_block_takes_them() {
    for reserved in 0..=3 {
        let mut lab = reserving(reserved, &[]);
        lab.write([1, 5, 9, 13]);
        let opened = (4 - reserved as usize).max(2);
        assert_eq!(states(&lab).iter().filter(|&&state| state != Free).count(), opened, "{reserved} are reserved");
    }
}

#[test]
fn a_sequence_begins_in_the_reserve_and_merges_nothing() {
    for (reserved, cost) in [(0, full(1)), (1, NOTHING)] {
        let mut lab = reserving(reserved, &[]);
        lab.write([1, 5, 9, 13]);
        assert_eq!(lab.write([16]), cost);
        assert_eq!(states(&lab).iter().filter(|&&state| state == sequential(4)).count(), 1);
    }
}

#[test]
fn page_0_merges_no_log_block_with_many_free_pages_where_step_2_takes_it() {
    // L0 to L3 have one page each, or with the others three.
    for (others, cost, taken) in [(&[][..], NOTHING, Some(0)), (&[2, 3, 6, 7, 10, 11, 14, 15], full(1), None)] {
        let mut lab = lab(&[("start_merge", Value::Name("filled"))]);
        lab.write([1, 5, 9, 13]);
        lab.write(others.iter().copied());
        assert_eq!(lab.write([16]), cost);
        assert_eq!(states(&lab).iter().position(|&state| state == Random(2)), taken);
        assert_eq!(states(&lab).contains(&sequential(4)), taken.is_none());
    }
}

#[test]
fn page_0_merges_a_log_block_with_many_free_pages_where_step_2_does_not_take_it() {
    let mut lab = lab(&[("start_merge", Value::Name("filled")), ("k", Value::Count(1))]);
    lab.write([1, 5, 9, 13]);
    assert_eq!(lab.write([16]), full(1));
    assert_eq!(states(&lab)[0], sequential(4));
}

#[test]
fn the_reserve_is_opened_for_a_random_page_that_no_other_log_block_takes() {
    let mut lab = reserving(1, &[]);
    assert_eq!(lab.write([1, 5, 9, 13, 17, 21]), NOTHING);
    assert_eq!(states(&lab), [Random(2), Random(2), Random(2), Free]);
    assert_eq!(lab.write([25]), NOTHING);
    assert_eq!(states(&lab)[3], Random(1), "K is kept, and nothing is merged while a log block is free");
}

#[test]
fn a_complete_sequence_is_switched_before_a_random_page_is_kept_from_the_reserve() {
    let mut lab = reserving(1, &[]);
    assert_eq!(lab.write([0, 1, 2, 3, 5, 9]), NOTHING);
    assert_eq!(lab.write([13]), SWITCH);
    assert_eq!(states(&lab), [Random(1), Random(1), Random(1), Free]);
}

/// The bound on waits relies on this: docs/waits.md, lemma 3.
#[test]
fn a_page_whose_own_sequence_was_merged_switches_no_other_one_for_the_reserve() {
    let set = [("sequential_log_blocks", Value::Count(2)), ("large_gap", Value::Name("merge"))];
    let mut lab = reserving(3, &set);
    // B0 is complete; B1 has two pages, and page 4 comes again.
    assert_eq!(lab.write([0, 1, 2, 3, 4, 5]), NOTHING);
    assert_eq!(lab.write([5]), partial(2));
    assert_eq!(states(&lab)[..2], [sequential(0), Random(1)]);
}

#[test]
fn a_reserve_that_leaves_random_pages_no_log_block_is_refused() {
    for (preemption, most) in [(Preemption::None, 3), (Preemption::Page, 2)] {
        let keys = |reserved: u64, sequential: u64| {
            let log_blocks =
                [("log_blocks", 4), ("reserved_log_blocks", reserved), ("sequential_log_blocks", sequential)];
            let counts = [&log_blocks[..], &[("k", 2)]].concat();
            let set: Vec<_> = counts.into_iter().map(|(name, count)| (name, Value::Count(count))).collect();
            let mut setup = setup("kast", &set);
            setup.params.preemption = preemption;
            setup.profile(&space(1, 8, 4)).err().map(|refusal| refusal.keys)
        };
        let refused = ["ftl.kast.reserved_log_blocks", "ftl.kast.log_blocks", "ftl.preemption"].map(str::to_owned);
        assert_eq!([keys(most, 1), keys(most + 1, 1), keys(most + 1, 0)], [None, Some(refused.to_vec()), None]);
    }
}

#[test]
fn nothing_is_reserved_where_no_sequence_can_begin() {
    let mut lab = reserving(4, &[("sequential_log_blocks", Value::Count(0))]);
    lab.write([1, 5, 9, 13]);
    assert_eq!(states(&lab), [Random(1); 4]);
}

/// With preemption, one more free log block is kept for a merge.
#[test]
fn with_preemption_the_reserve_is_beside_the_log_block_of_merges() {
    let mut lab = preempted(&[("reserved_log_blocks", Value::Count(1))]);
    assert_eq!(lab.write([1, 5, 9]), NOTHING);
    assert_eq!(states(&lab), [Random(2), Random(1), Free, Free]);
    assert_eq!(lab.write([16, 13]), NOTHING);
    assert_eq!(states(&lab), [Random(2), Random(2), sequential(4), Free]);
}
