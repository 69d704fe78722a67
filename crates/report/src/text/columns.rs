//! Columns of a comparison: the usual ones, and those that its reader names.

use flashloom_config::{Catalog, no_number, numbers, statistics as known_statistics};
use flashloom_figures::core_figure::{CORE_FIGURES, CoreFigure, Place};
use flashloom_figures::number::Format;
use flashloom_figures::result::older::former;
use flashloom_figures::result::{Comparison, field};
use flashloom_units::{Best, PolicySpec, Problem, Problems, Refusal, Shown, SlotSpec, Unit};
use serde_json::Value;

/// A column of the table: one figure per run.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading in the table.
    pub name: String,
    /// Direction in which its values are better.
    pub(super) best: Best,
    /// How its values are written.
    pub(super) format: Format,
    /// Fields of a result that are added up to the figure.
    pub(super) paths: Vec<String>,
    /// True for a column named by `--columns`, which is shown even if no run has the figure.
    pub(super) is_asked: bool,
}

impl Column {
    /// Formats a value of the column.
    pub fn show(&self, value: f64) -> String {
        self.format.text(value)
    }

    /// The figure of a run's result.
    pub fn value(&self, result: &Value) -> Option<f64> {
        self.paths.iter().map(|path| field(result, path)?.as_f64()).sum()
    }
}

impl From<&CoreFigure> for Column {
    fn from(&CoreFigure { path, label, format, best, .. }: &CoreFigure) -> Self {
        Self { name: label.to_owned(), best, format, paths: vec![path.to_owned()], is_asked: false }
    }
}

/// The figure whose last name alone stands for it: ageing has one of that name too.
const WAF: &str = "waf";
const WAF_OF_PAGES: &str = "WAF of pages";

/// Where the fields of bounds are in a result.
const BOUNDS_PATH: &str = "bounds.";

/// The name that stands for all the usual columns.
const ALL_USUAL: &str = "usual";

/// The columns of core figures at a place.
fn core(place: Place) -> impl Iterator<Item = Column> {
    CORE_FIGURES.iter().filter(move |figure| figure.place == Some(place)).map(Column::from)
}

/// The columns of a comparison that varies these keys: those of `names`, or the usual ones without any; then those of
/// bounds, if they are worked out.
///
/// # Errors
/// Every name that is none, that is there twice, that several fields end with, or that needs bounds where there are
/// none. The problems point into the option `--columns`.
pub fn chosen<'a>(
    catalog: &Catalog,
    names: &[String],
    keys: impl Iterator<Item = &'a str> + Clone,
    has_bounds: bool,
) -> Result<Vec<Column>, Problems> {
    let mut columns = if names.is_empty() { usual(catalog, keys) } else { named(catalog, names, keys, has_bounds)? };
    if has_bounds {
        columns.extend(bounds(&columns));
    }
    Ok(columns)
}

