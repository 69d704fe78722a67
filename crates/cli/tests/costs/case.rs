//! The cases: each policy of each slot, and the settings that put it into the reference configuration.

use std::path::PathBuf;

use flashloom::config::{Catalog, Experiment, Source};
use flashloom::units::{PolicySpec, SlotSpec};

/// Settings that a slot's or a policy's run has beside the choice itself, as `--set` takes them, separated by blanks.
/// `{requests}` stands for the length of the run, `{folder}` for that of the recording and the fio jobs.
const BESIDE: [(&str, &str); 11] = [
    // A placement places only where each chip has a mapping of its own.
    ("ftl.placement", "ftl.mapping=bast"),
    // The default would cache the whole map of so small a drive.
    ("ftl.mapping=dftl", "ftl.dftl.cache=32KiB"),
    ("ftl.mapping=sftl", "ftl.sftl.cache=32KiB"),
    ("ftl.mapping=leaftl", "ftl.leaftl.cache=32KiB"),
    ("ftl.mapping=lazyftl", "ftl.lazyftl.cache=32KiB"),
    ("ftl.mapping=u-ftl", "ftl.u-ftl.cache=32KiB"),
    ("ftl.mapping=janus-ftl", "ftl.janus-ftl.map=32KiB"),
    // The recording holds the reference's requests.
    ("workload.kind=trace", "workload.path={folder}/requests.csv workload.replay=closed workload.requests={requests}"),
    ("workload.kind=fio", "workload.path={folder}/{requests}.fio"),
    // Its addresses would span more than so small a drive has.
    (
        "workload.kind=synthesized",
        "workload.synthesized.preset=web-browser workload.synthesized.footprint=120MiB \
         workload.synthesized.span=160MiB workload.requests={requests}",
    ),
    // The job file of fio says how long it runs; every other workload ends where this says.
    ("", "workload.requests={requests}"),
];

/// A policy in the reference configuration.
pub struct Case {
    /// The slot of the policy.
    pub slot: &'static SlotSpec,
    /// The name of the policy.
    pub policy: &'static str,
    /// The name of the reference policy of its slot.
    pub reference: &'static str,
    /// Settings, separated by blanks, that the run differs by from the reference configuration. They are the same for
    /// the reference policies of most slots, whose runs are the same.
    pub settings: String,
}

/// The file of the reference configuration.
pub fn reference() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/costs/reference.toml")
}

/// Every policy of a catalog, slot by slot.
pub fn cases(catalog: &std::sync::Arc<Catalog>) -> Vec<Case> {
    let source = Source::text("reference.toml", include_str!("reference.toml"));
    let experiment =
        Experiment::from_source(catalog, source, &[], None).unwrap_or_else(|problems| panic!("{problems}"));
    let config = &experiment.variants[0].config;
    let cases = catalog.slots().iter().flat_map(|(slot, policies)| {
        let (reference, _) = config.policy(slot.key);
        policies.iter().map(move |policy| Case {
            slot,
            policy: policy.name,
            reference: reference.name,
            settings: settings(slot, policy, policy.name == reference.name),
        })
    });
    cases.collect()
}

/// The settings of a policy. A workload without a line of its own in the table above is set by its example, because
/// there is nothing that all workloads could have in common.
fn settings(slot: &SlotSpec, policy: &PolicySpec, is_reference: bool) -> String {
    let choice = format!("{}={}", slot.key, policy.name);
    let beside = |name: &str| BESIDE.iter().find(|(known, _)| *known == name).map(|(_, settings)| *settings);
    let own = beside(&choice).or((slot.key == "workload.kind" && !is_reference).then_some(policy.example));
    let choice = (!is_reference).then_some(choice.as_str());
    let mut settings: Vec<&str> = [beside(slot.key), choice, own].into_iter().flatten().collect();
    if !settings.iter().any(|settings| settings.contains("{requests}")) {
        settings.extend(beside(""));
    }
    settings.join(" ")
}
