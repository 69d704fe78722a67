//! The engine, to be stepped from Python.

use std::sync::{Mutex, MutexGuard, TryLockError};

use flashloom::config::Config;
use flashloom::device;
use flashloom::device::{Completion, Misuse, Submitted};
use flashloom::run;
use flashloom::workload::{Op, Request};
use pyo3::prelude::*;

use crate::errors::{Fault, error};
use crate::job::unharmed;
use crate::policy::Raised;
use crate::policy::threads::Here;
use crate::text::json;

/// Events between two looks for signals: some milliseconds, or with policies in Python some tens.
const EVENTS: usize = 512;

/// Operations, by the names that a trace has for them and in words.
const OPS: [(&str, &str, Op); 4] =
    [("read", "R", Op::Read), ("write", "W", Op::Write), ("discard", "D", Op::Discard), ("flush", "F", Op::Flush)];

/// A host and its drive, stepped from outside.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Engine {
    inner: Mutex<Option<Inner>>,
    raised: Raised,
}

struct Inner {
    engine: device::Engine,
    config: Config,
    next_id: u32,
}

impl Engine {
    pub(crate) fn new(engine: device::Engine, config: Config, raised: Raised) -> Self {
        Self { inner: Mutex::new(Some(Inner { engine, config, next_id: 0 })), raised }
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Inner>>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(error(py, "EngineError", "another thread is using this engine")),
        }
    }

    /// Does something with the engine. What fails in the middle, or raises, leaves the engine closed.
    fn with<T>(&self, py: Python<'_>, act: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        let mut inner = self.lock(py)?;
        let Some(open) = &mut *inner else { return Err(error(py, "ClosedError", "this engine is closed")) };
        let _here = Here::caller(py, &self.raised);
        let mut outcome = None;
        let unharmed = unharmed(|| {
            outcome = Some(act(open));
            Ok(())
        });
        if let Err(fault) = unharmed {
            *inner = None;
            return Err(fault.into());
        }
        if let Some(raised) = self.raised.take() {
            *inner = None;
            return Err(raised);
        }
        outcome.expect("it was called")
    }
}

fn misuse(py: Python<'_>, misuse: Misuse) -> PyErr {
    error(py, "EngineError", misuse.to_string())
}

/// A request that has ended: its id, when, and how.
type Ended = (u32, u64, &'static str);

fn ended(completion: Completion) -> Ended {
    (completion.cookie, completion.time_ns, completion.status.name())
}

#[pymethods]
impl Engine {
    /// Submits a request now; its id, or `None` if there is no room for it.
    #[expect(clippy::too_many_arguments, reason = "The fields of a request, by name in Python.")]
    fn submit(
        &self,
        py: Python<'_>,
        op: &str,
        lba: u64,
        sectors: u32,
        task: u32,
        sync: bool,
        preflush: bool,
        fua: bool,
    ) -> PyResult<Option<u32>> {
        let named = OPS.iter().find(|(word, letter, _)| op == *word || op == *letter);
        let Some(&(_, _, op)) = named else {
            let expected = "`read`, `write`, `discard` or `flush`";
            return Err(error(py, "EngineError", format!("unknown operation `{op}`: expected {expected}")));
        };
        let set = [(sync, Request::SYNC), (preflush, Request::PREFLUSH), (fua, Request::FUA)];
        let flags = set.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
        self.with(py, |inner| {
            let now_ns = inner.engine.now_ns();
            let request = Request::new(op, lba, sectors).arriving_at(now_ns).of_task(task).with_flags(flags);
            let id = inner.next_id;
            match inner.engine.submit(now_ns, &request, id).map_err(|error| misuse(py, error))? {
                Submitted::Full => Ok(None),
                Submitted::Accepted => {
                    inner.next_id = id.wrapping_add(1);
                    Ok(Some(id))
                }
            }
        })
    }

    /// Lets time pass until a moment, or until something happens; returns what has ended.
    fn step(&self, py: Python<'_>, until_ns: Option<u64>) -> PyResult<Vec<Ended>> {
        self.with(py, |inner| {
            let engine = &mut inner.engine;
            let Some(until_ns) = until_ns else {
                let Some(next_ns) = engine.next_event_ns() else { return Ok(Vec::new()) };
                py.detach(|| engine.advance_to(next_ns)).map_err(|error| misuse(py, error))?;
                return Ok(engine.completions().map(ended).collect());
            };
            if until_ns < engine.now_ns() || until_ns > device::Engine::LAST_NS {
                engine.advance_to(until_ns).map_err(|error| misuse(py, error))?;
            }
            loop {
                let is_there = py.detach(|| advance(engine, until_ns)).map_err(|error| misuse(py, error))?;
                if is_there || self.raised.is_set() {
                    return Ok(engine.completions().map(ended).collect());
                }
                py.check_signals()?;
            }
        })
    }

    /// When something will happen by itself, in nanoseconds; `None` while the engine waits for requests.
    fn next_event_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |inner| Ok(inner.engine.next_event_ns()))
    }

    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.engine.now_ns()))
    }

    fn outstanding(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.engine.outstanding()))
    }

    fn capacity_sectors(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.engine.capacity_sectors()))
    }

    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |inner| Ok(inner.engine.is_idle()))
    }

    /// The result so far, of an engine that is idle.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |inner| {
            if !inner.engine.is_idle() {
                let outstanding = inner.engine.outstanding();
                let message = format!("the engine is not idle: {outstanding} requests are outstanding, or it writes");
                return Err(error(py, "EngineError", message));
            }
            Ok(json(&run::result(&inner.config, &inner.engine).map_err(Fault::Run)?))
        })
    }

    /// Closes the engine; every later call raises.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        *self.lock(py)? = None;
        Ok(())
    }
}

/// Lets some events happen; true once time has come to `until_ns`.
fn advance(engine: &mut device::Engine, until_ns: u64) -> Result<bool, Misuse> {
    for _ in 0..EVENTS {
        match engine.next_event_ns().filter(|&next_ns| next_ns < until_ns) {
            Some(next_ns) => engine.advance_to(next_ns)?,
            None => {
                engine.advance_to(until_ns)?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}
