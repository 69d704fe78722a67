//! fio job files: the same jobs under fio 3.33 and under Flashloom issue the same requests, and the results are fio's.
//!
//! fio writes an iolog of its requests to a sparse file; Flashloom writes one with `generate`. For jobs without random
//! choices the two are equal line by line, else their distributions are within one per cent. `make tools` installs fio;
//! without it, these tests say so and pass, unless CI is set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::commands::small;
use crate::lab::{Lab, has, sets};

/// A drive that is large enough for the jobs, quick to set up, and takes no simulated time.
const EXPERIMENT: &str = "
[workload]
kind = \"fio\"
path = \"job.fio\"

[device]
channels = 2
ways = 2
blocks = 160
pages = 128
over_provisioning = \"25%\"

[run]
timing = \"counting\"
";

/// True if fio can be started; otherwise the reason for skipping is printed.
fn has_fio() -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "fio is missing: `make tools` installs it");
    if !found {
        eprintln!("skipped: fio is missing; `make tools` installs it");
    }
    found
}

/// What fio, if it can be started, does with these options.
fn fio(lab: &Lab, options: &[&str]) -> Output {
    Command::new("fio").current_dir(lab.path("")).args(options).output().expect("fio can be started")
}

/// The report of fio on a job file, if it can be started.
fn report_of_fio(lab: &Lab, file: &str) -> Option<Value> {
    has_fio().then(|| serde_json::from_slice(&fio(lab, &["--output-format=json", file]).stdout).expect("it is JSON"))
}

/// A lab with the experiment and a job.
fn with_job(job: &str) -> Lab {
    let lab = Lab::new();
    lab.write("job.fio", job).write("experiment.toml", EXPERIMENT);
    lab
}

/// Direction, offset and length of an iolog entry.
type Io = (String, u64, u64);

fn requests(iolog: &str) -> Vec<Io> {
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        match *fields.get(2)? {
            "sync" | "datasync" => Some(("sync".to_owned(), 0, 0)),
            name @ ("read" | "write" | "trim") => Some((name.to_owned(), number(3), number(4))),
            _ => None,
        }
    };
    iolog.lines().filter_map(parse).collect()
}

/// Requests that fio and Flashloom issue for a job of these options, on one file of 96 MiB.
fn both(options: &str) -> (Vec<Io>, Vec<Io>) {
    both_of(&format!("[global]\nfilename=data\n{options}\n[job]\n"), |lab| {
        let data = File::create(lab.path("data")).expect("a file of the test can be made");
        data.set_len(96 << 20).expect("a sparse file can be made");
    })
}

/// Requests that fio and Flashloom issue for a job, once the files that it uses are made.
fn both_of(job: &str, make: impl FnOnce(&Lab)) -> (Vec<Io>, Vec<Io>) {
    let lab = with_job(job);
    lab.write("fio.job", format!("{job}write_iolog=fio.log\n"));
    make(&lab);
    let fio = fio(&lab, &["--output=out", "fio.job"]);
    assert!(fio.status.success(), "{job}{}", String::from_utf8_lossy(&fio.stderr));
    lab.succeed("generate experiment.toml --out ours.iolog --drop-unsupported");
    (requests(&lab.read("fio.log")), requests(&lab.read("ours.iolog")))
}

