//! `flashloom serve`: a drive as a block device, over NBD.
//!
//! nbdkit speaks the protocol in a process of its own, with a plugin, which holds the drive: `flashloom-nbdkit`, or one
//! with policies of a user's own. This program checks the experiment and the plugin, ages the drive, starts nbdkit,
//! passes on the signal that ends it, and shows the result that the plugin has left.

mod find;
mod place;
mod plugin;
mod said;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flashloom::config::{Catalog, Config, EndOfLife, Experiment, Precondition, Rest};
use flashloom::figures::result::{RunResult, parse};
use flashloom::report::text::{summary, whole};
use flashloom::run::{SERVED_HOST, aged_to_serve, check_kept, check_served};
use flashloom::units::{Problem, SECTOR_BYTES};
use flashloom_files::{Scratch, open_own};
use flashloom_live::{Claim, FAILURE, Failures};

use super::{json_text, lived, report_memory, report_unused_of};
use crate::arguments::{ServeArguments, ServePace};
use crate::cache;
use crate::figures::size;
use crate::output::{OutputFile, Stop, all, commit, failed, keep_apart, print, say};
use crate::progress::Bar;

/// Time between two looks at what nbdkit does.
const LOOK: Duration = Duration::from_millis(10);
/// Looks that nbdkit is given to end by itself. Clients that stay keep it from that.
const PATIENCE: u32 = 100;
/// Fewest threads a connection, whatever the drive takes at once.
const FEWEST_THREADS: u32 = 16;

/// Serves the drive of an experiment until a signal ends it, and prints its result.
pub fn serve(catalog: &Arc<Catalog>, arguments: &ServeArguments) -> Result<(), Stop> {
    check_together(arguments)?;
    let sets = arguments.set.iter().map(String::as_str).chain(SERVED_HOST);
    let sets: Vec<String> = sets.map(str::to_owned).collect();
    let experiment = Experiment::load_run(catalog, &arguments.experiment, &sets)?;
    check_served(&experiment)?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let sockets: Vec<&Path> =
        [&arguments.unix, &arguments.control].into_iter().flatten().map(PathBuf::as_path).collect();
    let names: Vec<String> = sockets.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let outputs = [&arguments.json, &arguments.log, &arguments.image].into_iter().map(Option::as_deref);
    keep_apart(&experiment.inputs(), &outputs.chain(names.iter().map(|name| Some(&**name))).collect::<Vec<_>>())?;
    sockets.iter().try_for_each(|path| place::check_socket(path))?;
    let child: Serving = Arc::default();
    let _left = Left(&child);
    pass_signals_on(&child);
    let has_image = claim_image(&child, &experiment, arguments)?;
    arguments.tcp.map_or(Ok(()), |address| place::check_port("--tcp", address))?;
    arguments.web.map_or(Ok(()), |address| place::check_page(address, arguments.tcp))?;
    let (nbdkit, plugin) = (find::nbdkit()?, find::plugin()?);
    let found = nbdkit.as_deref().zip(plugin.as_deref());
    plugin::check(catalog, found, |shared| Experiment::load_run(shared, &arguments.experiment, &sets))?;
    let (nbdkit, plugin) = (nbdkit.ok_or_else(find::no_nbdkit)?, plugin.ok_or_else(find::no_plugin)?);
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    // The plugin writes it; that this is not possible is to be said now.
    drop(OutputFile::optional(arguments.log.as_deref())?);
    report_unused_of(&experiment, &["device.", "buffer.", "ftl."]);
    let config = &experiment.variants[0].config;
    let threads = arguments.threads.unwrap_or_else(|| config.host.queue_depth.max(FEWEST_THREADS));
    warn(arguments, &nbdkit, threads);
    let data_bytes = config.device.geometry().raw_bytes();
    report_memory(data_bytes.min(arguments.memory));

    let scratch = Scratch::create("flashloom-serve-");
    let scratch = scratch.map_err(|error| failed(format!("a folder for the drive: {error}")))?;
    let folder = scratch.path().to_owned();
    lock(&child).folder = Some(scratch);
    let goes_on = has_image && !arguments.age_anew;
    let aged = if goes_on { None } else { age(&experiment, arguments, &folder)? };
    let (pid, result) = (folder.join("pid"), folder.join("result"));
    let (place, uri) = place(arguments);
    let mut command = Command::new(nbdkit);
    command.args(["--foreground", "--exit-with-parent", "--newstyle", "--threads"]);
    command.arg(threads.to_string()).arg("--pidfile").arg(&pid).args(place).arg(plugin);
    command.args(options(arguments)).args(aged.map(|aged| named("aged", &aged)));
    command.arg(named("result", &result)).arg("lifeline=true");
    let capacity = size((config.device.capacity_sectors() * SECTOR_BYTES) as f64);
    let mut sockets: Vec<place::Socket> = sockets.into_iter().map(place::Socket::new).collect();
    let status = run_nbdkit(command, &child, &result, || {
        // nbdkit writes its number when it listens, and the plugin comes after it.
        let is_ready = pid.exists() && sockets.iter_mut().all(place::Socket::note);
        let is_ready = is_ready && arguments.web.is_none_or(|address| TcpStream::connect(address).is_ok());
        if is_ready {
            let page = arguments.web.map_or(String::new(), |address| format!(", shown at http://{address}/"));
            say(format_args!("serving {capacity} at {uri}{page}; Ctrl-C ends it"));
        }
        is_ready
    });
    // Both leave their sockets behind.
    sockets.iter().for_each(place::Socket::remove);
    tell_end(catalog, arguments, &experiment, (status?, &result), has_image, json)
}

