//! Jobs: what takes long runs in a thread of its own, so that Python stays free to show progress and to be interrupted.
//!
//! ```text
//! Python      job.wait(0.02) .. job.progress() .. job.wait(0.02) .. job.result()      Ctrl-C: job.interrupt()
//! thread      reads inputs, ages drives, runs; asks the interrupt every few microseconds of a run or of ageing
//! ```
//!
//! Ctrl-C is Python's to notice: it raises `KeyboardInterrupt` between two waits. The thread is told, and not waited
//! for: what does not ask (the reading of a recording) goes on in it until it does. A policy in Python that does not
//! return has `KeyboardInterrupt` raised in it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use flashloom::run::{PAGES_A_REQUEST, Progress};
use flashloom::units::Interrupt;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::Fault;
use crate::locked;
use crate::policy::{Raised, threads};

/// Stack of a job's thread: that of a program's first one.
const STACK_BYTES: usize = 8 << 20;
/// How often a wait looks whether a policy has raised an exception.
const LOOK: Duration = Duration::from_millis(5);

/// How long a policy has to return once its run is to end, in seconds.
const PATIENCE_SECONDS: f64 = 0.05;

/// Makes the answer of a job that has ended, once Python is there.
pub(crate) type Answer = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// The answer that is this value.
pub(crate) fn answer(value: impl for<'py> IntoPyObject<'py> + Send + 'static) -> Answer {
    Box::new(move |py| value.into_py_any(py))
}

/// Work done so far, and expected; counted by the threads of a job.
#[derive(Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    pages: AtomicU64,
    runs: AtomicU64,
    all_requests: AtomicU64,
    all_pages: AtomicU64,
    all_runs: AtomicU64,
    /// Ends the job early.
    pub(crate) interrupt: Interrupt,
}

impl Counts {
    /// Says how much there is to do.
    pub(crate) fn expect(&self, requests: u64, pages: u64, runs: u64) {
        self.all_requests.store(requests, Ordering::Relaxed);
        self.all_pages.store(pages, Ordering::Relaxed);
        self.all_runs.store(runs, Ordering::Relaxed);
    }
}

impl Progress for Counts {
    fn requests(&self, count: u64) {
        self.requests.fetch_add(count, Ordering::Relaxed);
    }

    fn ageing(&self, pages: u64) {
        self.pages.fetch_add(pages, Ordering::Relaxed);
    }

    fn ageing_ended(&self, pages: u64, expected: u64) {
        self.all_pages.fetch_add(pages, Ordering::Relaxed);
        let subtract = |all: u64| Some(all.saturating_sub(expected));
        // The closure never refuses.
        let _ = self.all_pages.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
    }

    fn run_ended(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

/// What a thread shares with Python.
#[derive(Default)]
struct Shared {
    counts: Counts,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Running,
    Ended(Result<Answer, Fault>),
    Taken,
}

impl threads::Ends for Shared {
    fn end(&self) {
        self.counts.interrupt.raise();
    }
}

/// Work that runs in a thread of its own.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct BackgroundJob {
    shared: Arc<Shared>,
    raised: Raised,
}

impl BackgroundJob {
    /// Starts a job. `raised` is where the policies of its runs leave their exceptions.
    pub(crate) fn spawn(
        raised: Raised,
        work: impl FnOnce(&Counts) -> Result<Answer, Fault> + Send + 'static,
    ) -> PyResult<Self> {
        let shared = Arc::new(Shared::default());
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        threads::end_with_python(&raised, weak);
        let (of_thread, of_policies) = (Arc::clone(&shared), raised.clone());
        let run = move || {
            let answer = unharmed(|| threads::run(&of_policies, || work(&of_thread.counts)));
            *locked(&of_thread.state) = State::Ended(answer);
            of_thread.ended.notify_all();
        };
        thread::Builder::new().name("flashloom".to_owned()).stack_size(STACK_BYTES).spawn(run)?;
        Ok(Self { shared, raised })
    }

    /// Tells the thread to end early.
    pub(crate) fn end(&self) {
        self.shared.counts.interrupt.raise();
    }

    /// Ends the job if a policy has raised an exception.
    pub(crate) fn follow_policies(&self) {
        if self.raised.is_set() {
            self.end();
        }
    }
}

/// Runs something, and makes a fault of a panic in it: a bug of the program, which Python is to survive.
pub(crate) fn unharmed<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Fault::Other(bug(&*panic))))
}

fn bug(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("a bug of Flashloom: {text}")
}

#[pymethods]
impl BackgroundJob {
    /// Waits for the end, at most some seconds; true if it has come.
    pub(crate) fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let mut state = locked(&self.shared.state);
            let mut left = limit;
            while matches!(*state, State::Running) && !left.is_zero() {
                self.follow_policies();
                let wait = LOOK.min(left);
                let waited = self.shared.ended.wait_timeout(state, wait);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                left -= wait;
            }
            !matches!(*state, State::Running)
        })
    }

    /// Tells the thread to end early, and ends a policy that does not return.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.end();
        match self.raised.has_policies() && !self.wait(py, PATIENCE_SECONDS) {
            true => threads::interrupt(py, Some(&self.raised)),
            false => Ok(()),
        }
    }

    /// Work done and expected, in pages; then requests, pages that age drives, runs that have ended, and all runs.
    fn progress(&self) -> (u64, u64, u64, u64, u64, u64) {
        let counts = &self.shared.counts;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (requests, pages) = (of(&counts.requests), of(&counts.pages));
        let work = |requests: u64, pages: u64| requests.saturating_mul(PAGES_A_REQUEST).saturating_add(pages);
        let all = work(of(&counts.all_requests), of(&counts.all_pages));
        (work(requests, pages).min(all), all, requests, pages, of(&counts.runs), of(&counts.all_runs))
    }

    /// The answer of a job that has ended, once; raises why there is none.
    pub(crate) fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = std::mem::replace(&mut *locked(&self.shared.state), State::Taken);
        let State::Ended(answer) = state else {
            return Err(Fault::Other("this job has no answer to give".to_owned()).into());
        };
        // The exception of a policy goes before all others.
        self.raised.take().map_or(Ok(()), Err)?;
        answer?(py)
    }
}
