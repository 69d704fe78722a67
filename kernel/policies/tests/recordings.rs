//! The compiled schedulers on recordings: twice the same result, and every request that was submitted has completed.
//!
//! The recordings are those of `make acceptance`, in the folder that FLASHLOOM_TRACES names; run on request.

use std::path::PathBuf;

use flashloom_config::registry::Registry;
use flashloom_config::{Experiment, Source};
use flashloom_kernel_policies::policies;
use flashloom_run::{Prepared, Quiet};

const NVME: &str = "device.preset = \"nvme-mlc-512g\"\ndevice.blocks = 256\n";
const SATA: &str = "device.preset = \"disksim-ssd\"\ndevice.blocks = 64\n";

const RECORDINGS: [(&str, &str); 5] = [
    ("ycsb-a-rocksdb-nvme.flashloom.csv.zst", NVME),
    ("msr-prxy_0-sample.msr.csv.zst", SATA),
    ("oltp-financial1-10k.ssdsim.trace.zst", SATA),
    ("windows-pc-mayun2.diskmon.txt.zst", NVME),
    ("iozone-100k.disksim.trace.zst", SATA),
];

#[test]
#[ignore = "takes recordings, which are not part of the project"]
fn recordings_give_the_same_result_twice_and_lose_nothing() {
    let folder = PathBuf::from(std::env::var("FLASHLOOM_TRACES").expect("FLASHLOOM_TRACES names the folder"));
    let mut registry = Registry::builtin();
    for policy in policies() {
        registry.schedulers.add(policy).expect("no other has its name");
    }
    let catalog = registry.catalog().expect("the names are in order");
    let names = policies().iter().map(|policy| policy.spec.name).collect::<Vec<_>>().join(",");
    for (file, drive) in RECORDINGS {
        let workload = format!("workload.kind = \"trace\"\nworkload.path = \"{file}\"\nworkload.device = \"all\"\n");
        let drive = format!("workload.addresses = \"wrap\"\n{drive}");
        let source = Source { name: file.to_owned(), text: format!("{workload}{drive}"), folder: folder.clone() };
        let vary = [format!("host.scheduler={names}")];
        let experiment = Experiment::from_source(&catalog, source, &[], Some(&vary));
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
        let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
        let run = || {
            let mut comparison = prepared.compare(true, &Quiet).unwrap_or_else(|failure| panic!("{file}: {failure}"));
            comparison.runs.iter_mut().for_each(|run| run.result.run = None);
            comparison
        };
        let (once, again) = (run(), run());
        for (one, other) in once.runs.iter().zip(&again.runs) {
            let what = format!("{file} with {:?}", one.vary);
            assert!(one == other, "{what} gives two results");
            assert_eq!(one.result.host.requests, one.result.host.completed, "{what}");
            println!("{what}: {} requests", one.result.host.completed);
        }
    }
}
