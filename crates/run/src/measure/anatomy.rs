//! Part of the result about latency by cause: the sums of the anatomy.

use flashloom_device::{AnatomyReport, Sums, Tail};
use flashloom_units::Ns;

use flashloom_figures::result::{AnatomyResult, PartsResult, SliceResult, TailResult};

pub(super) fn anatomy(AnatomyReport { read, write }: &AnatomyReport) -> AnatomyResult {
    AnatomyResult { read: tail(read), write: tail(write) }
}

/// Converts the sums; `None` without requests.
fn tail(tail: &Tail) -> Option<TailResult> {
    (tail.whole.requests > 0).then(|| TailResult {
        whole: slice(&tail.whole, None),
        p99: slice(&tail.p99, Some(tail.p99_ns)),
        p99_9: slice(&tail.p99_9, Some(tail.p99_9_ns)),
    })
}

fn slice(sums: &Sums, from_ns: Option<Ns>) -> SliceResult {
    let latency_ns = sums.total_ns().into();
    SliceResult {
        requests: sums.requests,
        from_ns,
        latency_ns,
        parts_ns: PartsResult::of(sums.parts_ns.map(Into::into)),
    }
}

#[cfg(test)]
mod tests {
    use flashloom_device::{Cause, Parts};
    use serde_json::Value;

    use super::*;

    /// Requests whose causes took 1 ns, 2 ns, 3 ns and so on in total.
    fn staircase(requests: u64) -> Sums {
        let mut parts = Parts::default();
        Cause::ALL.into_iter().zip(1..).for_each(|(cause, ns)| parts[cause] = ns);
        let mut sums = Sums::default();
        sums.record(&parts);
        Sums { requests, ..sums }
    }

    #[test]
    fn every_cause_has_its_name_and_its_time_and_they_add_up() {
        let slice = super::slice(&staircase(4), Some(9));
        let json = serde_json::to_value(&slice).unwrap();
        let parts = json["parts_ns"].as_object().unwrap();
        assert_eq!(parts.keys().collect::<Vec<_>>(), Cause::ALL.map(Cause::name).iter().collect::<Vec<_>>());
        assert_eq!(parts.values().map(|ns| ns.as_u64().unwrap()).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
        assert_eq!((&json["requests"], &json["from_ns"], &json["latency_ns"]), (&4.into(), &9.into(), &210.into()));
        let listed = slice.parts_ns.iter().map(|(cause, ns)| (cause.name(), f64::from(ns)));
        assert!(listed.eq(parts.iter().map(|(name, ns)| (name.as_str(), ns.as_f64().unwrap()))));
    }

    #[test]
    fn what_had_no_requests_is_absent_and_the_whole_begins_nowhere() {
        let tail = Tail { whole: staircase(1), p99: staircase(1), p99_9: staircase(1), p99_ns: 153, p99_9_ns: 153 };
        let json = serde_json::to_value(anatomy(&AnatomyReport { read: tail, write: Tail::default() }));
        let json = json.unwrap();
        assert_eq!(json.get("write"), None);
        assert_eq!(json["read"]["whole"].get("from_ns"), None);
        assert_eq!(json["read"]["p99_9"]["from_ns"], Value::from(153));
    }
}
