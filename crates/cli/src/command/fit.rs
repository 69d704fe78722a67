//! `flashloom fit`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use flashloom::config::Catalog;
use flashloom::report::text::whole;
use flashloom::run::program_sha256;
use flashloom::study::fit::{Fit, FitOptions, JobTime, PAGE, fitted_preset, job_files, start_of, text as text_of};
use flashloom::units::Problem;
use flashloom_files::folder_of;

use super::{json_text, pool};
use crate::arguments::FitArguments;
use crate::figures::count;
use crate::output::{OutputFile, Stop, all, commit, failed, keep_apart, print, say};
use crate::progress::Bar;

/// Writes the fio jobs, with their page, to a folder that is new or empty.
fn write_job_files(folder: &str, time: JobTime) -> Result<(), Stop> {
    let refuse = |found: String| Problem::file(folder, found, "the name of a new folder, or of an empty one");
    let path = Path::new(folder);
    match fs::read_dir(path).map(|mut files| files.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return Err(refuse("there are files in it, of which none is overwritten".to_owned()).into()),
        Err(error) if error.kind() == ErrorKind::NotFound && !folder.is_empty() => {}
        Err(error) => return Err(refuse(format!("it cannot be read: {error}")).into()),
    }
    for (name, text) in job_files(time) {
        let file = path.join(name);
        fs::create_dir_all(folder_of(&file)).map_err(|error| refuse(format!("it cannot be made: {error}")))?;
        OutputFile::create(&file.display().to_string())?.commit(text)?;
    }
    print(&format!("{}: how to run the jobs, and what overwrites a drive\n", path.join(PAGE).display()))
}

/// Fits a drive to measurements of a real one.
pub fn fit(catalog: &Arc<Catalog>, arguments: &FitArguments) -> Result<(), Stop> {
    let FitArguments {
        inputs,
        write_jobs,
        time,
        start,
        output,
        vary,
        set,
        hold_out,
        requests,
        slices,
        restarts,
        seed,
        journal,
        jobs,
        json,
    } = arguments;
    if let Some(folder) = write_jobs {
        return write_job_files(folder, *time);
    }
    let [start, output] = [start, output].map(|given| given.as_deref().expect("an option that is required"));
    let source = start_of(start)?;
    let options = FitOptions {
        inputs,
        start: &source,
        sets: set,
        varies: vary,
        hold_out: *hold_out,
        requests: *requests,
        slices: *slices,
        restarts: *restarts,
        seed: *seed,
    };
    let fit = Fit::load(catalog, &options)?;
    if journal.is_none() && fs::metadata(output).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let found = "this is not a file, so no journal can be kept beside it";
        return Err(Problem::file(output, found, "a file, or `--journal FILE`").into());
    }
    let beside = format!("{output}.journal");
    let kept = journal.as_deref().unwrap_or(&beside);
    keep_apart(&[], &[Some(output), json.as_deref(), Some(kept)])?;
    let to_stdout = json.as_deref() == Some("-");
    let json = OutputFile::optional(json.as_deref().filter(|_| !to_stdout))?;
    let file = OutputFile::create(output)?;
    let pool = pool(*jobs)?;
    let unread = |error| failed(format_args!("this program cannot be read: {error}"));
    let program = program_sha256().map_err(unread)?;
    let opened = fit.open_journal(Path::new(kept), &program)?;
    if opened.taken() > 0 {
        say(format_args!("note: {} simulations are taken from {kept}", count(opened.taken() as u64)));
    }
    let result = Bar::counting().over(|bar| pool.install(|| fit.run(opened, bar)))?;
    let preset = fitted_preset(&result, &fit.fitted(&result)?);
    all([
        file.commit(preset),
        commit(json, || json_text(&result)),
        print(&if to_stdout { json_text(&result) } else { whole(&text_of(&result)) }),
    ])?;
    if journal.is_none() {
        fs::remove_file(&beside).map_err(|error| failed(format_args!("{beside} cannot be removed: {error}")))?;
    }
    Ok(())
}
