//! A workload in Python: an iterable of requests, replayed as `[workload]` says.
//!
//! ```text
//! answers      requests in order of arrival, with the fields that their operation has
//! by itself    no more requests
//! ```

use flashloom::prelude::{Figure, Ns, Op, Policy, PolicySpec, Refusal, Request};
use flashloom::units::{Problem, Problems, Value};
use flashloom::workload::workload::{Context, Profile, Running, Workload};
use flashloom::workload::{Arrivals, Replay, Replayed, Source};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyType};

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of workloads.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Workload> {
    let (has_task_ids, has_times) = (site.class.flag("has_task_ids"), site.class.flag("has_times"));
    let policy = Policy::<dyn Workload>::new(spec, move |values: Vec<Value>, context: &Context| {
        let wrap = |py: Python<'_>, instance: Instance| {
            let class = py.import("flashloom.policy")?.getattr("Request")?.cast_into::<PyType>()?.unbind();
            let requests = instance.method(py, "requests")?;
            Ok(ScriptedWorkload { requests, class, instance, context: context.clone(), has_task_ids, has_times })
        };
        Ok(Box::new(site.begin(&values, |_| Ok(None), wrap)?))
    });
    policy.with_profile(move |(), site| {
        let (found, expected) = match site.params.replay {
            Some(Replay::Dependent) if !has_task_ids => ("a dependent replay", "a workload with `has_task_ids`"),
            Some(Replay::Timestamps) if !has_times => ("a replay by time", "a workload with `has_times`"),
            _ => return Ok(Profile::default()),
        };
        let found = format!("{found} of `{}`", spec.name);
        let misfits = vec![Refusal::new(found, expected).at(["workload.replay", "workload.kind"])];
        Ok(Profile { misfits, ..Profile::default() })
    })
}

struct ScriptedWorkload {
    requests: Method,
    class: Py<PyType>,
    instance: Instance,
    context: Context,
    has_task_ids: bool,
    has_times: bool,
}

impl Workload for ScriptedWorkload {
    /// [`Running::issued`] counts them.
    fn expected_requests(&self) -> u64 {
        0
    }

    fn has_task_ids(&self) -> bool {
        self.has_task_ids
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let Context { capacity_sectors, path, .. } = &self.context;
        let seed = self.context.prng.clone().bits();
        let requests = Python::attach(|py| {
            let setup = make(py, "WorkloadSetup", (*capacity_sectors, seed, path.as_deref()));
            let setup = setup.map_err(|error| self.instance.fail(py, "requests", error)).ok()?;
            self.instance.call(py, &self.requests, (setup,), |answer| {
                let requests = answer.try_iter().map_err(|_| Wrong::value(answer, "an iterable of requests"))?;
                Ok(requests.unbind())
            })
        });
        let source = Requests { of: self, requests, last_ns: 0 };
        let replayed = self.context.replayed(source, *capacity_sectors, self.has_times);
        Ok(Box::new(Issued { of: self, replayed, issued: 0 }))
    }
}

/// The requests of a run.
struct Requests<'a> {
    of: &'a ScriptedWorkload,
    /// None at their end.
    requests: Option<Py<PyIterator>>,
    last_ns: Ns,
}

impl Requests<'_> {
    fn read(&self, request: &Bound<'_, PyAny>) -> Result<Request, Wrong> {
        const FAR: u64 = 1 << 55;
        if !request.is_instance(self.of.class.bind(request.py())).unwrap_or(false) {
            return Err(Wrong::value(request, "a flashloom.policy.Request"));
        }
        let field = |name: &str| request.getattr(name).map_err(|_| Wrong::value(request, format!("one with {name}")));
        let number = |name: &str, bound: u64, expected: &str| {
            let value = field(name)?;
            answer::below(&value, bound, expected).map_err(|_| Wrong::remark(request, &format!("`{name}`"), expected))
        };
        let flag = |name: &str| answer::flag(&field(name)?);
        let op = field("op")?.extract::<String>().unwrap_or_default();
        let op = Op::ALL.into_iter().find(|known| known.name() == op);
        let op = op.ok_or_else(|| Wrong::remark(request, "`op`", "one of read, write, discard, flush"))?;
        let lba = number("lba", FAR, "a sector below 2^55")?;
        let sectors = number("sectors", 1 << 31, "a number of sectors below 2^31")? as u32;
        let arrival_ns = number("arrival_ns", Request::LAST_ARRIVAL_NS + 1, "a time of at most 2^62 ns")?;
        let task = number("task", 1 << 32, "a 32-bit number")? as u32;
        let [sync, fua, preflush] = [flag("sync")?, flag("fua")?, flag("preflush")?];
        let wrong = |remark: &str, expected: &str| Err(Wrong::remark(request, remark, expected));
        if (op == Op::Flush) != (sectors == 0) || (op == Op::Flush && lba > 0) {
            return wrong("`sectors`", "at least one sector, or a flush without sector and length");
        }
        if (fua || preflush) && op != Op::Write {
            return wrong("`fua` or `preflush`", "these of writes alone");
        }
        if task > 0 && !self.of.has_task_ids {
            return wrong("`task`", "no task, or `has_task_ids = True` in the class");
        }
        if arrival_ns < self.last_ns {
            return wrong(
                "`arrival_ns`",
                &format!("a time not before that of the request before it, {}", self.last_ns),
            );
        }
        let flags = [(sync || op == Op::Read, Request::SYNC), (fua, Request::FUA), (preflush, Request::PREFLUSH)];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        Ok(Request::new(op, lba, sectors).arriving_at(arrival_ns).of_task(task).with_flags(flags))
    }
}

impl Source for Requests<'_> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some(requests) = self.requests.as_ref().filter(|_| !self.of.instance.has_failed()) else { return Ok(None) };
        let next = Python::attach(|py| match requests.bind(py).clone().next()? {
            Ok(request) => match self.read(&request) {
                Ok(request) => Some(request),
                Err(wrong) => {
                    self.of.instance.wrong(py, &self.of.requests, wrong);
                    None
                }
            },
            Err(error) => {
                self.of.instance.fail(py, "requests", error);
                None
            }
        });
        match next {
            Some(request) => self.last_ns = request.arrival_ns,
            None => self.requests = None,
        }
        Ok(next)
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        Problem::file(self.of.instance.name(), found, expected)
    }
}

/// The requests of a run as they arrive, counted.
struct Issued<'a> {
    of: &'a ScriptedWorkload,
    replayed: Replayed<Box<dyn Source + 'a>>,
    issued: u64,
}

impl Arrivals for Issued<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.replayed.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.issued += 1;
        self.replayed.take(now)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.replayed.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.replayed.is_over()
    }
}

impl Running for Issued<'_> {
    fn issued(&self) -> Option<u64> {
        Some(self.issued)
    }

    fn figures(&self) -> Vec<Figure> {
        self.of.instance.figures()
    }
}
