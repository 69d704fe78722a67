//! The pages of the built-in policies help to choose: each has an example that runs, all of whose keys have an effect,
//! and says when another policy is the better choice.

use std::path::Path;
use std::sync::Arc;

use crate::support::owned;
use flashloom_config::{Catalog, Experiment, Source, example};
use flashloom_run::{Prepared, Quiet};
use flashloom_units::{PolicySpec, SlotSpec};

/// Keys that make an example short: a new drive, and few requests for the workloads with many.
const NEW: &str = "run.precondition=none";
const FEW: [(&str, &str); 4] = [
    ("trace", "workload.requests=2000"),
    ("synthetic", "workload.synthetic.requests=2000"),
    ("filebench", "workload.filebench.operations=200"),
    ("synthesized", "workload.synthesized.requests=70000"),
];

/// Checks the page of a policy.
fn fault(catalog: &Arc<Catalog>, slot: &SlotSpec, policy: &PolicySpec) -> Result<(), String> {
    if policy.example.is_empty() || policy.instead.is_empty() {
        return Err("its page lacks an example, or when not to use it".to_owned());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = example(catalog, policy.example).map_err(|fault| format!("{fault:?}"))?;
    let text = text.replace("path = \"", &format!("path = \"{}/", folder.display()));
    let load = |sets: &[&str]| {
        let source = Source::text("example.toml", &text);
        Experiment::from_source(catalog, source, &owned(sets), None).map_err(|problems| problems.to_string())
    };
    let whole = load(&[])?;
    if whole.variants[0].config.policy(slot.key).0.name != policy.name {
        return Err("its example does not choose it".to_owned());
    }
    if let Some(unused) = whole.unused().first() {
        return Err(format!("its example has keys without effect: {:?}", unused.keys));
    }
    let (kind, _) = whole.variants[0].config.policy("workload.kind");
    let few = FEW.iter().filter(|(name, _)| *name == kind.name).map(|(_, set)| *set);
    let short = load(&[NEW].into_iter().chain(few).collect::<Vec<_>>())?;
    let prepared = Prepared::owned(short).map_err(|problems| problems.to_string())?;
    prepared.run(true, &Quiet, &mut []).map(drop).map_err(|failure| failure.to_string())
}

#[test]
fn every_example_of_a_built_in_policy_runs_and_has_no_key_without_effect() {
    let catalog = Catalog::builtin();
    let policies: Vec<_> =
        catalog.slots().iter().flat_map(|(slot, policies)| policies.iter().map(move |policy| (slot, policy))).collect();
    assert!(policies.len() > 35, "there are more than {} policies", policies.len());
    let fault = |(slot, policy): (&&SlotSpec, &&PolicySpec)| {
        fault(&catalog, slot, policy).err().map(|fault| format!("{}: {fault}", policy.name))
    };
    let faults: Vec<String> = policies.into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
