//! Arrival of a workload's requests: at their recorded times, as fast as they complete, or task by task.

use std::collections::{BTreeMap, VecDeque};

use crate::{Request, Source};
use flashloom_units::{NO_INDEX, Ns, Prng, Problem};

/// A stream of requests whose arrivals depend on time and on completions; the run's event loop drives it.
pub trait Arrivals {
    /// Returns the time of the next arrival, if it is known now; a time in the past means now. `None` at the end of the
    /// workload, and while every further request waits for a completion.
    ///
    /// # Errors
    /// A problem in the workload's input.
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem>;

    /// Takes the request that is due according to [`Self::next_ns`], with a cookie to pass to [`Self::completed`].
    fn take(&mut self, now: Ns) -> (Request, u32);

    /// Tells the workload that a request has completed, which may let others arrive.
    fn completed(&mut self, now: Ns, cookie: u32);

    /// True if no request will arrive any more, whatever completes.
    fn is_over(&self) -> bool;
}

/// Replay mode of a workload, with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Requests arrive at their recorded times divided by this factor, whatever has completed (open loop).
    Timestamps(f64),
    /// This many requests are always outstanding (closed loop); recorded times are ignored.
    Closed(u32),
    /// Each task waits for its request to complete, thinks for the recorded time divided by this factor, and issues the
    /// next.
    Dependent(f64),
}

/// Requests that a dependent replay reads ahead, so that a task that waits does not hold up the others.
const READ_AHEAD: usize = 65_536;

/// A source replayed in one of the modes of [`Pace`].
pub struct Replayed<S> {
    source: S,
    pace: Pace,
    /// The next request of an open loop.
    next: Option<Request>,
    /// Requests that a closed loop may issue now; below zero once its depth has fallen.
    credit: i64,
    /// Time that the submission of a request of a closed loop takes.
    submit_ns: Ns,
    waver: Option<Waver>,
    tasks: Tasks,
    exhausted: bool,
}

impl<S: Source> Replayed<S> {
    /// A replay that has read nothing of its source yet.
    pub fn new(source: S, pace: Pace) -> Self {
        let credit = if let Pace::Closed(depth) = pace { i64::from(depth) } else { 0 };
        Self { source, pace, next: None, credit, submit_ns: 0, waver: None, tasks: Tasks::default(), exhausted: false }
    }

    /// The same replay, with a closed loop whose one process takes so long to submit a request, and submits one at a
    /// time: the request that a completion lets in arrives later by as much, and by those before it.
    #[must_use]
    pub fn with_submission(self, submit_ns: Ns) -> Self {
        Self { submit_ns, ..self }
    }

    /// The same replay, with a depth that wavers if its loop is closed and two deep or more: at one request in 256 it
    /// rises or falls by one, and is back after 16 requests. The mean depth stays; which requests meet in the drive
    /// does not.
    #[must_use]
    pub fn with_wavering_depth(self, prng: Prng) -> Self {
        let wavers = matches!(self.pace, Pace::Closed(depth) if depth > 1);
        Self { waver: wavers.then_some(Waver { prng, by: 0, left: 0 }), ..self }
    }

    #[inline]
    fn read(&mut self) -> Result<Option<Request>, Problem> {
        if self.exhausted {
            return Ok(None);
        }
        let request = self.source.next_request()?;
        self.exhausted = request.is_none();
        Ok(request)
    }
}

impl<S: Source> Arrivals for Replayed<S> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        match self.pace {
            Pace::Timestamps(speed) => {
                if self.next.is_none()
                    && let Some(mut request) = self.read()?
                {
                    request.arrival_ns = at_speed(request.arrival_ns, speed);
                    self.next = Some(request);
                }
                Ok(self.next.map(|request| request.arrival_ns))
            }
            Pace::Closed(_) => {
                if self.next.is_none()
                    && self.credit > 0
                    && let Some(request) = self.read()?
                {
                    self.next = Some(request.arriving_at(now + self.submit_ns));
                }
                Ok(self.next.map(|request| request.arrival_ns))
            }
            Pace::Dependent(speed) => {
                while self.tasks.waiting < READ_AHEAD
                    && let Some(request) = self.read()?
                {
                    self.tasks.push(request, speed);
                }
                Ok(self.tasks.due.first_key_value().map(|(&(at, _), _)| at))
            }
        }
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        if let Pace::Dependent(_) = self.pace {
            let (mut request, task) = self.tasks.take();
            request.arrival_ns = now;
            return (request, task);
        }
        let mut request = self.next.take().expect("taken when it is due");
        if let Pace::Closed(_) = self.pace {
            self.credit -= 1 - self.waver.as_mut().map_or(0, Waver::step);
            request.arrival_ns = now;
        }
        (request, NO_INDEX)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        match self.pace {
            Pace::Timestamps(_) => {}
            Pace::Closed(_) => self.credit += 1,
            Pace::Dependent(_) => self.tasks.completed(now, cookie),
        }
    }

    fn is_over(&self) -> bool {
        self.exhausted && self.next.is_none() && self.tasks.waiting == 0
    }
}

