//! Table of latency by cause: a line for each cause, a column for each slice of the requests.

use flashloom_device::Cause;
use flashloom_figures::number::{count, percent, time};
use flashloom_figures::result::{AnatomyResult, SliceResult, TailResult};

use super::Table;

/// Smallest share shown: a smaller one would be rounded to nothing.
const SMALLEST_SHARE: f64 = 0.000_05;

/// The table; `None` if no read and no write completed. Causes without a visible share are left out.
pub fn of(anatomy: &AnatomyResult) -> Option<Table> {
    let (mut header, mut slices) = (vec!["time went to"], Vec::new());
    for (name, tail) in [("reads", &anatomy.read), ("writes", &anatomy.write)] {
        let Some(TailResult { whole, p99, p99_9 }) = tail else { continue };
        header.extend([name, "from p99", "from p99.9"]);
        slices.extend([whole, p99, p99_9]);
    }
    if slices.is_empty() {
        return None;
    }
    let row = |name: &str, of: &dyn Fn(&SliceResult) -> String| {
        [name.to_owned()].into_iter().chain(slices.iter().map(|slice| of(slice))).collect()
    };
    let mean = |slice: &SliceResult| time(f64::from(slice.latency_ns) / slice.requests as f64);
    let mut rows = vec![row("requests", &|slice| count(slice.requests)), row("mean latency", &mean)];
    for cause in Cause::ALL {
        if slices.iter().any(|slice| share(slice, cause) >= SMALLEST_SHARE) {
            rows.push(row(&format!("  {}", cause.name()), &|slice| percent(share(slice, cause))));
        }
    }
    Some(Table::new(&header, 1, rows))
}

/// Share of a cause in the latency of some requests; 0 if they took no time.
fn share(slice: &SliceResult, cause: Cause) -> f64 {
    let whole = f64::from(slice.latency_ns);
    let part = slice.parts_ns.iter().find(|(one, _)| *one == cause).map_or(0.0, |(_, ns)| f64::from(ns));
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_figures::result::{PartsResult, TotalNs};

    /// Makes a slice of requests with the given times by cause.
    fn slice(requests: u64, from_ns: Option<u64>, parts: &[(Cause, u64)]) -> SliceResult {
        let named = |cause: Cause| parts.iter().find(|(one, _)| *one == cause).map_or(0, |(_, ns)| *ns);
        let parts_ns = serde_json::Map::from_iter(
            Cause::ALL.map(|cause| (cause.name().to_owned(), serde_json::Value::from(named(cause)))),
        );
        let parts_ns: PartsResult = serde_json::from_value(parts_ns.into()).unwrap();
        let latency_ns = TotalNs::Exact(parts.iter().map(|(_, ns)| ns).sum());
        SliceResult { requests, from_ns, latency_ns, parts_ns }
    }

    fn tail(whole: &[(Cause, u64)], slow: &[(Cause, u64)]) -> TailResult {
        TailResult {
            whole: slice(12_000, None, whole),
            p99: slice(121, Some(2_000_000), slow),
            p99_9: slice(12, Some(2_500_000), slow),
        }
    }

    #[test]
    fn a_line_says_what_share_a_cause_took_of_all_and_of_the_slowest() {
        let read = tail(
            &[(Cause::Tag, 300_000_000), (Cause::Collection, 240_000_000), (Cause::Served, 660_000_000)],
            &[(Cause::Collection, 209_000_000), (Cause::Served, 11_000_000)],
        );
        let write = tail(&[(Cause::Link, 36_000_000), (Cause::Erase, 1_000)], &[(Cause::Slot, 400_000_000)]);
        insta::assert_snapshot!(of(&AnatomyResult { read: Some(read.clone()), write: Some(write) }).unwrap());
        let reads_alone = of(&AnatomyResult { read: Some(read), write: None }).unwrap().to_string();
        assert!(!reads_alone.contains("writes") && !reads_alone.contains("link"), "{reads_alone}");
        assert_eq!(of(&AnatomyResult { read: None, write: None }), None);
    }

    #[test]
    fn requests_that_took_no_time_have_no_shares() {
        let read = tail(&[], &[]);
        assert_eq!(of(&AnatomyResult { read: Some(read), write: None }).unwrap().to_string().lines().count(), 3);
    }
}
