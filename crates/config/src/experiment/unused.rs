//! Keys that were given and have no effect: the conditions of each key, and the written keys whose conditions are not
//! met.
//!
//! A parameter of a policy is used if that policy is chosen, and any parameter may name another key that it depends on
//! ([`Used`]). That key in turn may depend on a third, so that the outermost unmet condition is reported: for
//! `workload.synthetic.hot_share` first `workload.kind`, then the pattern.

use std::collections::BTreeMap;
use std::fmt;

use flashloom_ftl::{PAGE_MAPPING, is_of_page_mappings};
use flashloom_units::{Must, Refusal, Used, Value};

use super::Experiment;
use crate::catalog::{Catalog, KeyId, SECTIONS, WORKLOAD, WorkloadName};
use crate::raw::Origin;
use crate::typed::Config;

/// Maximum number of keys listed in one note.
const MOST_KEYS: usize = 4;

/// Condition on another key under which a key has an effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// Path of the other key.
    pub key: String,
    /// Values that the condition names, as displayed.
    pub values: Vec<&'static str>,
    /// Relation between the other key and these values.
    pub must: Must,
    /// True if the only value, `none`, stands for a key that is not given.
    pub is_of_absence: bool,
}

impl Need {
    /// Condition of a parameter; `key` is the path of the other key. If a condition excludes more values than remain,
    /// it names the remaining ones.
    pub fn of(catalog: &Catalog, key: String, used: Used) -> Self {
        let other = catalog.find(&key).map(KeyId::param);
        let names = other.map(|other| catalog.names(other)).unwrap_or_default();
        let is_of_absence = used.values == ["none"] && !names.contains(&"none");
        let is_always_given = other.is_some_and(|other| other.default != Value::Absent);
        let left: Vec<&str> = names.into_iter().filter(|name| !used.values.contains(name)).collect();
        if used.must == Must::NotBe && is_always_given && (1..used.values.len()).contains(&left.len()) {
            return Self { key, values: left, must: Must::Be, is_of_absence };
        }
        Self { key, values: used.values.to_vec(), must: used.must, is_of_absence }
    }

    /// The condition with the other key by its name in its own table.
    pub fn called(self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self }
    }

    fn is_met(&self, found: &str) -> bool {
        let number = |text: &str| text.parse::<u64>().ok();
        match self.must {
            Must::Be => self.values.contains(&found),
            Must::NotBe => !self.values.contains(&found),
            Must::BeAtLeast => self.values.iter().all(|least| number(found) >= number(least)),
        }
    }

    /// True if the condition names values without effect, rather than with effect.
    pub fn excludes(&self) -> bool {
        self.must == Must::NotBe && !self.is_of_absence
    }

    /// The condition as a clause about its key, which `with` names where it must have a value.
    fn clause(&self, key: &str, with: &str) -> String {
        match (self.is_of_absence, self.must) {
            (true, Must::NotBe) => format!("where {key} is given"),
            (true, _) => format!("where {key} is not given"),
            (false, Must::NotBe) => format!("unless {key} is {}", self.values()),
            (false, _) => format!("{with} {}", self.values()),
        }
    }

    /// The values as a configuration writes them: `"a" or "b"`.
    fn values(&self) -> String {
        let quoted: Vec<String> = self.values.iter().map(|value| quoted(value)).collect();
        quoted.join(" or ") + if self.must == Must::BeAtLeast { " or more" } else { "" }
    }
}

impl fmt::Display for Need {
    /// Formats the condition as a clause: "with `ftl.mapping` = "dftl"".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = format!("`{}`", self.key);
        f.write_str(&self.clause(&key, &format!("with {key} =")))
    }
}

fn quoted(value: &str) -> String {
    let is_bare = ["true", "false"].contains(&value) || value.bytes().all(|byte| byte.is_ascii_digit());
    if is_bare { value.to_owned() } else { format!("\"{value}\"") }
}

