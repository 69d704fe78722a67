//! Hashes of the files that a run reads and of the program that runs it.

use std::fs::File;
use std::io;

use flashloom_files::{TEXT_LIMIT_BYTES, read_input};
use flashloom_units::{Problem, Problems};
use flashloom_workload::Fingerprint;
use sha2::{Digest, Sha256};

use crate::load::Load;
use flashloom_config::{Config, Experiment, Variant};
use flashloom_figures::result::{EXPERIMENT, InputResult, ProvenanceResult, RunResult, config_hash};

/// Input files of each run. Recordings were hashed while they were checked; other files are small.
///
/// # Errors
/// A file that existed a moment ago and can no longer be read.
pub fn inputs(experiment: &Experiment, loads: &[Load<'_>]) -> Result<Vec<Vec<InputResult>>, Problems> {
    let of_run = |(variant, load): (&Variant, &Load<'_>)| {
        let mut files = vec![InputResult::of(EXPERIMENT, &experiment.fingerprint())];
        for (config, workload) in variant.config.each().zip(load.each()) {
            let read = match workload.scanned() {
                Some(info) => info.files.clone(),
                None => job_file(experiment, config)?.into_iter().collect(),
            };
            files.extend(read.iter().map(|file| InputResult::of("workload", file)));
        }
        files.extend(experiment.preset_fingerprint(&variant.config).map(|file| InputResult::of("preset", &file)));
        Ok(files)
    };
    let found: Result<Vec<_>, Problem> = experiment.variants.iter().zip(loads).map(of_run).collect();
    Ok(found?)
}

/// The file of a workload that is not a recording.
fn job_file(experiment: &Experiment, config: &Config) -> Result<Option<Fingerprint>, Problem> {
    let reads = config.workload_profile().reads_path;
    let Some(path) = config.workload.path.as_ref().filter(|_| reads) else { return Ok(None) };
    let path = experiment.located(config, "workload.path", path);
    let name = path.to_string_lossy();
    let content = read_input(&path, TEXT_LIMIT_BYTES)
        .map_err(|reason| Problem::file(&*name, reason.to_string(), "the file that was read before"))?;
    Ok(Some(Fingerprint::of(&name, &content)))
}

/// Origin of a result.
pub fn provenance(config: &Config, inputs: &[InputResult], result: &RunResult) -> ProvenanceResult {
    ProvenanceResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: config.catalog().registry().revision.to_owned(),
        config_sha256: config_hash(&result.config.to_json()),
        inputs: inputs.to_vec(),
    }
}

/// SHA-256 of the running program's file, which distinguishes builds.
///
/// # Errors
/// A file that cannot be read, or has been deleted.
pub fn program_sha256() -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(std::env::current_exe()?)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}
