//! The statistics of policies: where each is in a result.

use flashloom_figures::schema::{Field, fields, parts};
use flashloom_units::{PolicySpec, SlotSpec, Statistic, Unit};

use crate::catalog::Catalog;

/// Paths of every number that a result may hold, including statistics of policies.
pub fn numbers(catalog: &Catalog) -> Vec<String> {
    let numbers = |fields: Vec<Field>| -> Vec<String> {
        fields.into_iter().filter(|field| field.is_number).map(|field| field.path).collect()
    };
    let (times, histogram) = (numbers(parts(Unit::Times)), numbers(parts(Unit::Histogram)));
    let statistics = statistics(catalog).flat_map(|(path, _, _, statistic)| match statistic.unit {
        Unit::Times => times.iter().map(|name| format!("{path}.{name}")).collect(),
        Unit::Histogram => histogram.iter().map(|name| format!("{path}.{name}")).collect(),
        _ => vec![path],
    });
    numbers(fields()).into_iter().chain(statistics).collect()
}

/// A statistic: its path in a result, its slot and policy, and its description.
type Found = (String, &'static SlotSpec, &'static PolicySpec, &'static Statistic);

/// Every statistic of every policy.
pub fn statistics(catalog: &Catalog) -> impl Iterator<Item = Found> {
    let of_slot = |(slot, policies): &(&'static SlotSpec, Vec<&'static PolicySpec>)| {
        let (section, key) = slot.key.split_once('.').expect("a slot's key is one of a section");
        let object = match slot.key {
            "host.scheduler" => "scheduler.statistics".to_owned(),
            "device.reliability" => "nand.reliability.statistics".to_owned(),
            _ => format!("{section}.statistics.{key}"),
        };
        let of_policy = |policy: &&'static PolicySpec| {
            let (slot, policy, object) = (*slot, *policy, object.clone());
            let path = move |statistic: &Statistic| format!("{object}.{}", statistic.name);
            slot.statistics_of(policy).map(move |statistic| (path(statistic), slot, policy, statistic))
        };
        policies.iter().flat_map(of_policy).collect::<Vec<_>>()
    };
    catalog.slots().iter().flat_map(of_slot)
}
