//! A block layer operated by hand, for tests of the exact order of dispatch.

use flashloom_units::{Figure, Ns, OrName, ParamSet, Refusal};
use flashloom_workload::{Op, Request};

use crate::stats::COUNTED;
use crate::{
    Admission, AsyncLimits, BlockLayer, Completed, Decision, Dispatched, HostParams, Linux, RequestId, Scheduler,
    SchedulerSetup, Throttling,
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
        Self::of_host(build, change, |_| {})
    }

    /// Makes an empty block layer of a host with blk-mq, 128 tags and without throttling, whose parameters are changed,
    /// too.
    pub fn of_blk_mq<P: ParamSet, S: Scheduler + 'static>(
        build: fn(P, &SchedulerSetup) -> Result<S, Refusal>,
        change: impl FnOnce(&mut P),
        change_host: impl FnOnce(&mut HostParams),
    ) -> Self {
        Self::of_host(build, change, |host| {
            (host.linux, host.wbt) = (Linux::V6_12, Throttling::Off);
            (host.nr_requests, host.async_limits) = (OrName::Number(128), AsyncLimits::NrRequests);
            change_host(host);
        })
    }

    /// Makes an empty block layer of a host whose parameters are changed, too.
    fn of_host<P: ParamSet, S: Scheduler + 'static>(
        build: fn(P, &SchedulerSetup) -> Result<S, Refusal>,
        change: impl FnOnce(&mut P),
        change_host: impl FnOnce(&mut HostParams),
    ) -> Self {
        let (mut host, mut params) = (HostParams::defaults(), P::defaults());
        change(&mut params);
        change_host(&mut host);
        let scheduler = build(params, &BlockLayer::setup(&host, CAPACITY)).expect("the test's parameters are in order");
        Self { layer: BlockLayer::new(&host, Box::new(scheduler)), now: 0, held: Vec::new() }
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
        for lba in sectors {
            assert_eq!(self.submit(Op::Read, task, 0, lba, LENGTH), Admission::Queued, "read {lba}");
        }
    }

    /// Submits asynchronous writes of task 0.
    pub fn writes(&mut self, sectors: impl IntoIterator<Item = u64>) {
        for lba in sectors {
            assert_eq!(self.submit(Op::Write, 0, 0, lba, LENGTH), Admission::Queued, "write {lba}");
        }
    }

    /// Sends the next request to the device, which keeps it.
    pub fn start(&mut self) -> Decision {
        let decision = self.layer.dispatch(self.now);
        if let Decision::Dispatch(Dispatched { lba, id, .. }) = decision {
            self.held.push((lba, id));
        }
        self.layer.check().expect("the block layer adds up");
        decision
    }

    /// Sends the next request to the device, which must be there, and returns its first sector.
    pub fn start_one(&mut self) -> u64 {
        match self.start() {
            Decision::Dispatch(dispatched) => dispatched.lba,
            other => panic!("a request was expected, not {other:?}"),
        }
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
        while order.len() < most {
            let Decision::Dispatch(dispatched) = self.start() else { break };
            self.finish(dispatched.lba);
            order.push(dispatched.lba);
        }
        order
    }
}