/// Condition that the policy of a table is chosen; none for the table of a section.
fn need_of_policy(catalog: &Catalog, table: usize) -> Option<Need> {
    let (policy, param) = catalog.tables[table].policy?;
    let key = catalog.section_key(catalog.tables[table].section, param).path();
    Some(Need { key, values: vec![policy.name], must: Must::Be, is_of_absence: false })
}

/// Path of the key that a parameter of a table depends on.
pub fn path_of(table: &str, used: Used) -> String {
    if used.key.contains('.') { used.key.to_owned() } else { format!("{table}.{}", used.key) }
}

/// All conditions of a key, the outermost first; empty if it always has an effect.
pub fn needs(catalog: &Catalog, key: KeyId) -> Vec<Need> {
    let table = catalog.tables[key.table].path();
    let of_policy = need_of_policy(catalog, key.table);
    let of_mapping = is_of_page_mappings(&key.path()).then(|| {
        let values = catalog.registry().offering(PAGE_MAPPING);
        Need { key: "ftl.mapping".to_owned(), values, must: Must::Be, is_of_absence: false }
    });
    let of_param = key.param().used.map(|used| Need::of(catalog, path_of(&table, used), used));
    let mut all: Vec<Need> = Vec::new();
    for need in of_policy.into_iter().chain(of_mapping).chain(of_param) {
        let outer = catalog.find(&need.key).map(|key| needs(catalog, key)).unwrap_or_default();
        for need in outer.into_iter().chain([need]) {
            if !all.contains(&need) {
                all.push(need);
            }
        }
    }
    all
}

/// Reason why keys have no effect in some rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// Rows of the comparison for which it holds, by index; empty if it is all of them.
    pub rows: Vec<usize>,
    /// The unmet condition.
    pub need: Need,
    /// Values of the other key in these rows.
    pub found: Vec<String>,
}

impl Reason {
    /// The values found, as a clause: "`ftl.mapping` is "page"".
    fn clause(&self) -> String {
        let Self { need, found, .. } = self;
        let found = match need.is_of_absence {
            true if need.must == Must::NotBe => "not given".to_owned(),
            true => "given".to_owned(),
            false => found.iter().map(|found| quoted(found)).collect::<Vec<_>>().join(" or "),
        };
        format!("{} is {found}", need.key)
    }
}

/// Keys that were given and have no effect, all for the same reasons.
#[derive(Clone, Debug)]
pub struct Unused {
    /// Place where the first of them was written: file, line and column.
    pub location: String,
    /// Paths of the keys.
    pub keys: Vec<String>,
    /// Rows of the comparison for which one of the reasons holds, by index; empty if these are all of them.
    pub rows: Vec<usize>,
    /// Reasons, in the order of the rows; at least one.
    pub reasons: Vec<Reason>,
}

impl Unused {
    /// Formats a sentence; `named` describes the rows of a table, if it is not about all of them.
    pub fn sentence(&self, named: impl Fn(&[usize]) -> String) -> String {
        let more = self.keys.len().saturating_sub(MOST_KEYS);
        let shown = self.keys.iter().take(MOST_KEYS).map(String::as_str);
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let keys = shown.collect::<Vec<_>>().join(", ") + &others;
        let (have, they_are) = if self.keys.len() == 1 { ("has", "it is") } else { ("have", "they are") };
        let rows = match (self.rows.is_empty(), self.reasons.len()) {
            (false, _) => format!(" in {}", named(&self.rows)),
            (true, 1) => String::new(),
            (true, _) => " in any row".to_owned(),
        };
        let (why, used) = match self.reasons.as_slice() {
            [reason] => (reason.clause(), only(&reason.need)),
            reasons => {
                let clause = |reason: &Reason| format!("{} in {}", reason.clause(), named(&reason.rows));
                let clauses: Vec<String> = reasons.iter().map(clause).collect();
                let needs: Vec<String> = reasons.iter().map(|reason| reason.need.to_string()).collect();
                (clauses.join(", "), needs.join(" and "))
            }
        };
        format!("{}: {keys} {have} no effect{rows}: {why}; {they_are} used {used}", self.location)
    }
}