/// Prints the result that the plugin has left, and writes it.
fn tell_end(
    catalog: &Catalog,
    arguments: &ServeArguments,
    experiment: &Experiment,
    (status, result): (ExitStatus, &Path),
    has_image: bool,
    json: Option<OutputFile>,
) -> Result<(), Stop> {
    let failures = failures_beside(result);
    if let Some(problems) = failures.inputs {
        return Err(Stop::Refused(problems));
    }
    let Some(mut result) = left(result).and_then(|text| parse::<RunResult>(&text).ok()) else {
        let without = || format!("nbdkit has ended without a result ({status}); what it says is above");
        return Err(failed(failures.result.unwrap_or_else(without)));
    };
    if arguments.no_hints {
        result.hints.clear();
    }
    if let Some(log) = arguments.log.as_ref().filter(|_| failures.log.is_none()) {
        let begins = match (has_image, arguments.age_anew) {
            (false, _) => "",
            (true, false) => ", on a drive as its image was before",
            (true, true) => ", on a drive with the data of the image before",
        };
        let replay = replay(arguments, &experiment.variants[0].config, &result, log);
        say(format_args!("note: to replay what was served{begins}: {replay}"));
    }
    // Each step is taken even if another fails: the terminal may be gone.
    let to_stdout = arguments.json.as_deref() == Some("-");
    all([
        print(&if to_stdout { json_text(&result) } else { whole(&summary(catalog, &result)) }),
        commit(json, || json_text(&result)),
        failures.outcome().map_err(failed),
    ])?;
    lived(experiment, &result)
}

/// Says what a user of these options should know.
fn warn(arguments: &ServeArguments, nbdkit: &Path, threads: u32) {
    if let Some(address) = arguments.tcp.filter(|address| !address.ip().is_loopback()) {
        say(format_args!(
            "note: programs that reach {address} may read and write the drive; 127.0.0.1 is for this machine"
        ));
    }
    if threads > 1 && find::ends_with_its_clients(nbdkit) {
        say(format_args!(
            "note: this nbdkit ends, and the drive with it, when a client is killed while several of its requests are \
             inside; nbdkit 1.34 does not, nor does this one with --threads 1"
        ));
    }
}

/// Where nbdkit listens, as its options, and the address of the drive there.
fn place(arguments: &ServeArguments) -> (Vec<OsString>, String) {
    match (&arguments.unix, arguments.tcp) {
        (Some(path), _) => (vec!["--unix".into(), path.into()], place::uri(path)),
        (None, Some(address)) => {
            let [ip, port] = [address.ip().to_string(), address.port().to_string()].map(OsString::from);
            (vec!["--ipaddr".into(), ip, "--port".into(), port], format!("nbd://{address}"))
        }
        (None, None) => unreachable!("the command line asks for one of them"),
    }
}

