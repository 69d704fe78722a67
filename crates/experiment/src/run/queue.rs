//! Order in which the runs of a comparison start: the longest first, and those over one aged drive one after another.
//!
//! ```text
//! lot     the runs over one aged drive; a run that shares its drive with no other is a lot of its own
//! order   lots by their longest run, the longest first; within a lot the longest run first; equal ones as listed
//! take    the first run whose drive is not just being aged; if all are, the first
//! ```
//!
//! Longest first (LPT; Graham, "Bounds on multiprocessing timing anomalies", 1969), because a long run that starts last
//! leaves the other threads idle. Lot by lot, because an aged drive stays in memory until its last run has ended: a
//! thread begins a lot only if the drives of all waiting runs before it are being aged, each by another thread, so that
//! `n` threads keep at most `n` drives. The order says when a run starts, and has no effect on its result.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Approximate time of a request in units of an ageing page.
pub const PAGES_A_REQUEST: u64 = 4;

/// Expected work of a run.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Index of its variant.
    pub index: usize,
    /// Pages written to age its drive.
    pub ageing_pages: u64,
    /// Requests of its workload.
    pub requests: u64,
    /// Physical pages of its drive: of two equal runs the larger drive takes longer.
    pub drive_pages: u64,
    /// Index of the aged drive that it shares with other runs; `None` if it ages its own.
    pub drive: Option<usize>,
}

impl Work {
    /// Sort key: the run that should start earlier has the smaller one.
    fn rank(&self) -> (Reverse<u64>, Reverse<u64>, usize) {
        let pages = self.ageing_pages.saturating_add(self.requests.saturating_mul(PAGES_A_REQUEST));
        (Reverse(pages), Reverse(self.drive_pages), self.index)
    }
}

/// Sorts runs into the order in which they should start.
pub fn sort(runs: &mut [Work]) {
    runs.sort_by_key(Work::rank);
    let mut lots = BTreeMap::new();
    for run in runs.iter() {
        if let Some(drive) = run.drive {
            lots.entry(drive).or_insert(run.rank());
        }
    }
    // The sort is stable: each lot stays in order.
    runs.sort_by_key(|run| run.drive.map_or(run.rank(), |drive| lots[&drive]));
}

/// The runs that have not started yet, for several threads to take from.
pub struct Queue(Mutex<Waiting>);

struct Waiting {
    runs: VecDeque<Work>,
    /// Drives of the lots that have begun: true once the drive is aged.
    is_aged: BTreeMap<usize, bool>,
}

