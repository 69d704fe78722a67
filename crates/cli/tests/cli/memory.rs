//! The memory that is announced before runs is what they take, from above, but not more than three times as much.

use flashloom::config::{Catalog, Experiment};
use flashloom::run::Prepared;

use crate::lab::Lab;

/// A filled drive of 32 planes.
const DRIVE: &str = "workload.synthetic.requests = 10\ndevice.channels = 8\ndevice.planes = 4\ndevice.pages = 256\n\
                     run.precondition = \"fill\"\nrun.timing = \"counting\"\n";

fn peak_bytes(lab: &Lab, blocks: u32, arguments: &str) -> u64 {
    let result = lab.json(&format!("run drive.toml --no-cache --json - --set device.blocks={blocks} {arguments}"));
    result["run"]["peak_rss_bytes"].as_u64().expect("Linux tells it")
}

#[test]
fn the_memory_of_a_drive_is_what_is_announced() {
    let lab = Lab::new();
    lab.write("drive.toml", DRIVE);
    let catalog = Catalog::builtin();
    for (mapping, verify) in [("page", false), ("dftl", true)] {
        let mapping = format!("ftl.mapping={mapping}");
        let arguments = format!("--set {mapping}{}", if verify { " --verify" } else { "" });
        let [small, large] = [100, 250].map(|blocks| peak_bytes(&lab, blocks, &arguments));
        let [of_small, of_large] = [100, 250].map(|blocks| {
            let sets = [mapping.clone(), format!("device.blocks={blocks}")];
            let path = lab.path("drive.toml");
            let experiment = Experiment::load_run(&catalog, &path.to_string_lossy(), &sets);
            let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
            let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
            prepared.expected_memory_bytes(verify, 1, &|_| true)
        });
        let (taken, announced) = (large - small, of_large - of_small);
        assert!(taken <= announced && announced <= 3 * taken, "{arguments}: {taken} of {announced}");
    }
}
