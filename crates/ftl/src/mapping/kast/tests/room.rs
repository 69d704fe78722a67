//! Room for sequences, an extension of the paper: reserved log blocks, and the merge that makes room to begin one.

use super::*;

fn reserving(log_blocks: u64, set: Set) -> Lab<Kast> {
    lab(&[&[count("reserved_log_blocks", log_blocks)], set].concat())
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
        let mut lab = lab(&[name("start_merge", "filled")]);
        lab.write([1, 5, 9, 13]);
        lab.write(others.iter().copied());
        assert_eq!(lab.write([16]), cost);
        assert_eq!(states(&lab).iter().position(|&state| state == Random(2)), taken);
        assert_eq!(states(&lab).contains(&sequential(4)), taken.is_none());
    }
}

rules! {
    page_0_merges_a_log_block_with_many_free_pages_where_step_2_does_not_take_it {
        lab(&[name("start_merge", "filled"), count("k", 1)]); [1, 5, 9, 13] => NOTHING, [16] => full(1);
        states [sequential(4), Random(1), Random(1), Random(1)]
    }
    the_reserve_is_kept_from_random_pages_that_other_log_blocks_take {
        reserving(1, &[]); [1, 5, 9, 13, 17, 21] => NOTHING; states [Random(2), Random(2), Random(2), Free]
    }
    /// K is kept, and nothing is merged while a log block is free.
    the_reserve_is_opened_for_a_random_page_that_no_other_log_block_takes {
        reserving(1, &[]); [1, 5, 9, 13, 17, 21, 25] => NOTHING; states [Random(2), Random(2), Random(2), Random(1)]
    }
    a_complete_sequence_is_switched_before_a_random_page_is_kept_from_the_reserve {
        reserving(1, &[]); [0, 1, 2, 3, 5, 9] => NOTHING, [13] => SWITCH; states [Random(1), Random(1), Random(1), Free]
    }
    nothing_is_reserved_where_no_sequence_can_begin {
        reserving(4, &[NO_SEQUENCES]); [1, 5, 9, 13] => NOTHING; states [Random(1); 4]
    }
    /// With preemption, one more free log block is kept for a merge.
    with_preemption_the_reserve_is_beside_the_log_block_of_merges {
        preempted(&[count("reserved_log_blocks", 1)]); [1, 5, 9] => NOTHING;
        states [Random(2), Random(1), Free, Free]
    }
    with_preemption_a_sequence_begins_in_the_reserve {
        preempted(&[count("reserved_log_blocks", 1)]); [1, 5, 9, 16, 13] => NOTHING;
        states [Random(2), Random(2), sequential(4), Free]
    }
}

/// The bound on waits relies on this: docs/waits.md, lemma 3.
#[test]
fn a_page_whose_own_sequence_was_merged_switches_no_other_one_for_the_reserve() {
    let set = [count("sequential_log_blocks", 2), name("large_gap", "merge")];
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
            let set = [count("reserved_log_blocks", reserved), count("sequential_log_blocks", sequential)];
            let setup = kast(preemption, &[&set[..], &USUAL].concat());
            setup.profile(&space(1, 8, 4)).err().map(|refusal| refusal.keys)
        };
        let refused = ["ftl.kast.reserved_log_blocks", "ftl.kast.log_blocks", "ftl.preemption"].map(str::to_owned);
        assert_eq!([keys(most, 1), keys(most + 1, 1), keys(most + 1, 0)], [None, Some(refused.to_vec()), None]);
    }
}
