//! Threads that call policies. Python knows each, ends a policy that does not return, and waits for them before it ends
//! itself: one that came back to an interpreter that is gone would take the process with it.

use std::cell::OnceCell;
use std::sync::{Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;
use std::{io, thread};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::Raised;
use crate::locked;

/// How often the end of Python looks whether all threads have ended.
const LOOK: Duration = Duration::from_millis(50);

static KNOWN: Mutex<Known> = Mutex::new(Known { threads: Vec::new(), runs: Vec::new() });
static LEFT: Condvar = Condvar::new();

/// What has to end before Python does.
struct Known {
    /// Threads by the numbers that Python has for them, with the run that each works for.
    threads: Vec<(Raised, Option<u64>)>,
    runs: Vec<Weak<dyn Ends>>,
}

/// A run that can be ended early.
pub(crate) trait Ends: Send + Sync {
    /// Tells it to end.
    fn end(&self);
}

/// Has a run ended when Python ends, if it has policies.
pub(crate) fn end_with_python(raised: &Raised, run: Weak<dyn Ends>) {
    if raised.has_policies() {
        let runs = &mut locked(&KNOWN).runs;
        runs.retain(|run| run.strong_count() > 0);
        runs.push(run);
    }
}

/// A thread among those that are known, until it is dropped.
pub(crate) struct Here<'a>(&'a Raised, Option<u64>);

impl<'a> Here<'a> {
    fn new(raised: &'a Raised, number: Option<u64>) -> Self {
        locked(&KNOWN).threads.push((raised.clone(), number));
        Self(raised, number)
    }

    /// The thread of Python that calls, if the run has policies.
    pub(crate) fn caller(py: Python<'_>, raised: &'a Raised) -> Option<Self> {
        raised.has_policies().then(|| Self::new(raised, number(py)))
    }
}

/// The number that Python has for this thread, asked once: it takes as long as a call of a policy.
fn number(py: Python<'_>) -> Option<u64> {
    thread_local!(static NUMBER: OnceCell<Option<u64>> = const { OnceCell::new() });
    let ask = || py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract()).ok();
    NUMBER.with(|number| *number.get_or_init(ask))
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let mut known = locked(&KNOWN);
        let is_this = |(raised, number): &(Raised, Option<u64>)| raised.is(self.0) && *number == self.1;
        let place = known.threads.iter().position(is_this);
        let gone = place.map(|place| known.threads.swap_remove(place));
        // What is dropped may call Python, which is not to wait for this lock.
        std::mem::drop(known);
        std::mem::drop(gone);
        LEFT.notify_all();
    }
}

/// Does the work of a thread of a run. Where it may call policies, Python is told of the thread once, and not anew for
/// each call, which takes several times as long as the call itself.
pub(crate) fn run<T: Send>(raised: &Raised, work: impl FnOnce() -> T + Send) -> T {
    if !raised.has_policies() {
        return work();
    }
    // There from before Python knows of the thread until it has forgotten it; by number while it may be in a policy.
    let _whole = Here::new(raised, None);
    Python::attach(|py| {
        let number = number(py);
        py.detach(|| {
            let _inside = Here::new(raised, number);
            work()
        })
    })
}

/// Raises `KeyboardInterrupt` in the policies of a run, or of every run, that are being called.
pub(crate) fn interrupt(py: Python<'_>, of: Option<&Raised>) -> PyResult<()> {
    let module = py.import("ctypes")?;
    let raise = module.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
    let exception = module.call_method1("py_object", (py.get_type::<PyKeyboardInterrupt>(),))?;
    let is_of = |raised: &Raised| of.is_none_or(|of| raised.is(of));
    let threads = py.detach(|| locked(&KNOWN).threads.clone());
    for number in threads.into_iter().filter_map(|(raised, number)| number.filter(|_| is_of(&raised))) {
        raise.call1((module.call_method1("c_ulong", (number,))?, &exception))?;
    }
    Ok(())
}

/// Ends every run that has policies, and waits for its threads: Python is about to end.
#[pyfunction]
pub(crate) fn end_runs(py: Python<'_>) -> PyResult<()> {
    let runs: Vec<_> = locked(&KNOWN).runs.drain(..).filter_map(|run| run.upgrade()).collect();
    py.detach(|| runs.iter().for_each(|run| run.end()));
    loop {
        let has_ended = py.detach(|| {
            let waited = LEFT.wait_timeout_while(locked(&KNOWN), LOOK, |known| !known.threads.is_empty());
            waited.unwrap_or_else(PoisonError::into_inner).0.threads.is_empty()
        });
        if has_ended {
            return Ok(());
        }
        interrupt(py, None)?;
        py.check_signals()?;
    }
}

/// A pool of threads that may call policies; as many as there are processors if `threads` is 0.
pub(crate) fn pool(raised: &Raised, threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    let raised = raised.clone();
    let spawn = move |builder: ThreadBuilder| -> io::Result<()> {
        let raised = raised.clone();
        thread::Builder::new().name("flashloom".to_owned()).spawn(move || run(&raised, || builder.run()))?;
        Ok(())
    };
    ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build()
}