/// Formats a condition after a clause that names the key already.
fn only(need: &Need) -> String {
    if need.excludes() && need.values.len() == 1 {
        "with any other value".to_owned()
    } else {
        need.clause("that", "with")
    }
}

/// A condition with the key that it is about.
type Keyed = (Need, KeyId);

/// Value of a key as [`Need`] compares it; `None` if a policy decides it.
fn shown(config: &Config, (need, key): &Keyed) -> Option<String> {
    let value = config.settings.value_of(*key);
    if need.key == "workload.replay" && *value == Value::Absent {
        return match (config.is_closed(), config.is_open()) {
            (true, _) => Some("closed".to_owned()),
            (_, true) => Some("timestamps".to_owned()),
            _ => None,
        };
    }
    // By itself it is that of the scheduler.
    if need.key == "host.linux" {
        return Some(config.host.linux().name().to_owned());
    }
    Some(value.show())
}

/// Conditions, each with its key.
fn keyed(catalog: &Catalog, needs: impl IntoIterator<Item = Need>) -> impl Iterator<Item = Keyed> {
    needs.into_iter().filter_map(|need| catalog.find(&need.key).map(|key| (need, key)))
}

/// True if a key has an effect in a run: all its conditions are met.
fn has_effect(config: &Config, key: KeyId) -> bool {
    let catalog = config.catalog();
    keyed(catalog, needs(catalog, key)).all(|of| shown(config, &of).is_none_or(|found| of.0.is_met(&found)))
}

impl Config {
    /// The effective configuration as a file that reads back to the same values; defaults without effect are comments.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(has_effect)
    }
}

/// Rows in which a condition is not met.
#[derive(Default)]
struct Unmet {
    rows: Vec<usize>,
    /// Distinct values found there.
    found: Vec<String>,
}

/// Groups the rows by the first condition, in order, that they do not meet; rows that meet all are left out.
fn unmet(rows: &[&Config], needs: &[Keyed]) -> BTreeMap<Need, Unmet> {
    let mut unmet: BTreeMap<Need, Unmet> = BTreeMap::new();
    for (row, config) in rows.iter().enumerate() {
        let failing = needs.iter().find_map(|keyed| {
            let found = shown(config, keyed).filter(|found| !keyed.0.is_met(found))?;
            Some((keyed.0.clone(), found))
        });
        let Some((need, found)) = failing else { continue };
        let of_need = unmet.entry(need).or_default();
        of_need.rows.push(row);
        if !of_need.found.contains(&found) {
            of_need.found.push(found);
        }
    }
    unmet
}

/// The configuration of one of several workloads, or that of the run.
fn as_of(config: &Config, workload: Option<WorkloadName>) -> &Config {
    workload.map_or(config, |workload| &config.workloads[workload.index].1)
}

/// A written key or table, with its conditions.
struct Written {
    path: String,
    origin: Origin,
    needs: Vec<Keyed>,
    /// True if it varies, so that it must have an effect in each row.
    varies: bool,
}