#[test]
fn deterministic_jobs_issue_the_same_requests_in_the_same_order() {
    if !has_fio() {
        return;
    }
    for options in [
        "rw=read\nsize=1m",
        "rw=write\nbs=8k\nsize=1m\nfsync=8",
        "rw=write\nsize=256k\nfdatasync=5\nend_fsync=1",
        "rw=read\nbs=64k,4k\nsize=1m\noffset=2m",
        "rw=read\nbs=4k\nsize=40k\nloops=3",
        "rw=read\nbs=4k\nsize=64k\nio_size=200k",
        "rw=read\nbs=4k\nsize=64k\nio_size=32k",
        "rw=write\nbs=4k\nsize=1m\nnumber_ios=100",
        "rw=write:4k\nbs=4k\nsize=1m\nnumber_ios=100",
        "rw=read\nblocksize=64k\nsize=1m\noffset=3m\nnumber_ios=3\nba=4096",
        "rw=write\nsize=64k\nthinktime=1\nthinktime_blocks=4\nioengine=sync\niodepth=16",
        "rw=read\nsize=128k\nrate_iops=4000",
        "rw=read\nsize=256k\nioengine=libaio\niodepth=8",
        "rw=read\nbs=4k\nsize=1m\nio_size=512k\nloops=2",
        "rw=read\nbs=4k\nsize=64k\nio_size=200k\nloops=2",
        "rw=write\nbs=4k\nsize=64k\nloops=2\nfsync=8\nend_fsync=1",
        "rw=write\nbs=4k\nsize=64k\nio_size=32k\nloops=2\nend_fsync=1",
        "rw=write:-8k\nbs=4k\nsize=64k\noffset=1m",
    ] {
        let (fio, ours) = both(options);
        assert!(fio.len() > 2, "{options}");
        assert_eq!(ours, fio, "{options}");
    }
}

#[test]
fn passes_of_an_engine_that_queues_repeat_the_first_where_those_of_fio_do() {
    if !has_fio() {
        return;
    }
    for (options, passes) in [
        ("rw=randwrite\nnorandommap\nloops=2", 1),
        ("rw=randwrite\nnorandommap\nloops=2\nioengine=libaio", 2),
        ("rw=randwrite\nloops=2\nrandseed=7", 1),
        ("rw=randwrite\nloops=2", 2),
        ("rw=randread\nio_size=4m\nrandom_distribution=zoned:60/50:40/50\nioengine=libaio", 4),
        ("rw=randread\nio_size=4m\nrandom_distribution=zipf:1.2\nioengine=libaio", 1),
    ] {
        let (fio, ours) = both(&format!("bs=4k\nsize=1m\n{options}"));
        assert_eq!(fio.len(), ours.len(), "{options}");
        for requests in [&fio, &ours] {
            let mut of_passes = requests.chunks(256);
            let first = of_passes.next().expect("there is a pass");
            let same = of_passes.filter(|pass| *pass == first).count();
            assert_eq!(same + 1, passes, "{options}");
        }
    }
}

/// Statistics of a list of requests: how many requests and pages there are, and shares of the requests by name.
type Character = ([f64; 2], BTreeMap<String, f64>);

fn character(ios: &[Io]) -> Character {
    let data: Vec<&Io> = ios.iter().filter(|(op, ..)| op != "sync").collect();
    let pages: BTreeSet<u64> =
        data.iter().flat_map(|(_, at, bytes)| at / 4_096..(at + bytes).div_ceil(4_096)).collect();
    let mut shares = BTreeMap::new();
    let mut add = |name: String, is_so: bool| *shares.entry(name).or_default() += f64::from(is_so) / data.len() as f64;
    data.windows(2).for_each(|pair| add("sequential".to_owned(), pair[0].1 + pair[0].2 == pair[1].1));
    for (op, _, bytes) in &data {
        add("reads".to_owned(), op == "read");
        add(format!("of {bytes} bytes"), true);
    }
    ([data.len(), pages.len()].map(|count| count as f64), shares)
}

/// Whether two are the same within one per cent.
fn are_alike(([requests, pages], shares): &Character, other: &Character) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 0.01;
    let share = |of: &BTreeMap<String, f64>, name: &String| of.get(name).copied().unwrap_or(0.0);
    near(requests / other.0[0], 1.0)
        && near(pages / other.0[1], 1.0)
        && shares.keys().chain(other.1.keys()).all(|name| near(share(shares, name), share(&other.1, name)))
}

