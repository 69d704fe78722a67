//! The parameters of a fit: keys with ranges, which are the sides of a unit cube, and keys with lists of values, whose
//! combinations are tried one by one.

use std::collections::BTreeMap;

use flashloom_config::{Axis, Config, KeyId};
use flashloom_units::{Kind, Refusal, Value};

/// Significant digits that the value of a quantity keeps: one in ten thousand is less than any measurement knows.
const DIGITS: i32 = 4;
/// Combinations of listed values at most.
pub const MOST_COMBINATIONS: usize = 256;
/// Keys of the times of a die's kinds of pages. Latencies do not tell which kind has which time.
const KINDS_OF_PAGES: [[&str; 4]; 2] = [
    ["device.read_time", "device.read_time_2", "device.read_time_3", "device.read_time_4"],
    ["device.program_time", "device.program_time_2", "device.program_time_3", "device.program_time_4"],
];

/// A key with a range.
#[derive(Clone, Debug)]
pub struct Range {
    /// The key.
    pub key: KeyId,
    /// The least value.
    pub from: Value,
    /// The greatest value.
    pub to: Value,
}

impl Range {
    /// True if equal steps in the cube are equal factors.
    pub fn is_logarithmic(&self) -> bool {
        number(&self.from) > 0.0
    }

    /// The value at a place between 0 and 1.
    pub fn value(&self, place: f64) -> Value {
        let (from, to) = (number(&self.from), number(&self.to));
        let exact = if self.is_logarithmic() {
            from * libm::exp(place * libm::log(to / from))
        } else {
            from + place * (to - from)
        };
        of_number(&self.key.param().kind, rounded(exact).clamp(from, to))
    }

    /// The place of a value; `None` outside of the range.
    pub fn place(&self, value: &Value) -> Option<f64> {
        let (from, to, value) = (number(&self.from), number(&self.to), number(value));
        let place = if self.is_logarithmic() {
            libm::log(value / from) / libm::log(to / from)
        } else {
            (value - from) / (to - from)
        };
        (from..=to).contains(&value).then_some(place)
    }
}

/// A key with the values that are tried.
#[derive(Clone, Debug)]
pub struct List {
    /// The key.
    pub key: KeyId,
    /// Its values.
    pub values: Vec<Value>,
}

/// All parameters.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Keys with ranges, in the order of the cube's sides.
    pub ranges: Vec<Range>,
    /// Keys with lists.
    pub lists: Vec<List>,
    /// Sides of the cube whose values are put into ascending order.
    sorted: Vec<Vec<usize>>,
}

impl Space {
    /// The parameters of ranges as they were written.
    pub fn new(axes: &[Axis]) -> Self {
        let mut space = Self::default();
        for axis in axes {
            let values = || axis.values.iter().map(|(value, _)| value.clone());
            match &axis.values[..] {
                [(from, _), (to, _)] if axis.is_range() => {
                    space.ranges.push(Range { key: axis.key, from: from.clone(), to: to.clone() });
                }
                _ => space.lists.push(List { key: axis.key, values: values().collect() }),
            }
        }
        space.sorted();
        space
    }

    /// Finds the kinds of pages with equal ranges.
    fn sorted(&mut self) {
        for keys in KINDS_OF_PAGES {
            let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for key in keys {
                let found = self.ranges.iter().position(|range| range.key.path() == key);
                if let Some((side, range)) = found.map(|side| (side, &self.ranges[side])) {
                    alike.entry(format!("{:?}", (&range.from, &range.to))).or_default().push(side);
                }
            }
            self.sorted.extend(alike.into_values().filter(|sides| sides.len() > 1));
        }
    }

    /// The default ranges around the figures of a drive: a third to three times of each time and rate that the inputs
    /// have an effect on, and half to four times as many dies.
    pub fn around(config: &Config, has_reads: bool, has_writes: bool) -> Self {
        let mut space = Self::default();
        let catalog = config.catalog();
        let mut range = |path: &str, least: f64, most: f64| {
            let Some(key) = catalog.find(path) else { return };
            let value =
                config.values().find(|(known, _)| *known == key).map_or(Value::Absent, |(_, value)| value.clone());
            let kind = &key.param().kind;
            let [from, to] = [least, most].map(|factor| rounded(number(&value) * factor));
            let [from, to] = [from, to].map(|end| of_number(kind, end));
            if number(&value) > 0.0 && [&from, &to].into_iter().all(|end| key.param().accepts(end)) {
                space.ranges.push(Range { key, from, to });
            }
        };
        let kinds = config.device.nand.bits_per_cell as usize;
        if has_reads {
            KINDS_OF_PAGES[0].iter().take(kinds).for_each(|path| range(path, 1.0 / 3.0, 3.0));
        }
        if has_writes {
            KINDS_OF_PAGES[1].iter().take(kinds).for_each(|path| range(path, 1.0 / 3.0, 3.0));
        }
        for path in ["device.controller_time", "device.bus_rate", "device.link_rate"] {
            range(path, 1.0 / 3.0, 3.0);
        }
        if let Some(key) = catalog.find("device.ways") {
            let ways = u64::from(config.device.geometry().ways);
            let values = [ways / 2, ways, ways * 2, ways * 4].into_iter().filter(|ways| *ways > 0).map(Value::Count);
            let values = values.filter(|value| key.param().accepts(value)).collect();
            space.lists.push(List { key, values });
        }
        space.sorted();
        space
    }

