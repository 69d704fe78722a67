//! A block layer operated by hand, for tests of the exact order of dispatch.

use flashloom_units::{Figure, Ns, OrName, ParamSet, Refusal};
use flashloom_workload::{Op, Request};

use crate::scheduler::builtin;
use crate::stats::COUNTED;
use crate::{
    Admission, AsyncLimits, BlockLayer, Completed, Decision, HostParams, Linux, RequestId, Scheduler, SchedulerSetup,
    Throttling,
};

/// Capacity of the imagined device, in sectors.
pub const CAPACITY: u64 = 1 << 30;
/// Default length of a request, in sectors.
pub const LENGTH: u32 = 8;

/// A block layer, the present time, and the requests at the device.
pub struct Lab {
    pub layer: BlockLayer,
    pub now: Ns,
    pub held: Vec<(u64, RequestId)>,
}

impl Lab {
    /// Makes an empty block layer with default limits.
    pub fn new<P: ParamSet, S: Scheduler + 'static>(
        build: fn(P, &SchedulerSetup) -> Result<S, Refusal>,
        change: impl FnOnce(&mut P),
    ) -> Self {
        Self::of_host(build, change, &HostParams::defaults())
    }

    /// Makes an empty block layer of a host with blk-mq, 128 tags and without throttling, whose parameters are changed,
    /// too.
    pub fn of_blk_mq<P: ParamSet, S: Scheduler + 'static>(
        build: fn(P, &SchedulerSetup) -> Result<S, Refusal>,
        change: impl FnOnce(&mut P),
        change_host: impl FnOnce(&mut HostParams),
    ) -> Self {
        let mut host = Self::blk_mq_host();
        change_host(&mut host);
        Self::of_host(build, change, &host)
    }

    /// A host with blk-mq, 128 tags and without throttling.
    pub fn blk_mq_host() -> HostParams {
        let (nr_requests, async_limits) = (OrName::Number(128), AsyncLimits::NrRequests);
        HostParams { linux: Linux::V6_12, nr_requests, async_limits, wbt: Throttling::Off, ..HostParams::defaults() }
    }

    fn of_host<P: ParamSet, S: Scheduler + 'static>(
        build: fn(P, &SchedulerSetup) -> Result<S, Refusal>,
        change: impl FnOnce(&mut P),
        host: &HostParams,
    ) -> Self {
        let mut params = P::defaults();
        change(&mut params);
        let scheduler = build(params, &BlockLayer::setup(host, CAPACITY)).expect("the test's parameters are in order");
        Self { layer: BlockLayer::new(host, Box::new(scheduler)), now: 0, held: Vec::new() }
    }

    /// Makes an empty block layer of a host, with the defaults of a scheduler that is named.
    pub fn named(scheduler: &str, host: &HostParams) -> Self {
        let chosen = builtin().choose(scheduler, &[]).expect("it is built in");
        let scheduler = chosen.build(&BlockLayer::setup(host, CAPACITY)).expect("it takes any device");
        Self { layer: BlockLayer::new(host, scheduler), now: 0, held: Vec::new() }
    }

    /// Values of the scheduler's own statistics, all of which are counts.
    pub fn counts(&self) -> Vec<u64> {
        let count = |figure: &Figure| if let Figure::Count(count) = figure { *count } else { panic!("{figure:?}") };
        self.layer.figures()[COUNTED.len()..].iter().map(count).collect()
    }

    /// Submits a request; its cookie is its first sector.
    pub fn submit(&mut self, op: Op, task: u32, flags: u8, lba: u64, sectors: u32) -> Admission {
        let request = Request::new(op, lba, sectors).arriving_at(self.now).of_task(task).with_flags(flags);
        self.layer.submit(self.now, &request, lba as u32)
    }

    /// Submits reads of task 0.
    pub fn reads(&mut self, sectors: impl IntoIterator<Item = u64>) {
        self.reads_of(0, sectors);
    }

    /// Submits reads of a task.
    pub fn reads_of(&mut self, task: u32, sectors: impl IntoIterator<Item = u64>) {
        self.queue(Op::Read, task, 0, sectors);
    }

    /// Submits asynchronous writes of task 0.
    pub fn writes(&mut self, sectors: impl IntoIterator<Item = u64>) {
        self.queue(Op::Write, 0, 0, sectors);
    }

    /// Submits requests, none of which merges.
    pub fn queue(&mut self, op: Op, task: u32, flags: u8, sectors: impl IntoIterator<Item = u64>) {
        for lba in sectors {
            assert_eq!(self.submit(op, task, flags, lba, LENGTH), Admission::Queued, "{op:?} {lba}");
        }
    }

    /// Sends the next request to the device, which keeps it.
    pub fn start(&mut self) -> Decision {
        let decision = self.layer.dispatch(self.now);
        self.held.extend(decision.request().map(|sent| (sent.lba, sent.id)));
        self.layer.check().expect("the block layer adds up");
        decision
    }

    /// Sends the next request to the device, which must be there, and returns its first sector.
    pub fn start_one(&mut self) -> u64 {
        self.start().request().expect("a request can be sent").lba
    }

    /// Sends all requests that can be sent to the device, and returns their first sectors.
    pub fn start_all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.start().request()).map(|dispatched| dispatched.lba).collect()
    }

    /// Completes the request that begins at a sector, and returns the cookies of its members.
    pub fn finish(&mut self, lba: u64) -> Vec<u32> {
        let at = self.held.iter().position(|(held, _)| *held == lba).expect("the device holds the request");
        let (_, id) = self.held.remove(at);
        let mut cookies = Vec::new();
        self.layer.complete(self.now, id, |completed: &Completed| cookies.push(completed.cookie));
        self.layer.check().expect("the block layer adds up");
        cookies
    }

    /// Dispatches at most `most` requests and completes each at once; stops when the scheduler has nothing to send.
    /// Returns their first sectors.
    pub fn serve(&mut self, most: usize) -> Vec<u64> {
        let mut order = Vec::new();
        while order.len() < most
            && let Some(dispatched) = self.start().request()
        {
            self.finish(dispatched.lba);
            order.push(dispatched.lba);
        }
        order
    }
}
