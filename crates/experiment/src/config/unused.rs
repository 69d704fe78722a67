//! Keys that were given and have no effect: what each key is used with, and which of those that are written lack it.
//!
//! A parameter of a policy is used where that policy is chosen, and any parameter may name another key that it is used
//! with ([`Used`](flashloom_units::Used)). That key in turn may need a third, so that the outermost that is not as it
//! must be is the one to tell: of `workload.synthetic.hot_share` first `workload.kind`, then the pattern.

use std::collections::BTreeMap;
use std::fmt;

use flashloom_units::{Capability, PolicySpec, Value};

use super::catalog::{Catalog, KeyId};
use super::cross_check::is_of_page_mappings;
use super::{Config, Experiment, Fault, Origin};

/// Paths of keys that are listed in one note.
const MOST_KEYS: usize = 4;

/// What a key must find in another one to have an effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// The path of the other key.
    pub key: String,
    /// Its values in question, as they are shown; `none` is a key that is not given.
    pub values: Vec<&'static str>,
    /// Whether it must have one of them; else it must have another.
    pub is_with: bool,
}

impl Need {
    fn is_met(&self, found: &str) -> bool {
        self.values.contains(&found) == self.is_with
    }

    fn is_about_absence(&self) -> bool {
        self.values == ["none"]
    }

    /// The values as a configuration holds them: `"a" or "b"`.
    fn values(&self) -> String {
        let quoted: Vec<String> = self.values.iter().map(|value| quoted(value)).collect();
        quoted.join(" or ")
    }
}

impl fmt::Display for Need {
    /// What the other key must be, as a clause: "`ftl.mapping` = "dftl"".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, is_with, .. } = self;
        match (self.is_about_absence(), is_with) {
            (true, true) => write!(f, "where `{key}` is not given"),
            (true, false) => write!(f, "where `{key}` is given"),
            (false, true) => write!(f, "with `{key}` = {}", self.values()),
            (false, false) => write!(f, "unless `{key}` = {}", self.values()),
        }
    }
}

fn quoted(value: &str) -> String {
    if ["true", "false"].contains(&value) { value.to_owned() } else { format!("\"{value}\"") }
}

/// That the policy of a table is chosen; nothing for the table of a section.
fn needs_of_policy(catalog: &Catalog, table: usize) -> Vec<Need> {
    let table = catalog.tables[table];
    let need = |(policy, param): (&'static PolicySpec, usize)| Need {
        key: catalog.section_key(table.section, param).path(),
        values: vec![policy.name],
        is_with: true,
    };
    table.policy.map(need).into_iter().collect()
}

