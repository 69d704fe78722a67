//! Counting: instructions, mispredicted branches and flash operations a request, as the difference of two runs.
//!
//! Both runs begin with the same aged drive, which a run without valgrind saves before. The shorter one fills the
//! buffer and is subtracted, and with it all that is done once: the start of the program, its configuration, the drive.
//! gungraun, which is well kept, counts with valgrind too, but its cases are fixed when it is compiled, where ours come
//! from the registry, and it compares with its last run on the same machine, not with a file that is checked in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::case;

/// Requests of the two runs.
const LENGTHS: [u64; 2] = [1_000, 4_000];

/// What a request costs, on average.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct Cost {
    /// Instructions, those of collection and of the flash array among them.
    pub instructions: u64,
    /// Branches, conditional and indirect, that valgrind's model of a predictor gets wrong.
    pub mispredictions: f64,
    /// Flash operations: pages read, pages programmed and blocks erased, for the host or for the FTL itself.
    pub operations: f64,
}

/// The program to count, and a folder for its files.
pub struct Counter {
    program: PathBuf,
    folder: TempDir,
}

/// The counters of one run.
struct Counted {
    executed: Executed,
    operations: u64,
}

/// What a program has executed.
#[derive(Clone, Copy)]
pub struct Executed {
    /// Instructions.
    pub instructions: u64,
    /// Mispredicted branches.
    pub mispredictions: u64,
}

/// The release build beside this test's.
pub fn release() -> PathBuf {
    let profiles = Path::new(env!("CARGO_BIN_EXE_flashloom")).ancestors().nth(2).expect("it is in target/PROFILE");
    profiles.join("release").join("flashloom")
}

/// Valgrind that counts what the program behind it executes.
pub fn valgrind_into(log: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--branch-sim=yes", "--cachegrind-out-file=/dev/null"]);
    valgrind.arg(format!("--log-file={}", log.display()));
    valgrind
}

/// What valgrind has counted.
pub fn collected(log: &Path) -> Executed {
    let log = fs::read_to_string(log).expect("valgrind writes its log");
    let count = |name: &str| -> Option<u64> {
        let (_, count) = log.lines().find_map(|line| line.split_once(name))?;
        count.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    let counts = (count("I   refs:"), count("Mispredicts:"));
    let (Some(instructions), Some(mispredictions)) = counts else { panic!("cachegrind says what it counted: {log}") };
    Executed { instructions, mispredictions }
}

impl Counter {
    /// Makes a counter for the release build beside this test's, and the files that workloads read.
    ///
    /// # Errors
    /// Valgrind or the release build is missing.
    pub fn new() -> Result<Self, String> {
        let program = release();
        if !program.exists() {
            return Err(format!("{} is missing: cargo build --release", program.display()));
        }
        if Command::new("valgrind").arg("--version").output().is_err() {
            return Err("valgrind is missing: sudo apt-get install valgrind".to_owned());
        }
        let counter = Self { program, folder: tempfile::tempdir().expect("a temporary folder can be made") };
        for requests in LENGTHS {
            let job = format!("{}number_ios={requests}\n", include_str!("reference.fio"));
            fs::write(counter.path(&format!("{requests}.fio")), job).expect("the folder can be written to");
        }
        let recording = counter.path("requests.csv");
        let requests = format!("workload.requests={}", LENGTHS[1]);
        let generate = ["generate", "--set", &requests, "--out", &recording.to_string_lossy()].map(str::to_owned);
        counter.run(Command::new(&counter.program), &generate);
        Ok(counter)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program on the reference configuration; returns what it prints. Panics if it fails.
    ///
    /// The environment is empty but for the path, because its size moves the stack, and with it some copies.
    fn run(&self, mut command: Command, arguments: &[String]) -> String {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.args(arguments).arg(case::reference()).env_clear().env("PATH", path);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the program prints UTF-8")
    }

    /// The cost of a request with the settings of a case. Its number names its files.
    pub fn cost(&self, settings: &str, number: usize) -> Cost {
        let state = self.path(&format!("{number}.state")).to_string_lossy().into_owned();
        let mut arguments = self.arguments(settings, LENGTHS[0]);
        arguments.extend(["--no-cache", "--save-state", &state].map(str::to_owned));
        self.run(Command::new(&self.program), &arguments);
        let [short, long] = LENGTHS.map(|requests| self.count(settings, requests, number));
        let between = LENGTHS[1] - LENGTHS[0];
        let mean = |long: u64, short: u64| (long - short) as f64 / between as f64;
        Cost {
            instructions: (long.executed.instructions - short.executed.instructions) / between,
            mispredictions: mean(long.executed.mispredictions, short.executed.mispredictions),
            operations: mean(long.operations, short.operations),
        }
    }

    fn arguments(&self, settings: &str, requests: u64) -> Vec<String> {
        let folder = self.folder.path().to_string_lossy();
        let settings = settings.replace("{requests}", &requests.to_string()).replace("{folder}", &folder);
        let sets = settings.split_whitespace().flat_map(|set| ["--set".to_owned(), set.to_owned()]);
        ["run", "--no-hints", "--json", "-"].map(str::to_owned).into_iter().chain(sets).collect()
    }

    /// Counts a run of that length with the aged drive of that number.
    fn count(&self, settings: &str, requests: u64, number: usize) -> Counted {
        let log = self.path(&format!("{number}.log"));
        let mut valgrind = valgrind_into(&log);
        valgrind.arg(&self.program);
        let mut arguments = self.arguments(settings, requests);
        arguments
            .extend(["--set".to_owned(), format!("run.state={}", self.path(&format!("{number}.state")).display())]);
        let result: Value = serde_json::from_str(&self.run(valgrind, &arguments)).expect("the result is JSON");
        assert_eq!(result["host"]["completed"], requests, "{settings}: the workload is as long as was asked for");
        let operations = ["reads", "programs", "erases"].map(|kind| result["nand"][kind]["total"].as_u64());
        Counted {
            executed: collected(&log),
            operations: operations.map(|total| total.expect("the array counts its operations")).iter().sum(),
        }
    }
}
