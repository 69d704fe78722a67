//! `flashloom reproduce`.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom::run::Prepared;
use flashloom::study::reproduce::Reproduction;
use flashloom::study::reproduce::plan::{Options, Plan, Ready};
use flashloom::study::reproduce::published::PAPERS;
use flashloom::study::reproduce::row::{Overview, Report, Summary};
use flashloom::study::reproduce::verdict::Verdict;
use flashloom::study::reproduce::{csv, markdown};
use flashloom::units::{Problem, Problems, visible_path};
use flashloom_files::{RESULT_LIMIT_BYTES, read_input};

use super::kept::Kept;
use super::pool;
use crate::arguments::{ALL, ReproduceArguments};
use crate::cache;
use crate::figures::table;
use crate::output::{OutputFile, Stop, all, failed, keep_apart, print, say};
use crate::progress::Bar;

/// Runs the experiments of papers and compares the results with the published figures.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), Stop> {
    if arguments.paper == ALL && !arguments.only.is_empty() {
        let expected = format!("one of {} with --only, because each has its own figures", PAPERS.join(", "));
        return Err(Problem::file("PAPER", format!("`{ALL}`"), expected).into());
    }
    let traces = arguments.traces.as_ref().map(Into::into);
    let options = Options { quick: arguments.quick, traces, only: arguments.only.clone() };
    let chosen = |name: &&str| arguments.paper == ALL || arguments.paper == *name;
    let pool = pool(arguments.jobs)?;
    let papers: Vec<&str> = PAPERS.iter().copied().filter(chosen).collect();
    let plan = pool.install(|| Plan::new(papers.iter().copied(), &options))?;
    let folder = arguments.out.as_deref().map(|out| Folder::create(out, &papers)).transpose()?;
    let ready = pool.install(|| plan.prepare())?.with_caches(|| cache::of_user(arguments.no_cache))?;
    if let Some(folder) = &folder {
        keep_apart(&[], &folder.files.iter().map(|file| Some(file.name())).collect::<Vec<_>>())?;
    }
    let kept = folder.as_ref().map_or(Ok(Vec::new()), |folder| folder.kept(&ready))?;
    let is_to_run =
        |(experiment, variant): &(usize, usize)| kept.get(*experiment).is_none_or(|kept| !kept.has(*variant));
    let to_run: Vec<(usize, usize)> = ready.runs().filter(is_to_run).collect();
    let (runs, had) = (ready.runs().count(), ready.runs().count() - to_run.len());
    if let Some(folder) = folder.as_ref().filter(|_| had > 0) {
        say(format_args!("note: {had} of {runs} results are in {} already", visible_path(&folder.runs())));
    }
    let requests =
        |(experiment, variant): &(usize, usize)| ready.experiments()[*experiment].expected_requests(*variant);
    let bar = Bar::new(to_run.iter().map(requests).sum(), to_run.len() as u64);
    let reproductions = bar.over(|bar| pool.install(|| ready.run(&kept, bar)))?;
    let written = folder.map_or(Ok(()), |folder| folder.write(&reproductions, &command(arguments), kept));
    for row in reproductions.iter().flat_map(|made| &made.report.rows).filter(|row| row.lacks_reason()) {
        say(format_args!("warning: {} is not reproduced, and no reason is known", row.id));
    }
    let text = match arguments.only.is_empty() {
        true => summary(&reproductions),
        false => reproductions.iter().map(|made| markdown::rows(&made.report)).collect(),
    };
    all([written, print(&text)])
}

/// The command line that repeats this run.
fn command(arguments: &ReproduceArguments) -> String {
    let quick = if arguments.quick { " --quick" } else { "" };
    let traces = if arguments.traces.is_some() { " --traces TRACES" } else { "" };
    format!("flashloom reproduce {}{quick}{traces} --out OUT", arguments.paper)
}

/// File name of a folder's overview.
const README: &str = "README.md";

/// Name of the folder with the results of runs, in the folder of reports, until these are written.
const RUNS: &str = "runs";

/// The folder of the reports.
struct Folder<'a> {
    path: &'a Path,
    /// The files of the reports in order, and the overview: opened before anything runs.
    files: Vec<OutputFile>,
}

