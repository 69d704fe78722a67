//! The queue of a scheduler as Python sees it: the requests that wait, in order of arrival.
//!
//! The block layer's pool cannot be lent to Python, so the queue is a mirror of it: an entry follows each call that may
//! have changed its request. It is open during a call only; requests are copies.

use std::sync::{Mutex, MutexGuard};

use flashloom::prelude::*;
use flashloom::units::Lists;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::locked;

/// A request in the block layer, as it is at the time of a call.
#[pyclass(frozen, module = "flashloom.policy", name = "QueuedRequest")]
pub(crate) struct QueuedRequest {
    /// Its id.
    #[pyo3(get)]
    id: u32,
    /// First sector.
    #[pyo3(get)]
    lba: u64,
    /// Length in sectors.
    #[pyo3(get)]
    sectors: u32,
    /// Task of the first original request in it.
    #[pyo3(get)]
    task: u32,
    /// True for a read.
    #[pyo3(get)]
    is_read: bool,
    /// True if a task waits for it.
    #[pyo3(get)]
    is_sync: bool,
    /// The deadline of its dispatch; none if it has none.
    #[pyo3(get)]
    deadline_ns: Option<Ns>,
    op: Op,
}

#[pymethods]
impl QueuedRequest {
    /// Operation.
    #[getter]
    fn op(&self) -> &'static str {
        self.op.name()
    }

    /// The sector after the last.
    #[getter]
    fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    fn __repr__(&self) -> String {
        let Self { id, lba, sectors, .. } = self;
        format!("QueuedRequest(id={id}, op='{}', lba={lba}, sectors={sectors})", self.op())
    }
}

impl QueuedRequest {
    /// The same request with the deadline that it was given.
    pub(super) fn with_deadline(self, deadline_ns: Ns) -> Self {
        Self { deadline_ns: Some(deadline_ns), ..self }
    }
}

/// A copy of a request of the pool.
pub(super) fn copy_of(requests: &Requests, id: RequestId) -> QueuedRequest {
    let request = &requests[id];
    QueuedRequest {
        id: id.0,
        lba: request.lba,
        sectors: request.sectors,
        task: request.task,
        is_read: request.direction() == Direction::Read,
        is_sync: request.is_sync(),
        deadline_ns: Some(request.deadline_ns).filter(|&deadline| deadline != Ns::MAX),
        op: request.op,
    }
}

/// The requests that wait in a scheduler.
#[pyclass(frozen, module = "flashloom.policy")]
pub(crate) struct Queue(Mutex<Mirror>);

/// What is known of the requests that wait.
struct Mirror {
    /// Ids in order of arrival.
    arrived: Lists<RequestId>,
    /// The copy of each request that waits, by its id.
    copies: Vec<Option<Py<QueuedRequest>>>,
    count: usize,
    /// True during a call.
    is_open: bool,
}

impl Mirror {
    fn holds(&self, id: RequestId) -> bool {
        id.at() < self.copies.len() && self.arrived.contains(id)
    }
}

const WAITING: usize = 0;

/// For the simulation.
impl Queue {
    /// An empty queue of a pool of that size.
    pub(super) fn new(requests: u32) -> Self {
        let copies = (0..requests).map(|_| None).collect();
        Self(Mutex::new(Mirror { arrived: Lists::new(requests, 1), copies, count: 0, is_open: false }))
    }

    /// Nothing is called, and no object made, while it is locked.
    fn lock(&self) -> MutexGuard<'_, Mirror> {
        locked(&self.0)
    }

    /// Adds a request at the end, with its copy.
    pub(super) fn push(&self, id: RequestId, copy: Py<QueuedRequest>) {
        let mut mirror = self.lock();
        mirror.arrived.push_back(WAITING, id);
        mirror.copies[id.at()] = Some(copy);
        mirror.count += 1;
    }

    /// Replaces the copy of a request that has changed, if it waits.
    pub(super) fn refresh(&self, id: RequestId, copy: Py<QueuedRequest>) {
        let mut mirror = self.lock();
        if mirror.holds(id) {
            mirror.copies[id.at()] = Some(copy);
        }
    }

    /// Removes a request that leaves, if it waits.
    pub(super) fn remove(&self, id: RequestId) {
        let mut mirror = self.lock();
        if mirror.holds(id) {
            mirror.arrived.remove(id);
            mirror.copies[id.at()] = None;
            mirror.count -= 1;
        }
    }

    /// True if a request waits.
    pub(super) fn holds(&self, id: RequestId) -> bool {
        self.lock().holds(id)
    }

    /// The request that has waited longest.
    pub(super) fn oldest(&self) -> Option<RequestId> {
        self.lock().arrived.front(WAITING)
    }

    /// Number of requests that wait.
    pub(super) fn count(&self) -> usize {
        self.lock().count
    }

    /// Opens the queue for a call, or closes it.
    pub(super) fn set_open(&self, is_open: bool) {
        self.lock().is_open = is_open;
    }

    fn opened(&self) -> PyResult<MutexGuard<'_, Mirror>> {
        let mirror = self.lock();
        if mirror.is_open {
            return Ok(mirror);
        }
        Err(PyRuntimeError::new_err("the queue is open only during the call that was given it"))
    }
}

#[pymethods]
impl Queue {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.opened()?.count)
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mirror = self.opened()?;
        Ok(id.extract().is_ok_and(|id| mirror.holds(RequestId(id))))
    }

    fn __getitem__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Py<QueuedRequest>> {
        let at: Option<usize> = id.extract().ok();
        let mirror = self.opened()?;
        let copy = at.and_then(|at| mirror.copies.get(at)?.as_ref()).map(|copy| copy.clone_ref(py));
        drop(mirror);
        copy.ok_or_else(|| PyKeyError::new_err(format!("no request {id} waits")))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let mirror = self.opened()?;
        let first = mirror.arrived.front(WAITING);
        let ids = std::iter::successors(first, |&id| mirror.arrived.next(id));
        let copies: Vec<_> = ids.filter_map(|id| Some(mirror.copies[id.at()].as_ref()?.clone_ref(py))).collect();
        drop(mirror);
        PyList::new(py, copies)?.try_iter()
    }

    fn __repr__(&self) -> PyResult<String> {
        let count = self.opened()?.count;
        Ok(format!("Queue({count} requests)"))
    }
}