/// The usual columns of a comparison that varies these keys.
fn usual<'a>(catalog: &Catalog, mut keys: impl Iterator<Item = &'a str>) -> Vec<Column> {
    let (of_scheduler, of_others): (Vec<_>, Vec<_>) =
        declared(catalog).into_iter().partition(|(slot, _)| *slot == SCHEDULER);
    let of = |columns: Vec<(&'static str, Column)>| columns.into_iter().map(|(_, column)| column);
    let of_buffer = keys.any(|key| key.starts_with("buffer.")).then(|| core(Place::Buffer)).into_iter().flatten();
    core(Place::Host).chain(of(of_scheduler)).chain(of_buffer).chain(of(of_others)).chain(core(Place::Drive)).collect()
}

/// The slot whose columns stand first.
const SCHEDULER: &str = "host.scheduler";

/// The columns that policies declare for the figures that they count, each with the key of its slot.
fn declared(catalog: &Catalog) -> Vec<(&'static str, Column)> {
    let mut columns: Vec<(&'static str, Column)> = Vec::new();
    for (path, slot, _, statistic) in known_statistics(catalog) {
        let Some(Shown { part, column: Some(label), .. }) = statistic.shown else { continue };
        let path = if part.is_empty() { path } else { format!("{path}.{part}") };
        match columns.iter_mut().find(|(_, column)| column.name == label) {
            Some((_, column)) if !column.paths.contains(&path) => column.paths.push(path),
            Some(_) => {}
            None => {
                let column = Column { name: label.to_owned(), is_asked: false, ..of_field(catalog, label, &path) };
                columns.push((slot.key, column));
            }
        }
    }
    columns
}

/// The columns of bounds that are not among those chosen already.
fn bounds(chosen: &[Column]) -> Vec<Column> {
    core(Place::Bounds).filter(|column| chosen.iter().all(|known| known.paths != column.paths)).collect()
}

/// The columns that were asked for by name, in that order.
///
/// # Errors
/// Every name that is none, that is there twice, that several fields end with, or that needs bounds where there are
/// none.
fn named<'a>(
    catalog: &Catalog,
    names: &[String],
    keys: impl Iterator<Item = &'a str> + Clone,
    has_bounds: bool,
) -> Result<Vec<Column>, Problems> {
    let paths = numbers(catalog);
    let text = names.join(",");
    let (mut columns, mut problems, mut start) = (Vec::<Column>::new(), Vec::new(), 0);
    for name in names {
        let before = name.len() - name.trim_start().len();
        let written = name.trim();
        let span = start + before..start + before + written.len();
        start += name.len() + 1;
        let found = match plain(written) {
            all if all == ALL_USUAL => Ok(usual(catalog, keys.clone())),
            _ => resolve(catalog, &paths, written).and_then(|column| worked_out(column, has_bounds)),
        };
        match found {
            Ok(found) => {
                let new = |column: &Column| columns.iter().all(|known| known.paths != column.paths);
                let found: Vec<Column> = found.into_iter().filter(new).collect();
                // One beside the usual ones may be among them.
                if found.is_empty() && names.iter().all(|name| plain(name.trim()) != ALL_USUAL) {
                    let refusal = Refusal::new(format!("`{written}` is named twice"), "each column once");
                    problems.push(Problem::in_text("--columns", &text, span, refusal));
                }
                columns.extend(found);
            }
            Err(refusal) => problems.push(Problem::in_text("--columns", &text, span, refusal)),
        }
    }
    if problems.is_empty() { Ok(columns) } else { Err(Problems(problems)) }
}

/// A column, unless it is of bounds that nobody asked to work out.
fn worked_out(column: Column, has_bounds: bool) -> Result<Vec<Column>, Refusal> {
    if has_bounds || !column.paths.iter().any(|path| path.starts_with(BOUNDS_PATH)) {
        return Ok(vec![column]);
    }
    let found = format!("`{}` is a bound, and none are worked out", column.name);
    Err(Refusal::new(found, "--bounds with a column of bounds"))
}

/// The column of a name: a usual one, or the field whose path is that or ends with it.
fn resolve(catalog: &Catalog, paths: &[String], written: &str) -> Result<Column, Refusal> {
    let wanted = plain(written.strip_prefix("result.").unwrap_or(written));
    let wanted = if wanted == WAF { plain(WAF_OF_PAGES) } else { wanted };
    let core = CORE_FIGURES.iter().filter(|figure| figure.place.is_some()).map(Column::from);
    let by_name: Vec<Column> = core.chain(declared(catalog).into_iter().map(|(_, column)| column)).collect();
    if let Some(column) = by_name.iter().find(|column| plain(&column.name) == wanted) {
        return Ok(Column { is_asked: true, ..column.clone() });
    }
    let mut meant = ending_in(paths.iter(), &wanted);
    // A field of the format keeps its short name beside a figure of a policy.
    let of_policies: Vec<String> = known_statistics(catalog).map(|(path, ..)| path).collect();
    let is_of_format = |path: &&String| !of_policies.iter().any(|object| path.starts_with(object.as_str()));
    if meant.iter().any(is_of_format) {
        meant.retain(is_of_format);
    }
    match meant[..] {
        [path] => Ok(of_field(catalog, written, path)),
        [] => {
            let older: Vec<String> = paths.iter().flat_map(|path| former(path)).collect();
            if let [old, ..] = ending_in(older.iter(), &wanted)[..] {
                return Err(no_number(old, paths));
            }
            let usual = by_name.iter().map(|column| column.name.as_str());
            let endings = paths.iter().flat_map(|path| path.match_indices('.').map(|(at, _)| &path[at + 1..]));
            let found = format!("no figure is called `{written}`");
            let expected = "a column, or a field of a result that is a number, such as `read.p99_9` or `ftl.waf`";
            let valid = usual.chain(paths.iter().map(String::as_str)).chain(endings);
            Err(Refusal::new(found, expected).suggesting(written, valid))
        }
        ref several => {
            let shown: Vec<&str> = several.iter().take(6).map(|path| path.as_str()).collect();
            let more = if several.len() > shown.len() {
                format!(" or {} more", several.len() - shown.len())
            } else {
                "".into()
            };
            let found = format!("`{written}` is the end of {} fields", several.len());
            Err(Refusal::new(found, format!("one of them: {}{more}", shown.join(", "))))
        }
    }
}

/// The paths that a name stands for: the whole path, else those that end with it in whole parts (`write.max`), else
/// those in which it begins within a name (`write max`).
fn ending_in<'a>(paths: impl Iterator<Item = &'a String> + Clone, wanted: &str) -> Vec<&'a String> {
    let whole = |path: &str| plain(path) == wanted;
    let parts = |path: &str| path.match_indices('.').any(|(at, _)| plain(&path[at + 1..]) == wanted);
    let ends = |path: &str| plain(path).strip_suffix(wanted).is_some_and(|before| before.ends_with('_'));
    let matching = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&'a String> {
        paths.clone().filter(|path| !wanted.is_empty() && is_meant(path)).collect()
    };
    let levels: [&dyn Fn(&str) -> bool; 3] = [&whole, &parts, &ends];
    let mut meant = levels.into_iter().map(matching).find(|meant| !meant.is_empty()).unwrap_or_default();
    meant.sort_unstable();
    meant.dedup();
    meant
}