    /// Number of combinations of the listed values; nothing if there are too many to count.
    pub fn combinations(&self) -> Option<usize> {
        self.lists.iter().try_fold(1_usize, |product, list| product.checked_mul(list.values.len()))
    }

    /// Every combination; the first key varies slowest.
    pub fn combined(&self) -> Vec<Vec<Value>> {
        let mut all: Vec<Vec<Value>> = vec![Vec::new()];
        for list in &self.lists {
            let with = |chosen: &Vec<Value>| {
                let chosen = chosen.clone();
                list.values.iter().map(move |value| [&chosen[..], std::slice::from_ref(value)].concat())
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    /// The values of the keys with ranges at a point of the cube.
    pub fn values(&self, point: &[f64]) -> Vec<Value> {
        let mut values: Vec<Value> =
            self.ranges.iter().zip(point).map(|(range, place)| range.value(place.clamp(0.0, 1.0))).collect();
        for sides in &self.sorted {
            let mut of_sides: Vec<Value> = sides.iter().map(|side| values[*side].clone()).collect();
            of_sides.sort_by(|one, other| number(one).total_cmp(&number(other)));
            sides.iter().zip(of_sides).for_each(|(side, value)| values[*side] = value);
        }
        values
    }

    /// The point of a configuration: the middle of each range that its own value is outside of.
    pub fn point_of(&self, config: &Config) -> Vec<f64> {
        let place = |range: &Range| {
            let (_, value) = config.values().find(|(key, _)| *key == range.key)?;
            range.place(value)
        };
        self.ranges.iter().map(|range| place(range).unwrap_or(0.5)).collect()
    }
}

/// The number of a quantity in its unit; 0 of other values.
pub fn number(value: &Value) -> f64 {
    match *value {
        Value::Count(number)
        | Value::Time(number)
        | Value::Rate(number)
        | Value::Energy(number)
        | Value::Power(number) => number as f64,
        Value::Ratio(number) => number,
        _ => 0.0,
    }
}

/// The quantity of a kind with that number in its unit.
fn of_number(kind: &Kind, number: f64) -> Value {
    let whole = number.round() as u64;
    match kind {
        Kind::Time { .. } => Value::Time(whole),
        Kind::Rate { .. } => Value::Rate(whole),
        Kind::Energy { .. } => Value::Energy(whole),
        Kind::Power { .. } => Value::Power(whole),
        _ => Value::Ratio(number),
    }
}

/// A number with as many significant digits as values keep.
fn rounded(number: f64) -> f64 {
    format!("{number:.*e}", DIGITS as usize - 1).parse().unwrap_or(number)
}

/// Refusal of too many combinations.
pub fn too_many(found: Option<usize>) -> Refusal {
    let found = found.map_or("more combinations than can be counted".to_owned(), |found| {
        format!("{found} combinations of listed values")
    });
    Refusal::new(found, format!("at most {MOST_COMBINATIONS}")).help("fewer values, or a fit of some of the keys first")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_config::Catalog;

    fn range(path: &str, from: Value, to: Value) -> Range {
        Range { key: Catalog::builtin().find(path).expect("it is a key"), from, to }
    }

    fn space(ranges: Vec<Range>) -> Space {
        let mut space = Space { ranges, ..Space::default() };
        space.sorted();
        space
    }

    #[test]
    fn a_positive_range_goes_by_factors_and_one_from_0_by_steps() {
        let time = range("device.read_time", Value::Time(10_000), Value::Time(90_000));
        assert_eq!([0.0, 0.5, 1.0].map(|place| time.value(place)), [10_000, 30_000, 90_000].map(Value::Time));
        assert_eq!(time.place(&Value::Time(30_000)).map(|place| (place * 1e6).round()), Some(500_000.0));
        assert_eq!(time.place(&Value::Time(90_001)), None);
        let share = range("device.read_spread", Value::Ratio(0.0), Value::Ratio(0.4));
        assert_eq!([0.0, 0.25, 1.0].map(|place| share.value(place)), [0.0, 0.1, 0.4].map(Value::Ratio));
    }

    #[test]
    fn values_keep_four_digits() {
        let rate = range("device.bus_rate", Value::Rate(100_000_000), Value::Rate(900_000_000));
        assert_eq!(rate.value(0.123), Value::Rate(131_000_000));
    }

    #[test]
    fn kinds_of_pages_with_one_range_are_in_ascending_order() {
        let of = |path: &str| range(path, Value::Time(10_000), Value::Time(90_000));
        let both = space(vec![of("device.read_time"), of("device.read_time_2")]);
        assert_eq!(both.values(&[1.0, 0.0]), [10_000, 90_000].map(Value::Time));
        let other = range("device.read_time_2", Value::Time(10_000), Value::Time(80_000));
        assert_eq!(space(vec![of("device.read_time"), other]).values(&[1.0, 0.0]), [90_000, 10_000].map(Value::Time));
    }
}
