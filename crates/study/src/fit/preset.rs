//! The file of a fitted drive: what `device.preset = "./mydrive.toml"` takes, with what is known of the fit in
//! comments.

use flashloom_config::{Config, SECTIONS, toml_value};
use flashloom_figures::number::{factor, percent};
use flashloom_units::{Value, visible_whole_line};

use super::result::{FitResult, FittedCell, FittedParameter, SummaryResult};
use super::text::errors;
use crate::validate::signed;

/// Sections that say what a drive is, and what stands in front of it.
const SECTIONS_OF_DRIVES: [&str; 4] = ["device", "buffer", "ftl", "host"];

/// The file of a fitted drive.
pub fn fitted_preset(result: &FitResult, config: &Config) -> String {
    let mut text = String::new();
    // Names of files and jobs may be a stranger's: a newline in one would begin a line that is no comment.
    let mut line = |line: String| {
        text.push_str(&visible_whole_line(line.trim_end()));
        text.push('\n');
    };
    line(format!("# A drive fitted by flashloom {}: device.preset = \"./THIS-FILE.toml\"", env!("CARGO_PKG_VERSION")));
    line(format!("# Start: {}. Inputs:", result.start_in_words()));
    for cell in &result.cells {
        let held_out = if cell.held_out { " (held out)" } else { "" };
        line(format!("#   {}, {}: {}{held_out}", file_of(cell), job_of(cell), cell.load));
    }
    line(format!(
        "# Objective {} (mean square error in the scales of the quantities), noise {}; at most {} requests a cell.",
        factor(result.objective),
        factor(result.noise),
        result.requests
    ));
    line("#".to_owned());
    line("# mean (greatest) absolute error       fitted cells      cells held out    null".to_owned());
    for one in &result.summary {
        let SummaryResult { operation, quantity, fitted, held_out } = one;
        let null = held_out.or(*fitted).map_or("-".to_owned(), |error| percent(error.null_mean));
        line(format!(
            "#   {:<34} {:<17} {:<17} {null}",
            format!("{operation}s {quantity}"),
            errors(*fitted),
            errors(*held_out)
        ));
    }
    line("# Errors of each cell:".to_owned());
    for cell in &result.cells {
        let errors: Vec<String> =
            cell.errors.iter().map(|one| format!("{} {}", one.quantity, signed(Some(one.error)))).collect();
        line(format!("#   {}, {}: {}", file_of(cell), job_of(cell), errors.join(", ")));
    }
    let undetermined: Vec<&FittedParameter> = result.parameters.iter().filter(|one| !one.is_determined).collect();
    if !undetermined.is_empty() {
        line("# Not determined by these inputs:".to_owned());
        for one in undetermined {
            line(format!("#   {}: {} is as good", one.key, as_good(one)));
        }
    }
    result.warnings.iter().for_each(|warning| line(format!("# Warning: {warning}")));
    let fitted = |path: &str| result.parameters.iter().find(|parameter| parameter.key == path);
    let mut table = String::new();
    for (key, value) in config.values() {
        let path = key.path();
        let section = SECTIONS[key.section()].name;
        let is_written = *value != Value::Absent && (*value != key.param().default || fitted(&path).is_some());
        if path == "device.preset" || !SECTIONS_OF_DRIVES.contains(&section) || !is_written {
            continue;
        }
        let Some(shown) = toml_value(value) else { continue };
        let (of, name) = path.rsplit_once('.').expect("a key is in a table");
        if of != table {
            line(String::new());
            line(format!("[{of}]"));
            table = of.to_owned();
        }
        let comment = match fitted(&path) {
            None => String::new(),
            Some(one) if one.is_determined => format!(" # fitted; {} is as good", as_good(one)),
            Some(one) => format!(" # fitted, not determined; {} is as good", as_good(one)),
        };
        line(format!("{name} = {shown}{comment}"));
    }
    text
}

/// The name of a cell's file without its folder, of which the file of a drive says nothing.
fn file_of(cell: &FittedCell) -> &str {
    cell.input.rsplit('/').next().unwrap_or_default()
}

fn job_of(cell: &FittedCell) -> &str {
    cell.job.as_deref().unwrap_or_default()
}

/// Values that are as good.
fn as_good(one: &FittedParameter) -> String {
    match (&one.as_good[..], one.is_range) {
        ([least, greatest], true) => format!("{least} to {greatest}"),
        (values, _) => values.join(", "),
    }
}
