//! Columns of a comparison: the usual ones, and those that its reader names.

use flashloom_config::{Catalog, numbers, statistics as known_statistics};
use flashloom_figures::number::{count, energy, factor, percent, rate, size, time};
use flashloom_figures::result::Comparison;
use flashloom_units::{PolicySpec, Problem, Problems, Refusal, SlotSpec, Statistic, Unit};
use serde_json::Value;

/// Direction in which the values of a column are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Best {
    /// Higher is better.
    Highest,
    /// Lower is better.
    Lowest,
    /// Neither is better in itself.
    Neither,
}

/// A column of the table: one figure per run.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading in the table.
    pub name: String,
    /// Direction in which its values are better.
    pub(super) best: Best,
    /// Formats a value.
    show: fn(f64) -> String,
    /// Fields of a result that are added up to the figure.
    paths: Vec<String>,
    /// True for a column named by `--columns`, which is shown even if no run has the figure.
    pub(super) is_asked: bool,
}

impl Column {
    /// A usual column: the sum of some fields.
    pub(super) fn of_sum(name: &str, best: Best, show: fn(f64) -> String, paths: &[&str]) -> Self {
        let paths = paths.iter().map(|&path| path.to_owned()).collect();
        Self { name: name.to_owned(), best, show, paths, is_asked: false }
    }

    /// Formats a value of the column.
    pub fn show(&self, value: f64) -> String {
        (self.show)(value)
    }

    /// Fields of a result that are added up to the figure.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The figure of a run's result.
    pub fn value(&self, result: &Value) -> Option<f64> {
        let field =
            |path: &String| path.split('.').try_fold(result, |value, part| value.get(part)).and_then(Value::as_f64);
        self.paths.iter().map(field).sum()
    }
}

/// A usual column. One that belongs to a section is shown only if a key of that section varies.
struct Usual {
    name: &'static str,
    section: Option<&'static str>,
    best: Best,
    show: fn(f64) -> String,
    paths: &'static [&'static str],
}

const fn of_all(name: &'static str, best: Best, show: fn(f64) -> String, paths: &'static [&'static str]) -> Usual {
    Usual { name, section: None, best, show, paths }
}

const MERGES: &[&str] = &["ftl.merges.switch", "ftl.merges.partial", "ftl.merges.full"];

/// The column of `ftl.waf`, which that field's last name alone stands for too: ageing has one of that name.
const WAF_OF_PAGES: &str = "WAF of pages";
const WAF: &str = "waf";

const USUAL: &[Usual] = &[
    of_all("operations/s", Best::Highest, factor, &["filebench.operations_per_second"]),
    of_all("requests/s", Best::Highest, factor, &["host.iops"]),
    of_all("throughput", Best::Highest, rate, &["host.throughput_bytes_per_s"]),
    of_all("read p50", Best::Lowest, time, &["host.latency_ns.read.p50"]),
    of_all("read p99", Best::Lowest, time, &["host.latency_ns.read.p99"]),
    of_all("write p50", Best::Lowest, time, &["host.latency_ns.write.p50"]),
    of_all("write p99", Best::Lowest, time, &["host.latency_ns.write.p99"]),
    of_all("max wait", Best::Lowest, time, &["scheduler.max_wait_ns"]),
    of_all("merged", Best::Neither, whole, &["scheduler.merged"]),
    Usual { section: Some("buffer."), ..of_all("buffer hits", Best::Highest, percent, &["buffer.hit_ratio"]) },
    of_all("map hits", Best::Highest, percent, &["ftl.map_cache.hit_ratio"]),
    of_all("merges", Best::Lowest, whole, MERGES),
    of_all("largest k", Best::Lowest, whole, &["ftl.associativity.max"]),
    of_all("longest merge", Best::Lowest, time, &["ftl.blocking_ns.max"]),
    of_all("WAF in bytes", Best::Lowest, factor, &["ftl.waf_bytes"]),
    of_all(WAF_OF_PAGES, Best::Lowest, factor, &["ftl.waf"]),
    of_all("erases", Best::Lowest, whole, &["ftl.block_erases"]),
    of_all("energy/GB", Best::Lowest, energy, &["nand.energy.joules_per_gb"]),
    of_all("life in pages", Best::Highest, whole, &["end_of_life.host_page_writes"]),
];

/// The columns that `--bounds` adds.
const BOUNDS: &[Usual] = &[
    of_all("misses/OPT", Best::Lowest, factor, &["bounds.buffer.misses_over_fewest"]),
    of_all("erases/fewest", Best::Lowest, factor, &["bounds.ftl.erases_over_fewest"]),
    of_all("clairvoyant WAF", Best::Neither, factor, &["bounds.ftl.clairvoyant_waf"]),
    of_all("duration/best", Best::Lowest, factor, &["bounds.scheduler.duration_over_shortest"]),
    of_all("latency/best", Best::Lowest, factor, &["bounds.scheduler.mean_latency_over_least"]),
];

/// Where the fields of bounds are in a result.
const BOUNDS_PATH: &str = "bounds.";

/// Where the statistics of policies are in a result.
const STATISTICS: &str = "statistics";

/// The name that stands for all the usual columns.
const ALL_USUAL: &str = "usual";

impl Usual {
    fn column(&self, is_asked: bool) -> Column {
        Column { is_asked, ..Column::of_sum(self.name, self.best, self.show, self.paths) }
    }
}

fn whole(value: f64) -> String {
    // A mean over seeds need not be whole.
    if value.fract() == 0.0 { count(value as u64) } else { factor(value) }
}

/// The columns of a comparison that varies these keys: those of `names`, or the usual ones without any; then those of
/// bounds, if they are worked out.
///
/// # Errors
/// Every name that is none, that several fields end with, or that needs bounds where there are none. The problems point
/// into the option `--columns`.
pub fn chosen<'a>(
    catalog: &Catalog,
    names: &[String],
    keys: impl Iterator<Item = &'a str> + Clone,
    has_bounds: bool,
) -> Result<Vec<Column>, Problems> {
    let mut columns = if names.is_empty() { usual(keys) } else { named(catalog, names, keys, has_bounds)? };
    if has_bounds {
        columns.extend(bounds(&columns));
    }
    Ok(columns)
}