/// Refuses options that do not go together.
fn check_together(arguments: &ServeArguments) -> Result<(), Problem> {
    if arguments.speed.is_some() && arguments.pace != ServePace::Real {
        return Err(Problem::file("--speed", "a factor between the clocks at `--pace fast`", "`--pace real`"));
    }
    if arguments.gather && arguments.pace != ServePace::Fast {
        return Err(Problem::file("--gather", "requests that are gathered at `--pace real`", "`--pace fast`"));
    }
    match arguments.log.as_deref() {
        Some(log) if !log.ends_with(".csv") => {
            Err(Problem::file(log, "a name with another ending", "one that ends in .csv"))
        }
        // A pipe would wait for its reader before anything is served.
        Some(log) if fs::metadata(log).is_ok_and(|found| !found.is_file()) => {
            Err(Problem::file(log, "something that is no file", "a name of a file, which is replaced at the end"))
        }
        _ => Ok(()),
    }
}

/// Locks the name of the image until nbdkit takes the lock over. True if the file holds an image to continue from.
///
/// # Errors
/// An image of another drive or one that another server has, or a drive that cannot be kept.
fn claim_image(serving: &Serving, experiment: &Experiment, arguments: &ServeArguments) -> Result<bool, Stop> {
    let Some(image) = &arguments.image else { return Ok(false) };
    check_kept(experiment)?;
    let claim = Claim::take(Path::new(image))?;
    let found = match arguments.age_anew {
        true => claim.pages().map(|_| true),
        false => claim.image(&experiment.variants[0].config).map(|found| found.is_some()),
    };
    lock(serving).claim = Some(claim);
    Ok(found?)
}

/// Ages the drive and puts it into a file of the folder, for the plugin. `None` if that is not possible: then the
/// plugin makes the drive itself.
fn age(experiment: &Experiment, arguments: &ServeArguments, folder: &Path) -> Result<Option<PathBuf>, Stop> {
    let cache = cache::of_user(arguments.no_cache)?;
    let drive = Bar::counting().over(|bar| aged_to_serve(experiment, cache.as_ref(), bar))?;
    let Some(drive) = drive else { return Ok(None) };
    let path = folder.join("aged");
    let file = drive.to_file().map_err(|error| failed(format!("the drive cannot be passed on: {error}")))?;
    fs::write(&path, file).map_err(|error| failed(format!("{} cannot be written: {error}", path.display())))?;
    Ok(Some(path))
}

/// Reads a file that the plugin wrote. `None` if the file or its folder is missing or belongs to another user.
fn left(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    open_own(path).and_then(|mut file| file.read_to_end(&mut text)).ok().map(|_| text)
}

/// What the plugin says has failed, beside a result.
fn failures_beside(result: &Path) -> Failures {
    left(&result.with_extension(FAILURE)).and_then(|text| parse(&text).ok()).unwrap_or_default()
}

/// The options of the plugin.
fn options(arguments: &ServeArguments) -> Vec<String> {
    let mut options = vec![named("experiment", Path::new(&arguments.experiment))];
    options.extend(arguments.set.iter().map(|set| format!("set={set}")));
    options.push(format!("pace={}", arguments.pace.name()));
    options.extend(arguments.speed.map(|speed| format!("speed={speed}")));
    options.extend(arguments.gather.then(|| "gather=true".to_owned()));
    options.push(format!("memory={}B", arguments.memory));
    options.extend(arguments.log.as_ref().map(|log| named("log", Path::new(log))));
    options.extend(arguments.image.as_ref().map(|image| named("image", Path::new(image))));
    options.extend(arguments.age_anew.then(|| "age-anew=true".to_owned()));
    options.extend(arguments.control.as_ref().map(|path| named("control", path)));
    options.extend(arguments.web.map(|address| format!("web={address}")));
    options
}

/// An option with a path that is right in any folder.
fn named(option: &str, path: &Path) -> String {
    format!("{option}={}", std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display())
}

