//! `flashloom report`.

use std::path::Path;

use flashloom::export::html::{Document, page};

use crate::arguments::ReportArguments;
use crate::output::{OutputFile, Stop, keep_apart};

/// Reads a result or a data set, and writes its page.
pub fn report(arguments: &ReportArguments) -> Result<(), Stop> {
    let name = &arguments.result;
    let mut document = Document::open(name)?;
    keep_apart(&[], &[Some(&arguments.out)])?;
    if let Some(number) = arguments.run {
        document = document.only(number.get()).map_err(|refusal| refusal.in_file("--run"))?;
    }
    let file = OutputFile::create(&arguments.out)?;
    let title = Path::new(name).file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
    file.commit(page(&title, &document))
}
