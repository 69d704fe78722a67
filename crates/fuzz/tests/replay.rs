//! Every seed is read, every input of the corpus and every damaged seed ends in an error or a value; no saved drive,
//! however it was damaged, ends a run.
//!
//! More of it: `STATES=100000 cargo test --release -p flashloom-fuzz --test replay -- --ignored`.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flashloom_fuzz::Target;
use flashloom_fuzz::states::{Damage, setups};
use flashloom_units::Prng;

/// Damaged inputs of each target but the states, and damaged states of all drives together.
const INPUTS: u64 = 60;
const STATES: u64 = 4_000;

#[test]
fn every_target_reads_its_seeds_and_ends_on_damaged_ones() {
    let mut unread = Vec::new();
    for target in Target::all().filter(|&target| target != Target::State) {
        let mut prng = Prng::new(3).branch(&target.name());
        for (number, seed) in target.seeds().into_iter().enumerate() {
            if !target.read(&seed) {
                unread.push(format!("{} {number}", target.name()));
            }
            for _ in 0..INPUTS {
                let mut damaged = seed.clone();
                Damage::apply(&mut damaged, &mut prng);
                target.read(&damaged);
            }
        }
    }
    assert_eq!(unread, Vec::<String>::new(), "seeds that are not read");
}

/// What fuzzers have found, by the name of the target: each made the program panic, or take more than it may.
#[test]
fn what_was_found_once_is_no_failure_any_more() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let targets: BTreeMap<String, Target> = Target::all().map(|target| (target.name(), target)).collect();
    for folder in fs::read_dir(corpus).expect("the corpus") {
        let folder = folder.expect("an entry").path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = targets.get(&name).unwrap_or_else(|| panic!("{name} is no target"));
        for input in fs::read_dir(&folder).expect("a folder") {
            target.read(&fs::read(input.expect("an entry").path()).expect("an input"));
        }
    }
}

/// Loads damaged states of every drive in turn; returns how many were loaded, and ran to an end that passes its checks.
fn damage(states: u64, seed: u64) -> u64 {
    let mut prng = Prng::new(seed).branch("damage");
    let mut loaded = 0;
    for number in 0..states {
        let setup = &setups()[number as usize % setups().len()];
        let mut state = setup.state().to_vec();
        Damage::apply(&mut state, &mut prng);
        let ended = catch_unwind(AssertUnwindSafe(|| setup.run(&state)));
        let ended = ended.unwrap_or_else(|_| panic!("state {number} of seed {seed}, of a drive with {}", setup.keys));
        loaded += u64::from(ended.is_ok());
    }
    loaded
}

#[test]
fn every_drive_is_loaded_as_it_was_saved() {
    for setup in setups() {
        assert_eq!(setup.run(setup.state()), Ok(()), "{}", setup.keys);
    }
}

#[test]
fn no_damaged_drive_ends_the_program() {
    let loaded = damage(STATES, 1);
    assert!((1..STATES / 2).contains(&loaded), "{loaded} of {STATES} damaged states do no harm");
}

/// As many states as `STATES` says, from the seed that `SEED` says.
#[test]
#[ignore = "minutes: as many states as STATES says"]
fn no_drive_of_many_that_are_damaged_ends_the_program() {
    let of = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (states, seed) = (of("STATES", 100_000), of("SEED", 2));
    println!("{} of {states} damaged states do no harm", damage(states, seed));
}
