//! Drives that are aged once and used often give the same results as a fresh ageing, to the byte, and cost one ageing.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{lasting, prepared, steady};
use flashloom_config::Catalog;
use flashloom_config::registry::Registry;
use flashloom_figures::result::RunResult;
use flashloom_ftl::SINGLE_CHIP;
use flashloom_ftl::collection::Collection;
use flashloom_nand::{BlockId, PlaneId};
use flashloom_run::{Prepared, Quiet};
use flashloom_units::{Capability, Component, Policy, PolicySpec, State};
use serde_json::Value;

#[test]
fn the_runs_of_a_comparison_give_what_each_gives_by_itself() {
    let varies = ["ftl.mapping=page,dftl,kast,mcsplit", "host.scheduler=noop,cfq", "buffer.capacity=1MiB,0B"];
    gives_the_same(&["workload.synthetic.requests=300", "run.precondition=fill"], &varies);
}

#[test]
fn the_runs_that_hand_their_flash_on_give_what_each_gives_by_itself() {
    // Alone, the flash is that of all runs; with other times it is not, and with a timeline it is watched.
    let flash = ["workload.synthetic.requests=300,20,2000", "buffer.capacity=1MiB,0B", "run.timing=timed,counting"];
    gives_the_same(&["ftl.mapping=page"], &flash);
    gives_the_same(&["run.series=1ms"], &["workload.synthetic.requests=300,500", "device.read_time=50us,60us"]);
    // The buffer gathers streams of a length that changes during a run.
    let slap = ["ftl.allocation=slap", "ftl.slap.adaptive=true", "ftl.slap.adapt_interval=20"];
    let sets = [&slap[..], &["workload.synthetic.request_size=64KiB", "workload.synthetic.read_share=0"]].concat();
    gives_the_same(&sets, &["workload.synthetic.requests=90,30,60", "buffer.capacity=1MiB,512KiB"]);
    let cells = ["device.bits_per_cell=3", "device.slc_read_time=20us", "device.slc_program_time=200us"];
    let cache = ["ftl.slc_cache=dynamic", "ftl.slc_dynamic_share=0.3", "run.precondition=fill"];
    let sets = [&cells[..], &cache].concat();
    gives_the_same(&sets, &["workload.synthetic.requests=900,300", "ftl.idle_delay=1ms,1s"]);
}

/// Every run of a comparison gives what it gives by itself, one at a time and two.
fn gives_the_same(sets: &[&str], varies: &[&str]) {
    for (verify, threads) in [(false, 1), (false, 2), (true, 2)] {
        let prepared = prepared(steady(&Catalog::builtin(), sets, varies));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("there are threads");
        let together = pool.install(|| prepared.compare(verify, &Quiet)).expect("it runs");
        for (index, run) in together.runs.into_iter().enumerate() {
            let alone = prepared.run_variant(index, verify, &Quiet).expect("it runs");
            assert_eq!(lasting(*run.result), lasting(alone), "{:?}", run.vary);
        }
    }
}

#[test]
fn a_drive_that_never_becomes_steady_is_said_of_the_first_run_that_needs_it() {
    let sets = ["run.steady_windows=3", "run.steady_tolerance=0.0001"];
    let prepared = prepared(steady(&Catalog::builtin(), &sets, &["host.scheduler=noop,cfq"]));
    let alone = prepared.run_variant(0, false, &Quiet).expect_err("it is not steady").to_string();
    let together = prepared.compare(false, &Quiet).expect_err("it is not steady").to_string();
    assert!(alone.contains("was not steady") && alone.ends_with("(with host.scheduler=noop)"), "{alone}");
    assert_eq!(together, alone);
}

/// The built-in greedy policy, with a counter of the pages written.
struct Counting {
    greedy: Box<dyn Collection>,
    written: Arc<AtomicU64>,
}

impl Component for Counting {
    fn state(&self) -> Option<&dyn State> {
        self.greedy.state()
    }

    fn state_mut(&mut self) -> Option<&mut dyn State> {
        self.greedy.state_mut()
    }
}