/// Everything that a key needs to have an effect, the outermost first; nothing where it always has one.
pub fn needs(catalog: &Catalog, key: KeyId) -> Vec<Need> {
    let table = catalog.tables[key.table];
    let of_policy = needs_of_policy(catalog, key.table);
    let of_mapping = is_of_page_mappings(&key.path()).then(|| {
        let values = catalog.registry().offering(Capability::PageMapping);
        Need { key: "ftl.mapping".to_owned(), values, is_with: true }
    });
    let of_param = key.param().used.map(|used| {
        let key = if used.key.contains('.') { used.key.to_owned() } else { format!("{}.{}", table.path(), used.key) };
        Need { key, values: used.values.to_vec(), is_with: used.is_with }
    });
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

/// Keys that were given and have no effect, for the same reason.
#[derive(Clone, Debug)]
pub struct Unused {
    /// Where the first of them was written: file, line and column.
    pub location: String,
    /// Their paths.
    pub keys: Vec<String>,
    /// The rows of the comparison for which this holds, by their index; nothing where it is all of them.
    pub rows: Vec<usize>,
    /// What the key that they are used with is there.
    pub found: Vec<String>,
    /// What it would have to be.
    pub need: Need,
}

impl Unused {
    /// As a sentence; `rows` says which rows of a table it is about, where these are not all.
    pub fn sentence(&self, rows: &str) -> String {
        let Need { key, is_with, .. } = &self.need;
        let more = self.keys.len().saturating_sub(MOST_KEYS);
        let shown = self.keys.iter().take(MOST_KEYS).map(String::as_str);
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let keys = shown.collect::<Vec<_>>().join(", ") + &others;
        let (have, they_are) = if self.keys.len() == 1 { ("has", "it is") } else { ("have", "they are") };
        let rows = if rows.is_empty() { String::new() } else { format!(" in {rows}") };
        let found = match self.found.iter().map(|found| quoted(found)).collect::<Vec<_>>() {
            _ if self.need.is_about_absence() && !is_with => "not given".to_owned(),
            _ if self.need.is_about_absence() => "given".to_owned(),
            found => found.join(" or "),
        };
        let used = match (self.need.is_about_absence(), is_with) {
            (true, true) => format!("{they_are} used where that is not given"),
            (true, false) => format!("{they_are} used where that is given"),
            (false, true) => format!("{they_are} used with {}", self.need.values()),
            (false, false) => format!("{they_are} used with any other value"),
        };
        format!("{}: {keys} {have} no effect{rows}: {key} is {found}; {used}", self.location)
    }
}

/// A need with the key that it is about.
type Keyed = (Need, KeyId);

/// The value of a key as [`Need`] compares it; nothing where it is for a policy to say.
fn shown(config: &Config, (need, key): &Keyed) -> Option<String> {
    let value = config.settings.value_of(*key);
    if need.key == "workload.replay" && *value == Value::Absent {
        return match (config.is_closed(), config.is_open()) {
            (true, _) => Some("closed".to_owned()),
            (_, true) => Some("timestamps".to_owned()),
            _ => None,
        };
    }
    Some(value.show())
}

/// What keys are told together by: the need, the rows that do not meet it, and what was found there.
type Reason = (Need, Vec<usize>, Vec<String>);

/// Where a need is not met.
#[derive(Default)]
struct Unmet {
    rows: Vec<usize>,
    /// What was found there, each once.
    found: Vec<String>,
}

/// Which of these needs, in their order, is the first that a row does not meet, of each row that does not meet all.
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

/// Something that was written, and what it needs to have an effect.
struct Written {
    path: String,
    origin: Origin,
    needs: Vec<Keyed>,
    /// Whether it varies, so that it is to have an effect in each row.
    varies: bool,
}

impl Experiment {
    /// The keys that were given, in the file or by an option, and have no effect in any run; and of the keys that vary
    /// those that have none in some rows of a comparison, which then are equal but for them.
    pub fn unused(&self) -> Vec<Unused> {
        let variants = self.variants.iter().step_by(self.repetitions());
        let rows: Vec<&Config> = variants.map(|variant| &variant.config).collect();
        let Some(first) = rows.first() else { return Vec::new() };
        let mut found: BTreeMap<Reason, Vec<(Origin, String)>> = BTreeMap::new();
        for Written { path, origin, needs, varies } in self.written(first) {
            let unmet = unmet(&rows, &needs);
            let failing: usize = unmet.values().map(|unmet| unmet.rows.len()).sum();
            if failing < rows.len() && !varies {
                continue;
            }
            let is_all = |of: &Unmet| of.rows.len() == rows.len();
            for (need, of) in unmet {
                let in_rows = if is_all(&of) { Vec::new() } else { of.rows };
                found.entry((need, in_rows, of.found)).or_default().push((origin.clone(), path.clone()));
            }
        }
        let place = |origin: &Origin| (origin.source, origin.span.start);
        let mut unused: Vec<((usize, usize), Unused)> = Vec::new();
        for ((need, rows, found), mut keys) in found {
            keys.sort_by_key(|(origin, _)| place(origin));
            let first = &keys[0].0;
            let location = self.sources.problem(first, Fault::new("", "")).location();
            let at = place(first);
            let keys = keys.into_iter().map(|(_, path)| path).collect();
            unused.push((at, Unused { location, keys, rows, found, need }));
        }
        unused.sort_by_key(|(at, _)| *at);
        unused.into_iter().map(|(_, unused)| unused).collect()
    }

    /// What was written that is not used always: keys, and tables of policies with nothing in them. What a single run
    /// leaves to comparisons may meet a need there.
    fn written(&self, config: &Config) -> Vec<Written> {
        let (catalog, settings) = (config.catalog(), &config.settings);
        let keyed = |needs: Vec<Need>| -> Vec<Keyed> {
            let keyed = needs.into_iter().filter_map(|need| catalog.find(&need.key).map(|key| (need, key)));
            keyed.filter(|(_, key)| !self.left_out.contains(key)).collect()
        };
        let of_key = |key: KeyId| {
            let origin = settings.origin(key)?.clone();
            Some(Written {
                path: key.path(),
                origin,
                needs: keyed(needs(catalog, key)),
                varies: self.axes.contains(&key),
            })
        };
        let of_table = |index: usize| {
            let table = &catalog.tables[index];
            let has_keys = (0..table.params().len()).any(|param| settings.origin(catalog.key(index, param)).is_some());
            let origin = settings.header(index).filter(|_| !has_keys)?.clone();
            let needs = keyed(needs_of_policy(catalog, index));
            Some(Written { path: format!("[{}]", table.path()), origin, needs, varies: false })
        };
        catalog.keys().filter_map(of_key).chain((0..catalog.tables.len()).filter_map(of_table)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    /// What is said of a text, run alone.
    fn said(text: &str) -> Vec<String> {
        let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &[], None);
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
        experiment.unused().iter().map(|unused| unused.sentence("")).collect()
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
    fn a_key_that_a_comparison_varies_is_not_held_against_one_run() {
        let text = "ftl.dftl.cache = \"1MiB\"\n[vary]\nftl.mapping = [\"page\", \"dftl\"]\n";
        assert_eq!(said(text), [""; 0]);
    }
}
