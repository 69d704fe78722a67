//! The statistics of policies: where each is in a result.

use flashloom_figures::result::older::places;
use flashloom_figures::schema::{Field, fields, parts};
use flashloom_units::{PolicySpec, Refusal, SlotSpec, Statistic, Unit};

use crate::catalog::{Catalog, WorkloadName};

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
    let all: Vec<String> = numbers(fields()).into_iter().chain(statistics).collect();
    let of_requests = || all.iter().filter(|path| path.starts_with("host."));
    let of_workload = |workload: &WorkloadName| {
        let name = workload.name;
        of_requests().map(move |path| format!("tenants.{name}.{path}")).collect::<Vec<_>>()
    };
    let of_workloads: Vec<String> = catalog.workloads().iter().flat_map(of_workload).collect();
    [all, of_workloads].concat()
}

/// A statistic: its path in a result, its slot and policy, and its description.
type Found = (String, &'static SlotSpec, &'static PolicySpec, &'static Statistic);

/// Every statistic of every policy.
pub fn statistics(catalog: &Catalog) -> impl Iterator<Item = Found> {
    let of_slot = |(slot, policies): &(&'static SlotSpec, Vec<&'static PolicySpec>)| {
        let object = object_of(slot);
        let of_policy = |policy: &&'static PolicySpec| {
            let (slot, policy) = (*slot, *policy);
            let path = move |statistic: &Statistic| format!("{object}.{}", statistic.name);
            slot.statistics_of(policy).map(move |statistic| (path(statistic), slot, policy, statistic))
        };
        policies.iter().flat_map(of_policy).collect::<Vec<_>>()
    };
    catalog.slots().iter().flat_map(of_slot)
}

/// Where a result has the policy of a slot with its figures: at the key that chose it, but for those of the array.
pub fn object_of(slot: &SlotSpec) -> &'static str {
    if slot.key == "device.reliability" { "nand.reliability" } else { slot.key }
}

/// The refusal of what is none of the numbers that a result may have, with its path of today if it has moved.
pub fn no_number(path: &str, numbers: &[String]) -> Refusal {
    let now: Vec<String> = places(path).filter(|now| numbers.contains(now)).map(|now| format!("`{now}`")).collect();
    if !now.is_empty() {
        return Refusal::new(format!("`{path}`, a name of older results"), now.join(" or "));
    }
    let found = format!("no result has a number `{path}`");
    let refusal = Refusal::new(found, "a field of a result, without `result.`");
    refusal.suggesting(path, numbers.iter().map(String::as_str))
}