/// Requests between two wavers of the depth, on average.
const WAVER_EVERY: u64 = 256;
/// Requests for which the depth is off by one.
const WAVER_REQUESTS: u32 = 16;

/// The depth of a closed loop, which is off by one now and then.
struct Waver {
    prng: Prng,
    /// Distance from the depth that was asked for.
    by: i64,
    /// Requests until the depth is back.
    left: u32,
}

impl Waver {
    /// Called once for each request; returns the change of the depth.
    fn step(&mut self) -> i64 {
        if self.left > 0 {
            self.left -= 1;
            return if self.left == 0 { -std::mem::take(&mut self.by) } else { 0 };
        }
        if self.prng.below(WAVER_EVERY) > 0 {
            return 0;
        }
        self.by = if self.prng.chance(0.5) { 1 } else { -1 };
        self.left = WAVER_REQUESTS;
        self.by
    }
}

/// Scales a recorded time or duration by the speed factor; at 1.0 it is kept to the nanosecond.
fn at_speed(recorded_ns: Ns, speed: f64) -> Ns {
    if speed == 1.0 { recorded_ns } else { (recorded_ns as f64 / speed).round() as Ns }
}

/// One task of a dependent replay.
#[derive(Debug, Default)]
struct Task {
    /// Requests read ahead, with the think time before each.
    queue: VecDeque<(Request, Ns)>,
    /// Arrival and service time of the task's previous request in the recording.
    recorded: Option<(Ns, Ns)>,
    outstanding: bool,
    /// Completion time of its previous request.
    free_ns: Ns,
}

/// All tasks of a dependent replay. Memory grows with the number of tasks, not of requests.
#[derive(Debug, Default)]
struct Tasks {
    index: BTreeMap<u32, u32>,
    tasks: Vec<Task>,
    /// The next request of each task whose previous one has completed, by arrival time, then by order of reading.
    due: BTreeMap<(Ns, u64), u32>,
    order: u64,
    waiting: usize,
}

impl Tasks {
    /// Queues a request behind its task's others. Its think time is the recorded gap since the task's previous request,
    /// less the recorded latency of that one, if known; a task's first request arrives at its recorded time.
    fn push(&mut self, request: Request, speed: f64) {
        let fresh = self.tasks.len() as u32;
        let id = *self.index.entry(request.task).or_insert(fresh);
        if id == fresh {
            self.tasks.push(Task::default());
        }
        let task = &mut self.tasks[id as usize];
        let before = task.recorded.map_or(0, |(arrival, service)| arrival + service);
        let think_ns = at_speed(request.arrival_ns.saturating_sub(before), speed);
        task.recorded = Some((request.arrival_ns, Ns::from(request.recorded_latency_ns)));
        task.queue.push_back((request, think_ns));
        self.waiting += 1;
        if !task.outstanding && task.queue.len() == 1 {
            self.ready(id);
        }
    }

    fn ready(&mut self, id: u32) {
        let task = &self.tasks[id as usize];
        if let Some(&(_, think_ns)) = task.queue.front() {
            self.due.insert((task.free_ns + think_ns, self.order), id);
            self.order += 1;
        }
    }

    fn take(&mut self) -> (Request, u32) {
        let (_, id) = self.due.pop_first().expect("taken when it is due");
        let task = &mut self.tasks[id as usize];
        task.outstanding = true;
        self.waiting -= 1;
        let (request, _) = task.queue.pop_front().expect("a task that is due has a request");
        (request, id)
    }

