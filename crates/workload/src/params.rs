//! The `[workload]` section of a configuration.

use flashloom_units::{Kind, Ns, S, SlotSpec, Used, Value, choice, params};

use crate::{ALL_DEVICES, Addresses, Event, Format, QueueClass, SizeUnit, TimeUnit, TraceOptions};

choice! {
    /// Time at which a request is handed to the host's block layer.
    pub enum Replay {
        /// At its recorded time, even if the device falls behind (open loop).
        Timestamps = "timestamps",
        /// As soon as fewer than `queue_depth` are outstanding, whatever its time.
        Closed = "closed",
        /// After the previous one of its task completed and the recorded think time passed.
        Dependent = "dependent",
    }
}

/// The slot of the workload.
pub static WORKLOADS: SlotSpec = SlotSpec {
    name: "workloads",
    key: "workload.kind",
    role: "workload",
    help: "where the requests come from",
    statistics: &[],
};

/// Keys that only a recording has a use for.
const OF_A_RECORDING: Option<Used> = Used::without("kind", &["synthetic", "fio", "filebench", "synthesized"]);

params! {
    /// The parameters of any workload, `[workload]`.
    pub struct WorkloadParams {
        /// Kind of workload: a recording or one of the generators.
        kind: &'static str => "kind", Kind::Policy(&WORKLOADS), Value::Name("synthetic"),
            "A recording is what happened once; the parameters of a generator can be varied.";
        /// File to read: a recording (for blktrace the prefix of its per-CPU files) or a fio job file.
        path: Option<String> => "path", Kind::Text, Value::Absent,
            "Compressed recordings are read as they are, at the price of unpacking them each time.",
            Used::without("kind", &["synthetic", "filebench", "synthesized"]);
        /// Format of the recording; detected from its content if it is not given.
        format: Option<Format> => "format", Kind::Choice(Format::CHOICES), Value::Absent,
            "Naming it refuses a file of another format.", OF_A_RECORDING;
        /// Unit of the addresses and sizes of a recording in DiskSim's or SSDsim's five columns; theirs is sectors.
        size_unit: Option<SizeUnit> => "size_unit", Kind::Choice(SizeUnit::CHOICES), Value::Absent,
            "Other programs write the same columns in bytes, which read as sectors are 512 times as much.",
            OF_A_RECORDING;
        /// Unit of the times of a recording in five columns; DiskSim's is milliseconds, SSDsim's nanoseconds.
        time_unit: Option<TimeUnit> => "time_unit", Kind::Choice(TimeUnit::CHOICES), Value::Absent,
            "A wrong unit makes a load a thousand times heavier or lighter.", OF_A_RECORDING;
        /// Event of a blktrace or blkparse recording that counts as a request.
        event: Event => "event", Kind::Choice(Event::CHOICES), Value::Name("queue"),
            "Queued requests are what a scheduler gets; issued ones are what one made of them.", OF_A_RECORDING;
        /// Sort the requests of the recording by time.
        sort: bool => "sort", Kind::Flag, Value::Flag(false),
            "Repairs a recording that is not in order, at 48 bytes of memory a request.", OF_A_RECORDING;
        /// Leave out bad lines of the recording and report them.
        skip_bad_lines: bool => "skip_bad_lines", Kind::Flag, Value::Flag(false),
            "Lets a damaged recording run, without the requests that could not be read.", OF_A_RECORDING;
        /// Device of several whose requests are replayed, by its name: of a recording as `flashloom trace info` lists
        /// them, of fio jobs as they name it, such as "/dev/sdb"; "all" replays each in a range of its own, one behind
        /// the other. A recording or jobs of several devices need it.
        device: Option<String> => "device", Kind::Text, Value::Absent,
            "The load of one device is what that device saw; the sum of several is that of none.",
            Used::without("kind", &["synthetic", "filebench", "synthesized"]);
        /// Replay mode; by default timestamps if the requests have times, else closed.
        replay: Option<Replay> => "replay", Kind::Choice(Replay::CHOICES), Value::Absent,
            "Timestamps keep recorded bursts, closed measures throughput, dependent lets a faster device gain time.";
        /// Number of requests outstanding at once in a closed replay.
        queue_depth: u32 => "queue_depth", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(16),
            "Deeper queues keep more chips busy and make each request wait longer.", Used::with("replay", &["closed"]);
        /// Time that the process of a closed replay takes to submit a request, one request after another.
        submit_time_ns: Ns => "submit_time", Kind::Time { min: 0, max: S }, Value::Time(0),
            "A drive that answers fast waits for the process; the latency of a request begins when it is submitted.",
            Used::with("replay", &["closed"]);
        /// Factor by which recorded times run faster.
        speed: f64 => "speed", Kind::Ratio { min: 1e-6, max: 1e9 }, Value::Ratio(1.0),
            "A recording of a slow device becomes a load for a fast one; think times shrink with it.",
            Used::without("replay", &["closed"]);
        /// Sector of the recording that becomes sector 0 of the device. A partition that began at sector 63 is replayed
        /// as on a drive of its own with 63.
        first_sector: u64 => "first_sector", Kind::Count { min: 0, max: 1 << 55 }, Value::Count(0),
            "Undoes a partition's shift against pages and blocks; requests before this sector are refused.";
        /// Treatment of addresses beyond the end of the device.
        addresses: Addresses => "addresses", Kind::Choice(Addresses::CHOICES), Value::Name("error"),
            "Wrapping overlays parts of the recording; scaling moves neighbouring addresses apart or together.";
        /// Maximum number of requests to read.
        requests: Option<u64> => "requests", Kind::Count { min: 1, max: u64::MAX }, Value::Absent,
            "The start of a long recording runs sooner, but may not be like the rest.";
        /// Where the part of the drive begins that the workload has, as a share of the capacity. Its addresses count
        /// from there, and the part is the drive that it sees.
        range_begin: f64 => "range_begin", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Workloads with parts of their own share channels and blocks, but no addresses.";
        /// Where that part ends.
        range_end: f64 => "range_end", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(1.0),
            "Parts may overlap: then workloads write over what others have written.";
        /// Time of the run at which the workload begins; its own times count from there.
        begin_ns: Ns => "begin", Kind::Time { min: 0, max: u64::MAX / 4 }, Value::Time(0),
            "A neighbour that comes later shows what it changes, on one drive and in one run.";
        /// Time of the run from which on the workload issues no more requests.
        end_ns: Option<Ns> => "end", Kind::Time { min: 1, max: u64::MAX / 4 }, Value::Absent,
            "Workloads of different lengths are compared while all of them run.";
        /// Most requests a second that the workload sends; others wait before the host, and their latency counts from
        /// when they were ready.
        most_requests: Option<u64> => "most_requests", Kind::Count { min: 1, max: 1 << 40 }, Value::Absent,
            "A limit protects neighbours, at the price of the workload's own latency.";
        /// Most data a second that the workload sends.
        most_bytes: Option<u64> => "most_rate", Kind::Rate { min: 1, max: 1 << 50 }, Value::Absent,
            "As most_requests; a rate of data bounds large requests more than small ones.";
        /// Most requests of the workload in the host and the drive at once.
        most_outstanding: Option<u32> => "most_outstanding", Kind::Count { min: 1, max: 1 << 16 }, Value::Absent,
            "Bounds what a neighbour's request may find before it; host.queue_depth bounds all workloads together.";
        /// Class of the workload's submission queue at the drive's arbiter.
        queue_class: QueueClass => "queue_class", Kind::Choice(QueueClass::CHOICES), Value::Name("medium"),
            "An urgent queue waits for none of another class, and may starve them; the others share by weights.",
            Used::with("device.front_arbiter", &["weighted"]);
        /// Replay a replicate of the recording in place of the recording itself: begun at another request, with
        /// arrivals or queue depth that waver a little, all drawn from `run.seed`. `--seeds` sets it.
        replicate: Option<bool> => "replicate", Kind::Flag, Value::Absent,
            "Replicates show how much of a figure is chance; without it the run is that of the recording as it is.",
            Used::with("kind", &["trace"]);
    }
}

