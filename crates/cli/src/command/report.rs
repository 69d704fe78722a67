//! `flashloom report`.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom::report::html::{Document, page};
use flashloom::units::Problem;

use crate::arguments::ReportArguments;
use crate::output::{OutputFile, Stop, keep_apart};

/// Reads a result, and writes its page.
pub fn report(arguments: &ReportArguments) -> Result<(), Stop> {
    let name = &arguments.result;
    keep_apart(&[PathBuf::from(name)], &[Some(&arguments.out)])?;
    let text = fs::read_to_string(name).map_err(|error| {
        let found = if Path::new(name).is_dir() { "this is a directory".to_owned() } else { error.to_string() };
        Problem::file(name, found, "the JSON of a result or a comparison")
    })?;
    let mut document = Document::read(name, &text)?;
    if let Some(number) = arguments.run {
        document = document.only(number.get()).map_err(|refusal| refusal.in_file("--run"))?;
    }
    let file = OutputFile::create(&arguments.out)?;
    let title = Path::new(name).file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
    file.commit(page(&title, &document))
}