impl Queue {
    /// A queue of runs.
    pub fn new(mut runs: Vec<Work>) -> Self {
        sort(&mut runs);
        Self(Mutex::new(Waiting { runs: runs.into(), is_aged: BTreeMap::new() }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next run; `None` when all have started. Whoever takes the first run of a lot ages its drive, and then
    /// calls [`Self::aged`].
    pub fn take(&self) -> Option<Work> {
        let Waiting { runs, is_aged } = &mut *self.waiting();
        let is_ready = |run: &Work| run.drive.is_none_or(|drive| is_aged.get(&drive) != Some(&false));
        let run = runs.remove(runs.iter().position(is_ready).unwrap_or(0))?;
        if let Some(drive) = run.drive {
            is_aged.entry(drive).or_insert(false);
        }
        Some(run)
    }

    /// Reports that the drive of a run that was taken is aged, or cannot be.
    pub fn aged(&self, run: &Work) {
        if let Some(drive) = run.drive {
            self.waiting().is_aged.insert(drive, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use flashloom_units::Prng;

    use super::*;

    /// Runs by the pages that age their drives, their requests, the pages of their drives, and the shared drive.
    fn runs(of: &[(u64, u64, u64, Option<usize>)]) -> Vec<Work> {
        let work = |(index, &(ageing_pages, requests, drive_pages, drive)): (usize, &_)| Work {
            index,
            ageing_pages,
            requests,
            drive_pages,
            drive,
        };
        of.iter().enumerate().map(work).collect()
    }

    /// Indices of the runs in the order in which they start.
    fn order(of: &[(u64, u64, u64, Option<usize>)]) -> Vec<usize> {
        let mut runs = runs(of);
        sort(&mut runs);
        runs.iter().map(|run| run.index).collect()
    }

    #[test]
    fn equal_runs_start_as_they_are_listed() {
        assert_eq!(order(&[(5, 5, 5, None); 4]), [0, 1, 2, 3]);
        assert_eq!(order(&[]), []);
    }

    #[test]
    fn the_longest_run_starts_first_by_its_requests_and_the_ageing_of_its_drive() {
        let (short, long) = ((0, 10, 8, None), (0, 30, 8, None));
        assert_eq!(order(&[short, long, short, long]), [1, 3, 0, 2]);
        let (aged, busy) = ((41, 10, 8, None), (0, 20, 8, None));
        assert_eq!(order(&[busy, aged]), [1, 0], "41 pages and 10 requests are more than 20 requests");
        assert_eq!(order(&[(0, 10, 8, None), (0, 10, 9, None)]), [1, 0], "on the larger drive");
    }

    #[test]
    fn runs_over_one_aged_drive_start_one_after_another() {
        let [one, two] = [Some(0), Some(1)];
        let of = [(9, 10, 8, one), (9, 10, 8, two), (9, 20, 8, one), (9, 15, 8, two), (9, 12, 8, None)];
        assert_eq!(order(&of), [2, 0, 3, 1, 4]);
    }

    #[test]
    fn a_thread_takes_no_run_whose_drive_another_is_ageing_if_there_are_others() {
        let queue = Queue::new(runs(&[(9, 9, 8, Some(0)), (9, 9, 8, Some(0)), (9, 9, 8, Some(1)), (9, 9, 8, Some(1))]));
        let take = || queue.take().expect("one waits");
        let (first, other) = (take(), take());
        assert_eq!((first.index, other.index), (0, 2));
        queue.aged(&first);
        assert_eq!(take().index, 1, "its drive is aged now");
        assert_eq!(take().index, 3, "nothing else is left: it waits for its drive");
        assert!(queue.take().is_none());
    }

    /// What a thread does.
    #[derive(Clone, Copy)]
    enum Doing {
        Nothing,
        Ageing(Work),
        Running(Work),
    }

    #[test]
    fn at_any_time_there_are_at_most_as_many_aged_drives_as_threads() {
        let mut prng = Prng::new(1).branch("queue");
        for threads in (1..=4).cycle().take(400) {
            let mut work = || (prng.below(3), prng.below(3), 8, Some(prng.below(5) as usize));
            let all = runs(&[(); 20].map(|()| work()));
            let (queue, mut doing) = (Queue::new(all.clone()), vec![Doing::Nothing; threads]);
            let mut left: BTreeMap<_, usize> = BTreeMap::new();
            all.iter().for_each(|run| *left.entry(run.drive).or_default() += 1);
            let mut begun = BTreeSet::new();
            while left.values().any(|&left| left > 0) {
                let thread = prng.below(threads as u64) as usize;
                doing[thread] = match doing[thread] {
                    Doing::Nothing => match queue.take() {
                        None => Doing::Nothing,
                        Some(run) if begun.insert(run.drive) => Doing::Ageing(run),
                        Some(run) => Doing::Running(run),
                    },
                    Doing::Ageing(run) => {
                        queue.aged(&run);
                        Doing::Running(run)
                    }
                    Doing::Running(run) => {
                        *left.get_mut(&run.drive).expect("it was counted") -= 1;
                        Doing::Nothing
                    }
                };
                let kept = begun.iter().filter(|&drive| left[drive] > 0).count();
                assert!(kept <= threads, "{kept} drives of {threads} threads");
            }
        }
    }
}