/// The command that replays a log.
fn replay(arguments: &ServeArguments, config: &Config, result: &RunResult, log: &str) -> String {
    // Whether a steady drive has rested may depend on its workload, and the replay has another one.
    let is_open = config.run.precondition == Precondition::Steady && config.run.rest == Rest::Open;
    let rest = is_open.then_some(if config.rests() { "run.rest=always" } else { "run.rest=never" });
    let is_cut = result.end_of_life.is_some() && config.run.end_of_life == EndOfLife::Stop;
    let goes_on = is_cut.then_some("run.end_of_life=read-only");
    let given = arguments.set.iter().map(String::as_str).filter(|set| !is_cut || !set.starts_with("run.end_of_life="));
    let given = given.filter(|set| !is_open || !set.starts_with("run.rest=")).chain(rest).chain(goes_on);
    let trace = format!("workload.path={}", std::path::absolute(log).unwrap_or_default().display());
    let own = ["workload.kind=trace", "workload.replay=timestamps", &trace];
    let sets = given.chain(own).chain(SERVED_HOST).map(|set| format!(" --set {}", quoted(set)));
    format!("flashloom run {}{}", quoted(&arguments.experiment), sets.collect::<String>())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+%@".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// nbdkit, while it runs.
type Serving = Arc<Mutex<Nbdkit>>;

#[derive(Default)]
struct Nbdkit {
    /// Number of its process.
    process: Option<u32>,
    /// Whether a signal has asked for its end.
    is_asked: bool,
    /// Removed at the end of a service: the folder for the result, and the claim on the image.
    folder: Option<Scratch>,
    claim: Option<Claim>,
}

/// Removes the folder and the claim of [`Nbdkit`] at the end of a service.
struct Left<'a>(&'a Serving);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        lock(self.0).leave();
    }
}

impl Nbdkit {
    fn leave(&mut self) {
        drop((self.folder.take(), self.claim.take()));
    }
}

fn lock(serving: &Serving) -> MutexGuard<'_, Nbdkit> {
    serving.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the signals that end this program end nbdkit instead, once that runs.
fn pass_signals_on(serving: &Serving) {
    #[cfg(unix)]
    {
        let serving = Arc::clone(serving);
        crate::signals::on_end(move || {
            let mut nbdkit = lock(&serving);
            nbdkit.is_asked = true;
            let process = nbdkit.process.and_then(|id| rustix::process::Pid::from_raw(id as i32));
            if process.is_none() {
                nbdkit.leave();
            }
            process.is_some_and(|id| rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok())
        });
    }
    #[cfg(not(unix))]
    let _ = serving;
}

/// Runs nbdkit to its end, and calls `is_ready` until it returns true. What it says goes to standard error, made
/// visible: some of it comes from clients.
fn run_nbdkit(
    mut command: Command,
    serving: &Serving,
    result: &Path,
    is_ready: impl FnMut() -> bool,
) -> Result<ExitStatus, Stop> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // A signal finds either no process or its number.
    let mut nbdkit = lock(serving);
    nbdkit.claim.iter_mut().for_each(Claim::release);
    let mut child = command.spawn().map_err(|error| failed(format!("nbdkit cannot be started: {error}")))?;
    nbdkit.process = Some(child.id());
    drop(nbdkit);
    let said = child.stderr.take();
    let teller = thread::spawn(move || said.into_iter().for_each(|said| said::pass_on(said, |line| say(line))));
    let status = wait(&mut child, serving, result, is_ready).map_err(|error| failed(format!("nbdkit: {error}")));
    // From here on the number may be another process's.
    lock(serving).process = None;
    let _ = teller.join();
    status
}

/// Waits for the end of nbdkit. If it was asked to end and clients stay, the plugin ends the session when its standard
/// input ends, and nbdkit is ended when the result is there. A client of the control socket ends the session likewise.
fn wait(
    child: &mut Child,
    serving: &Serving,
    result: &Path,
    mut is_ready: impl FnMut() -> bool,
) -> io::Result<ExitStatus> {
    // Waiting for a process closes its input, which is not to end yet.
    let (mut lifeline, mut was_ready, mut patience) = (child.stdin.take(), false, PATIENCE);
    // If there is no result, the failure file says so, or is empty; other failures are written before the result.
    let is_empty = || fs::metadata(result.with_extension(FAILURE)).is_ok_and(|file| file.len() == 0);
    let has_ended = || result.exists() || is_empty() || failures_beside(result).result.is_some();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        was_ready = was_ready || is_ready();
        if lock(serving).is_asked || has_ended() {
            patience = patience.saturating_sub(1);
        }
        if patience == 0 {
            lifeline.take();
            if has_ended() {
                child.kill()?;
                return child.wait();
            }
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted("ftl.mapping=fast"), "ftl.mapping=fast");
        for word in ["a b", "", "it's", "$(x);`y`", "\"\\", "é"] {
            let output = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(output.expect("there is a shell").stdout, word.as_bytes());
        }
    }
}
