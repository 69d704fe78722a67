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

impl Target {
    /// All targets.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [
            Self::Gz,
            Self::Zst,
            Self::Experiment,
            Self::FioJob,
            Self::FioOutput,
            Self::RateCurve,
            Self::Result,
            Self::DataSet,
            Self::State,
            Self::StateFile,
            Self::Formula,
            Self::FitJournal,
            Self::Kept,
            Self::Image,
            Self::ControlLine,
            Self::HttpHead,
        ];
        FORMATS.iter().map(|spec| Self::Trace(spec.format)).chain(others)
    }

    /// Its name, which is that of its folder in the corpus.
    pub fn name(self) -> String {
        match self {
            Self::Trace(format) => format!("trace-{}", format.name()),
            Self::Gz => "gz".to_owned(),
            Self::Zst => "zst".to_owned(),
            Self::Experiment => "experiment".to_owned(),
            Self::FioJob => "fio-job".to_owned(),
            Self::FioOutput => "fio-output".to_owned(),
            Self::RateCurve => "rate-curve".to_owned(),
            Self::Result => "result".to_owned(),
            Self::DataSet => "data-set".to_owned(),
            Self::State => "state".to_owned(),
            Self::StateFile => "state-file".to_owned(),
            Self::Formula => "formula".to_owned(),
            Self::FitJournal => "fit-journal".to_owned(),
            Self::Kept => "kept".to_owned(),
            Self::Image => "image".to_owned(),
            Self::ControlLine => "control-line".to_owned(),
            Self::HttpHead => "http-head".to_owned(),
        }
    }

    /// Reads bytes as far as they can be read; true if all was read without an error.
    pub fn read(self, bytes: &[u8]) -> bool {
        match self {
            Self::Trace(format) => readers::trace(bytes, Some(format)),
            Self::Gz | Self::Zst => readers::trace(bytes, None),
            Self::Experiment => readers::experiment(bytes),
            Self::FioJob => readers::fio_job(bytes),
            Self::FioOutput => readers::fio_output(bytes),
            Self::RateCurve => readers::rate_curve(bytes),
            Self::Result => readers::result(bytes),
            Self::DataSet => readers::data_set(bytes),
            Self::State => states::read(bytes),
            Self::StateFile => readers::state_file(bytes),
            Self::Formula => readers::formula(bytes),
            Self::FitJournal => readers::fit_journal(bytes),
            Self::Kept => readers::kept(bytes),
            Self::Image => readers::image(bytes),
            Self::ControlLine => flashloom_live::readers::control_line(bytes),
            Self::HttpHead => flashloom_live::readers::http_head(bytes),
        }
    }

    /// Inputs that are read without an error, for the fuzzer to begin with.
    pub fn seeds(self) -> Vec<Vec<u8>> {
        match self {
            Self::Trace(format) => seeds::traces(format),
            Self::Gz => vec![seeds::gz()],
            Self::Zst => vec![seeds::zst()],
            Self::Experiment => seeds::experiments(),
            Self::FioJob => seeds::fio_jobs(),
            Self::FioOutput => seeds::fio_outputs(),
            Self::RateCurve => {
                vec![b"written_bytes,bytes_per_second\n113000000000,4e9\n1000000000000,1500000000\n".to_vec()]
            }
            Self::Result => seeds::results(),
            Self::DataSet => vec![seeds::data_set()],
            Self::State => states::seeds(),
            Self::StateFile => vec![seeds::state_file()],
            Self::Formula => seeds::formulas(),
            Self::FitJournal => vec![seeds::fit_journal()],
            Self::Kept => vec![seeds::kept()],
            Self::Image => seeds::images(),
            Self::ControlLine => seeds::control_lines(),
            Self::HttpHead => seeds::http_heads(),
        }
    }
}