impl Experiment {
    /// Keys that were given, in the file or by an option, and have no effect in any run; and varied keys without effect
    /// in some rows of a comparison, which then differ in nothing else.
    pub fn unused(&self) -> Vec<Unused> {
        let variants = || self.variants.iter().step_by(self.repetitions()).map(|variant| &variant.config);
        let Some(first) = variants().next() else { return Vec::new() };
        let count = variants().count();
        let mut found: BTreeMap<Vec<Reason>, Vec<(Origin, String)>> = BTreeMap::new();
        let unless_all = |of: Vec<usize>| if of.len() == count { Vec::new() } else { of };
        let several = first.workloads.iter().map(|(workload, _)| Some(*workload));
        for workload in std::iter::once(None).chain(several) {
            let of_workload = |config| as_of(config, workload);
            let rows: Vec<&Config> = variants().map(of_workload).collect();
            for Written { path, origin, needs, varies } in self.written(of_workload(first), workload) {
                let unmet = unmet(&rows, &needs);
                let failing: usize = unmet.values().map(|unmet| unmet.rows.len()).sum();
                if failing == 0 || (failing < rows.len() && !varies) {
                    continue;
                }
                let reason = |(need, of): (Need, Unmet)| Reason { rows: unless_all(of.rows), need, found: of.found };
                let mut reasons: Vec<Reason> = unmet.into_iter().map(reason).collect();
                reasons.sort();
                found.entry(reasons).or_default().push((origin, path));
            }
        }
        let place = |(origin, _): &(Origin, String)| (origin.source, origin.span.start);
        let mut found: Vec<_> = found.into_iter().collect();
        found.iter_mut().for_each(|(_, keys)| keys.sort_by_key(place));
        found.sort_by_key(|(_, keys)| place(&keys[0]));
        let unused = |(reasons, keys): (Vec<Reason>, Vec<(Origin, String)>)| {
            let location = self.sources.problem(&keys[0].0, Refusal::new("", "")).location();
            let mut in_rows: Vec<usize> = reasons.iter().flat_map(|reason| reason.rows.iter().copied()).collect();
            in_rows.sort_unstable();
            let keys = keys.into_iter().map(|(_, path)| path).collect();
            Unused { location, keys, rows: unless_all(in_rows), reasons }
        };
        found.into_iter().map(unused).collect()
    }