#[test]
fn random_jobs_have_the_same_distributions() {
    if !has_fio() {
        return;
    }
    for options in [
        "rw=randread\nsize=96m",
        "rw=randrw\nrwmixread=70\nsize=96m",
        "rw=randwrite\nsize=48m\nnorandommap\nloops=2",
        "rw=randrw\nrwmixwrite=10\nsize=64m\nnorandommap",
        "rw=rw\nsize=96m\nrwmixread=25",
        "rw=randwrite\nsize=96m\nio_size=32m",
        "rw=randwrite\nbsrange=4k-16k\nsize=96m\nnorandommap",
        "rw=randwrite\nbssplit=4k/60:8k/30:64k/10\nsize=96m\nio_size=900m\nnumber_ios=30000\nnorandommap",
        "rw=randwrite\nbssplit=4k/60:8k/30:16k/10\nsize=96m",
        "rw=randrw\nbssplit=4k/50:8k/50,16k\nsize=96m\nnorandommap",
        "rw=randread\nsize=96m\npercentage_random=30\nnorandommap",
        "rw=randread:2\nsize=96m\nnorandommap",
        "rw=randread:4\nrw_sequencer=identical\nsize=96m\nnorandommap",
        "rw=randread\nsize=96m\nio_size=960m\nrandom_distribution=zipf:1.2",
        "rw=randread\nsize=96m\nio_size=960m\nrandom_distribution=zipf:0.8",
        "rw=randread\nsize=96m\nio_size=960m\nrandom_distribution=zipf:1.1:0.25",
        "rw=randread\nsize=96m\nrandom_distribution=pareto:0.3",
        "rw=randread\nsize=96m\nrandom_distribution=normal:20",
        "rw=randread\nsize=96m\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\nnorandommap",
        "rw=randread\nsize=96m\nrandom_distribution=zoned_abs:60/10m:30/20m:10/50m\nnorandommap",
    ] {
        let (fio, ours) = both(&format!("{options}\nioengine=psync"));
        let (fio, ours) = (character(&fio), character(&ours));
        assert!(are_alike(&ours, &fio), "{options}\nfio  {fio:?}\nours {ours:?}");
    }
}

/// The paths of all keys, without the keys that are names given by a user.
fn keys(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "disk_util") {
                into.push(format!("{path}/{name}"));
                if !name.ends_with("options") {
                    keys(member, &format!("{path}/{name}"), into);
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| keys(element, path, into)),
        _ => {}
    }
}

const JOBS: &str = "[global]\nfilename=data\nsize=512k\n[mixed]\nrw=randrw\nfsync=8\n[writes]\nstonewall\nrw=write\n\
                    numjobs=2\nioengine=libaio\niodepth=4\ngroup_reporting\n";

#[test]
fn the_json_has_the_keys_of_fio_and_repeats_to_the_byte() {
    let lab = Lab::new();
    let (ours, _) = reported(&lab, JOBS, "--verify");
    let first = lab.read("ours.json");
    reported(&lab, JOBS, "--verify");
    assert_eq!(lab.read("ours.json"), first);
    let jobs = ours["jobs"].as_array().expect("a list of jobs");
    let names: Vec<_> = jobs.iter().map(|job| (job["jobname"].as_str(), job["groupid"].as_u64())).collect();
    assert_eq!(names, [(Some("mixed"), Some(0)), (Some("writes"), Some(1))]);
    assert_eq!(jobs[1]["write"]["total_ios"], 256, "both clones together");
    assert!(jobs[0]["sync"]["total_ios"].as_u64() > Some(0));
    let Some(fio) = report_of_fio(&lab, "job.fio") else { return };
    let [mut of_fio, mut of_ours] = [Vec::new(), Vec::new()];
    keys(&fio, "", &mut of_fio);
    keys(&ours, "", &mut of_ours);
    assert_eq!(of_ours, of_fio);
}

/// fio-plot from the registry of Python packages, where `make tools` installs it.
#[test]
fn a_public_plotter_of_fio_results_reads_the_json() {
    let fio_plot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/fio-plot");
    if !fio_plot.exists() {
        assert!(std::env::var_os("CI").is_none(), "fio-plot is missing: `make tools` installs it");
        eprintln!("skipped: fio-plot is missing; `make tools` installs it");
        return;
    }
    let lab = Lab::new();
    std::fs::create_dir(lab.path("results")).expect("a folder of the test can be made");
    for depth in ["1", "4"] {
        let job = format!("[a]\nrw=randread\nbs=4k\nsize=1m\nioengine=libaio\nnumjobs=1\niodepth={depth}\n");
        reported(&lab, &job, "");
        let kept = lab.path(&format!("results/randread-{depth}-1.json"));
        std::fs::rename(lab.path("ours.json"), kept).expect("it is there");
    }
    let options = ["-i", "results", "-T", "test", "-s", "test", "-l", "-r", "randread", "-n", "1", "-d", "1", "4"];
    let mut command = Command::new(fio_plot);
    command.current_dir(lab.path("")).env("MPLBACKEND", "Agg").args(options).args(["-o", "plot.png"]);
    let output = command.output().expect("fio-plot can be started");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && lab.files().contains(&"plot.png".to_owned()), "{said}");
}

