//! A server for a test, and the programs that use it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::control::ask;

/// A drive of 48 MiB that has collections to do soon.
pub const DRIVE: &str = "
[workload]
kind = \"synthetic\"

[device]
channels = 2
ways = 2
dies = 1
planes = 1
blocks = 64
pages = 64
page_size = \"4KiB\"
over_provisioning = 0.33

[buffer]
capacity = \"1MiB\"

[run]
precondition = \"fill\"
";

/// A server that runs, in a folder of its own.
pub struct Service {
    pub folder: TempDir,
    child: Child,
    /// What it says on standard error until it listens, and after that.
    pub before: String,
    said: Option<JoinHandle<String>>,
}

/// How a server has ended.
pub struct Ended {
    pub code: Option<i32>,
    /// Null without one.
    pub result: Value,
    pub said: String,
    /// Names of the files in its folder.
    pub left: Vec<String>,
}

/// Seconds after which a client has hung, also one that verifies 10 GiB.
const CLIENT_HUNG: &str = "1200";
/// Looks, a hundredth of a second apart, after which a server has hung that was asked to end.
const SERVER_HUNG: u32 = 6_000;

/// State and parent of a process.
fn stat(number: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The process that another one has started.
pub fn child_of(parent: u32) -> u32 {
    let processes = fs::read_dir("/proc").expect("Linux").flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |&number: &u32| stat(number).is_some_and(|(_, of)| of == parent);
    numbers.find(is_child).expect("it runs")
}

/// Whether a process has ended, after a moment.
pub fn has_ended(number: u32) -> bool {
    thread::sleep(Duration::from_millis(10));
    stat(number).is_none_or(|(state, _)| state == 'Z')
}

/// Runs the program to its end.
pub fn flashloom(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
    command.env("FLASHLOOM_CACHE", "").args(arguments).output().expect("the program can be started")
}

/// Asserts that the program refuses its input for a reason with these words.
pub fn refused(arguments: &[&str], words: &str) {
    let output = flashloom(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?}: {said}");
}

/// The number that a value is.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Waits until something is so, and looks this often, a hundredth of a second apart; false if it is not by then.
pub fn comes(looks: u32, mut is_so: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        thread::sleep(Duration::from_millis(10));
        is_so()
    })
}

/// Sends a signal to a process.
pub fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).status();
    assert!(sent.expect("there is kill").success(), "{signal} to {process}");
}

/// Names of the files in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A folder with the experiment of [`DRIVE`].
pub struct Place(pub TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("there is room"));
        place.write("drive.toml", DRIVE);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// [`Self::path`] as an argument.
    pub fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("there is room");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Service {
    /// Serves the drive on a Unix socket, with these arguments.
    pub fn begin(arguments: &[&str]) -> Self {
        Self::begin_with(tempfile::tempdir().expect("there is room"), arguments, &[])
    }

    /// [`Self::begin`] in a folder, with variables of the environment.
    pub fn begin_with(folder: TempDir, arguments: &[&str], variables: &[(&str, &Path)]) -> Self {
        let socket = folder.path().join("socket").display().to_string();
        Self::start(folder, &["--unix", &socket], arguments, variables)
    }

    pub fn begin_in(folder: TempDir, place: &[&str], arguments: &[&str]) -> Self {
        Self::start(folder, place, arguments, &[])
    }

    fn start(folder: TempDir, place: &[&str], arguments: &[&str], variables: &[(&str, &Path)]) -> Self {
        let experiment = folder.path().join("drive.toml");
        fs::write(&experiment, DRIVE).expect("there is room");
        // A shell turns INT off for what its scripts run in the background, `nohup` HUP, and the program leaves it so.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_flashloom"), "serve", "drive.toml"]);
        command.env("FLASHLOOM_CACHE", "").current_dir(folder.path()).args(["--json", "result.json"]);
        command.envs(variables.iter().copied());
        command.args(place).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let mut before = String::new();
        while !before.contains("; Ctrl-C ends it") {
            let read = lines.read_line(&mut before).expect("text");
            assert!(read > 0, "it does not serve: {before}");
        }
        let said = thread::spawn(move || {
            let mut said = String::new();
            lines.read_to_string(&mut said).expect("text");
            said
        });
        Self { folder, child, before, said: Some(said) }
    }

    /// The number of the program's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The number of its nbdkit's.
    pub fn nbdkit(&self) -> u32 {
        child_of(self.child.id())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.path("socket").display())
    }

    /// Runs a client to its end; it must succeed. Returns what it prints.
    pub fn client(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.attempt(program, arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {text}\n{said}");
        text
    }

    pub fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        let command = command.args([CLIENT_HUNG, program]).args(arguments).current_dir(self.folder.path()).output();
        command.unwrap_or_else(|error| panic!("{program}: {error}"))
    }

    /// Runs a script of libnbd's Python module, connected as `h`.
    pub fn script(&self, script: &str) -> String {
        let connected = format!("import nbd\nh = nbd.NBD()\nh.connect_uri({:?})\n{script}", self.uri());
        self.client("/usr/bin/python3", &["-c", &connected])
    }

    /// Asks the server to end by a signal, and waits for it.
    pub fn end(mut self, signal: &str) -> Ended {
        self.stop(signal)
    }

    /// Asks the server to end, which it does without an error. Returns its result.
    pub fn finish(self) -> Value {
        self.end("TERM").sound().result
    }

    /// Starts fio on this drive, with a job in words.
    pub fn fio(&self, job: &str) -> Child {
        let mut command = Command::new("fio");
        command.args(job.split_whitespace()).arg(format!("--uri={}", self.uri()));
        command.current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("fio")
    }

    /// What the drive does and has done.
    pub fn status(&self) -> Value {
        ask(self, r#"{"do": "status"}"#)["status"].take()
    }

    /// [`Self::end`], with a look at the server's folder before that goes.
    pub fn end_with(mut self, signal: &str, look: impl FnOnce(&Path)) -> Ended {
        let ended = self.stop(signal);
        look(self.folder.path());
        ended
    }

    /// Waits for a server that ends by itself.
    pub fn wait(mut self) -> Ended {
        self.see_end()
    }

    fn stop(&mut self, signal: &str) -> Ended {
        send(signal, self.child.id());
        self.see_end()
    }

    fn see_end(&mut self) -> Ended {
        let mut status = None;
        comes(SERVER_HUNG, || {
            status = self.child.try_wait().expect("it is a child");
            status.is_some()
        });
        let status = status.expect("it ends");
        let said = self.said.take().expect("it was not taken").join().expect("text");
        let json = fs::read(self.path("result.json")).ok();
        let result = json.map_or(Value::Null, |json| serde_json::from_slice(&json).expect("JSON"));
        Ended { code: status.code(), result, said, left: names(self.folder.path()) }
    }

    /// [`Self::end`] without an error, and the text of a file of the server's folder.
    pub fn finish_with(mut self, file: &str) -> (Ended, String) {
        let ended = self.stop("TERM").sound();
        let text = fs::read_to_string(self.path(file)).expect("it was written");
        (ended, text)
    }
}

impl Ended {
    /// Asserts that the server has ended without an error.
    pub fn sound(self) -> Self {
        assert!(self.code == Some(0) && self.result.is_object(), "{:?}: {}", self.code, self.said);
        self
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Its nbdkit ends with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
