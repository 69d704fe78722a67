//! The `[run]` section: parameters of the simulation itself.

use flashloom_units::{Kind, MS, Ns, S, Used, Value, choice, params};

choice! {
    /// Simulation of time.
    pub enum Timing {
        /// Requests, queues and flash operations take simulated time.
        Timed = "timed",
        /// Only counts: erases, copies and write amplification, many times faster; there are no latencies.
        Counting = "counting",
    }
}

choice! {
    /// State of the drive when the workload starts.
    pub enum Precondition {
        /// Erased; a read of a page that was never written needs no flash.
        None = "none",
        /// Filled: written once, in order.
        Fill = "fill",
        /// Steady state: written once, then overwritten until write amplification is stable.
        Steady = "steady",
    }
}

choice! {
    /// Idle time between ageing to the steady state and the workload.
    pub enum Rest {
        /// Idle if the requests of the workload have times of their own: such a workload would have left idle times
        /// before, too.
        Open = "open",
        /// Idle until everything that is collected in idle time has been collected.
        Always = "always",
        /// No idle time: the drive is as the last overwrite left it.
        Never = "never",
    }
}

choice! {
    /// Behaviour of a run whose drive comes to the end of its life.
    pub enum EndOfLife {
        /// The run ends too, and its figures cover the time until then.
        Stop = "stop",
        /// The workload goes on against a read-only drive: writes and discards fail.
        ReadOnly = "read-only",
    }
}

params! {
    /// Parameters of the run itself.
    pub struct RunParams {
        /// Seed of all random draws.
        seed: u64 => "seed", Kind::Count { min: 0, max: u64::MAX }, Value::Count(1),
            "The same seed gives the same result to the byte; several seeds show how much chance matters." => Always;
        /// Simulation of time: timed or counting.
        timing: Timing => "timing", Kind::Choice(Timing::CHOICES), Value::Name("timed"),
            "Counting is much faster but has no latency, scheduler or throughput.";
        /// State of the drive when the workload starts.
        precondition: Precondition => "precondition", Kind::Choice(Precondition::CHOICES), Value::Name("fill"),
            "An empty drive collects nothing and flatters every policy; the steady state takes the longest to reach."
            => Always;
        /// Share of the logical space that is written before the workload starts.
        fill: f64 => "fill", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(1.0),
            "Unwritten space serves as spare space, as device.over_provisioning does, until the workload writes it: \
             its footprint should be no larger. device.unpartitioned limits both.",
            Used::without("precondition", &["none"]) => Always;
        /// Detect streams in the pages written before the workload starts, if the allocation looks for streams.
        fill_streams: bool => "fill_streams", Kind::Flag, Value::Flag(true),
            "Without streams the drive is filled as by an allocation without them, the same for every threshold.",
            Used::without("precondition", &["none"]) => Always;
        /// Length of a window of ageing: pages overwritten uniformly at random, as a share of the filled pages.
        steady_window: f64 => "steady_window", Kind::Ratio { min: 0.001, max: 10.0 }, Value::Ratio(0.5),
            "Longer windows take longer and are less subject to chance.",
            Used::with("precondition", &["steady"]) => Always;
        /// Maximum relative change of write amplification from window to window, twice in a row, that counts as steady.
        steady_tolerance: f64 => "steady_tolerance", Kind::Ratio { min: 0.000_1, max: 1.0 }, Value::Ratio(0.01),
            "A smaller tolerance takes longer to meet, or is never met.",
            Used::with("precondition", &["steady"]) => Always;
        /// Number of windows after which ageing fails if the drive is not steady.
        steady_windows: u32 => "steady_windows", Kind::Count { min: 3, max: 100_000 }, Value::Count(100),
            "A higher limit waits longer for a drive that may never be steady.",
            Used::with("precondition", &["steady"]) => Always;
        /// Idle time of a drive that was aged to its steady state, before the workload starts.
        rest: Rest => "rest", Kind::Choice(Rest::CHOICES), Value::Name("open"),
            "Without idle time, garbage collection that ageing left behind slows a light workload; with it, a heavy \
             workload starts with more free blocks than it can sustain.",
            Used::with("precondition", &["steady"]);
        /// File of an aged drive saved by `run --save-state`, used instead of ageing the drive now.
        state: Option<String> => "state", Kind::Text, Value::Absent,
            "Saves the time of ageing, for any host, write buffer and workload over the same device, FTL, seed and \
             checks.";
        /// End the run when all written data is in flash, not when the last request has completed.
        drain: bool => "drain", Kind::Flag, Value::Flag(false),
            "Without it a large buffer looks fast for what it has not written yet; with it the time of the run is not \
             that of the requests alone.";
        /// Behaviour when a page can no longer be stored, because too many blocks have failed.
        end_of_life: EndOfLife => "end_of_life", Kind::Choice(EndOfLife::CHOICES), Value::Name("stop"),
            "Stopping compares drives by what they did while they lived; going on shows what is left of them.";
        /// Report the latency of reads and writes by cause.
        anatomy: bool => "anatomy", Kind::Flag, Value::Flag(false),
            "With it a run takes longer; it changes no other figure.";
        /// Simulated time between two points of the series that the result then has: what `flashloom report` draws.
        series_ns: Option<Ns> => "series", Kind::Time { min: MS, max: 100_000 * S }, Value::Absent,
            "Shorter intervals show more and make a larger result; a run of more than 512 has longer ones.";
        /// Simulated time between two samples of the timeline.
        timeline_interval_ns: Ns => "timeline_interval", Kind::Time { min: MS, max: 100_000 * S },
            Value::Time(100 * MS), "Shorter intervals show more and write a larger file. In counting mode \
                                    run.timeline_pages counts instead.",
            Used::with("timing", &["timed"]);
        /// Pages programmed for the host between two samples of the timeline in counting mode.
        timeline_pages: u64 => "timeline_pages", Kind::Count { min: 1, max: 1 << 48 }, Value::Count(10_000),
            "Fewer pages show more and write a larger file; in timed mode run.timeline_interval counts instead.",
            Used::with("timing", &["counting"]);
    }
}