/// A name in a canonical spelling: `read p99.9`, `read-p99_9` and `read.p99_9` are equal.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '.', '-', '/'], "_")
}

/// A column of any numeric field: of a figure of a policy as that describes it, of others by their names, which end in
/// the unit.
pub(super) fn of_field(catalog: &Catalog, written: &str, path: &str) -> Column {
    let last = path.rsplit('.').next().unwrap_or(path);
    let has = |names: &[&str]| names.iter().any(|name| last.contains(name));
    let below = |object: &str| path.strip_prefix(object).filter(|rest| rest.is_empty() || rest.starts_with('.'));
    let of_policy = known_statistics(catalog).find_map(|(object, _, _, one)| below(&object).map(|_| one));
    let is_of = |units: &[Unit]| of_policy.is_some_and(|statistic| units.contains(&statistic.unit));
    let is_time = path.split('.').any(|part| part.ends_with("_ns")) || is_of(&[Unit::Time, Unit::Times]);
    let format = match last {
        "count" => Format::Count,
        _ if has(&["waf"]) => Format::Factor,
        _ if is_time => Format::Time,
        _ if last.ends_with("bytes_per_s") => Format::Rate,
        _ if last.ends_with("bytes") || is_of(&[Unit::Bytes]) => Format::Size,
        _ if last.contains("joules") => Format::Energy,
        _ if last.split('_').any(|word| matches!(word, "ratio" | "share" | "utilization")) => Format::Share,
        _ if is_of(&[Unit::Ratio]) => Format::Factor,
        _ => Format::Count,
    };
    let is_latency = is_time && last != "count";
    let best = match of_policy {
        Some(statistic) => statistic.best,
        None if has(&["iops", "throughput", "per_second", "hit_ratio", "completed"]) => Best::Highest,
        None if is_latency || has(&["waf", "block_erases", "stalled", "joules"]) => Best::Lowest,
        None => Best::Neither,
    };
    Column { name: written.to_owned(), best, format, paths: vec![path.to_owned()], is_asked: true }
}

