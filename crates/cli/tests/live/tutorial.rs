//! The commands of docs/watch-collection.md, with shorter times, and what it says of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::page::{address, live};
use crate::service::number;

/// The lines of the page that begin with this word, in order.
fn commands(word: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watch-collection.md");
    let page = fs::read_to_string(page).expect("the page is there");
    page.lines().filter(|line| line.split(' ').next() == Some(word)).map(str::to_owned).collect()
}

/// A server of the page, in a folder of its own.
struct Lesson {
    folder: TempDir,
    address: std::net::SocketAddr,
    server: Child,
}

/// Sums of what happened during a command.
struct Happened {
    samples: Vec<Value>,
}

impl Lesson {
    fn serve(command: &str) -> Self {
        let (folder, address) = (tempfile::tempdir().expect("there is room"), address());
        let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        symlink(experiments, folder.path().join("experiments")).expect("there is room");
        let (program, own) = command.split_once(' ').expect("it has arguments");
        assert!(program == "flashloom" && own.contains("127.0.0.1:8080"), "{command}");
        let own =
            format!("exec {} {}", env!("CARGO_BIN_EXE_flashloom"), own.replace("127.0.0.1:8080", &address.to_string()));
        let mut shell = Command::new("sh");
        shell.args(["-c", &own]).env("FLASHLOOM_CACHE", "").current_dir(folder.path());
        let mut server = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("there is a shell");
        let mut lines = BufReader::new(server.stderr.take().expect("it is a pipe")).lines();
        let serves = lines.any(|line| line.expect("text").contains("; Ctrl-C ends it"));
        assert!(serves, "{command}");
        std::thread::spawn(move || lines.for_each(drop));
        Self { folder, address, server }
    }

    /// Runs a command of the page for at most this time.
    fn run(&self, command: &str, seconds: u32) -> Happened {
        let before = number(&live(self.address, usize::MAX)["first"]);
        let shorter = command.replace("--runtime=60", &format!("--runtime={seconds}"));
        let mut shell = Command::new("sh");
        let status = shell.args(["-c", &shorter]).current_dir(self.folder.path()).stdout(Stdio::null()).status();
        assert!(status.expect("there is a shell").success(), "{shorter}");
        std::thread::sleep(Duration::from_secs(1));
        let samples = live(self.address, before as usize)["samples"].take();
        Happened { samples: samples.as_array().expect("a list").clone() }
    }
}

impl Drop for Lesson {
    fn drop(&mut self) {
        // Its nbdkit ends with it.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Happened {
    fn sum(&self, of: impl Fn(&Value) -> u64) -> f64 {
        self.samples.iter().map(of).sum::<u64>() as f64
    }

    /// Pages programmed for an origin, and jobs of it.
    fn of(&self, origin: usize) -> [f64; 2] {
        ["programs", "jobs"].map(|name| self.sum(|sample| number(&sample[name][origin])))
    }

    fn amplification(&self) -> f64 {
        let programs = (0..6).map(|origin| self.of(origin)[0]).sum::<f64>();
        programs / self.sum(|sample| number(&sample["host_pages"]))
    }
}

const COLLECTION: usize = 1;
const MERGE: usize = 2;

#[test]
#[ignore = "needs nbdkit: make live"]
fn tutorial_watches_collection_happen() {
    let (servers, jobs) = (commands("flashloom"), commands("fio"));
    let ([page_map, log_blocks], [order, random, both, trim, half]) = (&servers[..], &jobs[..]) else {
        panic!("other commands: {servers:?} {jobs:?}")
    };
    let lesson = Lesson::serve(page_map);
    let ordered = lesson.run(order, 0);
    let ([copies, collections], amplification) = (ordered.of(COLLECTION), ordered.amplification());
    assert!(collections > 100.0 && copies < 100.0 && amplification < 1.05, "in order: {copies}, {amplification}");
    let scattered = lesson.run(random, 8);
    let ([copies, _], amplified) = (scattered.of(COLLECTION), scattered.amplification());
    assert!(copies > 5_000.0 && amplified > 1.5, "at random: {copies}, {amplified}");
    let mixed = lesson.run(both, 4);
    let slowest = mixed.samples.iter().flat_map(|sample| sample["slowest"].as_array().expect("a list"));
    let reads = slowest.filter(|request| request["op"] == "read");
    let slowest = reads.max_by_key(|read| read["latency_ns"].as_u64()).expect("there were reads");
    let of = |cause: &str| slowest["parts_ns"][cause].as_u64().unwrap_or(0);
    let waited = ["erase", "collection", "host_program"].map(of).iter().sum::<u64>();
    let latency_ns = number(&slowest["latency_ns"]);
    assert!(latency_ns > 1_000_000 && waited > latency_ns / 2, "{slowest}");
    lesson.run(trim, 0);
    let spared = lesson.run(half, 8).amplification();
    assert!(spared < 1.2 && spared < amplified, "after a trim: {spared}, {amplified}");
    drop(lesson);
    let lesson = Lesson::serve(log_blocks);
    let merged = lesson.run(random, 8);
    let ([pages, merges], amplification) = (merged.of(MERGE), merged.amplification());
    assert!(merges > 10.0 && pages > 5_000.0 && amplification > amplified, "{merges}, {pages}, {amplification}");
}