impl WorkloadParams {
    /// Options for reading the recording.
    pub fn trace_options(&self) -> TraceOptions {
        TraceOptions {
            format: self.format,
            event: self.event,
            completions: false,
            sort: self.sort,
            skip_bad_lines: self.skip_bad_lines,
            device: self.device.clone().filter(|device| device != ALL_DEVICES),
            size_unit: self.size_unit,
            time_unit: self.time_unit,
        }
    }

    /// True if each device of the recording is replayed in a range of its own.
    pub fn takes_all_devices(&self) -> bool {
        self.device.as_deref() == Some(ALL_DEVICES)
    }

    /// Replay mode in effect. `has_times`: the workload's requests have arrival times.
    pub fn replay_or_default(&self, has_times: bool) -> Replay {
        self.replay.unwrap_or(if has_times { Replay::Timestamps } else { Replay::Closed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SyntheticParams, workload};
    use flashloom_units::ParamSet;

    #[test]
    fn every_tradeoff_is_a_sentence() {
        for param in WorkloadParams::PARAMS.iter().chain(SyntheticParams::PARAMS) {
            assert!(param.tradeoff.ends_with('.'), "{}", param.name);
        }
    }

    #[test]
    fn the_kinds_have_distinct_names_and_the_default_is_one_of_them() {
        let names: Vec<_> = workload::builtin().specs().map(|policy| policy.name).collect();
        assert_eq!(names, ["trace", "synthetic", "fio", "filebench", "synthesized"]);
        assert!(names.contains(&WorkloadParams::defaults().kind));
    }

    #[test]
    fn a_workload_without_times_is_replayed_closed_unless_told_otherwise() {
        let mut params = WorkloadParams::defaults();
        assert_eq!(params.replay_or_default(true), Replay::Timestamps);
        assert_eq!(params.replay_or_default(false), Replay::Closed);
        params.replay = Some(Replay::Dependent);
        assert_eq!(params.replay_or_default(true), Replay::Dependent);
    }
}