impl Collection for Counting {
    fn written(&mut self, pages: u32) {
        self.written.fetch_add(u64::from(pages), Ordering::Relaxed);
        self.greedy.written(pages);
    }
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.greedy.closed(block, valid);
    }
    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.greedy.invalidated(block, valid);
    }
    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        self.greedy.victim(plane)
    }
    fn withdraw(&mut self, block: BlockId) {
        self.greedy.withdraw(block);
    }
}

static SAVED: PolicySpec = PolicySpec { name: "counting", offers: &[Capability::SAVED_STATE], ..PolicySpec::BLANK };
static UNSAVED: PolicySpec = PolicySpec { name: "counting", ..PolicySpec::BLANK };

/// Pages written by eight runs over one drive, by ageing it once, and by the workload of one run.
fn pages_written(spec: &'static PolicySpec) -> (u64, u64, u64) {
    let written = Arc::new(AtomicU64::new(0));
    let mut registry = Registry::builtin();
    let (counter, collections) = (Arc::clone(&written), registry.collections.clone());
    let counting = Policy::<dyn Collection>::new(spec, move |(), on| {
        let greedy = collections.choose("greedy", &[])?.build(on)?;
        Ok(Box::new(Counting { greedy, written: Arc::clone(&counter) }))
    });
    registry.collections.add(counting).expect("the name is free");
    let catalog = registry.catalog().expect("the tables are in order");
    let varies = ["host.scheduler=noop,deadline,cfq,fios", "buffer.order=page-lru,clc"];
    let eight = steady(&catalog, &["ftl.gc=counting"], &varies);
    let comparison = prepared(eight).compare(false, &Quiet).expect("it runs");
    let all = written.swap(0, Ordering::Relaxed);
    let aged = comparison.runs[0].result.precondition.as_ref().expect("it is aged").page_writes;
    (all, aged, comparison.runs.iter().map(|run| run.result.ftl.host_page_writes).sum())
}

#[test]
fn eight_runs_over_one_drive_write_the_pages_of_one_ageing() {
    let (all, aged, workloads) = pages_written(&SAVED);
    assert_eq!(all, aged + workloads);
    let (all, aged, workloads) = pages_written(&UNSAVED);
    assert_eq!(all, 8 * aged + workloads, "what cannot be saved is aged by each run");
}

#[test]
fn a_policy_says_truly_whether_its_state_can_be_saved() {
    let registry = Registry::builtin();
    for (slot, specs) in registry.slots().into_iter().filter(|(slot, _)| slot.name != "workloads") {
        for spec in specs {
            assert!(spec.offers.contains(&Capability::SAVED_STATE), "{}: {}", slot.name, spec.name);
        }
    }
    for mapping in registry.mappings.specs() {
        for placement in registry.placements.specs() {
            let takes = mapping.offers.contains(&SINGLE_CHIP) || placement.name == "static";
            let needs = |needed| placement.needs.contains(&needed) && !mapping.offers.contains(&needed);
            if !takes || needs(SINGLE_CHIP) {
                continue;
            }
            let sets = [format!("ftl.mapping={}", mapping.name), format!("ftl.placement={}", placement.name)];
            let experiment = steady(&Catalog::builtin(), &[&sets[0], &sets[1], "run.precondition=fill"], &[]);
            prepared(experiment).age(false, &Quiet).unwrap_or_else(|failure| panic!("{sets:?}: {failure}"));
        }
    }
}

#[test]
fn a_drive_from_a_file_gives_what_a_fresh_one_gives() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("drive.state");
    let of = |sets: &[&str]| prepared(steady(&Catalog::builtin(), sets, &[]));
    let fresh = of(&[]).run_variant(0, true, &Quiet).expect("it runs");
    let mut saving = of(&[]);
    fs::write(&path, file_of(&mut saving, true)).expect("there is room");
    let saved = saving.run_variant(0, true, &Quiet).expect("it runs");
    let mut loaded = of(&[&format!("run.state={}", path.display())]).run_variant(0, true, &Quiet).expect("it runs");
    let hash = |result: &RunResult| result.precondition.as_ref().and_then(|aged| aged.state_sha256.clone());
    assert!(hash(&fresh).is_none() && hash(&saved).is_some_and(|hash| hash.len() == 64));
    assert_eq!(hash(&loaded), hash(&saved));
    // The configurations differ in the key that names the file.
    let unnamed = |mut result: RunResult| {
        result.precondition.as_mut().expect("it is aged").state_sha256 = None;
        result.provenance.as_mut().expect("it comes from somewhere").config_sha256.clear();
        lasting(result)
    };
    let mut named = None;
    let unname = |config: &mut Value| named = config["run"].as_object_mut().expect("a section").shift_remove("state");
    loaded.config.change(unname);
    assert!(named.is_some());
    assert_eq!(unnamed(saved), unnamed(fresh.clone()));
    assert_eq!(unnamed(loaded), unnamed(fresh));
}