    /// Written keys with conditions, and empty tables of policies, of the run or of one of its workloads. A condition
    /// may be met by keys that a single run leaves to comparisons.
    fn written(&self, config: &Config, workload: Option<WorkloadName>) -> Vec<Written> {
        let (catalog, settings) = (config.catalog(), &config.settings);
        let keyed = |needs: Vec<Need>| -> Vec<Keyed> {
            let is_chosen = |(_, key): &Keyed| self.left_out.iter().all(|axis| axis.key != key.of_workload(workload));
            keyed(catalog, needs).filter(is_chosen).collect()
        };
        let of_key = |key: KeyId| {
            let (origin, needs) = (settings.origin(key)?.clone(), keyed(needs(catalog, key)));
            let key = key.of_workload(workload);
            Some(Written { path: key.path(), origin, needs, varies: self.axes.contains(&key) })
        };
        let of_table = |index: usize| {
            let table = &catalog.tables[index];
            let has_keys = (0..table.params().len()).any(|param| settings.origin(catalog.key(index, param)).is_some());
            let origin = settings.header(index).filter(|_| !has_keys)?.clone();
            let needs = keyed(need_of_policy(catalog, index).into_iter().collect());
            Some(Written { path: format!("[{}]", table.path()), origin, needs, varies: false })
        };
        if workload.is_some() {
            let is_of_workload = |key: &KeyId| SECTIONS[key.section()].name == WORKLOAD;
            return catalog.keys().filter(is_of_workload).filter_map(of_key).collect();
        }
        catalog.keys().filter_map(of_key).chain((0..catalog.tables.len()).filter_map(of_table)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    /// Notes about a text, run alone.
    fn said(text: &str) -> Vec<String> {
        let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &[], None);
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
        experiment.unused().iter().map(|unused| unused.sentence(|_| String::new())).collect()
    }

    #[test]
    fn what_a_key_is_used_with_is_a_key_with_such_a_value() {
        let catalog = Catalog::builtin();
        for key in catalog.keys() {
            for need in needs(&catalog, key) {
                let path = key.path();
                let other =
                    catalog.find(&need.key).unwrap_or_else(|| panic!("{path} is used with {}", need.key)).param();
                let is_one = |value: &&str| match *value {
                    "none" => other.default == Value::Absent || catalog.names(other).contains(value),
                    "true" | "false" => other.accepts(&Value::Flag(true)),
                    "0B" => other.accepts(&Value::Size(0)),
                    "0%" => other.accepts(&Value::Ratio(0.0)),
                    number if number.parse::<u64>().is_ok() => {
                        other.accepts(&Value::Count(number.parse().unwrap_or(0)))
                    }
                    name => catalog.names(other).contains(&name),
                };
                assert!(!need.values.is_empty() && need.values.iter().all(is_one), "{path}: {need}");
            }
        }
    }

    #[test]
    fn the_outermost_reason_is_told() {
        let of_pattern = "workload.synthetic.pattern is \"random\"; it is used with \"hot-cold\"";
        assert_eq!(
            said("[workload.synthetic]\nhot_share = 0.1\n"),
            [format!("a.toml:2:13: workload.synthetic.hot_share has no effect: {of_pattern}")]
        );
        let of_kind = "workload.kind is \"synthesized\"; they are used with \"synthetic\"";
        let keys = "workload.synthetic.pattern, workload.synthetic.hot_share";
        assert_eq!(
            said("[workload]\nkind = \"synthesized\"\n[workload.synthetic]\npattern = \"zipf\"\nhot_share = 0.1\n"),
            [format!("a.toml:4:11: {keys} have no effect: {of_kind}")]
        );
    }

    #[test]
    fn a_table_of_a_policy_does_not_choose_it() {
        let found = "host.scheduler is \"noop\"; it is used with \"deadline\"";
        assert_eq!(said("[host.deadline]\n"), [format!("a.toml:1:7: [host.deadline] has no effect: {found}")]);
        assert_eq!(said("[host]\nscheduler = \"deadline\"\n[host.deadline]\n"), [""; 0]);
    }

    #[test]
    fn what_the_workload_is_replayed_by_is_found_out() {
        let open = "workload.queue_depth = 4\nworkload.synthetic.interarrival = \"1ms\"\n";
        assert_eq!(said(open).len(), 1, "{:?}", said(open));
        let closed = format!("{open}workload.replay = \"closed\"\nworkload.synthetic.arrival = \"constant\"\n");
        let unused = "workload.synthetic.interarrival, workload.synthetic.arrival have no effect: workload.replay is";
        assert!(said(&closed).concat().contains(unused), "{:?}", said(&closed));
        assert_eq!(said("workload.queue_depth = 4\n"), [""; 0]);
    }

    #[test]
    fn the_block_layer_that_a_scheduler_stands_in_is_found_out() {
        let said_of =
            |scheduler: &str| said(&format!("host.scheduler = \"{scheduler}\"\nhost.wbt_latency = \"5ms\"\n"));
        let reason = "host.wbt_latency has no effect: host.linux is \"2.6.32\"; it is used with any other value";
        assert_eq!(said_of("deadline"), [format!("a.toml:2:20: {reason}")]);
        assert_eq!(said_of("mq-deadline"), [""; 0]);
    }

    #[test]
    fn a_value_of_that_name_is_not_an_absent_key() {
        let of = |text: &str, key: &str, reason: &str| {
            let said = said(text);
            assert!(said.len() == 1 && said[0].contains(&format!("{key} has no effect: {reason}")), "{said:?}");
        };
        let reason = "run.precondition is \"none\"; it is used with any other value";
        of("run.precondition = \"none\"\nrun.fill = 0.5\n", "run.fill", reason);
        let reason = "device.suspend is \"none\"; it is used with any other value";
        of("device.suspend_time = \"1us\"\n", "device.suspend_time", reason);
        let reason = "workload.synthetic.footprint_size is given; it is used where that is not given";
        let both = "workload.synthetic.footprint = 0.5\nworkload.synthetic.footprint_size = \"1MiB\"\n";
        of(both, "workload.synthetic.footprint", reason);
    }

    #[test]
    fn values_that_a_key_is_used_with_are_named_where_several_are_excluded() {
        let reason = |text: &str| said(text).concat().split_once("no effect: ").map(|(_, reason)| reason.to_owned());
        let synthesized = "workload.kind is \"synthesized\"; it is used with \"trace\"";
        let sort = "workload.kind = \"synthesized\"\nworkload.sort = false\n";
        assert_eq!(reason(sort).as_deref(), Some(synthesized));
        let need = |used: Option<Used>| used.map(|used| Need::of(&Catalog::builtin(), used.key.to_owned(), used));
        let more = need(Used::without("ftl.mapping", &["page", "dftl"])).expect("it is one");
        assert_eq!(more.to_string(), "unless `ftl.mapping` is \"page\" or \"dftl\"");
        assert_eq!(only(&more), "unless that is \"page\" or \"dftl\"");
        let fewer = need(Used::without("run.precondition", &["none", "fill"])).expect("it is one");
        assert_eq!(fewer.to_string(), "with `run.precondition` = \"steady\"");
    }

    #[test]
    fn a_key_without_effect_in_any_row_is_told_once_with_all_reasons() {
        let text = "workload.synthetic.hot_share = 0.1\n[vary]\n\"workload.kind\" = [\"synthetic\", \"synthesized\"]\n";
        let varied = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &[], Some(&[]));
        let varied = varied.unwrap_or_else(|problems| panic!("{problems}"));
        let named = |rows: &[usize]| format!("row {}", rows[0] + 1);
        let said: Vec<String> = varied.unused().iter().map(|unused| unused.sentence(named)).collect();
        let pattern = "workload.synthetic.pattern is \"random\" in row 1";
        let kind = "workload.kind is \"synthesized\" in row 2";
        let used =
            "it is used with `workload.synthetic.pattern` = \"hot-cold\" and with `workload.kind` = \"synthetic\"";
        let note = format!("workload.synthetic.hot_share has no effect in any row: {pattern}, {kind}; {used}");
        assert_eq!(said, [format!("a.toml:1:32: {note}")]);
    }

