//! A scheduler in Python.
//!
//! ```text
//! answers      an id that waits, a time to come, or None; a former or latter request that waits
//! by itself    first in, first out, and no merges but at the back
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use flashloom::prelude::*;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::instance::{Instance, Method};
use super::queue::{Queue, QueuedRequest, copy_of};
use crate::locked;

/// The entry of a class in the slot of schedulers.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Scheduler> {
    Policy::<dyn Scheduler>::new(spec, move |values: Vec<Value>, setup| {
        let SchedulerSetup { capacity_sectors, requests, .. } = *setup;
        let begun = site.begin(
            &values,
            |py| make(py, "SchedulerSetup", (capacity_sectors, requests)).map(Some),
            |py, instance| ScriptedScheduler::new(py, &site, instance, requests),
        );
        Ok(Box::new(begun?))
    })
}

struct ScriptedScheduler {
    queue: Py<Queue>,
    dispatch: Method,
    insert: Option<Method>,
    completed: Option<Method>,
    allows_merge: Option<Method>,
    front_merge_candidate: Option<Method>,
    former: Option<Method>,
    latter: Option<Method>,
    moved: Option<Method>,
    absorb: Option<Method>,
    not_before: Py<PyType>,
    incoming: Py<PyAny>,
    instance: Instance,
    requests: u32,
    in_flight: u32,
    /// True while requests wait that nothing but another arrival will send: none is in flight.
    is_stuck: bool,
    /// The request that another was joined to in the last call: it is longer from then on.
    joined: Mutex<Option<RequestId>>,
    /// Calls of `latter` since anything else was called: more than there are requests go round in a circle.
    steps: AtomicU32,
}

const REQUEST: &str = "the id of a request that waits";

impl ScriptedScheduler {
    fn new(py: Python<'_>, site: &Site, instance: Instance, requests: u32) -> PyResult<Self> {
        let module = py.import("flashloom.policy")?;
        let own = |name| site.own(py, &instance, name);
        Ok(Self {
            queue: Py::new(py, Queue::new(requests))?,
            dispatch: instance.method(py, "dispatch")?,
            insert: own("insert")?,
            completed: own("completed")?,
            allows_merge: own("allows_merge")?,
            front_merge_candidate: own("front_merge_candidate")?,
            former: own("former")?,
            latter: own("latter")?,
            moved: own("moved")?,
            absorb: own("absorb")?,
            not_before: module.getattr("NotBefore")?.cast_into::<PyType>().map_err(PyErr::from)?.unbind(),
            incoming: module.getattr("Request")?.unbind(),
            instance,
            requests,
            in_flight: 0,
            is_stuck: false,
            joined: Mutex::new(None),
            steps: AtomicU32::new(0),
        })
    }

    /// Follows a join, which took place after the call that told of it.
    fn follow(&self, py: Python<'_>, requests: &Requests) {
        let joined = locked(&self.joined).take();
        if let Some(id) = joined {
            self.refresh(py, requests, id);
        }
    }

    fn refresh(&self, py: Python<'_>, requests: &Requests, id: RequestId) {
        if let Some(copy) = self.object(py, copy_of(requests, id)) {
            self.queue.get().refresh(id, copy);
        }
    }

    /// A copy of a request as an object.
    fn object(&self, py: Python<'_>, copy: QueuedRequest) -> Option<Py<QueuedRequest>> {
        Py::new(py, copy).map_err(|error| self.instance.fail(py, "queue", error)).ok()
    }

    /// Makes a call with an open queue.
    fn with_queue<T>(&self, call: impl FnOnce(&Py<Queue>) -> T) -> T {
        self.queue.get().set_open(true);
        let answer = call(&self.queue);
        self.queue.get().set_open(false);
        answer
    }

    fn incoming<'py>(&self, py: Python<'py>, request: &Request) -> Option<Bound<'py, PyAny>> {
        let Request { op, lba, sectors, arrival_ns, task, .. } = *request;
        let [fua, preflush] = [Request::FUA, Request::PREFLUSH].map(|flag| request.has(flag));
        let fields = (op.name(), lba, sectors, arrival_ns, task, request.is_sync(), fua, preflush);
        self.incoming.bind(py).call1(fields).map_err(|error| self.instance.fail(py, "queue", error)).ok()
    }

    /// A neighbour of a request in the scheduler's order.
    fn neighbour(&self, method: &Option<Method>, requests: &Requests, id: RequestId) -> Option<RequestId> {
        let method = method.as_ref().filter(|_| !self.instance.has_failed());
        Python::attach(|py| {
            self.follow(py, requests);
            // A merge has changed it.
            self.refresh(py, requests, id);
            let read = |answer: &Bound<'_, PyAny>| self.waiting(answer);
            self.with_queue(|queue| self.instance.call(py, method?, (queue, id.0), read))?
        })
    }

    /// An answer that is the id of a request that waits, or None.
    fn waiting(&self, answer: &Bound<'_, PyAny>) -> Result<Option<RequestId>, Wrong> {
        if answer.is_none() {
            return Ok(None);
        }
        let expected = format!("{REQUEST}, or None");
        let id = RequestId(answer::below_u32(answer, u32::MAX, &expected)?);
        let waits = self.queue.get().holds(id);
        if waits { Ok(Some(id)) } else { Err(Wrong::remark(answer, "a request that does not wait", expected)) }
    }

    fn choice(&self, now: Ns, answer: &Bound<'_, PyAny>) -> Result<Choice, Wrong> {
        const EXPECTED: &str = "the id of a request that waits, NotBefore(time), or None";
        if answer.is_none() {
            return Ok(Choice::Idle);
        }
        if answer.is_instance(self.not_before.bind(answer.py())).unwrap_or(false) {
            let time = answer.getattr("time_ns").map_err(|_| Wrong::value(answer, EXPECTED))?;
            let time = answer::below(&time, Ns::MAX, "a time in nanoseconds")?;
            let to_come = format!("a time after now, {now} ns");
            return if time > now { Ok(Choice::NotBefore(time)) } else { Err(Wrong::value(answer, to_come)) };
        }
        let id = RequestId(answer::below_u32(answer, u32::MAX, EXPECTED)?);
        if self.queue.get().holds(id) {
            return Ok(Choice::Request(id));
        }
        Err(Wrong::remark(answer, "a request that does not wait", EXPECTED))
    }
}

