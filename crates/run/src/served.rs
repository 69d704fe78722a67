//! Drives that are served to clients: requests come from outside, so the workload of the experiment is not read, and
//! the block layer is the client's.

use std::path::Path;

use flashloom_device::{Engine, Submitted};
use flashloom_units::{Problem, Problems, Refusal, violation};
use flashloom_workload::Request;

use super::aged::{AgedDrive, check_policies, check_saving, read_all, to_be_saved};
use super::engines::{Aged, Preparation, engine, unaged};
use super::{Cache, Failure, Progress};
use flashloom_config::{Config, Experiment, Timing};

/// Settings of every drive that is served, whatever its experiment says: the clients have block layers of their own,
/// which have throttled and split. With them a run of the drive's log gives its result.
pub const SERVED_HOST: [&str; 4] = ["host.scheduler=noop", "host.merging=false", "host.linux=auto", "host.wbt=off"];

/// Checks that a drive can be served.
///
/// # Errors
/// A drive without time, or a saved drive that does not fit.
pub fn check_served(experiment: &Experiment) -> Result<(), Problems> {
    let config = &experiment.variants[0].config;
    if config.run.timing != Timing::Timed {
        let refusal = Refusal::new("a drive without time, to be served", "`timing` = \"timed\" in [run]");
        return Err(experiment.problem(config, refusal.at(["run.timing"])).into());
    }
    read_all(experiment).map(drop)
}

/// The aged drive that is to be served; `None` if it is not aged, a file of the experiment has it, or a policy of it
/// cannot be saved. [`served_engine`] then needs none.
///
/// # Errors
/// A drive that never became steady.
pub fn aged_to_serve(
    experiment: &Experiment,
    cache: Option<&Cache>,
    progress: &dyn Progress,
) -> Result<Option<AgedDrive>, Failure> {
    let config = &experiment.variants[0].config;
    if check_saving(experiment, config).is_err() {
        return Ok(None);
    }
    let aged = Aged { cache, ..Aged::default() };
    let drive = to_be_saved(Preparation { config, verify: false, aged, progress });
    drive.map(Some).map_err(|failure| pointed(experiment, config, failure))
}

/// The engine of a drive that is to be served, aged as the experiment says, or read from the file of an aged drive.
///
/// # Errors
/// A policy that cannot be built, a file that holds another drive, or a drive that never became steady.
pub fn served_engine(experiment: &Experiment, aged: Option<&Path>) -> Result<Engine, Failure> {
    let config = &experiment.variants[0].config;
    let read = |path: &Path| AgedDrive::read(&path.to_string_lossy(), config);
    let own = aged.map(read).transpose().map_err(|refusal| Failure::Input(experiment.problem(config, refusal)))?;
    let named = read_all(experiment).map_err(|problems| Failure::Input(first(problems)))?;
    engine_over(experiment, own.as_ref().or(named[0].as_deref()))
}

/// The engine of a drive that was served before and switched off.
///
/// # Errors
/// A policy that cannot be built, or a drive whose parts do not agree.
pub fn served_again(experiment: &Experiment, drive: &AgedDrive) -> Result<Engine, Failure> {
    engine_over(experiment, Some(drive))
}

fn engine_over(experiment: &Experiment, drive: Option<&AgedDrive>) -> Result<Engine, Failure> {
    let with = Preparation::quiet(&experiment.variants[0].config);
    let aged = Aged { drive, ..with.aged };
    engine(Preparation { aged, ..with }).map_err(|failure| pointed(experiment, with.config, failure))
}

/// Refuses a drive with a policy whose state cannot be saved.
///
/// # Errors
/// The policy.
pub fn check_kept(experiment: &Experiment) -> Result<(), Problem> {
    check_policies(experiment, &experiment.variants[0].config)
}

/// The drive of which `snapshot` is the state of an engine in the midst of being served, as it is when all that is
/// inside has ended, everything is on flash, and it is switched off.
///
/// # Errors
/// A policy that cannot be built or loaded, or a check that fails.
pub fn switched_off_copy(config: &Config, snapshot: &[u8]) -> Result<AgedDrive, Failure> {
    let check = |error: String| Failure::Check(violation!("{error}"));
    let mut copy = unaged(config)?;
    copy.restore(snapshot).map_err(|error| check(error.to_string()))?;
    // No request of a client has this cookie.
    const FLUSH: u32 = u32::MAX;
    let mut is_flushed = false;
    loop {
        if !is_flushed {
            let now_ns = copy.now_ns();
            let submitted = copy.submit(now_ns, &Request::flush().arriving_at(now_ns), FLUSH);
            is_flushed = submitted.map_err(|misuse| check(misuse.to_string()))? == Submitted::Accepted;
        }
        match copy.next_event_ns() {
            Some(next_ns) if !(is_flushed && copy.is_idle()) => {
                copy.advance_to(next_ns).map_err(|misuse| check(misuse.to_string()))?;
                copy.completions().for_each(drop);
            }
            _ => break,
        }
    }
    AgedDrive::switched_off(config, &mut copy).map_err(check)
}

fn first(Problems(problems): Problems) -> Problem {
    problems.into_iter().next().expect("what cannot be read has a problem")
}

/// Points a failure to build a policy of a configuration at the key that chose it.
pub(super) fn pointed(experiment: &Experiment, config: &Config, failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusal) => Failure::Input(experiment.problem(config, refusal)),
        failure => failure,
    }
}

#[cfg(test)]
mod tests {
    use flashloom_host::BlockLayer;

    use super::*;
    use flashloom_config::{Catalog, Source};

    #[test]
    fn a_drive_that_is_served_neither_throttles_nor_splits_whatever_its_experiment_says() {
        let text = "host.scheduler = \"mq-deadline\"\nhost.linux = \"6.12\"\nhost.wbt = \"on\"\n".to_owned();
        let source = Source { name: "a.toml".to_owned(), text, folder: std::path::PathBuf::new() };
        let sets = SERVED_HOST.map(str::to_owned);
        let experiment = Experiment::from_source(&Catalog::builtin(), source, &sets, None);
        let host = &experiment.unwrap_or_else(|problems| panic!("{problems}")).variants[0].config.host;
        assert!(!host.throttles());
        let setup = BlockLayer::setup(host, 1 << 20);
        let noop = flashloom_host::scheduler::builtin().choose("noop", &[]).unwrap().build(&setup).unwrap();
        assert_eq!(BlockLayer::new(host, noop).most_sectors(), u32::MAX);
    }
}
