//! Workloads from outside the project: they are configured, checked, run and compared like built-in ones.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::support::owned;
use flashloom_config::registry::Registry;
use flashloom_config::{Catalog, Experiment, Source, numbers};
use flashloom_host::scheduler;
use flashloom_run::{Prepared, Quiet};
use flashloom_units::{
    Figure, Kind, Ns, Policy, PolicySpec, Problem, Problems, Refusal, Statistic, Unit, Value, params,
};
use flashloom_workload::workload::{Context, Profile, Running, Unfit, Workload};
use flashloom_workload::{Arrivals, Op, Request, TASK_IDS, TraceInfo, TraceOptions, rebase};

params! {
    /// The parameters of a stride.
    pub struct Params {
        /// Number of writes.
        requests: u64 => "requests", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(500),
            "More writes take longer.";
        /// Sectors from the start of a write to that of the next.
        stride: u64 => "stride", Kind::Count { min: 8, max: 1 << 40 }, Value::Count(64),
            "Longer strides leave more of the drive untouched.";
    }
}

static STRIDE: PolicySpec = PolicySpec {
    name: "stride",
    summary: "writes at equal distances",
    details: "It begins anew at the end of the drive.",
    source: "none",
    params: Params::PARAMS,
    statistics: &[Statistic::new("issued_bytes", Unit::Bytes, "Bytes of the writes.")],
    ..PolicySpec::BLANK
};

/// Writes 4 KiB at every stride, round the drive.
struct Stride {
    params: Params,
    context: Context,
}

fn stride() -> Policy<dyn Workload> {
    let policy = Policy::<dyn Workload>::new(&STRIDE, |params: Params, context| {
        Ok(Box::new(Stride { params, context: context.clone() }))
    });
    policy.with_profile(|params: Params, site| match site.context {
        Some(context) if params.stride > context.capacity_sectors => {
            let found = format!("a stride of {} sectors", params.stride);
            Err(Refusal::new(found, "one within the drive").at(["workload.stride.stride"]))
        }
        _ => Ok(Profile::default()),
    })
}

impl Workload for Stride {
    fn expected_requests(&self) -> u64 {
        self.context.limited(self.params.requests)
    }

    fn has_task_ids(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let Params { requests, stride } = self.params;
        let capacity = self.context.capacity_sectors;
        let writes = (0..requests).map(move |index| write(index * stride % (capacity - 8)));
        Ok(Box::new(Counted { replayed: self.context.replayed(List(writes), capacity, false), issued: 0 }))
    }
}

/// Arrivals that are counted as they are taken.
struct Counted<R> {
    replayed: R,
    issued: u64,
}

impl<R: Arrivals> Arrivals for Counted<R> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.replayed.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.issued += 1;
        self.replayed.take(now)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.replayed.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.replayed.is_over()
    }
}

impl<R: Arrivals> Running for Counted<R> {
    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Bytes(self.issued * 4_096)]
    }
}

fn write(lba: u64) -> Request {
    Request::new(Op::Write, lba, 8)
}

struct List<I>(I);

impl<I: Iterator<Item = Request>> flashloom_workload::Source for List<I> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        Ok(self.0.next())
    }
}

/// Summaries that the runs of a test were given.
type Seen = Arc<Mutex<Vec<Arc<TraceInfo>>>>;

static PICKY: PolicySpec = PolicySpec { name: "picky", ..PolicySpec::BLANK };

/// A workload that refuses recordings with other requests than writes, or with one request.
struct Picky {
    context: Context,
    path: String,
    seen: Seen,
}

fn picky(seen: &Seen) -> Policy<dyn Workload> {
    let seen = Arc::clone(seen);
    let policy = Policy::<dyn Workload>::new(&PICKY, move |(), context| {
        let path = context.path.clone().ok_or_else(|| Refusal::new("no path", "a path"))?;
        Ok(Box::new(Picky { context: context.clone(), path, seen: Arc::clone(&seen) }))
    });
    policy.with_profile(|(), _site| Ok(Profile { has_first_sector: true, ..Profile::default() }))
}

impl Workload for Picky {
    fn recording(&self) -> Option<(&str, TraceOptions)> {
        Some((&self.path, self.context.params.trace_options()))
    }

    fn read(&mut self, scanned: Option<&Arc<TraceInfo>>) -> Result<(), Unfit> {
        let info = scanned.expect("it was asked for");
        self.seen.lock().expect("nobody fails").push(Arc::clone(info));
        if info.reads > 0 {
            let found = format!("{} reads", info.reads);
            return Err(Problem::in_text(&self.path, "R,8\n", 0..1, Refusal::new(found, "writes alone")).into());
        }
        if info.requests < 2 {
            return Err(Refusal::new("one write", "several").at(["workload.requests"]).into());
        }
        Ok(())
    }