impl<'a> Folder<'a> {
    /// Creates the folder for the reports of some papers, before anything runs.
    fn create(name: &'a str, papers: &[&str]) -> Result<Self, Problem> {
        if name.is_empty() {
            return Err(Problem::file("--out", "an empty name", "a folder that can be written to"));
        }
        let folder = Path::new(name);
        let refuse = |found: String| Problem::file(name, found, "a folder that can be written to");
        if folder.exists() && !folder.is_dir() {
            return Err(refuse("this is not a folder".to_owned()));
        }
        let readme = folder.join(README);
        let is_overview = |text: Vec<u8>| text.starts_with(markdown::OVERVIEW.as_bytes());
        if readme.is_file() && !fs::read(&readme).is_ok_and(is_overview) {
            let expected = "a folder of reports, or one without a README.md";
            return Err(Problem::file(visible_path(&readme), "this is not an overview of reports", expected));
        }
        for own in ["csv", RUNS].map(|name| folder.join(name)) {
            if own.is_symlink() {
                return Err(Problem::file(visible_path(&own), "this is a link", "a folder, or nothing"));
            }
        }
        fs::create_dir_all(folder.join("csv")).map_err(|error| refuse(format!("it cannot be made: {error}")))?;
        let names = papers.iter().flat_map(|paper| {
            [
                format!("{paper}.json"),
                format!("{paper}.md"),
                format!("csv/{paper}.csv"),
                format!("csv/{paper}-runs.csv"),
            ]
        });
        let names = names.chain([README.to_owned()]);
        let files =
            names.map(|name| OutputFile::create(&folder.join(name).display().to_string())).collect::<Result<_, _>>()?;
        Ok(Self { path: folder, files })
    }

    /// The overview of a paper whose report lies in the folder.
    fn overview(&self, paper: &str) -> Option<Overview> {
        let text = read_input(&self.path.join(format!("{paper}.json")), RESULT_LIMIT_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The folder of the results of runs.
    fn runs(&self) -> PathBuf {
        self.path.join(RUNS)
    }

    /// Opens the results of runs that an earlier reproduction has left, one [`Kept`] an experiment.
    fn kept(&self, ready: &Ready<'_>) -> Result<Vec<Kept>, Problems> {
        let open = |(number, prepared): (usize, &Prepared<'_>)| {
            Kept::open(&self.runs().to_string_lossy(), prepared, false, &|variant| ready.issuer(number, variant))
        };
        ready.experiments().iter().enumerate().map(open).collect()
    }

    /// Writes the reports; then the results of runs, from which they can be made again, are removed.
    fn write(self, reproductions: &[Reproduction], command: &str, kept: Vec<Kept>) -> Result<(), Stop> {
        let texts = |Reproduction { report, runs }: &Reproduction| {
            [report.to_json(), markdown::report(report, command), csv::report(report), runs.clone()]
        };
        // Those of earlier runs that lie in the folder are part of it too.
        let made = |paper: &str| reproductions.iter().map(|made| &made.report).find(|report| report.paper == paper);
        let overview = |paper: &&str| made(paper).map(Overview::of).or_else(|| self.overview(paper));
        let overview = markdown::overview(&PAPERS.iter().filter_map(overview).collect::<Vec<Overview>>());
        let runs = self.runs();
        let texts = reproductions.iter().flat_map(texts).chain([overview]);
        all(self.files.into_iter().zip(texts).map(|(file, text)| file.commit(text)))?;
        let cannot = |error| failed(format_args!("{} cannot be removed: {error}", visible_path(&runs)));
        kept.into_iter().try_for_each(Kept::remove).map_err(cannot)
    }
}

/// Counts the verdicts of each report's rows by drive and kind.
fn summary(reproductions: &[Reproduction]) -> String {
    let verdicts = Verdict::ALL.map(Verdict::name);
    let columns = ["report", "drive", "what", "rows"];
    let header: Vec<&str> = columns.into_iter().chain(verdicts).chain(["by the null too"]).collect();
    let row = |(report, summary): (&Report, &Summary)| {
        let counts = [summary.rows].into_iter().chain(summary.verdicts).chain([summary.null_reproduces]);
        let drive = summary.drive.clone().unwrap_or_default();
        let names = [report.paper.clone(), drive, summary.kind.name().to_owned()];
        names.into_iter().chain(counts.map(|count| count.to_string())).collect()
    };
    let reports = reproductions.iter().map(|made| &made.report);
    let summaries = reports.flat_map(|report| report.summary.iter().map(move |summary| (report, summary)));
    table(&header, 3, summaries.map(row).collect())
}
