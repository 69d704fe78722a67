//! `flashloom report`.

use std::path::{Path, PathBuf};

use flashloom::report::dataset::DataSet;
use flashloom::report::html::{Document, page};

use crate::arguments::ReportArguments;
use crate::output::{OutputFile, Stop, keep_apart};

/// Reads a result or a data set, and writes its page.
pub fn report(arguments: &ReportArguments) -> Result<(), Stop> {
    let name = &arguments.result;
    let mut inputs = vec![PathBuf::from(name)];
    if inputs[0].is_dir() {
        inputs.extend(DataSet::files(Path::new(name))?);
    }
    keep_apart(&inputs, &[Some(&arguments.out)])?;
    let mut document = Document::open(name)?;
    if let Some(number) = arguments.run {
        document = document.only(number.get()).map_err(|refusal| refusal.in_file("--run"))?;
    }
    let file = OutputFile::create(&arguments.out)?;
    let title = Path::new(name).file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
    file.commit(page(&title, &document))
}