figures_of_instance!(ScriptedScheduler);

impl Scheduler for ScriptedScheduler {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        Python::attach(|py| {
            self.follow(py, requests);
            let Some(copy) = self.object(py, copy_of(requests, id)) else { return Ns::MAX };
            self.queue.get().push(id, copy.clone_ref(py));
            let Some(insert) = &self.insert else { return Ns::MAX };
            let deadline = self.instance.call(py, insert, (now, copy), |answer| {
                let expected = "a deadline in nanoseconds, or None";
                if answer.is_none() { Ok(Ns::MAX) } else { answer::below(answer, Ns::MAX, expected) }
            });
            let deadline = deadline.unwrap_or(Ns::MAX);
            if deadline != Ns::MAX
                && let Some(copy) = self.object(py, copy_of(requests, id).with_deadline(deadline))
            {
                self.queue.get().refresh(id, copy);
            }
            deadline
        })
    }

    fn front_merge_candidate(&self, requests: &Requests, incoming: &Request) -> Option<RequestId> {
        self.steps.store(0, Ordering::Relaxed);
        let method = self.front_merge_candidate.as_ref().filter(|_| !self.instance.has_failed())?;
        Python::attach(|py| {
            self.follow(py, requests);
            let incoming = self.incoming(py, incoming)?;
            let read = |answer: &Bound<'_, PyAny>| self.waiting(answer);
            self.with_queue(|queue| self.instance.call(py, method, (queue, incoming), read))?
        })
    }

    fn allows_merge(&self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        let Some(method) = self.allows_merge.as_ref().filter(|_| !self.instance.has_failed()) else { return true };
        Python::attach(|py| {
            self.follow(py, requests);
            let Some(incoming) = self.incoming(py, incoming) else { return true };
            let answer = self.with_queue(|queue| self.instance.call(py, method, (queue, id.0, incoming), answer::flag));
            answer.unwrap_or(true)
        })
    }

    fn former(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.steps.store(0, Ordering::Relaxed);
        self.neighbour(&self.former, requests, id)
    }

    fn latter(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        let latter = self.neighbour(&self.latter, requests, id)?;
        if self.steps.fetch_add(1, Ordering::Relaxed) < self.requests {
            return Some(latter);
        }
        let wrong = Wrong::new(format!("requests in a circle, {} after {}", latter.0, id.0), "an order that ends");
        if let Some(method) = &self.latter {
            Python::attach(|py| self.instance.wrong(py, method, wrong));
        }
        None
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        self.steps.store(0, Ordering::Relaxed);
        Python::attach(|py| {
            self.follow(py, requests);
            self.refresh(py, requests, id);
            let Some(method) = &self.moved else { return };
            self.with_queue(|queue| self.instance.tell(py, method, (queue, id.0)));
        });
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        self.steps.store(0, Ordering::Relaxed);
        Python::attach(|py| {
            self.follow(py, requests);
            if let Some(method) = &self.absorb {
                self.with_queue(|queue| self.instance.tell(py, method, (queue, kept.0, gone.0)));
            }
        });
        self.queue.get().remove(gone);
        *locked(&self.joined) = Some(kept);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        self.steps.store(0, Ordering::Relaxed);
        let queue = self.queue.get();
        if queue.count() == 0 {
            return Choice::Idle;
        }
        let choice = if self.instance.has_failed() {
            None
        } else {
            Python::attach(|py| {
                self.follow(py, requests);
                let read = |answer: &Bound<'_, PyAny>| self.choice(now, answer);
                self.with_queue(|queue| self.instance.call(py, &self.dispatch, (now, queue), read))
            })
        };
        let choice = choice.unwrap_or_else(|| queue.oldest().map_or(Choice::Idle, Choice::Request));
        if let Choice::Request(id) = choice {
            queue.remove(id);
            self.in_flight += 1;
        }
        self.is_stuck = choice == Choice::Idle && self.in_flight == 0;
        choice
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.in_flight -= 1;
        let Some(method) = self.completed.as_ref().filter(|_| !self.instance.has_failed()) else { return };
        Python::attach(|py| {
            self.follow(py, requests);
            if let Some(copy) = self.object(py, copy_of(requests, id)) {
                self.instance.tell(py, method, (now, copy));
            }
        });
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (listed, queued) = (self.queue.get().count() as u64, requests.count(Stage::Queued));
        if listed != queued {
            return Err(violation!("{}: {listed} listed, {queued} queued", self.instance.name()));
        }
        Ok(())
    }
}

/// A run that ends while requests are stuck would only be told that they never completed.
impl Drop for ScriptedScheduler {
    fn drop(&mut self) {
        if !self.is_stuck {
            return;
        }
        let found = format!("None, and {} requests wait for ever", self.queue.get().count());
        let wrong = Wrong::new(found, "a request at the latest when none is in flight and no other arrives");
        Python::try_attach(|py| self.instance.wrong(py, &self.dispatch, wrong));
    }
}
