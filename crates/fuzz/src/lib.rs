//! Entry points of the fuzzers: every reader of files that strangers may have made, as a function of bytes.
//!
//! ```text
//! make fuzz TARGET=state SECONDS=60    a target under libFuzzer (`fuzz/`), from its seeds and what is in fuzz/corpus/
//! cargo test -p flashloom-fuzz         all of them replayed, and states damaged at random
//! ```
//!
//! A target takes any bytes. It fails by a panic, by memory above its bound, or by not returning; what it returns is
//! whether the bytes were read, which a seed must be.

mod readers;
mod seeds;
pub mod states;

use flashloom_workload::{FORMATS, Format};

/// A reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A recording of a format.
    Trace(Format),
    /// A recording compressed as `.gz`, of any format.
    Gz,
    /// A recording compressed as `.zst`, of any format.
    Zst,
    /// An experiment in TOML.
    Experiment,
    /// A job file of fio.
    FioJob,
    /// The JSON that fio writes of its runs.
    FioOutput,
    /// A curve of the rate over the bytes written.
    RateCurve,
    /// The JSON of a result or a comparison, and its page.
    Result,
    /// A Parquet file of a data set.
    DataSet,
    /// What ageing made of a drive, and a run on it: the first byte is the number of one of [`states::setups`].
    State,
    /// The file of a saved drive: the line about its origin and the state, to which the fuzzer's side adds the hash.
    StateFile,
    /// A formula of an expectation, and its value.
    Formula,
    /// The journal of a fit.
    FitJournal,
    /// The kept result of a run, as `compare --out` and `reproduce --out` write it.
    Kept,
    /// An image of a served drive, and clients of it; or what is in one, to which the fuzzer's side adds the hashes.
    Image,
    /// A line of a client of the control socket.
    ControlLine,
    /// What a client of the page of a served drive sends.
    HttpHead,
}

/// Of a target: its name, which is that of its folder in the corpus, the reader, and the seeds.
type Entry = (Target, &'static str, fn(&[u8]) -> bool, fn() -> Vec<Vec<u8>>);

/// All targets but recordings, of which each format is one.
const TARGETS: [Entry; 16] = [
    (Target::Gz, "gz", readers::any_trace, || vec![seeds::gz()]),
    (Target::Zst, "zst", readers::any_trace, || vec![seeds::zst()]),
    (Target::Experiment, "experiment", readers::experiment, seeds::experiments),
    (Target::FioJob, "fio-job", readers::fio_job, seeds::fio_jobs),
    (Target::FioOutput, "fio-output", readers::fio_output, seeds::fio_outputs),
    (Target::RateCurve, "rate-curve", readers::rate_curve, || {
        vec![b"written_bytes,bytes_per_second\n113000000000,4e9\n1000000000000,1500000000\n".to_vec()]
    }),
    (Target::Result, "result", readers::result, seeds::results),
    (Target::DataSet, "data-set", readers::data_set, || vec![seeds::data_set()]),
    (Target::State, "state", states::read, states::seeds),
    (Target::StateFile, "state-file", readers::state_file, || vec![seeds::state_file()]),
    (Target::Formula, "formula", readers::formula, seeds::formulas),
    (Target::FitJournal, "fit-journal", readers::fit_journal, || vec![seeds::fit_journal()]),
    (Target::Kept, "kept", readers::kept, || vec![seeds::kept()]),
    (Target::Image, "image", readers::image, seeds::images),
    (Target::ControlLine, "control-line", flashloom_live::readers::control_line, seeds::control_lines),
    (Target::HttpHead, "http-head", flashloom_live::readers::http_head, seeds::http_heads),
];

impl Target {
    /// All targets.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|spec| Self::Trace(spec.format)).chain(TARGETS.map(|(target, ..)| target))
    }

    fn entry(self) -> Entry {
        *TARGETS.iter().find(|(target, ..)| *target == self).expect("it is in the table")
    }

    /// Its name, which is that of its folder in the corpus.
    pub fn name(self) -> String {
        match self {
            Self::Trace(format) => format!("trace-{}", format.name()),
            other => other.entry().1.to_owned(),
        }
    }

    /// Reads bytes as far as they can be read; true if all was read without an error.
    pub fn read(self, bytes: &[u8]) -> bool {
        match self {
            Self::Trace(format) => readers::trace(bytes, Some(format)),
            other => other.entry().2(bytes),
        }
    }

    /// Inputs that are read without an error, for the fuzzer to begin with.
    pub fn seeds(self) -> Vec<Vec<u8>> {
        match self {
            Self::Trace(format) => seeds::traces(format),
            other => other.entry().3(),
        }
    }
}
