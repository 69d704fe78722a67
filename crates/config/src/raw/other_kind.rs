//! Files that are given as an experiment and are of another kind: the refusal says which, and where they belong.

use std::path::Path;

use flashloom_units::Refusal;
use flashloom_workload::{FioJobFile, Source, TraceOptions, open_trace};
use serde::de::IgnoredAny;

/// Beginnings of files that are no experiments.
const BEGINNINGS: [(&[u8], &str, &str); 8] = [
    (b"PAR1", "a Parquet file", "`flashloom report` makes a page of the data set of a sweep"),
    (b"flashloom-state ", "a saved drive", "it is the value of `run.state`"),
    (b"\x1f\x8b", "compressed by gzip", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it"),
    (b"PK\x03\x04", "a ZIP archive", "unpack it"),
    (b"\xff\xfe", "a text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "a text in UTF-16", "save it as UTF-8"),
    (b"<", "HTML or XML", "an experiment is a text such as `[device]`, `blocks = 64`"),
];

/// Bytes up to which a text is parsed as a job file of fio, which is short.
const LONGEST_JOB: usize = 64 << 10;

/// The refusal of a file that is no TOML, if it is of a kind that is known. A recording is looked for at the path.
pub fn other_kind(path: &str, bytes: &[u8]) -> Option<Refusal> {
    let refuse = |found: &str, help: String| {
        Refusal::new(format!("this is {found}"), "an experiment, a configuration file in TOML").help(help)
    };
    let workload = |kind: &str| {
        format!(
            "an experiment names it: `--set workload.kind={kind} --set workload.path={path}`, or both in [workload]"
        )
    };
    if is_recording(path) {
        return Some(refuse("a recording", workload("trace")));
    }
    if let Some((_, found, help)) = BEGINNINGS.iter().find(|(beginning, ..)| bytes.starts_with(beginning)) {
        return Some(refuse(found, (*help).to_owned()));
    }
    if bytes.contains(&0) {
        return Some(refuse("a binary file of no known kind", "an experiment is a text".to_owned()));
    }
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"{") || text.starts_with(b"[") && serde_json::from_slice::<IgnoredAny>(text).is_ok() {
        let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        return Some(if has("\"fio version\"") {
            let help = format!("`flashloom validate EXPERIMENT.toml --against {path}` holds a drive against it");
            refuse("the JSON of fio", help)
        } else if has("\"flashloom/") {
            refuse("a result in JSON", format!("`flashloom report {path} -o PAGE.html` makes a page of it"))
        } else {
            refuse("JSON", "schema/config.json describes an experiment".to_owned())
        });
    }
    let is_job = bytes.len() <= LONGEST_JOB && FioJobFile::parse(path, bytes).is_ok();
    is_job.then(|| refuse("a job file of fio", workload("fio")))
}

/// True if the first request of a file can be read in any format.
fn is_recording(path: &str) -> bool {
    let first = || open_trace(path, &TraceOptions::default())?.next_request();
    Path::new(path).is_file() && first().is_ok_and(|request| request.is_some())
}