    fn expected_requests(&self) -> u64 {
        2
    }

    fn has_task_ids(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let trace = flashloom_workload::open_trace(&self.path, &self.context.params.trace_options())?;
        Ok(Box::new(self.context.replayed(rebase(trace, self.context.params.first_sector), 16, true)))
    }
}

/// `noop`, declared to need task ids.
static NEEDY: PolicySpec = PolicySpec { name: "needy", needs: &[TASK_IDS], ..PolicySpec::BLANK };

fn catalog(seen: &Seen) -> Arc<Catalog> {
    let mut registry = Registry::builtin();
    registry.workloads.add(stride()).expect("its specification is in order");
    registry.workloads.add(picky(seen)).expect("its specification is in order");
    let needy = Policy::<dyn scheduler::Scheduler>::new(&NEEDY, |(), setup| {
        scheduler::builtin().choose("noop", &[])?.build(setup)
    });
    registry.schedulers.add(needy).expect("its specification is in order");
    registry.catalog().expect("the registry is in order")
}

const DRIVE: &str =
    "[device]\nchannels = 2\nways = 1\ndies = 1\nplanes = 1\nblocks = 40\npages = 32\nover_provisioning = 0.25\n";

fn load(text: &str, varies: &[&str]) -> Result<Experiment, Problems> {
    load_with(&catalog(&Seen::default()), text, varies)
}

fn load_with(catalog: &Arc<Catalog>, text: &str, varies: &[&str]) -> Result<Experiment, Problems> {
    let (source, varies) = (Source::text("a.toml", &format!("{text}{DRIVE}")), owned(varies));
    Experiment::from_source(catalog, source, &[], (!varies.is_empty()).then_some(&varies[..]))
}

fn refused(text: &str) -> String {
    load(text, &[]).expect_err("it is refused").to_string()
}

#[test]
fn a_generator_from_outside_is_compared_with_a_built_in_one() {
    let text = "[workload]\nrequests = 400\n[workload.stride]\nstride = 128\n[workload.synthetic]\nread_share = 0.5\n";
    let experiment = load(text, &["workload.kind=stride,synthetic", "host.scheduler=noop,deadline"]).expect("sound");
    let prepared = Prepared::new(&experiment).expect("nothing is read");
    assert_eq!(prepared.total_requests(), 4 * 400);
    let runs = prepared.compare(true, &Quiet).expect("every check passes").runs;
    let figures = |at: usize| (runs[at].result.host.requests, runs[at].result.host.writes);
    assert_eq!((figures(0), figures(1)), ((400, 400), (400, 400)));
    assert!(figures(2).0 == 400 && figures(2).1 < 400, "the built-in generator reads as well");
    assert!(runs.iter().all(|run| run.result.integrity.verified));
    assert_eq!(*runs[0].result.config.get("/workload/stride/stride"), 128);
}

#[test]
fn what_it_counts_is_in_the_result_and_in_formulas() {
    let catalog = catalog(&Seen::default());
    let path = "workload.kind.issued_bytes";
    assert!(numbers(&catalog).iter().any(|number| number == path));
    let expect = format!("[[expect]]\nclaim = \"all are issued\"\nformula = \"mean({path})\"\nat_least = 1638400\n");
    let text = format!("{expect}at_most = 1638400\n[workload]\nkind = \"stride\"\nrequests = 400\n");
    let experiment = load_with(&catalog, &text, &["host.scheduler=noop,deadline"]).expect("sound");
    let comparison = Prepared::new(&experiment).expect("nothing is read").compare(false, &Quiet).expect("it runs");
    assert!(comparison.expectations[0].holds, "{:?}", comparison.expectations);
    let plain = load_with(&catalog, "", &["host.scheduler=noop"]).expect("sound");
    let comparison = Prepared::new(&plain).expect("nothing is read").compare(false, &Quiet).expect("it runs");
    assert_eq!(comparison.runs[0].result.workload, None, "the built-in generator counts nothing besides");
}

#[test]
fn what_it_refuses_points_at_its_keys() {
    let kind = "workload.kind = \"stride\"\n";
    let misspelt = refused(&format!("{kind}workload.stride.strid = 16\n"));
    assert!(misspelt.contains("a.toml:2:17") && misspelt.contains("did you mean `stride`?"), "{misspelt}");
    let long = refused(&format!("{kind}workload.stride.stride = 1000000000\n"));
    assert!(long.contains("a stride of 1000000000 sectors") && long.contains("a.toml:2:"), "{long}");
    let moved = refused(&format!("{kind}workload.first_sector = 63\n"));
    assert!(moved.contains("`first_sector` = 63 with `kind` = \"stride\""), "{moved}");
}

