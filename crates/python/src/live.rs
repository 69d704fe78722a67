//! A drive with data in it, used from Python.
//!
//! A command waits without the interpreter's lock, so that other threads of Python, and policies in Python, go on
//! meanwhile. Nobody who has that lock waits for a lock of the drive. A policy that is called has both: from it no
//! drive can be used.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use flashloom::units::SECTOR_BYTES;
use flashloom_live::{Command, EndedSession, Fault as Failed, Session, SessionError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Fault, error};
use crate::job::unharmed;
use crate::locked;
use crate::policy::Raised;
use crate::policy::threads::Here;
use crate::text::json;

/// A drive whose reads return what was written.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct LiveDrive {
    state: Mutex<State>,
    raised: Raised,
    bytes: u64,
    page_bytes: u32,
}

enum State {
    Served(Arc<Session>),
    /// With its result, as JSON.
    Ended(String),
    Closed,
}

thread_local!(static IS_INSIDE: Cell<bool> = const { Cell::new(false) });

/// A thread that is inside a drive, until it is dropped.
struct Inside;

impl Inside {
    /// Refuses a thread that is inside already, and so in a policy.
    fn enter(py: Python<'_>) -> PyResult<Self> {
        match IS_INSIDE.replace(true) {
            false => Ok(Self),
            true => Err(error(
                py,
                "EngineError",
                "a live drive is used by a policy that it calls, or by a signal handler meanwhile",
            )),
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

impl LiveDrive {
    pub(crate) fn new(session: Session, raised: Raised) -> Self {
        let (bytes, page_bytes) = (session.bytes(), session.page_bytes());
        Self { state: Mutex::new(State::Served(Arc::new(session))), raised, bytes, page_bytes }
    }

    /// What was there is dropped without the lock: policies in Python may call the drive from their end.
    fn set(&self, state: State) {
        let before = std::mem::replace(&mut *locked(&self.state), state);
        drop(before);
    }

    fn session(&self, py: Python<'_>) -> PyResult<Arc<Session>> {
        match &*locked(&self.state) {
            State::Served(session) => Ok(Arc::clone(session)),
            State::Ended(_) => Err(error(py, "ClosedError", "the service of this drive has ended")),
            State::Closed => Err(error(py, "ClosedError", "this drive is closed")),
        }
    }

    /// Does something with the session. What a policy raises meanwhile, or a bug, leaves the drive closed.
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&Session) -> T + Send) -> PyResult<T> {
        let session = self.session(py)?;
        let _inside = Inside::enter(py)?;
        let _here = Here::caller(py, &self.raised);
        let outcome = py.detach(|| unharmed(|| Ok(act(&session))));
        let raised = self.raised.take();
        if raised.is_some() || outcome.is_err() {
            self.set(State::Closed);
        }
        match raised {
            Some(raised) => Err(raised),
            None => Ok(outcome?),
        }
    }

    /// Has the drive execute something; its failure is an exception.
    fn execute(&self, py: Python<'_>, act: impl FnOnce(&Session) -> Result<(), Failed> + Send) -> PyResult<()> {
        let executed = self.with(py, |session| act(session).map_err(|failed| (failed, session.server().broken())))?;
        executed.map_err(|(failed, broken)| match failed {
            Failed::Failed(reason) => error(py, "DriveError", reason.name()),
            Failed::Invalid => error(py, "EngineError", "a request that is not within the drive"),
            Failed::Broken => match broken {
                Some(reason) => error(py, "Error", reason),
                None => error(py, "ClosedError", "the service of this drive has ended"),
            },
        })
    }

    /// A request in sectors.
    fn sectors(&self, py: Python<'_>, offset: u64, count: u64) -> PyResult<(u64, u32)> {
        let refuse = |found: String| Err(error(py, "EngineError", found));
        if !offset.is_multiple_of(SECTOR_BYTES) || !count.is_multiple_of(SECTOR_BYTES) || count == 0 {
            return refuse(format!(
                "{count} bytes from byte {offset} on: expected whole sectors of {SECTOR_BYTES} bytes"
            ));
        }
        let sectors = u32::try_from(count / SECTOR_BYTES).ok();
        match sectors.filter(|_| offset.checked_add(count).is_some_and(|end| end <= self.bytes)) {
            Some(sectors) => Ok((offset / SECTOR_BYTES, sectors)),
            None => refuse(format!("{count} bytes from byte {offset} on, of a drive of {} bytes", self.bytes)),
        }
    }
}

/// The fault of a session that was made of an experiment of this name.
pub(crate) fn fault(name: &str, error: SessionError) -> Fault {
    match error {
        SessionError::Problems(problems) => Fault::of_experiment(name, problems),
        SessionError::Failure(failure) => Fault::Run(failure),
        SessionError::Other(words) => Fault::Other(words),
    }
}

#[pymethods]
impl LiveDrive {
    /// Capacity in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.bytes
    }

    /// Bytes in a page.
    #[getter]
    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// The drive's clock, in nanoseconds.
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| session.server().look(|drive, _| drive.engine().now_ns()))
    }

    fn read<'py>(&self, py: Python<'py>, offset: u64, count: u64) -> PyResult<Bound<'py, PyBytes>> {
        let (lba, sectors) = self.sectors(py, offset, count)?;
        PyBytes::new_with(py, count as usize, |to| {
            self.execute(py, |session| session.server().execute(Command::Read { lba, sectors }, to))
        })
    }

    fn write(&self, py: Python<'_>, offset: u64, data: &[u8], fua: bool) -> PyResult<()> {
        let (lba, _) = self.sectors(py, offset, data.len() as u64)?;
        self.execute(py, |session| session.server().execute(Command::Write { lba, data, fua }, &mut []))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.execute(py, |session| session.server().execute(Command::Flush, &mut []))
    }

    fn discard(&self, py: Python<'_>, offset: u64, count: u64, fua: bool) -> PyResult<()> {
        let (lba, sectors) = self.sectors(py, offset, count)?;
        self.execute(py, |session| session.discard(lba, sectors, fua))
    }

    fn write_zeros(&self, py: Python<'_>, offset: u64, count: u64, may_discard: bool, fua: bool) -> PyResult<()> {
        let (lba, sectors) = self.sectors(py, offset, count)?;
        self.execute(py, |session| session.write_zeros(lba, sectors, may_discard, fua))
    }

    /// The result so far; of a service that has ended, the last one.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        if let State::Ended(result) = &*locked(&self.state) {
            return Ok(result.clone());
        }
        self.with(py, |session| json(&session.result_so_far()))
    }

    /// Ends the service; its result. Of several calls at a time all but one raise.
    fn end(&self, py: Python<'_>) -> PyResult<String> {
        if let State::Ended(result) = &*locked(&self.state) {
            return Ok(result.clone());
        }
        let EndedSession { result, failures } = match self.with(py, Session::finish)? {
            Ok(Some(ended)) => ended,
            Ok(None) => return Err(error(py, "ClosedError", "another thread ends the service of this drive")),
            Err(failed) => {
                self.set(State::Closed);
                return Err(fault("", failed).into());
            }
        };
        let result = json(&result);
        self.set(State::Ended(result.clone()));
        failures.outcome().map_err(Fault::Other)?;
        Ok(result)
    }

    /// Frees the drive; every later call raises. What waits inside ends first.
    fn close(&self) {
        self.set(State::Closed);
    }
}
