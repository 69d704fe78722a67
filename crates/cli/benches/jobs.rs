//! `compare --jobs 2` beside two processes that compare half of the same runs each with `--jobs 1`.
//!
//! Eight equal runs on filled drives of 64 GiB, in alternating rounds: both ways meet the same noise of the machine.
//! Prints the time, the CPU time (Linux) and the peak memory of each way, and the throughput of the first as a share of
//! the second: 1 is linear. `cargo bench -p flashloom-cli --bench jobs`; `cargo test` makes one round of short
//! runs on small drives, so that it cannot rot.
// It measures the program, not a drive.
#![allow(clippy::disallowed_methods, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

const EXPERIMENT: &str = r#"
[workload.synthetic]
request_size = "8KiB"
read_share = 0.3

[device]
preset = "mlc-16g"

[run]
precondition = "fill"
"#;

/// One way to make all runs: the jobs of each process, and the seeds that it compares.
struct Way {
    name: &'static str,
    jobs: &'static str,
    seeds: &'static [&'static str],
}

const WAYS: [Way; 3] = [
    Way { name: "--jobs 2", jobs: "2", seeds: &["run.seed=1..8"] },
    Way { name: "two times --jobs 1", jobs: "1", seeds: &["run.seed=1..4", "run.seed=5..8"] },
    Way { name: "--jobs 1", jobs: "1", seeds: &["run.seed=1..8"] },
];

/// Cost of all runs.
struct Cost {
    wall_seconds: f64,
    cpu_seconds: f64,
    /// Of the process that took most.
    peak_bytes: u64,
}

impl Way {
    fn cost(&self, folder: &Path, [requests, blocks]: [u32; 2]) -> Cost {
        let (began, before) = (Instant::now(), children_cpu_seconds());
        let start = |seeds: &&str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
            command.current_dir(folder).args(["compare", "jobs.toml", "--json", "-", "--quiet", "--jobs", self.jobs]);
            command.args(["--vary", seeds, "--set", &format!("workload.synthetic.requests={requests}")]);
            command.args(["--set", &format!("device.blocks={blocks}")]);
            command.stdout(Stdio::piped()).spawn().expect("the program can be started")
        };
        let processes: Vec<_> = self.seeds.iter().map(start).collect();
        let outputs = processes.into_iter().map(|process| process.wait_with_output().expect("it ends"));
        let outputs: Vec<_> = outputs.collect();
        let wall_seconds = began.elapsed().as_secs_f64();
        let peak = |output: &std::process::Output| {
            let comparison: Value = serde_json::from_slice(&output.stdout).expect("a comparison is JSON");
            let runs = comparison["runs"].as_array().expect("it has runs");
            runs.iter().filter_map(|run| run["result"]["run"]["peak_rss_bytes"].as_u64()).max().unwrap_or(0)
        };
        let peak_bytes = outputs.iter().map(peak).max().unwrap_or(0);
        Cost { wall_seconds, cpu_seconds: children_cpu_seconds() - before, peak_bytes }
    }
}

/// CPU time of the processes that have ended, from hundredths of a second: `cutime` and `cstime` of proc(5). 0 on other
/// systems.
fn children_cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Smallest, median and largest value.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

fn shown([least, median, most]: [f64; 3]) -> String {
    format!("{median:.3} ({least:.3} to {most:.3})")
}

fn main() {
    // `cargo bench` says `--bench`, `cargo test` does not.
    let smoke = !std::env::args().any(|arg| arg == "--bench");
    if cfg!(debug_assertions) && !smoke {
        eprintln!("a debug build measures nothing: use cargo bench");
        std::process::exit(2);
    }
    let (rounds, requests, blocks) = if smoke { (1, 1_000, 64) } else { (7, 300_000, 1_024) };
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("jobs.toml"), EXPERIMENT).expect("a file can be written");
    let mut costs: [Vec<Cost>; WAYS.len()] = Default::default();
    for _ in 0..rounds {
        WAYS.iter().zip(&mut costs).for_each(|(way, costs)| costs.push(way.cost(folder.path(), [requests, blocks])));
    }
    println!("8 runs of {requests} requests on drives of {} GiB, {rounds} rounds: median (least to most)", blocks / 16);
    for (way, costs) in WAYS.iter().zip(&costs) {
        let [wall, cpu] =
            [|cost: &Cost| cost.wall_seconds, |cost: &Cost| cost.cpu_seconds].map(|of| spread(costs.iter().map(of)));
        let peak = costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0) >> 20;
        println!("{:<20} {} s, CPU {} s, peak of a process {peak} MiB", way.name, shown(wall), shown(cpu));
    }
    let [together, apart, _] = &costs;
    let share =
        |of: fn(&Cost) -> f64| shown(spread(together.iter().zip(apart).map(|(one, other)| of(other) / of(one))));
    println!("throughput of --jobs 2 as a share of both: {}", share(|cost| cost.wall_seconds));
    println!("the same by CPU time: {}", share(|cost| cost.cpu_seconds));
}
