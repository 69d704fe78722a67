//! Statistics of policies: what a policy counts, described as data beside its parameters, and the values.
//!
//! Who counts a figure describes it, in the `statistics` of its [`PolicySpec`]; what a slot's caller counts for every
//! policy is described by the [`SlotSpec`]. Values travel in [`Figures`] from the policies to a result, whose schema,
//! tables, columns and help come from the descriptions: nothing between knows a figure by name. Over several seeds
//! every number of a figure is averaged.

use crate::{Latency, Ns, PolicySpec, SlotSpec};

/// Unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
    /// A share or a factor.
    Ratio,
    /// A distribution of times, in nanoseconds.
    Times,
    /// A histogram of small whole numbers: how often each came, from 0 on.
    Histogram,
}

impl Unit {
    /// The unit in words, for help.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Count => "a count",
            Self::Bytes => "bytes",
            Self::Time => "nanoseconds",
            Self::Ratio => "a ratio",
            Self::Times => "a distribution of nanoseconds",
            Self::Histogram => "a histogram",
        }
    }
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// Higher is better.
    Highest,
    /// Lower is better.
    Lowest,
    /// Neither is better in itself.
    Neither,
}

/// A number of a figure that tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which number of a distribution or a histogram it is, by the name of its field, such as `max`; empty of others.
    pub part: &'static str,
    /// What the summary of a run calls it.
    pub label: &'static str,
    /// Heading of its column in every comparison that has a run with it, if it is one. Those of one name are added up.
    pub column: Option<&'static str>,
}

/// Description of a figure that a policy reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// The name in the result's JSON, with the unit last.
    pub name: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    /// One line of help.
    pub help: &'static str,
    /// Direction in which it is better.
    pub best: Best,
    /// Where tables show it; a comparison of the policies that report it can list it anyway (`--statistics`).
    pub shown: Option<Shown>,
}

impl Statistic {
    /// What no statistic can be called: a result has the name of the policy beside its statistics.
    pub const POLICY: &'static str = "policy";

    /// A statistic that is a plain number.
    pub const fn count(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Unit::Count, help)
    }

    /// A statistic with that unit, which no table shows.
    pub const fn new(name: &'static str, unit: Unit, help: &'static str) -> Self {
        Self { name, unit, help, best: Best::Neither, shown: None }
    }

    /// In that direction it is better.
    #[must_use]
    pub const fn best(self, best: Best) -> Self {
        Self { best, ..self }
    }

    /// The summary of a run shows it.
    #[must_use]
    pub const fn in_summary(self, label: &'static str) -> Self {
        Self { shown: Some(Shown { part: "", label, column: None }), ..self }
    }

    /// The summary of a run and comparisons show it.
    #[must_use]
    pub const fn as_column(self, label: &'static str) -> Self {
        self.part_as_column("", label)
    }

    /// The summary of a run and comparisons show that number of it.
    #[must_use]
    pub const fn part_as_column(self, part: &'static str, label: &'static str) -> Self {
        Self { shown: Some(Shown { part, label, column: Some(label) }), ..self }
    }

    /// The summary of a run shows it, and comparisons its sum with others under one heading.
    #[must_use]
    pub const fn in_column(self, label: &'static str, column: &'static str) -> Self {
        Self { shown: Some(Shown { part: "", label, column: Some(column) }), ..self }
    }

    /// The statistics of several lists as one, in whose place `N` is their number.
    pub const fn joined<const N: usize>(lists: &[&[Self]]) -> [Self; N] {
        let (mut all, mut filled, mut list) = ([Self::count("", ""); N], 0, 0);
        while list < lists.len() {
            let mut index = 0;
            while index < lists[list].len() {
                all[filled] = lists[list][index];
                (filled, index) = (filled + 1, index + 1);
            }
            list += 1;
        }
        assert!(filled == N, "N is the number of statistics");
        all
    }
}

/// The value of a [`Statistic`].
#[derive(Clone, Debug)]
pub enum Figure {
    /// A plain number.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// Nanoseconds.
    Time(Ns),
    /// A share or a factor; absent where there is nothing to divide by.
    Ratio(Option<f64>),
    /// A distribution of times.
    Times(Box<Latency>),
    /// How often each whole number came, from 0 on.
    Histogram(Vec<u64>),
    /// No value: what the statistic is about is switched off.
    Absent,
}

impl Figure {
    /// A count of what may be switched off.
    pub fn count_or_absent(count: Option<u64>) -> Self {
        count.map_or(Self::Absent, Self::Count)
    }

    /// Unit of the figure; none if it is absent.
    pub const fn unit(&self) -> Option<Unit> {
        Some(match self {
            Self::Count(_) => Unit::Count,
            Self::Bytes(_) => Unit::Bytes,
            Self::Time(_) => Unit::Time,
            Self::Ratio(_) => Unit::Ratio,
            Self::Times(_) => Unit::Times,
            Self::Histogram(_) => Unit::Histogram,
            Self::Absent => return None,
        })
    }

    /// The value of a count, of bytes or of a time.
    pub const fn whole(&self) -> Option<u64> {
        match self {
            Self::Count(value) | Self::Bytes(value) | Self::Time(value) => Some(*value),
            _ => None,
        }
    }
}

/// The values of the statistics of a stack's policies, by slot: those that the slot describes, then the policy's own,
/// in the order of [`SlotSpec::statistics_of`].
#[derive(Clone, Debug, Default)]
pub struct Figures(Vec<(&'static SlotSpec, Vec<Figure>)>);

impl Figures {
    /// Adds the values of a slot's policy.
    #[must_use]
    pub fn with(mut self, slot: &'static SlotSpec, values: Vec<Figure>) -> Self {
        self.0.push((slot, values));
        self
    }

    /// Adds those of other slots.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The values of a slot's policy; none if the stack has no such policy.
    pub fn of(&self, slot: &SlotSpec) -> &[Figure] {
        self.0.iter().find(|(other, _)| other.key == slot.key).map_or(&[], |(_, values)| values)
    }

    /// The value of a statistic by name, of a slot in which that policy was chosen.
    pub fn named(&self, slot: &SlotSpec, policy: &PolicySpec, name: &str) -> Option<&Figure> {
        let index = slot.statistics_of(policy).position(|statistic| statistic.name == name)?;
        self.of(slot).get(index)
    }

    /// Every slot with the values of its policy.
    pub fn iter(&self) -> impl Iterator<Item = (&'static SlotSpec, &[Figure])> {
        self.0.iter().map(|(slot, values)| (*slot, &values[..]))
    }
}