/// The usual columns of a comparison that varies these keys.
pub fn usual<'a>(keys: impl Iterator<Item = &'a str> + Clone) -> Vec<Column> {
    let is_on = |column: &&Usual| column.section.is_none_or(|section| keys.clone().any(|key| key.starts_with(section)));
    USUAL.iter().filter(is_on).map(|column| column.column(false)).collect()
}

/// The columns of bounds that are not among those chosen already.
fn bounds(chosen: &[Column]) -> Vec<Column> {
    let columns = BOUNDS.iter().map(|column| column.column(false));
    columns.filter(|column| chosen.iter().all(|known| known.paths != column.paths)).collect()
}

/// The columns that were asked for by name, in that order, each once.
///
/// # Errors
/// Every name that is none, that several fields end with, or that needs bounds where there are none.
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
            all if all == ALL_USUAL => Ok(usual(keys.clone())),
            _ => resolve(catalog, &paths, written).and_then(|column| worked_out(column, has_bounds)),
        };
        match found {
            Ok(found) => {
                let new = |column: &Column| columns.iter().all(|known| known.paths != column.paths);
                let found: Vec<Column> = found.into_iter().filter(new).collect();
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
    if let Some(column) = USUAL.iter().chain(BOUNDS).find(|column| plain(column.name) == wanted) {
        return Ok(column.column(true));
    }
    // The whole path, else whole parts of it (`write.max`), else what may begin within a name (`write max`).
    let whole = |path: &str| plain(path) == wanted;
    let parts = |path: &str| path.match_indices('.').any(|(at, _)| plain(&path[at + 1..]) == wanted);
    let ends = |path: &str| plain(path).strip_suffix(wanted.as_str()).is_some_and(|before| before.ends_with('_'));
    let matching = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&String> {
        paths.iter().filter(|path| !wanted.is_empty() && is_meant(path)).collect()
    };
    let levels: [&dyn Fn(&str) -> bool; 3] = [&whole, &parts, &ends];
    let mut meant = levels.into_iter().map(matching).find(|meant| !meant.is_empty()).unwrap_or_default();
    meant.sort_unstable();
    meant.dedup();
    // A field of the format keeps its short name beside a statistic of that name.
    let is_of_format = |path: &&String| !path.split('.').any(|part| part == STATISTICS);
    if meant.iter().any(is_of_format) {
        meant.retain(is_of_format);
    }
    match meant[..] {
        [path] => Ok(of_field(catalog, written, path)),
        [] => {
            let usual = USUAL.iter().chain(BOUNDS).map(|column| column.name);
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

/// A name in a canonical spelling: `read p99.9`, `read-p99_9` and `read.p99_9` are equal.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '.', '-', '/'], "_")
}

/// A column of any numeric field.
fn of_field(catalog: &Catalog, written: &str, path: &str) -> Column {
    let parts: Vec<&str> = path.split('.').collect();
    let last = parts[parts.len() - 1];
    let has = |names: &[&str]| names.iter().any(|name| last.contains(name));
    let statistic = known_statistics(catalog).find(|(statistic, ..)| path == statistic);
    let of_unit = statistic.and_then(|(_, _, _, statistic)| show(statistic.unit));
    let is_time =
        parts.iter().any(|part| part.ends_with("_ns")) || of_unit.is_none() && is_of_distribution(catalog, path);
    let show: fn(f64) -> String = match last {
        _ if of_unit.is_some() => of_unit.unwrap_or(whole),
        "count" => whole,
        _ if has(&["waf"]) => factor,
        _ if is_time => time,
        _ if last.ends_with("bytes_per_s") => rate,
        _ if last.ends_with("bytes") => size,
        _ if last.contains("joules") => energy,
        _ if last.split('_').any(|word| matches!(word, "ratio" | "share" | "utilization")) => percent,
        _ => whole,
    };
    let is_latency = is_time && last != "count";
    let best = if has(&["iops", "throughput", "per_second", "hit_ratio", "completed"]) {
        Best::Highest
    } else if is_latency || has(&["waf", "block_erases", "stalled", "joules"]) {
        Best::Lowest
    } else {
        Best::Neither
    };
    Column { name: written.to_owned(), best, show, paths: vec![path.to_owned()], is_asked: true }
}

/// True if a path belongs to a statistic that is a distribution of times.
fn is_of_distribution(catalog: &Catalog, path: &str) -> bool {
    let times = |statistic: &Statistic| matches!(statistic.unit, Unit::Times);
    known_statistics(catalog).any(|(whole, _, _, statistic)| times(statistic) && path.starts_with(&format!("{whole}.")))
}

/// Formatter of a statistic; `None` for a distribution, which has figures of its own.
fn show(unit: Unit) -> Option<fn(f64) -> String> {
    Some(match unit {
        Unit::Count => whole,
        Unit::Bytes => size,
        Unit::Time => time,
        Unit::Ratio => factor,
        Unit::Times | Unit::Histogram => return None,
    })
}

/// One column per statistic of the policies that vary; distributions are left out.
pub fn statistics(catalog: &Catalog, comparison: &Comparison, keys: &[&str]) -> Vec<Column> {
    let varies = |slot: &SlotSpec| keys.contains(&slot.key);
    let is_chosen = |policy: &PolicySpec| {
        let names = comparison.runs.iter().flat_map(|run| run.vary.values());
        names.filter_map(Value::as_str).any(|name| name == policy.name)
    };
    let mut columns: Vec<Column> = Vec::new();
    for (path, slot, policy, statistic) in known_statistics(catalog) {
        let Some(show) = show(statistic.unit).filter(|_| varies(slot) && is_chosen(policy)) else { continue };
        // Two policies of a slot may count the same: it is one field of the result.
        if columns.iter().all(|column| column.name != statistic.name) {
            let name = statistic.name.to_owned();
            columns.push(Column { name, best: Best::Neither, show, paths: vec![path], is_asked: false });
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
        assert_eq!(path("filler_pages"), "ftl.merges.filler_pages");
        assert_eq!(path("blocking_ns.max"), "ftl.blocking_ns.max");
        assert_eq!(path("full_merges"), "ftl.statistics.mapping.full_merges");
        assert_eq!(path("associativity.mean"), "ftl.associativity.mean");
    }

    #[test]
    fn the_usual_columns_have_their_names() {
        assert_eq!(path("waf"), "ftl.waf");
        assert_eq!(path("Requests/s"), "host.iops");
        assert_eq!(path("merges"), MERGES.join("+"));
        let columns = of(&["write p99", "usual"]).expect("they are columns");
        assert_eq!(columns[0].name, "write p99");
        let again = columns.iter().filter(|column| column.name == "write p99").count();
        assert_eq!((again, columns.len()), (1, USUAL.len() - 1));
    }

    #[test]
    fn operations_are_no_ratio() {
        let shown = |name: &str, value: f64| (of(&[name]).expect("it is a column")[0].show)(value);
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
        assert_eq!(bounds(&of("misses/OPT", true).expect("it is a column")).len(), BOUNDS.len() - 1);
    }

    #[test]
    fn every_number_of_a_result_is_a_column_by_its_path() {
        for field in numbers(&Catalog::builtin()) {
            assert_eq!(path(&field), field);
        }
    }
}
