//! The `[run]` section: how a simulation is run.

use flashloom_units::{Kind, MS, Ns, S, Used, Value, choice, params};

choice! {
    /// Whether flash operations take time.
    pub enum Timing {
        /// Requests, queues and flash operations take simulated time.
        Timed = "timed",
        /// Only counts: erases, copies and write amplification, at many times the speed; there are no latencies.
        Counting = "counting",
    }
}

choice! {
    /// What state the drive is in when the workload starts.
    pub enum Precondition {
        /// Erased; a read of what was never written touches no flash.
        None = "none",
        /// Written once, in order.
        Fill = "fill",
        /// Written once, then overwritten until write amplification is stable.
        Steady = "steady",
    }
}

choice! {
    /// Whether a drive that was aged until steady has been idle since.
    pub enum Rest {
        /// If the workload comes at times of its own: a drive that serves it had idle times before, too.
        Open = "open",
        /// It has, and has collected what it collects in idle time.
        Always = "always",
        /// It has not: the workload finds it as the last overwrite left it.
        Never = "never",
    }
}

choice! {
    /// What becomes of a run in which the drive's life ends.
    pub enum EndOfLife {
        /// It ends too, and its figures are those until then.
        Stop = "stop",
        /// The workload goes on against a drive that can only be read: what would change it fails.
        ReadOnly = "read-only",
    }
}

params! {
    /// Parameters of the run itself.
    pub struct RunParams {
        /// The seed of every random draw.
        seed: u64 => "seed", Kind::Count { min: 0, max: u64::MAX }, Value::Count(1),
            "The same seed gives the same result to the byte; several seeds show how much chance matters.";
        /// Whether flash operations take time.
        timing: Timing => "timing", Kind::Choice(Timing::CHOICES), Value::Name("timed"),
            "Counting is much faster and knows no latency, scheduler or throughput.";
        /// What state the drive is in when the workload starts.
        precondition: Precondition => "precondition", Kind::Choice(Precondition::CHOICES), Value::Name("fill"),
            "An empty drive collects nothing and flatters every policy; the steady state takes the longest to reach.";
        /// How much of the logical space is written before the workload starts.
        fill: f64 => "fill", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(1.0),
            "What is not filled serves as spare space, which makes collection cheaper.",
            Used::without("precondition", &["none"]);
        /// Whether an allocation that looks for streams finds them in what is written before the workload starts.
        fill_streams: bool => "fill_streams", Kind::Flag, Value::Flag(true),
            "Without them the drive is filled as by an allocation without streams, the same for every threshold.",
            Used::without("precondition", &["none"]);
        /// How many pages are overwritten, uniformly at random, in one window of ageing, as a share of what was filled.
        steady_window: f64 => "steady_window", Kind::Ratio { min: 0.001, max: 10.0 }, Value::Ratio(0.5),
            "Longer windows take longer and average chance away.", Used::with("precondition", &["steady"]);
        /// By how much write amplification may differ from the window before, twice in a row, to count as steady.
        steady_tolerance: f64 => "steady_tolerance", Kind::Ratio { min: 0.000_1, max: 1.0 }, Value::Ratio(0.01),
            "A smaller tolerance takes longer to meet, or is never met.", Used::with("precondition", &["steady"]);
        /// After how many windows a drive that is not steady yet is given up.
        steady_windows: u32 => "steady_windows", Kind::Count { min: 3, max: 100_000 }, Value::Count(100),
            "A higher limit waits longer for a drive that may never be steady.",
            Used::with("precondition", &["steady"]);
        /// Whether a drive that was aged until steady is left idle before the workload starts.
        rest: Rest => "rest", Kind::Choice(Rest::CHOICES), Value::Name("open"),
            "Without it a light workload pays for collecting what ageing left; with it a heavy one finds free blocks \
             that it has not paid for.",
            Used::with("precondition", &["steady"]);
        /// A drive that was aged before and saved by `run --save-state`, in place of ageing it now.
        state: Option<String> => "state", Kind::Text, Value::Absent,
            "Saves the time of ageing, for any host, write buffer and workload over the same device, FTL, seed and \
             checks.";
        /// Whether the run ends when all that was written is in flash, not when the last request has completed.
        drain: bool => "drain", Kind::Flag, Value::Flag(false),
            "Without it a large buffer looks fast for what it has not written yet; with it the time of the run is not \
             that of the requests alone.";
        /// What happens when a page cannot be stored any more, because too many blocks have failed.
        end_of_life: EndOfLife => "end_of_life", Kind::Choice(EndOfLife::CHOICES), Value::Name("stop"),
            "Stopping compares drives by what they did while they lived; going on shows what is left of them.";
        /// Whether the result says where the time of the requests went, by what they waited for.
        anatomy: bool => "anatomy", Kind::Flag, Value::Flag(false),
            "With it a run takes longer; it changes no other figure.";
        /// How much simulated time one sample of the timeline covers.
        timeline_interval_ns: Ns => "timeline_interval", Kind::Time { min: MS, max: 100_000 * S },
            Value::Time(100 * MS), "Shorter intervals show more and write a larger file. In counting mode \
                                    run.timeline_pages counts instead.",
            Used::with("timing", &["timed"]);
        /// How many pages are programmed for the host between two samples of the timeline in counting mode.
        timeline_pages: u64 => "timeline_pages", Kind::Count { min: 1, max: 1 << 48 }, Value::Count(10_000),
            "Fewer pages show more and write a larger file; in timed mode run.timeline_interval counts instead.",
            Used::with("timing", &["counting"]);
    }
}