    #[test]
    fn times_of_page_types_need_cells_that_have_them() {
        let two = "device.bits_per_cell is 2; they are used with 3 or more";
        let keys = "device.read_time_3, device.program_time_3";
        let text = "device.read_time_2 = \"1us\"\ndevice.read_time_3 = \"1us\"\ndevice.program_time_3 = \"1us\"\n";
        assert_eq!(said(text), [format!("a.toml:2:22: {keys} have no effect: {two}")]);
        assert_eq!(said(&format!("{text}device.bits_per_cell = 3\n")), [""; 0]);
        assert!(said("device.bits_per_cell = 3\ndevice.read_time_4 = \"1us\"\n").concat().ends_with("used with 4"));
    }

    #[test]
    fn what_one_value_of_another_key_switches_off_is_said() {
        let merging = "host.merging = false\nhost.scheduler = \"deadline\"\nhost.deadline.front_merges = false\n";
        let found =
            "a.toml:3:30: host.deadline.front_merges has no effect: host.merging is false; it is used with true";
        assert_eq!(said(merging), [found]);
        assert_eq!(said(&merging.replace("merging = false", "merging = true")), [""; 0]);
        let of = |personality: &str| {
            said(&format!(
                "workload.kind = \"filebench\"\nworkload.filebench.personality = \"{personality}\"\n\
                 workload.filebench.writers = 2\nworkload.filebench.transaction_time = \"1us\"\n\
                 workload.filebench.log_size = \"1MiB\"\n"
            ))
        };
        assert_eq!((of("fileserver").len(), of("webserver").len(), of("oltp").len()), (2, 1, 0));
    }

    #[test]
    fn a_key_that_a_comparison_varies_is_not_held_against_one_run() {
        let text = "ftl.dftl.cache = \"1MiB\"\n[vary]\nftl.mapping = [\"page\", \"dftl\"]\n";
        assert_eq!(said(text), [""; 0]);
    }
}