/// One column per figure that the policies that vary count themselves; distributions are left out, and what is a column
/// anyway.
pub fn statistics(catalog: &Catalog, comparison: &Comparison, keys: &[&str]) -> Vec<Column> {
    let varies = |slot: &SlotSpec| keys.contains(&slot.key);
    let is_chosen = |policy: &PolicySpec| {
        let names = comparison.runs.iter().flat_map(|run| run.vary.values());
        names.filter_map(Value::as_str).any(|name| name == policy.name)
    };
    let mut columns: Vec<Column> = Vec::new();
    for (path, slot, policy, statistic) in known_statistics(catalog) {
        let is_number = !matches!(statistic.unit, Unit::Times | Unit::Histogram);
        let has_column = statistic.shown.is_some_and(|shown| shown.column.is_some());
        // Two policies of a slot may count the same: it is one field of the result.
        let is_new = columns.iter().all(|column| column.name != statistic.name);
        // What is counted for every policy of the slot says little of this one.
        let is_own = policy.statistics.contains(statistic);
        if is_own && is_number && !has_column && is_new && varies(slot) && is_chosen(policy) {
            columns.push(Column { is_asked: false, best: Best::Neither, ..of_field(catalog, statistic.name, &path) });
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Vec<Column>, Problems> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        named(&Catalog::builtin(), &names, ["host.scheduler"].into_iter(), true)
    }

    fn path(name: &str) -> String {
        of(&[name]).unwrap_or_else(|problems| panic!("{problems}")).remove(0).paths.join("+")
    }

    #[test]
    fn a_column_is_named_by_the_last_parts_of_a_field_however_they_are_joined() {
        for name in ["read.p99_9", "read p99.9", "read-p99_9", "host.latency_ns.read.p99_9", "latency_ns.read.p99_9"] {
            assert_eq!(path(name), "host.latency_ns.read.p99_9", "{name}");
        }
        assert_eq!(path("result.host.iops"), "host.iops");
        assert_eq!(path("iops"), "host.iops");
    }

    #[test]
    fn a_field_of_the_format_keeps_its_short_name_beside_a_statistic() {
        assert_eq!(path("read_hits"), "buffer.read_hits");
        assert_eq!(path("full_merges"), "ftl.mapping.full_merges");
        assert_eq!(path("associativity.mean"), "ftl.mapping.associativity.mean");
    }

    #[test]
    fn the_usual_columns_have_their_names() {
        assert_eq!(path("waf"), "ftl.waf");
        assert_eq!(path("Requests/s"), "host.iops");
        assert_eq!(
            path("merges"),
            ["switch", "partial", "full"].map(|kind| format!("ftl.mapping.{kind}_merges")).join("+")
        );
        let columns = of(&["write p99", "usual"]).expect("they are columns");
        assert_eq!(columns[0].name, "write p99");
        let again = columns.iter().filter(|column| column.name == "write p99").count();
        let of_core = CORE_FIGURES.iter().filter(|figure| matches!(figure.place, Some(Place::Host | Place::Drive)));
        assert_eq!((again, columns.len()), (1, of_core.count() + declared(&Catalog::builtin()).len()));
    }

    #[test]
    fn a_name_of_older_results_is_refused_with_that_of_today() {
        for (name, now) in [
            ("ftl.merges.full", "ftl.mapping.full_merges"),
            ("map_cache.hit_ratio", "ftl.mapping.map_hit_ratio"),
            ("statistics.mapping.map_hits", "ftl.mapping.map_hits"),
        ] {
            let refused = of(&[name]).expect_err("it has moved").to_string();
            assert!(refused.contains(&format!("expected `{now}`")), "{refused}");
        }
    }

    #[test]
    fn operations_are_no_ratio() {
        let shown = |name: &str, value: f64| of(&[name]).expect("it is a column")[0].show(value);
        assert_eq!(shown("filebench.operations_per_second", 6100.0), "6,100");
        assert!(shown("filebench.operations", 6100.0).ends_with("100") && shown("die_utilization", 0.5).ends_with('%'));
    }

    #[test]
    fn a_column_of_bounds_needs_bounds() {
        let of = |name: &str, has_bounds| {
            named(&Catalog::builtin(), &[name.to_owned()], ["host.scheduler"].into_iter(), has_bounds)
        };
        for name in ["misses/OPT", "clairvoyant_waf"] {
            assert!(of(name, true).is_ok() && of(name, false).is_err(), "{name}");
        }
        assert_eq!(bounds(&of("misses/OPT", true).expect("it is a column")).len(), core(Place::Bounds).count() - 1);
    }

    #[test]
    fn every_number_of_a_result_is_a_column_by_its_path() {
        for field in numbers(&Catalog::builtin()) {
            assert_eq!(path(&field), field);
        }
    }
}
