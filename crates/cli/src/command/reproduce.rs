//! `flashloom reproduce`.

use std::fs;
use std::path::Path;

use flashloom::report::plan::{Options, Plan};
use flashloom::report::published::PAPERS;
use flashloom::report::reproduce::Reproduction;
use flashloom::report::row::{Overview, Report, Summary};
use flashloom::report::verdict::Verdict;
use flashloom::report::{csv, markdown};
use flashloom::units::{Problem, visible_path};
use flashloom_files::{RESULT_LIMIT_BYTES, read_input};
use rayon::ThreadPoolBuilder;

use crate::arguments::ReproduceArguments;
use crate::figures::table;
use crate::output::{OutputFile, Stop, print, say};
use crate::progress::Bar;

/// Name that stands for every report.
pub const ALL: &str = "all";

/// Runs the experiments of papers and compares the results with the published figures.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), Stop> {
    if arguments.paper == ALL && !arguments.only.is_empty() {
        let expected = format!("one of {} with --only, because each has its own figures", PAPERS.join(", "));
        return Err(Problem::file("PAPER", format!("`{ALL}`"), expected).into());
    }
    let traces = arguments.traces.as_ref().map(Into::into);
    let options = Options { quick: arguments.quick, traces, only: arguments.only.clone() };
    let chosen = |name: &&str| arguments.paper == ALL || arguments.paper == *name;
    let threads = arguments.jobs.map_or(0, usize::from);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Stop::Failed(format!("error: the threads cannot be started: {error}")))?;
    let plan = pool.install(|| Plan::new(PAPERS.iter().copied().filter(chosen), &options))?;
    let folder = arguments.out.as_deref().map(Folder::create).transpose()?;
    let ready = pool.install(|| plan.prepare())?;
    let bar = Bar::new(ready.total_requests(), ready.runs() as u64);
    let reproductions = pool.install(|| ready.run(&bar));
    bar.clear();
    let reproductions = reproductions?;
    if let Some(folder) = folder {
        folder.write(&reproductions, &command(arguments))?;
    }
    for row in reproductions.iter().flat_map(|made| &made.report.rows).filter(|row| row.lacks_reason()) {
        say(format_args!("warning: {} is not reproduced, and no reason is known", row.id));
    }
    if !arguments.only.is_empty() {
        return print(&reproductions.iter().map(|made| markdown::rows(&made.report)).collect::<String>());
    }
    print(&summary(&reproductions))
}

/// The command line that repeats this run.
fn command(arguments: &ReproduceArguments) -> String {
    let quick = if arguments.quick { " --quick" } else { "" };
    let traces = if arguments.traces.is_some() { " --traces TRACES" } else { "" };
    format!("flashloom reproduce {}{quick}{traces} --out OUT", arguments.paper)
}

/// File name of a folder's overview.
const README: &str = "README.md";

/// The folder of the reports.
struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    /// Creates the folder, before anything runs.
    fn create(name: &'a str) -> Result<Self, Problem> {
        if name.is_empty() {
            return Err(Problem::file("--out", "an empty name", "a folder that can be written to"));
        }
        let folder = Path::new(name);
        let refuse = |found: String| Problem::file(name, found, "a folder that can be written to");
        if folder.exists() && !folder.is_dir() {
            return Err(refuse("this is not a folder".to_owned()));
        }
        let readme = folder.join(README);
        if readme.is_file() && fs::read_to_string(&readme).is_ok_and(|text| !text.starts_with(markdown::OVERVIEW)) {
            let expected = "a folder of reports, or one without a README.md";
            return Err(Problem::file(visible_path(&readme), "this is not an overview of reports", expected));
        }
        let csv = folder.join("csv");
        if csv.is_symlink() {
            return Err(Problem::file(visible_path(&csv), "this is a link", "a folder, or nothing"));
        }
        fs::create_dir_all(csv).map_err(|error| refuse(format!("it cannot be made: {error}")))?;
        Ok(Self(folder))
    }

    /// The overview of a paper whose report lies in the folder.
    fn overview(&self, paper: &str) -> Option<Overview> {
        let text = read_input(&self.0.join(format!("{paper}.json")), RESULT_LIMIT_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, reproductions: &[Reproduction], command: &str) -> Result<(), Stop> {
        for Reproduction { report, runs } in reproductions {
            let paper = &report.paper;
            self.file(&format!("{paper}.json"), &report.to_json())?;
            self.file(&format!("{paper}.md"), &markdown::report(report, command))?;
            self.file(&format!("csv/{paper}.csv"), &csv::report(report))?;
            self.file(&format!("csv/{paper}-runs.csv"), runs)?;
        }
        // Those of earlier runs that lie in the folder are part of it too.
        let made = |paper: &str| reproductions.iter().map(|made| &made.report).find(|report| report.paper == paper);
        let overview = |paper: &&str| made(paper).map(Overview::of).or_else(|| self.overview(paper));
        self.file(README, &markdown::overview(&PAPERS.iter().filter_map(overview).collect::<Vec<_>>()))
    }

    fn file(&self, name: &str, text: &str) -> Result<(), Stop> {
        OutputFile::create(&self.0.join(name).display().to_string())?.commit(text)
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
