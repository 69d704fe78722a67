//! Streams: batches of rows that a thread makes while Python takes them. At most a few batches wait in between, so that
//! memory is bounded whatever the length of the run or recording.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{Fault, error};
use crate::job::{Answer, BackgroundJob, Counts};
use crate::locked;
use crate::policy::{Raised, threads};
use crate::rows::Outlet;
use crate::table::{Table, names, schema_capsule, stream_capsule};

/// Batches that wait for their reader.
const WAITING: usize = 2;
/// How often a reader that waits for a batch looks for signals.
const LOOK: Duration = Duration::from_millis(10);

struct Inner {
    job: BackgroundJob,
    schema: SchemaRef,
    /// Absent once the stream is closed.
    batches: Mutex<Option<Receiver<RecordBatch>>>,
    /// What the job answered at its end.
    answer: Mutex<Option<Py<PyAny>>>,
}

impl Inner {
    /// The next batch; `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let mut batches = match self.batches.try_lock() {
            Ok(batches) => batches,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(error(py, "ClosedError", "another thread reads this stream")),
        };
        if locked(&self.answer).is_some() {
            return Ok(None);
        }
        let Some(receiver) = &mut *batches else { return Err(error(py, "ClosedError", "this stream is closed")) };
        loop {
            let next = || {
                let receiver = &mut *receiver; // Exclusive, as one that waits without the interpreter has to be.
                receiver.recv_timeout(LOOK)
            };
            match py.detach(next) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals()?;
                    self.job.follow_policies();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        *batches = None;
        while !self.job.wait(py, 0.1) {
            py.check_signals()?;
        }
        let answer = self.job.result(py)?;
        *locked(&self.answer) = Some(answer);
        Ok(None)
    }

    fn close(&self) {
        self.job.end();
        if let Ok(mut batches) = self.batches.try_lock() {
            *batches = None;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.job.end();
    }
}

impl threads::Ends for Inner {
    fn end(&self) {
        self.close();
    }
}

/// A reader of batches of one schema.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Stream(Arc<Inner>);

impl Stream {
    /// Starts a job that fills an outlet.
    pub(crate) fn spawn(
        raised: Raised,
        schema: SchemaRef,
        rows: usize,
        work: impl FnOnce(&Counts, Outlet) -> Result<Answer, Fault> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let fill = move |counts: &Counts| work(counts, Outlet { sender, rows, interrupt: counts.interrupt.clone() });
        let job = BackgroundJob::spawn(raised.clone(), fill)?;
        let batches = Mutex::new(Some(receiver));
        let inner = Arc::new(Inner { job, schema, batches, answer: Mutex::new(None) });
        let weak: Weak<Inner> = Arc::downgrade(&inner);
        threads::end_with_python(&raised, weak);
        Ok(Self(inner))
    }
}

#[pymethods]
impl Stream {
    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.0.schema)
    }

    fn __iter__(stream: Py<Self>) -> Py<Self> {
        stream
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let batch = self.0.next(py)?;
        Ok(batch.map(|batch| Table::new(self.0.schema.clone(), vec![batch])))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // A producer may ignore it.
        stream_capsule(py, Box::new(Reader(Arc::clone(&self.0))))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema)
    }

    /// Reads all that is left into a table.
    fn read_all(&self, py: Python<'_>) -> PyResult<Table> {
        let mut batches = Vec::new();
        while let Some(batch) = self.0.next(py)? {
            batches.push(batch);
        }
        Ok(Table::new(self.0.schema.clone(), batches))
    }

    /// The answer of the job: after the last batch.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let answer = locked(&self.0.answer);
        let unread = || error(py, "ClosedError", "the stream was not read to its end");
        answer.as_ref().map(|answer| answer.clone_ref(py)).ok_or_else(unread)
    }

    /// Ends the job that fills the stream.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close();
        self.0.job.interrupt(py)
    }
}

/// A stream as others read it, from threads that may not be attached to the interpreter.
struct Reader(Arc<Inner>);

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let refuse = |error: PyErr| ArrowError::ExternalError(Box::new(error));
        Python::attach(|py| self.0.next(py)).map_err(refuse).transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }
}
