//! Results of fio jobs in fio's own output format.

use flashloom_units::{Latency, MS, Ns, S};
use flashloom_workload::{FioDirection, FioPercentiles, FioReport, FioSamples, Priority, Samples};
use serde_json::{Map, Value, json};

/// Version string of fio 3.33.
const VERSION: &str = "fio-3.33";

/// The results of the jobs as `fio --output-format=json` writes them. Time begins at zero and there is no date, so that
/// the output of identical runs is identical.
pub fn json(global_options: &[(String, String)], jobs: &[FioReport]) -> Value {
    json!({
        "fio version": VERSION,
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "global options": options(global_options),
        "jobs": jobs.iter().map(job).collect::<Vec<_>>(),
    })
}

fn options(written: &[(String, String)]) -> Value {
    Value::Object(written.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect())
}

fn job(report: &FioReport) -> Value {
    let [read, write, trim] = report.directions.each_ref().map(|of| direction(of, report));
    let latencies = Latencies::of(report);
    let ends = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1_000, 2_000];
    let mut slow = latencies.shares(MS, &ends, MS);
    slow[">=2000"] = json!(latencies.share(2_000 * MS, Ns::MAX));
    // Requests are submitted and reaped singly, which fio counts in the class of up to four.
    let one_at_a_time = percentages(BATCHES, [0, report.depths.iter().sum(), 0, 0, 0, 0, 0]);
    // A simulated host has neither processors nor memory to speak of.
    json!({
        "jobname": &*report.name,
        "groupid": report.group,
        "error": 0,
        "eta": 0,
        "elapsed": report.elapsed_ns.div_ceil(S),
        "job options": options(&report.options),
        "read": read,
        "write": write,
        "trim": trim,
        "sync": sync(report),
        "job_runtime": report.elapsed_ns / MS,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": percentages(DEPTHS, report.depths),
        "iodepth_submit": one_at_a_time,
        "iodepth_complete": one_at_a_time,
        "latency_ns": latencies.shares(1, &ends[..10], 0),
        "latency_us": latencies.shares(1_000, &ends[..10], 1_000),
        "latency_ms": slow,
        "latency_depth": report.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    })
}

fn direction(of: &FioDirection, report: &FioReport) -> Value {
    let (latency, percentiles) = (of.latency.get(), &*report.percentiles);
    let (latency, count) = (latency.as_deref(), of.latency.count());
    let elapsed_ns = if count == 0 { 0 } else { report.elapsed_ns };
    let per_second = |number: u64| if elapsed_ns == 0 { 0.0 } else { number as f64 * S as f64 / elapsed_ns as f64 };
    let bytes_per_s = per_second(of.bytes) as u64;
    let mut object = json!({
        "io_bytes": of.bytes,
        "io_kbytes": of.bytes / 1_024,
        "bw_bytes": bytes_per_s,
        "bw": bytes_per_s / 1_024,
        "iops": per_second(count),
        "runtime": elapsed_ns / MS,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": moments(None),
        "clat_ns": latencies(latency, percentiles.of_completion.then_some(percentiles)),
        "lat_ns": latencies(latency, percentiles.of_all.then_some(percentiles)),
    });
    if let Some(priorities) = by_priority(of, percentiles) {
        object["prios"] = priorities;
    }
    let FioSamples { count: samples, min, max, .. } = of.bandwidth;
    let share = if bytes_per_s == 0 || samples == 0 { 0.0 } else { 100.0 };
    object["bw_min"] = json!(min as u64);
    object["bw_max"] = json!(max as u64);
    object["bw_agg"] = json!(share);
    object["bw_mean"] = json!(of.bandwidth.mean());
    object["bw_dev"] = json!(of.bandwidth.stddev());
    object["bw_samples"] = json!(samples);
    object["iops_min"] = json!(of.iops.min as u64);
    object["iops_max"] = json!(of.iops.max as u64);
    object["iops_mean"] = json!(of.iops.mean());
    object["iops_stddev"] = json!(of.iops.stddev());
    object["iops_samples"] = json!(of.iops.count);
    object
}

fn sync(report: &FioReport) -> Value {
    let latency = report.flushes.get();
    let FioPercentiles { of_all, of_completion, .. } = *report.percentiles;
    let shown = (of_all || of_completion).then_some(&*report.percentiles);
    json!({ "total_ios": report.flushes.count(), "lat_ns": latencies(latency.as_deref(), shown) })
}

/// Latencies by priority; fio writes them if requests of at least two priorities completed.
fn by_priority(of: &FioDirection, percentiles: &FioPercentiles) -> Option<Value> {
    let name = if percentiles.of_all { "lat_ns" } else { "clat_ns" };
    let shown = (percentiles.of_all || percentiles.of_completion).then_some(percentiles);
    let of_one = |(priority, samples): &(Priority, Samples)| {
        let latency = samples.get()?;
        let mut object = json!({ "prioclass": priority.class() as u8, "prio": priority.level() });
        object[name] = latencies(Some(&latency), shown);
        Some(object)
    };
    let all: Vec<Value> = of.priorities.iter().filter_map(of_one).collect();
    (all.len() > 1).then_some(Value::Array(all))
}

fn moments(latency: Option<&Latency>) -> Value {
    match latency {
        None => json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 }),
        Some(latency) => json!({
            "min": latency.min(),
            "max": latency.max(),
            "mean": latency.mean(),
            "stddev": latency.stddev(),
            "N": latency.count(),
        }),
    }
}

fn latencies(latency: Option<&Latency>, percentiles: Option<&FioPercentiles>) -> Value {
    let mut value = moments(latency);
    if let (Some(latency), Some(percentiles)) = (latency, percentiles) {
        let percentiles = percentiles.list.iter();
        let of = |percent: &f64| (format!("{percent:.6}"), Value::from(latency.percentile(*percent)));
        value["percentile"] = Value::Object(percentiles.map(of).collect());
    }
    value
}

const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

fn percentages(names: [&str; 7], counts: [u64; 7]) -> Value {
    let all: u64 = counts.iter().sum();
    let share = |count: u64| if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 };
    let named = names.iter().zip(counts);
    Value::Object(named.map(|(name, count)| ((*name).to_owned(), json!(share(count)))).collect())
}

/// Latencies of all directions of a job together.
struct Latencies(Latency);

impl Latencies {
    fn of(report: &FioReport) -> Self {
        let mut all = Latency::new();
        report.directions.iter().filter_map(|of| of.latency.get()).for_each(|latency| all.merge(&latency));
        Self(all)
    }

    /// Percentage of the requests that took from `low_ns` to below `high_ns`.
    fn share(&self, low_ns: Ns, high_ns: Ns) -> f64 {
        let all = self.0.count();
        if all == 0 { 0.0 } else { self.0.count_within(low_ns, high_ns) as f64 * 100.0 / all as f64 }
    }

    /// Percentages of the requests in the classes that end at these multiples of a unit, the first beginning at
    /// `low_ns`.
    fn shares(&self, unit_ns: Ns, ends: &[u64], mut low_ns: Ns) -> Value {
        let mut classes = Map::new();
        for end in ends {
            let end_ns = end * unit_ns;
            classes.insert(end.to_string(), json!(self.share(low_ns, end_ns)));
            low_ns = end_ns;
        }
        Value::Object(classes)
    }
}
