//! The policies that this crate adds.

use flashloom_host::scheduler::kyber::KyberParams;
use flashloom_host::scheduler::mq_deadline::MqDeadlineParams;
use flashloom_host::{HostParams, QueueMap, Scheduler, SchedulerSetup};
use flashloom_units::{Ageing, Kind, MS, Param, ParamSet, Policy, PolicySpec, S, Statistic, Value};

use crate::compiled::{Compiled, Version};

const STATISTICS: &[Statistic] = &[
    Statistic::count("back_merges", "Requests that became the end of another one when they came."),
    Statistic::count("front_merges", "Requests that became the beginning of another one when they came."),
    Statistic::count("joins", "Requests that were joined to another one while they were queued."),
];

/// What the random hints of a policy begin with.
const SEED: u64 = 1;

macro_rules! spec {
    ($name:literal, $kernel:literal, $version:literal, $params:expr) => {
        PolicySpec {
            name: $name,
            summary: concat!($kernel, " as compiled from the sources of Linux ", $version),
            details: concat!(
                "The kernel's own code, in a shim that stands for the rest of the kernel. Parameters are the \
                 attributes of ",
                $kernel,
                " in sysfs. The built-in schedulers are written in this project's words; \
                 this one is the judge of what they do."
            ),
            source: concat!("Linux ", $version, ", block/, compiled; kernel/policies/README.md"),
            params: $params,
            statistics: STATISTICS,
            ..PolicySpec::BLANK
        }
    };
}

const fn param(name: &'static str, kind: Kind, default: Value, help: &'static str) -> Param {
    let tradeoff = "See the kernel's documentation.";
    Param { name, kind, default, help, tradeoff, used: None, ageing: Ageing::OfSection }
}

const fn time(name: &'static str, default_ns: u64, help: &'static str) -> Param {
    param(name, Kind::Time { min: 0, max: 3_600 * S }, Value::Time(default_ns), help)
}

const fn flag(name: &'static str, default: bool, help: &'static str) -> Param {
    param(name, Kind::Flag, Value::Flag(default), help)
}

const fn count(name: &'static str, max: u64, default: u64, help: &'static str) -> Param {
    param(name, Kind::Count { min: 0, max }, Value::Count(default), help)
}

/// Attributes of bfq, in Documentation/block/bfq-iosched.rst.
const BFQ_PARAMS: &[Param] = &[
    time("slice_idle", 8 * MS, "Time that the device is left idle for the next synchronous request of a task."),
    flag("strict_guarantees", false, "True to keep shares exact at the cost of throughput."),
    flag("low_latency", true, "True to favour interactive and soft real-time tasks for a time."),
    time("timeout_sync", 124 * MS, "Maximum time that a task is served before another one is chosen."),
    count("max_budget", 1 << 30, 0, "Maximum number of sectors served at once; 0 to find it by measurement."),
    time("fifo_expire_sync", 124 * MS, "Deadline of a synchronous request within its task."),
    time("fifo_expire_async", 248 * MS, "Deadline of an asynchronous request within its task."),
    count("back_seek_max", 1 << 30, 16 * 1_024, "Longest back seek, in KiB."),
    count("back_seek_penalty", 65_536, 2, "Factor by which the distance of a back seek is multiplied."),
];

static SPECS: [(PolicySpec, Version, &str); 6] = [
    (spec!("linux-6-1-mq-deadline", "mq-deadline", "6.1", MqDeadlineParams::PARAMS), Version::V6_1, "mq-deadline"),
    (spec!("linux-6-1-kyber", "kyber", "6.1", KyberParams::PARAMS), Version::V6_1, "kyber"),
    (spec!("linux-6-1-bfq", "bfq", "6.1", BFQ_PARAMS), Version::V6_1, "bfq"),
    (spec!("linux-6-12-mq-deadline", "mq-deadline", "6.12", MqDeadlineParams::PARAMS), Version::V6_12, "mq-deadline"),
    (spec!("linux-6-12-kyber", "kyber", "6.12", KyberParams::PARAMS), Version::V6_12, "kyber"),
    (spec!("linux-6-12-bfq", "bfq", "6.12", BFQ_PARAMS), Version::V6_12, "bfq"),
];

/// The compiled schedulers, for [`Slot::add`](flashloom_units::Slot::add).
pub fn policies() -> Vec<Policy<dyn Scheduler>> {
    let policy = |(spec, version, name): &'static (PolicySpec, Version, &str)| {
        Policy::<dyn Scheduler>::new(spec, move |values: Vec<Value>, setup: &SchedulerSetup| {
            // The keys of the host name the built-in schedulers as those that serve several.
            let host = HostParams::defaults();
            let queues = QueueMap::new(host.processors, host.hardware_queues, host.linux());
            let setup = SchedulerSetup { queues, ..*setup };
            Ok(Box::new(Compiled::new(*version, name, spec.params, &values, &setup, SEED)?))
        })
    };
    SPECS.iter().map(policy).collect()
}