#[test]
fn a_generated_trace_holds_the_requests_of_the_run() {
    let lab = Lab::new();
    reported(&lab, JOBS, "--verify");
    lab.shows("generate experiment.toml --out trace.csv.gz", &["requests from fio to flashloom"]);
    let info = lab.json("trace info trace.csv.gz --json");
    let run = lab.json("run experiment.toml --json -");
    for figure in ["requests", "reads", "writes", "flushes", "read_bytes", "write_bytes"] {
        assert_eq!(info[figure], run["host"][figure], "{figure}");
    }
    lab.refuses("generate experiment.toml --out trace.ssdsim", &["flushes, task ids"]);
}

/// Runs a job on the drive of [`EXPERIMENT`] with time, and returns fio's JSON of it and the text of the run.
fn reported(lab: &Lab, job: &str, options: &str) -> (Value, String) {
    lab.write("job.fio", job).write("experiment.toml", EXPERIMENT.replace("counting", "timed"));
    let text = lab.succeed(&format!("run experiment.toml --fio-json ours.json {options}")).stdout;
    (lab.read_json("ours.json"), text)
}

#[test]
fn the_idle_class_waits_for_all_others_under_a_scheduler_that_knows_classes() {
    let lab = Lab::new();
    let job = "[global]\nioengine=io_uring\nbs=4k\nfilename=/dev/nvme0n1\nruntime=100ms\ntime_based\niodepth=64\n\
               rw=randread\n[rt]\nprioclass=1\nprio=0\n[idle]\nprioclass=3\nprio=7\n";
    let reads = |scheduler: &str| {
        let keys = sets(&format!("host.scheduler={scheduler} host.nr_requests=128"));
        let (json, text) = reported(&lab, job, &keys);
        let reads = [0, 1].map(|job| json["jobs"][job]["read"]["total_ios"].as_u64().expect("a number"));
        (reads, text.contains(&format!("I/O priorities, which `{scheduler}` does not follow")))
    };
    for scheduler in ["mq-deadline", "cfq"] {
        let ([real_time, idle], is_told) = reads(scheduler);
        assert!(real_time > 1_000 && idle * 40 < real_time && !is_told, "{scheduler}: {real_time} and {idle}");
    }
    let ([first, second], is_told) = reads("none");
    assert!(second * 2 > first && is_told, "without classes both are served: {first} and {second}");
}

#[test]
fn priorities_are_in_the_log_and_a_replay_repeats_them() {
    let lab = Lab::new();
    let job =
        "[a]\nioengine=libaio\nrw=randread\nsize=1m\niodepth=8\ncmdprio_percentage=40\ncmdprio_class=3\ncmdprio=2\n";
    let (json, _) = reported(&lab, job, "");
    let prios = json["jobs"][0]["read"]["prios"].as_array().expect("two priorities").clone();
    let shown: Vec<_> = prios.iter().map(|of| (of["prioclass"].as_u64(), of["prio"].as_u64())).collect();
    assert_eq!(shown, [(Some(0), Some(0)), (Some(3), Some(2))]);
    assert!(prios.iter().all(|of| of["clat_ns"]["percentile"]["50.000000"].as_u64() > Some(0)));
    lab.succeed("generate experiment.toml --out trace.csv");
    let count = |file: &str, word: &str| lab.read(file).lines().filter(|line| line.contains(word)).count();
    assert!(lab.read("trace.csv").starts_with("timestamp_ns,op,lba,sectors,task,sync,flush,fua,ioprio\n"));
    let idle = count("trace.csv", ",idle/2");
    assert_eq!((idle as u64, count("trace.csv", ",none")), (prios[1]["clat_ns"]["N"].as_u64().unwrap(), 256 - idle));
    lab.succeed("trace convert trace.csv again.csv");
    assert_eq!(lab.read("again.csv"), lab.read("trace.csv"));
    lab.succeed("run experiment.toml --set workload.kind=trace --set workload.path=again.csv --log log.csv");
    assert_eq!(count("log.csv", ",idle/2,"), idle);
    lab.refuses("trace convert trace.csv own.iolog", &["priorities"]);
}