#[test]
fn everything_wrong_with_a_workload_is_said_in_one_pass() {
    let text = "[workload]\npath = \"a.csv\"\nfirst_sector = 63\nreplay = \"dependent\"\n[workload.synthetic]\n\
                footprint_size = \"1TiB\"\n";
    let places: Vec<_> = load(text, &[]).expect_err("four faults").0.iter().map(Problem::location).collect();
    assert_eq!(places, ["a.toml:2:8", "a.toml:3:16", "a.toml:4:10", "a.toml:6:18"]);
    let text = "workload.kind = \"fio\"\ndevice.page_size = \"3KiB\"\n";
    let broken_drive = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &[], None);
    let broken_drive = broken_drive.expect_err("workload and drive are wrong").to_string();
    assert!(broken_drive.contains("without a path") && broken_drive.contains("power of two"), "{broken_drive}");
}

#[test]
fn a_policy_that_needs_task_ids_refuses_every_workload_without_them() {
    let prepared = |text: &str| {
        let experiment = load(&format!("{text}host.scheduler = \"needy\"\n"), &[]).expect("the keys are in order");
        Prepared::new(&experiment).map(drop).map_err(|problems| problems.to_string())
    };
    let error = prepared("workload.kind = \"stride\"\n").unwrap_err();
    assert!(error.contains("`host.scheduler` = \"needy\"") && error.contains("those of `stride` do not"), "{error}");
    assert_eq!(prepared("workload.synthetic.tasks = 3\n"), Ok(()));
}

/// A recording in a file of its own, and a configuration that replays it.
fn recorded(name: &str, lines: &str) -> (PathBuf, String) {
    let path = std::env::temp_dir().join(format!("flashloom-workload-{name}-{}.csv", std::process::id()));
    std::fs::write(&path, format!("timestamp_ns,op,lba,sectors\n{lines}")).expect("the folder can be written to");
    let text = format!("[workload]\nkind = \"picky\"\npath = \"{}\"\n", path.display());
    (path, text)
}

#[test]
fn a_recording_that_several_runs_read_in_one_way_is_scanned_once() {
    let (path, text) = recorded("once", "0,W,0,8\n1000,W,8,8\n");
    let seen = Seen::default();
    let experiment = load_with(&catalog(&seen), &text, &["workload.speed=1,2", "workload.sort=false,true"]);
    let experiment = experiment.expect("sound");
    let comparison = Prepared::new(&experiment).expect("it can be read").compare(true, &Quiet);
    std::fs::remove_file(path).expect("it is there");
    assert!(comparison.expect("every check passes").runs.iter().all(|run| run.result.host.requests == 2));
    let seen = seen.lock().expect("nobody failed");
    let same = |one: usize, other: usize| Arc::ptr_eq(&seen[one], &seen[other]);
    assert_eq!((seen.len(), same(0, 2), same(1, 3), same(0, 1)), (4, true, true, false));
}

#[test]
fn what_is_wrong_with_its_input_keeps_its_place_and_what_it_does_not_go_with_its_key() {
    let error = |name: &str, lines: &str, keys: &str| {
        let (path, text) = recorded(name, lines);
        let experiment = load(&format!("{text}{keys}"), &[]).expect("the keys are in order");
        let error = Prepared::new(&experiment).err().expect("it is refused").to_string();
        std::fs::remove_file(&path).expect("it is there");
        (error, path.display().to_string())
    };
    let (reads, file) = error("reads", "0,R,0,8\n1000,W,8,8\n", "");
    assert!(reads.contains("error: 1 reads") && reads.contains(&format!("{file}:1:1")), "{reads}");
    let (single, _) = error("single", "0,W,0,8\n", "requests = 9\n");
    assert!(single.contains("error: one write") && single.contains("a.toml:4:12"), "{single}");
    let (bad, file) = error("bad", "0,W,0,8\n1000,Q,8,8\n", "");
    assert!(bad.contains(&format!("{file}:3:6")), "{bad}");
    let missing = load("[workload]\nkind = \"picky\"\npath = \"nowhere.csv\"\n", &[]).expect("the keys are in order");
    let missing = Prepared::new(&missing).err().expect("there is no file").to_string();
    assert!(missing.contains("nowhere.csv: ") && missing.contains("a.toml:3:8"), "{missing}");
}