    fn completed(&mut self, now: Ns, id: u32) {
        let task = &mut self.tasks[id as usize];
        task.outstanding = false;
        task.free_ns = now;
        self.ready(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn request(arrival_ns: Ns, task: u32, recorded_latency_ns: u32) -> Request {
        Request::new(Op::Read, 0, 8).arriving_at(arrival_ns).of_task(task).with_recorded_latency(recorded_latency_ns)
    }

    #[test]
    fn a_dependent_task_thinks_after_its_completion_as_long_as_in_the_recording() {
        let list = [request(0, 1, 40), request(50, 2, 0), request(100, 1, 0), request(300, 1, 0)];
        let mut arrivals = Replayed::new(&list[..], Pace::Dependent(1.0));
        assert_eq!(arrivals.next_ns(0), Ok(Some(0)));
        let (_, first) = arrivals.take(0);
        assert_eq!(arrivals.next_ns(0), Ok(Some(50)), "the other task does not wait");
        let (_, other) = arrivals.take(50);
        assert_eq!(arrivals.next_ns(50), Ok(None), "everything waits for a completion");
        arrivals.completed(1_000, first);
        assert_eq!(arrivals.next_ns(1_000), Ok(Some(1_060)), "100 - (0 + 40) of think time");
        let (second, _) = arrivals.take(1_060);
        assert_eq!((second.arrival_ns, arrivals.is_over()), (1_060, false));
        arrivals.completed(2_000, first);
        arrivals.completed(2_000, other);
        assert_eq!(arrivals.next_ns(2_000), Ok(Some(2_200)), "300 - 100: the recording does not say how long 100 took");
        arrivals.take(2_200);
        assert!(arrivals.is_over());
    }

    #[test]
    fn a_faster_dependent_replay_thinks_less_and_waits_all_the_same() {
        let list = [request(0, 1, 0), request(100, 1, 0)];
        let mut arrivals = Replayed::new(&list[..], Pace::Dependent(4.0));
        assert_eq!(arrivals.next_ns(0), Ok(Some(0)));
        let (_, task) = arrivals.take(0);
        assert_eq!(arrivals.next_ns(0), Ok(None));
        arrivals.completed(1_000, task);
        assert_eq!(arrivals.next_ns(1_000), Ok(Some(1_025)));
    }

    #[test]
    fn a_closed_loop_issues_as_many_as_its_depth_and_then_one_for_each_completion() {
        let list: Vec<_> = (0..3).map(|at| request(at * 1_000, 0, 0)).collect();
        let mut arrivals = Replayed::new(&list[..], Pace::Closed(2));
        for _ in 0..2 {
            assert_eq!(arrivals.next_ns(7), Ok(Some(7)));
            assert_eq!(arrivals.take(7).0.arrival_ns, 7);
        }
        assert_eq!(arrivals.next_ns(7), Ok(None));
        arrivals.completed(9, NO_INDEX);
        assert_eq!(arrivals.next_ns(9), Ok(Some(9)));
    }

    #[test]
    fn a_closed_loop_submits_one_request_after_another() {
        let list: Vec<_> = (0..4).map(|at| request(at * 1_000, 0, 0)).collect();
        let mut arrivals = Replayed::new(&list[..], Pace::Closed(2)).with_submission(10);
        for arrival in [10, 20] {
            assert_eq!(arrivals.next_ns(arrival - 10), Ok(Some(arrival)));
            assert_eq!(arrivals.next_ns(arrival - 3), Ok(Some(arrival)), "it is under way");
            assert_eq!(arrivals.take(arrival).0.arrival_ns, arrival);
        }
        assert_eq!(arrivals.next_ns(20), Ok(None));
        arrivals.completed(100, NO_INDEX);
        assert_eq!(arrivals.next_ns(100), Ok(Some(110)));
        arrivals.completed(104, NO_INDEX);
        assert_eq!(arrivals.next_ns(104), Ok(Some(110)), "the other waits for the process");
        arrivals.take(110);
        assert_eq!(arrivals.next_ns(110), Ok(Some(120)));
    }

    #[test]
    fn a_depth_that_wavers_is_off_by_one_for_a_sixteenth_of_the_requests_and_right_on_average() {
        for depth in [1, 2, 16] {
            let list: Vec<_> = (0..100_000).map(|at| request(at, 0, 0)).collect();
            let mut arrivals = Replayed::new(&list[..], Pace::Closed(depth)).with_wavering_depth(Prng::new(1));
            let (mut outstanding, mut depths) = (0i64, [0u64; 3]);
            while !arrivals.is_over() {
                while arrivals.next_ns(0) == Ok(Some(0)) {
                    arrivals.take(0);
                    outstanding += 1;
                }
                depths[(outstanding - i64::from(depth) + 1) as usize] += 1;
                arrivals.completed(0, NO_INDEX);
                outstanding -= 1;
            }
            let [less, as_asked, more] = depths.map(|count| count as f64 / 100_000.0);
            let expected = if depth == 1 { 0.0 } else { 1.0 / 17.0 };
            assert!((less + more - expected).abs() < 0.01, "{depth}: {less} {as_asked} {more}");
            assert!((more - less).abs() < 0.01, "{depth}: {less} {as_asked} {more}");
        }
    }

    #[test]
    fn an_open_loop_follows_the_recording_at_its_speed() {
        let list: Vec<_> = (0..2).map(|at| request(at * 1_000, 0, 0)).collect();
        let mut arrivals = Replayed::new(&list[..], Pace::Timestamps(2.0));
        assert_eq!(arrivals.next_ns(0), Ok(Some(0)));
        arrivals.take(0);
        assert_eq!(arrivals.next_ns(0), Ok(Some(500)));
    }
}
