//! `flashloom validate`.

use std::sync::Arc;

use flashloom::config::{Catalog, Source};
use flashloom::report::text::whole;
use flashloom::study::validate::{Validation, text as text_of};
use flashloom::units::Problem;

use super::{json_text, report_unused};
use crate::arguments::ValidateArguments;
use crate::cache;
use crate::output::{OutputFile, Stop, all, commit, keep_apart, print};
use crate::progress::Bar;

/// Holds the drives of experiments against measurements of real ones.
pub fn validate(catalog: &Arc<Catalog>, arguments: &ValidateArguments) -> Result<(), Stop> {
    let ValidateArguments { experiments, against, set, requests, no_cache, json } = arguments;
    let sources = experiments.iter().map(|path| Source::read(path)).collect::<Result<Vec<_>, Problem>>()?;
    let validation = Validation::load(catalog, &sources, set, against, *requests)?;
    let to_stdout = json.as_deref() == Some("-");
    let file = OutputFile::optional(json.as_deref().filter(|_| !to_stdout))?;
    let ready = validation.prepare()?.with_caches(|| cache::of_user(*no_cache))?;
    keep_apart(&[], &[json.as_deref()])?;
    if against.is_empty() {
        validation.experiments().for_each(report_unused);
    }
    let bar = Bar::new(ready.total_requests(), validation.experiments().count() as u64);
    let result = bar.over(|bar| ready.run(bar))?;
    all([
        commit(file, || json_text(&result)),
        print(&if to_stdout { json_text(&result) } else { whole(&text_of(&result)) }),
    ])
}