#[test]
fn percentiles_are_those_that_a_job_asks_for_and_logs_are_told_of() {
    let lab = Lab::new();
    let job = "[j]\nioengine=libaio\niodepth=8\nrw=randrw\nbs=4k\nsize=1m\nfsync=16\n";
    let keys = |value: &Value| {
        let all = value["percentile"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
        all.unwrap_or_default().join(" ")
    };
    let (json, text) = reported(&lab, job, "");
    let of = &json["jobs"][0];
    assert_eq!((keys(&of["read"]["clat_ns"]).split(' ').count(), keys(&of["read"]["lat_ns"])), (17, String::new()));
    assert!(!text.contains("without effect"), "{text}");
    let asked = "lat_percentiles=1\nclat_percentiles=0\npercentile_list=99.9:50\nwrite_lat_log=x\nlog_avg_msec=100\n\
                 write_iops_log=x\nioscheduler=kyber\n";
    let (json, text) = reported(&lab, &format!("{job}{asked}"), "");
    let of = &json["jobs"][0];
    for direction in ["read", "write"] {
        let shown = [&of[direction]["lat_ns"], &of[direction]["clat_ns"]].map(keys);
        assert_eq!(shown, ["50.000000 99.900000".to_owned(), String::new()], "as fio 3.33 has them");
    }
    assert_eq!(keys(&of["sync"]["lat_ns"]), "50.000000 99.900000");
    let told = "Options of the jobs without effect here: `write_lat_log`, `write_iops_log`: no log is written";
    has(&text.replace("\n", " "), &[told, "`host.scheduler` chooses"]);
    let asked = asked.replace("ioscheduler=kyber\n", "");
    lab.write("real.fio", format!("[global]\nfilename=data\n{job}{asked}"));
    let Some(fio) = report_of_fio(&lab, "real.fio") else { return };
    for path in ["/read/clat_ns", "/read/lat_ns", "/write/lat_ns", "/sync/lat_ns"] {
        let [ours, theirs] = [of, &fio["jobs"][0]].map(|of| keys(of.pointer(path).expect("it is there")));
        assert_eq!(ours, theirs, "{path}");
    }
}

/// What the table of options lacks of those that fio itself lists.
#[test]
fn every_option_that_fio_lists_is_known() {
    if !has_fio() {
        return;
    }
    let lab = Lab::new();
    let helps = ["--cmdhelp=all", "--enghelp=libaio", "--enghelp=io_uring", "--enghelp=pvsync2"]
        .map(|option| String::from_utf8(fio(&lab, &[option]).stdout).expect("it is text"));
    let lines = helps.iter().flat_map(|help| help.lines());
    let names: Vec<&str> = lines.filter_map(|line| line.split([':', ' ']).find(|word| !word.is_empty())).collect();
    assert!(names.len() > 210, "{names:?}");
    // A file shows its first errors alone, so that each has few options.
    for names in names.chunks(40) {
        let job: String = names.iter().map(|name| format!("{name}=1\n")).collect();
        lab.write("job.fio", format!("[j]\nsize=64k\n{job}")).write("experiment.toml", EXPERIMENT);
        let said = lab.run("run experiment.toml").stderr;
        assert!(!said.contains("unknown option") && !said.contains("came with fio"), "{said}");
    }
}

#[test]
fn reports_of_a_group_have_the_settings_of_its_last_job_and_the_priorities_of_all_as_in_fio() {
    let prios = |job: &Value| {
        let of = |direction: &str| {
            let all = job[direction]["prios"].as_array().cloned().unwrap_or_default();
            all.iter().map(|of| (of["prioclass"].as_u64(), of["prio"].as_u64())).collect::<Vec<_>>()
        };
        (of("read"), of("write"))
    };
    let seen = |report: &Value| {
        let jobs = report["jobs"].as_array().expect("a list of jobs");
        let one = |job: &Value| {
            let percentiles = |of: &str| {
                let all = job.pointer(of).and_then(|of| of["percentile"].as_object());
                all.map(|all| all.keys().cloned().collect::<Vec<_>>())
            };
            let shown = ["/read/clat_ns", "/read/lat_ns", "/write/clat_ns", "/sync/lat_ns"].map(percentiles);
            let bytes = job["read"]["io_bytes"].clone();
            (job["jobname"].clone(), job["job options"].clone(), job["latency_depth"].clone(), prios(job), shown, bytes)
        };
        jobs.iter().map(one).collect::<Vec<_>>()
    };
    let global = "[global]\nbs=4k\nsize=1m\nrw=read\nioengine=libaio\ngroup_reporting\nfilename=data\n";
    let split = "cmdprio_bssplit=8k/30/3/1:8k/50/3/2:4k/20/1/0:4k/20/2/7:4k/30/2/5";
    for jobs in [
        "[a]\nprio=3\n[b]\n[c]\nprioclass=3\n".to_owned(),
        "[a]\nrw=write\n[b]\nprio=1\n".to_owned(),
        "[a]\nprio=3\n[b]\nprio=3\n[c]\ncmdprio_percentage=40\ncmdprio_class=3\n".to_owned(),
        format!("[a]\nprio=2\nbssplit=4k/50:8k/50\n{split}\n"),
        "[a]\npercentile_list=50\n[b]\npercentile_list=10:20\nprio=4\niodepth=5\n".to_owned(),
        "[a]\nrw=write\nfsync=4\nclat_percentiles=0\n".to_owned(),
    ] {
        let lab = Lab::new();
        let (ours, _) = reported(&lab, &format!("{global}{jobs}"), "");
        let Some(fio) = report_of_fio(&lab, "job.fio") else { return };
        assert_eq!(seen(&ours), seen(&fio), "{jobs}");
    }
}

#[test]
fn a_replay_with_priorities_reports_them_for_reads_and_writes() {
    let lab = Lab::new();
    let io = |at: u64| format!("{at} data read {} 4096\n{at} data write {} 4096\n", at * 4_096, at * 4_096);
    let log = "fio version 3 iolog\n0 data add\n0 data open\n".to_owned() + &(1..100).map(io).collect::<String>();
    lab.write("log", log);
    let (json, _) = reported(&lab, "[a]\nread_iolog=log\nioengine=libaio\ncmdprio_percentage=50\n", "");
    for direction in ["read", "write"] {
        assert_eq!(json["jobs"][0][direction]["prios"].as_array().map(Vec::len), Some(2), "as fio 3.33 reports");
    }
}

#[test]
fn jobs_of_several_devices_ask_for_one_and_say_where_all_lie() {
    let lab = with_job("[global]\nrw=write\nbs=64k\nsize=1m\n[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n");
    lab.refuses("run experiment.toml", &["`/dev/sda`, `/dev/sdb`", "job.fio:8:10"]);
    let run = |device: &str| lab.json(&format!("run experiment.toml --set workload.device={device} --json -"));
    assert_eq!(run("/dev/sdb")["host"]["writes"], 16);
    let all = run("all");
    assert_eq!(all["host"]["writes"], 32);
    assert_eq!(all["hints"][0]["about"], "devices");
    let told = all["hints"][0]["text"].as_str().expect("a text");
    has(told, &["`/dev/sda` 1MiB from 0B, `/dev/sdb` 1MiB from 1MiB"]);
    lab.refuses("run experiment.toml --set workload.device=/dev/sd", &["no job of the device `/dev/sd`"]);
}

#[test]
fn loops_in_the_same_order_have_a_hint() {
    for (options, has_hint) in [
        ("loops=3", true),
        ("io_size=2m", true),
        ("loops=3\nnorandommap\nioengine=libaio", true),
        ("", false),
        ("loops=3\nrandrepeat=0", false),
        ("loops=3\nrandseed=3", false),
        ("loops=3\nnorandommap", false),
        ("loops=3\nrw=randread", false),
        ("io_size=2m\nnorandommap\nioengine=libaio", false),
        ("loops=2\nio_size=512k", false),
    ] {
        let lab = with_job(&format!("[a]\nrw=randwrite\nsize=1m\n{options}\n"));
        let text = lab.succeed("run experiment.toml").stdout;
        assert_eq!(text.contains("`randrepeat=0` draws"), has_hint, "{options}");
    }
}

#[test]
fn files_of_one_job_have_their_turns_as_in_fio() {
    if !has_fio() {
        return;
    }
    for (options, lists) in [
        ("filename=a:b:c\nrw=read\nsize=3m", true),
        ("filename=a:b\nrw=write\nsize=1m\nfile_service_type=roundrobin:3\nloops=2", true),
        ("filename=a:b\nrw=write\nsize=1m\nfile_service_type=sequential\nfsync=7", true),
        ("nrfiles=5\nrw=write\nsize=1m\nbs=12k\nio_size=3m", true),
        ("filename=a:b:c\nrw=write\nsize=3m\nfsync=4\nloops=2", true),
        ("filename=a:b\nfilename=c\nrw=write\nsize=3m\nfile_service_type=roundrobin:3\nfsync=2", true),
        ("filename=a:b\nrw=randrw\nsize=8m", false),
    ] {
        let (theirs, ours) = both_of(&format!("[job]\nbs=4k\n{options}\n"), |_| ());
        // Offsets in extents of whole MiB are told from those in files by what lies below.
        let within =
            |ios: &[Io]| ios.iter().map(|(op, at, bytes)| (op.clone(), at % (1 << 20), *bytes)).collect::<Vec<_>>();
        if lists {
            assert_eq!(within(&ours), within(&theirs), "{options}");
        } else {
            assert_eq!(ours.len(), theirs.len(), "{options}");
        }
    }
}

#[test]
fn bad_job_files_are_refused_with_the_place_and_what_is_allowed() {
    for (name, job) in [
        ("misspelt", "[a]\nrw=read\nsize=1m\nio_dept=4\n"),
        ("direction", "[a]\nrw=sideways\nsize=1m\n"),
        ("unit", "[a]\nrw=read\nsize=1x\nbs=4q,8k\n"),
        ("sector", "[a]\nrw=read\nsize=1m\nbs=1000\n"),
        ("split", "[a]\nrw=read\nsize=1m\nbssplit=4k/60:8k/60\n"),
        ("distribution", "[a]\nrw=randread\nsize=1m\nrandom_distribution=poisson:3\n"),
        ("refused_option", "[a]\nrw=write\nsize=1m\nverify=crc32c\nwait_for=b\n"),
        ("engine", "[a]\nrw=write\nsize=1m\nioengine=rdma\n"),
        ("no_size", "[a]\nrw=write\n"),
        ("too_large", "[a]\nrw=write\nsize=1m\n[b]\nrw=read\nsize=900g\n"),
        ("no_job", "; nothing but a comment\n[global]\nrw=read\n"),
        ("no_section", "rw=read\n[a\nsize=1m\n"),
        ("not_text", "[a]\nrw=r\u{fffd}ad\n"),
        ("environment", "[a]\nrw=read\nsize=${SIZE}\n"),
        ("by_time_without_time", "[a]\nrw=read\nsize=1m\ntime_based\nruntime=10\n"),
        ("iolog_missing", "[a]\nread_iolog=nowhere.log\n"),
        ("two_rates", "[a]\nrw=read\nsize=1m\nrate=1m\nrate_iops=10\n"),
        ("open_files", "[a]\nrw=read\nsize=1m\nnrfiles=3\nopenfiles=2\n"),
        ("file_names", "[a]\nrw=read\nsize=1m\nfilename_format=x.$jobnum\n"),
        ("group_percentiles", "[a]\nrw=read\nsize=1m\n[b]\nrw=read\nsize=1m\nlat_percentiles=1\n"),
        ("blocks_of_two_sizes", "[a]\nrw=randrw\nsize=1m\nbs=4k,8k\n"),
        ("engine_options", "[a]\nrw=read\nsize=1m\nproto=tcp\nchunk_size=4k\nopendir=x\nfile_append\n"),
    ] {
        let message = with_job(job).refuses("run experiment.toml --fio-json out.json", &[]);
        insta::assert_snapshot!(format!("fio_{name}"), message);
    }
}

#[test]
fn only_a_job_file_is_reported_as_fio_does() {
    let words = ["--fio-json", "the workload is not a fio job file"];
    small().refuses("run small.toml --fio-json out.json", &words);
}

#[test]
fn an_iolog_that_a_job_cannot_replay_is_told_of_recordings() {
    let lab = Lab::new();
    let told = |iolog: &str, options: &str, arguments: &str, words: &str| {
        let job = format!("[a]\nread_iolog=ours.log\n{options}");
        lab.write("ours.log", iolog).write("job.fio", job).write("experiment.toml", EXPERIMENT);
        lab.refuses(arguments, &["`workload.kind` = \"trace\"", words]);
    };
    let run = "run experiment.toml";
    let log = "fio version 3 iolog\n0 a add\n0 a open\n1 a write 0 4096\n5 a write 8192 4096\n9 a write 4096 4096\n";
    let beyond = log.replace("8192", "1099511627776");
    told(&beyond, "", run, "which `workload.addresses` fits to the device");
    told("0.0 1 2 3\n", "", run, "in any of `flashloom list formats`");
    told(log, "replay_scale=2\n", run, "`workload.addresses` = \"scale\"");
    let seeds = "compare experiment.toml --seeds 2 --set run.precondition=fill";
    told(log, "", seeds, "`workload.path` = \"ours.log\" replays it as a recording, of which each seed");
    // What it is told works.
    lab.succeed(&format!("{seeds} --set workload.kind=trace --set workload.path=ours.log"));
}

#[test]
fn fio_takes_the_jobs_that_are_written_for_a_fit_and_the_drive_from_its_command_line_alone() {
    let lab = Lab::new();
    let said = lab.succeed("fit --write-jobs jobs --time 1h").stdout;
    assert!(said.starts_with("jobs/README.md: "), "{said}");
    lab.refuses("fit --write-jobs jobs", &["there are files in it"]);
    lab.refuses("fit a.json --write-jobs other", &["cannot be used with"]);
    lab.refuses("fit a.json", &["--start"]);
    if !has_fio() {
        return;
    }
    let fio = |options: &[&str], file: &Path| {
        let file = file.display().to_string();
        fio(&lab, &[options, &[&file]].concat())
    };
    let mut names = Vec::new();
    for folder in ["read-only", "destructive"] {
        let mut files: Vec<_> = lab.path("jobs").join(folder).read_dir().expect("a folder").flatten().collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files.iter().map(std::fs::DirEntry::path) {
            let read = fio(&["--parse-only", "--filename=/dev/nvme0n1"], &file);
            assert!(read.status.success(), "{file:?}: {read:?}");
            // Without a drive it refuses to begin.
            let refused = fio(&["--output-format=json"], &file);
            assert!(!refused.status.success(), "{file:?}: {refused:?}");
            assert!(String::from_utf8_lossy(&refused.stderr).contains("you need to specify size="), "{refused:?}");
            names.push(file.file_stem().expect("it has a name").to_string_lossy().into_owned());
        }
    }
    assert_eq!((names.len(), &names[0][..], &names[10][..]), (11, "latency-by-size", "7-flushes"));
    // A file that stands for a drive: what fio writes of it is what a fit reads.
    lab.write("drive", vec![0; 8 << 20]);
    let job = lab.path("jobs/read-only/latency-by-size.fio");
    let text = std::fs::read_to_string(&job).expect("it was written");
    let runtime = text.lines().find(|line| line.starts_with("runtime=")).expect("it has one");
    lab.write("short.fio", text.replace(runtime, "runtime=300ms"));
    let options = ["--readonly", "--filename=drive", "--output-format=json", "--output=real.json"];
    let run = fio(&options, &lab.path("short.fio"));
    assert!(run.status.success(), "{run:?}");
    lab.shows(
        "fit real.json --start mlc-16g --vary device.read_time=1us..200us --requests 1000 --restarts 1 -o my.toml",
        &["real.json, 4k ", "real.json, 256k "],
    );
}
