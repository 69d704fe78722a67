//! A configuration written out with every default filled in: as JSON for results, as TOML for people.

use flashloom_units::Value;
use serde_json::{Map, Value as Json};

use super::Config;
use crate::catalog::{KeyId, SECTIONS, WORKLOAD, WorkloadName};
use crate::raw::NAME;

/// Keys of sections that a configuration is written without while they have their defaults: they came after results had
/// been published with the hash of theirs, and drives saved with it.
const LEFT_OUT: [(&str, &str); 19] = [
    ("device", "reliability"),
    ("device", "read_cache"),
    ("device", "readahead_pages"),
    ("device", "readahead_streams"),
    ("device", "over_provisioning_counts"),
    ("device", "unpartitioned"),
    ("ftl", "gc_low_watermark"),
    ("ftl", "gc_high_watermark"),
    ("ftl", "gc_watermark_pace"),
    ("ftl", "slc_cache"),
    ("ftl", "slc_static_share"),
    ("ftl", "slc_dynamic_share"),
    ("ftl", "slc_when_full"),
    ("ftl", "slc_fold_threshold"),
    ("ftl", "slc_flush_delay"),
    ("workload", "submit_time"),
    ("workload", "range_begin"),
    ("workload", "range_end"),
    ("workload", "begin"),
];

/// True if a key is written out with this value.
fn is_written_out(key: KeyId, value: &Value) -> bool {
    left_out(key) != Some(value)
}

/// The value of a key that a configuration was written without; `None` if it would be written out.
fn left_out(key: KeyId) -> Option<&'static Value> {
    let (section, param) = (SECTIONS[key.section()].name, key.param());
    let is_one = !key.is_of_policy() && LEFT_OUT.contains(&(section, param.name));
    is_one.then_some(&param.default)
}

impl Config {
    /// Tables in effect, in order: every section, and the chosen policies that have parameters.
    fn tables(&self) -> Vec<usize> {
        let chosen: Vec<usize> = self.settings.chosen().map(|(_, _, table)| table).collect();
        let counts = |&index: &usize| {
            let table = &self.catalog().tables[index];
            table.policy.is_none() || (chosen.contains(&index) && !table.params().is_empty())
        };
        (0..self.catalog().tables.len()).filter(counts).collect()
    }

    /// Keys of a table, with their values.
    fn keys_of(&self, table: usize) -> impl Iterator<Item = (KeyId, &Value)> {
        (0..).map(move |param| self.catalog().key(table, param)).zip(self.settings.values(table))
    }

    /// Values of every effective key, with defaults filled in: those of the sections and of the chosen policies.
    pub fn values(&self) -> impl Iterator<Item = (KeyId, &Value)> {
        let keys = self.tables().into_iter().flat_map(move |table| self.keys_of(table));
        keys.filter(|(key, value)| is_written_out(*key, value))
    }

    /// The value of a key that a configuration was written without; `None` if it would be written out.
    pub fn left_out(&self, path: &str) -> Option<&'static Value> {
        self.catalog().find(path).and_then(left_out)
    }

    /// The effective configuration, every default filled in, as JSON: an object of sections; the table of a chosen
    /// policy is an object within its section. Several workloads are a list of them, each with its name.
    pub fn to_json(&self) -> Json {
        let mut root = Map::new();
        for index in self.tables() {
            let table = &self.catalog().tables[index];
            let written = self.keys_of(index).filter(|(key, value)| is_written_out(*key, value));
            let named = written.filter_map(|(key, value)| Some((key.param().name.to_owned(), json_value(value)?)));
            let object = Json::Object(named.collect());
            let section = root.entry(SECTIONS[table.section].name).or_insert_with(|| Json::Object(Map::new()));
            match table.policy {
                None => *section = object,
                Some((policy, _)) => section[policy.name] = object,
            }
        }
        if !self.workloads.is_empty() {
            root.insert(WORKLOAD.to_owned(), self.workloads.iter().map(Self::workload_to_json).collect());
        }
        Json::Object(root)
    }

    /// One of several workloads.
    fn workload_to_json((workload, config): &(WorkloadName, Self)) -> Json {
        let mut section = config.to_json()[WORKLOAD].take();
        section[NAME] = workload.name.into();
        section
    }

    /// The effective configuration as a file that reads back to equal values. Defaults stand in comments where they
    /// have no effect, so that the file is not warned of what nobody wrote.
    pub(crate) fn to_toml_with(&self, has_effect: impl Fn(&Self, KeyId) -> bool) -> String {
        let (mut text, several) = (String::new(), !self.workloads.is_empty());
        for (workload, config) in &self.workloads {
            let separator = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{separator}[[{WORKLOAD}]]\n{NAME} = {}\n", quoted(workload.name)));
            config.write_tables(&mut text, true, |table| table == WORKLOAD, &has_effect);
        }
        self.write_tables(&mut text, false, |table| table != WORKLOAD || !several, &has_effect);
        text
    }

    /// Writes the tables of some sections. With `has_begun` the header of the first is written already.
    fn write_tables(
        &self,
        text: &mut String,
        has_begun: bool,
        is_asked: impl Fn(&str) -> bool,
        has_effect: impl Fn(&Self, KeyId) -> bool,
    ) {
        let asked = |&index: &usize| is_asked(SECTIONS[self.catalog().tables[index].section].name);
        for (nth, index) in self.tables().into_iter().filter(asked).enumerate() {
            if nth > 0 || !has_begun {
                let separator = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{separator}[{}]\n", self.catalog().tables[index].path()));
            }
            for (key, value) in self.keys_of(index) {
                if let Some(value) = toml_value(value) {
                    let is_given = self.settings.origin(key).is_some();
                    let comment = if is_given || has_effect(self, key) { "" } else { "# " };
                    text.push_str(&format!("{comment}{} = {value}\n", key.param().name));
                }
            }
        }
    }
}

/// Formats a value as JSON; quantities keep their units.
pub fn json_value(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Absent => return None,
        Value::Count(number) => Json::from(*number),
        Value::Ratio(number) => Json::from(*number),
        Value::Flag(flag) => Json::from(*flag),
        other => Json::from(other.show()),
    })
}

/// Formats a value as in a configuration file.
pub fn toml_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Absent => return None,
        Value::Count(number) => number.to_string(),
        Value::Ratio(number) => format!("{number:?}"),
        Value::Flag(flag) => flag.to_string(),
        other => quoted(&other.show()),
    })
}

/// Formats a TOML basic string: JSON escapes everything that TOML requires, except the delete character.
fn quoted(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}
