//! Order in which the runs of a comparison start: the longest first, on few aged drives at a time.
//!
//! ```text
//! length  requests of the run, and the pages that age its drive unless it is aged already
//! begun   an aged drive shared by several runs: from the start of its first run to the end of its last
//! take    the longest run that ages a drive of its own, or whose drive is aged, or for which a drive may be begun:
//!         fewer are begun than there are threads; if there is none, the longest whose drive another thread ages
//! ```
//!
//! Longest first (LPT; Graham, "Bounds on multiprocessing timing anomalies", 1969), because a long run that starts last
//! leaves the other threads idle. A drive stays in memory until its last run has ended: that there are as few as
//! threads bounds the memory. The order says when a run starts, and has no effect on its result. O(runs) for each run.

use std::cmp::Reverse;
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

/// The runs that have not started yet, for several threads to take from.
pub struct Queue {
    threads: usize,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    runs: Vec<Work>,
    /// The shared drives, by their index.
    drives: Vec<SharedDrive>,
}

/// An aged drive of several runs.
#[derive(Clone, Copy, Default)]
struct SharedDrive {
    stage: Stage,
    /// Number of its runs that have not ended.
    left: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// No run has started.
    #[default]
    New,
    /// The first run has started, and ages it.
    Ageing,
    Aged,
}

impl Waiting {
    fn stage(&self, run: &Work) -> Option<Stage> {
        run.drive.map(|drive| self.drives[drive].stage)
    }

    /// Sort key: of two runs the one with the smaller key is to start first.
    fn rank(&self, run: &Work) -> (Reverse<u64>, Reverse<u64>, usize) {
        let ageing = if self.stage(run) == Some(Stage::Aged) { 0 } else { run.ageing_pages };
        let pages = ageing.saturating_add(run.requests.saturating_mul(PAGES_A_REQUEST));
        (Reverse(pages), Reverse(run.drive_pages), run.index)
    }

    /// Number of drives that are begun.
    fn begun(&self) -> usize {
        self.drives.iter().filter(|drive| drive.stage != Stage::New && drive.left > 0).count()
    }

    /// Position of the run to start next.
    fn next(&self, threads: usize) -> Option<usize> {
        let has_room = self.begun() < threads;
        let may_start = |run: &Work| match self.stage(run) {
            None | Some(Stage::Aged) => true,
            Some(Stage::New) => has_room,
            Some(Stage::Ageing) => false,
        };
        (0..self.runs.len()).min_by_key(|&at| (!may_start(&self.runs[at]), self.rank(&self.runs[at])))
    }
}

impl Queue {
    /// A queue of runs for a number of threads.
    pub fn new(runs: Vec<Work>, threads: usize) -> Self {
        let shared = runs.iter().filter_map(|run| run.drive);
        let mut drives = vec![SharedDrive::default(); shared.clone().max().map_or(0, |last| last + 1)];
        shared.for_each(|drive| drives[drive].left += 1);
        Self { threads, waiting: Mutex::new(Waiting { runs, drives }) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next run; `None` when all have started. Whoever takes a run reports [`Self::aged`] and
    /// [`Self::ended`].
    pub fn take(&self) -> Option<Work> {
        let mut waiting = self.waiting();
        let next = waiting.next(self.threads)?;
        let run = waiting.runs.swap_remove(next);
        if let Some(drive) = run.drive.filter(|&drive| waiting.drives[drive].stage == Stage::New) {
            waiting.drives[drive].stage = Stage::Ageing;
        }
        Some(run)
    }

    /// Reports that the drive of a run that was taken is aged, or cannot be.
    pub fn aged(&self, run: &Work) {
        if let Some(drive) = run.drive {
            self.waiting().drives[drive].stage = Stage::Aged;
        }
    }

    /// Reports that a run that was taken has ended.
    pub fn ended(&self, run: &Work) {
        if let Some(drive) = run.drive {
            self.waiting().drives[drive].left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use flashloom_units::Prng;

    use super::*;

    /// Runs by the pages that age their drives, their requests, the pages of their drives, and the shared drive.
    fn queue(of: &[(u64, u64, u64, Option<usize>)], threads: usize) -> Queue {
        let work = (0..).zip(of).map(|(index, &(ageing_pages, requests, drive_pages, drive))| Work {
            index,
            ageing_pages,
            requests,
            drive_pages,
            drive,
        });
        Queue::new(work.collect(), threads)
    }

    /// Indices of the runs in the order in which they start, one after another.
    fn order(of: &[(u64, u64, u64, Option<usize>)]) -> Vec<usize> {
        let queue = queue(of, 1);
        let next = || {
            let run = queue.take()?;
            queue.aged(&run);
            queue.ended(&run);
            Some(run.index)
        };
        iter::from_fn(next).collect()
    }

    #[test]
    fn equal_runs_start_as_they_are_listed() {
        assert_eq!(order(&[(5, 5, 5, None); 4]), [0, 1, 2, 3]);
        assert_eq!(order(&[]), [0; 0]);
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
    fn runs_over_an_aged_drive_are_shorter_by_its_ageing_and_end_before_the_next_drive_is_begun() {
        let [one, two] = [Some(0), Some(1)];
        let of = [(90, 10, 8, one), (80, 10, 8, two), (90, 20, 8, one), (80, 40, 8, two), (0, 15, 8, None)];
        assert_eq!(order(&of), [3, 4, 1, 2, 0]);
    }

    #[test]
    fn a_thread_takes_no_run_whose_drive_another_is_ageing_if_there_are_others() {
        let [one, two] = [(9, 9, 8, Some(0)), (9, 9, 8, Some(1))];
        let queue = queue(&[one, one, two, two], 2);
        let take = || queue.take().expect("one waits");
        let (first, other) = (take(), take());
        assert_eq!((first.index, other.index), (0, 2));
        queue.aged(&first);
        queue.ended(&first);
        assert_eq!(take().index, 1, "its drive is aged now");
        assert_eq!(take().index, 3, "nothing else is left: it waits for its drive");
        assert!(queue.take().is_none());
    }

    /// What a thread does.
    #[derive(Clone, Copy)]
    enum Doing {
        Nothing,
        /// It has taken a run, and ages its drive or waits for it.
        Ageing(Work),
        Running(Work),
    }

    #[test]
    fn at_any_time_as_many_drives_are_begun_as_there_are_threads_at_most() {
        let mut prng = Prng::new(1).branch("queue");
        for threads in (1..=4).cycle().take(400) {
            let mut work = || (prng.below(3), prng.below(3), 8, Some(prng.below(5) as usize));
            let queue = queue(&[(); 20].map(|()| work()), threads);
            let (mut doing, mut ended) = (vec![Doing::Nothing; threads], 0);
            while ended < 20 {
                let thread = prng.below(threads as u64) as usize;
                doing[thread] = match doing[thread] {
                    Doing::Nothing => queue.take().map_or(Doing::Nothing, Doing::Ageing),
                    Doing::Ageing(run) => {
                        queue.aged(&run);
                        Doing::Running(run)
                    }
                    Doing::Running(run) => {
                        queue.ended(&run);
                        ended += 1;
                        Doing::Nothing
                    }
                };
                let begun = queue.waiting().begun();
                assert!(begun <= threads, "{begun} drives of {threads} threads");
            }
        }
    }
}
