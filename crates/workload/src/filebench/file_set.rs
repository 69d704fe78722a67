//! The file set: files that exist and are not open, and files that do not exist. An open file is held by one thread
//! alone, and files are picked in rotation, both as in Filebench: every file of the set is used before one is used
//! again. Filebench has a rotation per thread; here one rotation in random order serves all threads.

use std::collections::VecDeque;

use flashloom_units::Prng;

use super::Personality;

/// Files that may be picked, the next one first.
pub struct Rotation(VecDeque<u32>);

impl Rotation {
    /// Takes a file out.
    pub fn take(&mut self) -> u32 {
        self.0.pop_front().expect("the set was made large enough for its threads")
    }

    /// Puts a file back, behind all others.
    pub fn put(&mut self, file: u32) {
        self.0.push_back(file);
    }
}

/// The files that no thread has open.
pub struct FileSet {
    /// Those that exist.
    pub idle: Rotation,
    /// Those that do not.
    pub missing: Rotation,
}

impl FileSet {
    /// A set of `files` files, of which the share `preallocated` exists at the start.
    pub fn new(files: u32, preallocated: f64, prng: &mut Prng) -> Self {
        let existing = (f64::from(files) * preallocated).round() as u32;
        let mut idle: Vec<u32> = (0..existing).collect();
        for at in (1..idle.len()).rev() {
            idle.swap(at, prng.below(at as u64 + 1) as usize);
        }
        Self { idle: Rotation(idle.into()), missing: Rotation((existing..files).collect()) }
    }

    /// Smallest number of files with which a thread always finds one to open, create or delete: each thread may hold
    /// one open, and may be one deletion or creation ahead.
    pub fn least_files(personality: Personality, threads: u32, preallocated: f64) -> u32 {
        let spare = 2.0 * (f64::from(threads) + 1.0);
        let share = if preallocated < 1.0 { preallocated.min(1.0 - preallocated) } else { 1.0 };
        if personality == Personality::Oltp { 1 } else { (spare / share).ceil() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_picked_before_one_is_picked_again_and_not_in_order() {
        let mut set = FileSet::new(100, 0.5, &mut Prng::new(1));
        let round = |set: &mut FileSet| -> Vec<u32> {
            (0..50)
                .map(|_| {
                    let file = set.idle.take();
                    set.idle.put(file);
                    file
                })
                .collect()
        };
        let (first, second) = (round(&mut set), round(&mut set));
        assert_eq!(first, second);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_ne!(first, sorted);
        assert_eq!(set.missing.take(), 50);
    }
}
