//! Figures that contradict one another, as no run writes them: what was edited by hand, or forged, is refused where it
//! is read, and not shown beside real results.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{ByOrigin, Distribution, EraseCount, HostResult};

/// Figures of which some follow from others.
trait Consistent {
    /// What contradicts what, in words; `None` of figures that a run can have.
    fn contradiction(&self) -> Option<String>;
}

/// Reads types by their derived code, and refuses those that contradict themselves.
macro_rules! read_consistent {
    ($($name:ident)+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = Self::deserialize(deserializer)?;
                match read.contradiction() {
                    Some(found) => Err(de::Error::custom(format!("{found}, which no run has"))),
                    None => Ok(read),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }
    )+};
}

read_consistent! { ByOrigin Distribution EraseCount HostResult }

/// The first figure that is above the one behind it.
fn descending(figures: &[(&str, u64)]) -> Option<String> {
    let pair = figures.windows(2).find(|pair| pair[0].1 > pair[1].1)?;
    Some(format!("`{}` {} above `{}` {}", pair[0].0, pair[0].1, pair[1].0, pair[1].1))
}

/// A mean that its extremes do not enclose. It is computed in floating point, so that it may be off by a little.
fn outside(mean: f64, min: f64, max: f64) -> Option<String> {
    let slack = max.abs() * 1e-9;
    let found = || format!("`mean` {mean} outside of `min` {min} to `max` {max}");
    (!(min - slack..=max + slack).contains(&mean)).then(found)
}

impl Consistent for Distribution {
    fn contradiction(&self) -> Option<String> {
        if self.count == 0 {
            return Some("a distribution with `count` 0".to_owned());
        }
        let percentiles = [
            ("min", self.min),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("p99_99", self.p99_99),
            ("max", self.max),
        ];
        let outside = || outside(self.mean, self.min as f64, self.max as f64);
        descending(&percentiles).or_else(outside).or_else(|| negative("stddev", self.stddev))
    }
}

impl Consistent for EraseCount {
    fn contradiction(&self) -> Option<String> {
        let outside = || outside(self.mean, f64::from(self.min), f64::from(self.max));
        let ends = [("min", self.min.into()), ("max", self.max.into())];
        descending(&ends).or_else(outside).or_else(|| negative("stddev", self.stddev))
    }
}

impl Consistent for ByOrigin {
    fn contradiction(&self) -> Option<String> {
        let Self { total, host, gc, merge, map, wear, fold } = self;
        let sum: u128 = [*host, *gc, *merge, *map, *wear, fold.unwrap_or(0)].into_iter().map(u128::from).sum();
        (sum != u128::from(*total)).then(|| format!("`total` {total} of operations that add up to {sum}"))
    }
}

impl Consistent for HostResult {
    fn contradiction(&self) -> Option<String> {
        let completed = [("completed", self.completed), ("requests", self.requests)];
        let rates = [("iops", self.iops), ("throughput_bytes_per_s", self.throughput_bytes_per_s)];
        let below_zero = |(name, rate): (&str, Option<f64>)| negative(name, rate?);
        descending(&completed).or_else(|| rates.into_iter().find_map(below_zero))
    }
}

fn negative(name: &str, figure: f64) -> Option<String> {
    (figure < 0.0).then(|| format!("`{name}` {figure} below 0"))
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    /// Reads the figures, then with each change alone, of which each has to be refused for its reason.
    fn refuses<T: DeserializeOwned>(sound: &Value, changes: &[(&str, Value, &str)]) {
        assert!(serde_json::from_value::<T>(sound.clone()).is_ok(), "{sound}");
        for (name, value, reason) in changes {
            let mut changed = sound.clone();
            changed[name] = value.clone();
            let refusal = serde_json::from_value::<T>(changed).err().map(|error| error.to_string());
            assert_eq!(refusal, Some(format!("{reason}, which no run has")));
        }
    }

    #[test]
    fn distributions_that_no_samples_have_are_refused() {
        let percentiles = json!({
            "count": 9, "mean": 2.5, "stddev": 0.5, "min": 1, "p50": 2, "p90": 3, "p95": 3, "p99": 4, "p99_9": 5,
            "p99_99": 5, "max": 6,
        });
        let changes = [
            ("count", json!(0), "a distribution with `count` 0"),
            ("p50", json!(4), "`p50` 4 above `p90` 3"),
            ("max", json!(4), "`p99_99` 5 above `max` 4"),
            ("mean", json!(0.5), "`mean` 0.5 outside of `min` 1 to `max` 6"),
            ("stddev", json!(-1.0), "`stddev` -1 below 0"),
        ];
        refuses::<Distribution>(&percentiles, &changes);
    }

    #[test]
    fn counts_that_do_not_add_up_are_refused() {
        let operations = json!({"total": 15, "host": 1, "gc": 2, "merge": 3, "map": 4, "wear": 5});
        let changes = [
            ("total", json!(16), "`total` 16 of operations that add up to 15"),
            ("fold", json!(u64::MAX), "`total` 15 of operations that add up to 18446744073709551630"),
        ];
        refuses::<ByOrigin>(&operations, &changes);

        let wear = json!({"min": 1, "mean": 1.5, "max": 2, "stddev": 0.5});
        let changes = [
            ("min", json!(3), "`min` 3 above `max` 2"),
            ("mean", json!(2.5), "`mean` 2.5 outside of `min` 1 to `max` 2"),
        ];
        refuses::<EraseCount>(&wear, &changes);
    }

    #[test]
    fn requests_that_complete_without_arriving_are_refused() {
        let host = json!({
            "requests": 4, "completed": 3, "reads": 2, "writes": 2, "discards": 0, "flushes": 0, "fua_writes": 0,
            "preflush_writes": 0, "read_bytes": 8, "write_bytes": 8, "unmapped_read_sectors": 0,
        });
        let changes =
            [("completed", json!(5), "`completed` 5 above `requests` 4"), ("iops", json!(-0.5), "`iops` -0.5 below 0")];
        refuses::<HostResult>(&host, &changes);
    }
}