/// The file of the drive that a run ages.
fn file_of(prepared: &mut Prepared<'_>, verify: bool) -> Vec<u8> {
    prepared.age(verify, &Quiet).expect("it ages").to_file().expect("there is memory")
}

/// Message of a run refused for a state file of that content.
fn refused(content: &[u8], sets: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("drive.state");
    fs::write(&path, content).expect("there is room");
    let state = format!("run.state={}", path.display());
    let experiment = steady(&Catalog::builtin(), &[&[state.as_str()], sets].concat(), &[]);
    let problems = match Prepared::new(&experiment) {
        Err(problems) => problems.to_string(),
        Ok(prepared) => prepared.run_variant(0, false, &Quiet).expect_err("it is refused").to_string(),
    };
    problems.replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn a_file_that_does_not_fit_is_refused_by_name() {
    let saved = |sets: &[&str], verify| file_of(&mut prepared(steady(&Catalog::builtin(), sets, &[])), verify);
    let file = saved(&[], false);
    let expect = |found: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| found.contains(part)), "{found}");
    };
    expect(refused(&file, &["ftl.gc=fifo"]), &["`ftl.gc` = \"fifo\"", "\"greedy\", as the drive in", "--set:1:8"]);
    expect(refused(&file, &["run.seed=2"]), &["`run.seed` = 2", "1, as the drive in"]);
    expect(refused(&file, &["device.blocks=64"]), &["`device.blocks` = 64"]);
    expect(refused(&file, &["ftl.mapping=dftl", "ftl.dftl.cache=1MiB"]), &["`ftl.mapping` = \"dftl\""]);
    // A file leaves some keys out that have their defaults: those are told, on both sides.
    let watermarks = ["ftl.gc_low_watermark=0.1", "ftl.gc_high_watermark=0.2"];
    let advice = "set ftl.gc_low_watermark to that";
    expect(refused(&file, &watermarks), &["`ftl.gc_low_watermark` = 0.1", "0.0, as the drive in", advice]);
    let other = refused(&saved(&watermarks, false), &[]);
    expect(other, &["`ftl.gc_low_watermark` = 0.0", "0.1, as the drive in", advice]);
    expect(refused(b"", &[]), &["no saved drive"]);
    let other_build = refused(b"flashloom-state 4\n{}\n", &[]);
    expect(
        other_build,
        &["a drive of another build: 4", concat!("this build is ", env!("CARGO_PKG_VERSION"), " unknown")],
    );
    expect(refused(&file[..file.len() - 9], &[]), &["the state is cut off"]);
    let header = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).expect("two lines").0;
    expect(refused(&file[..header / 2], &[]), &["damaged"]);
    let edited = String::from_utf8_lossy(&file[..header]).replacen("\"verified\":false", "\"verified\":true", 1);
    expect(refused(&[edited.as_bytes(), &file[header..]].concat(), &["run.seed=1"]), &["its hash is another"]);
    let mut damaged = file.clone();
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    expect(refused(&damaged, &[]), &["damaged"]);
    expect(refused(&saved(&[], true), &[]), &["aged with --verify", "run it with --verify"]);
}

#[test]
fn only_what_is_aged_and_has_a_state_is_saved() {
    let mut new = prepared(steady(&Catalog::builtin(), &["run.precondition=none"], &[]));
    let failure = new.age(false, &Quiet).expect_err("it is not aged").to_string();
    assert!(failure.contains("a drive that is not aged"), "{failure}");
}
