//! A configuration written out with every default filled in: as JSON for results, as TOML for people.

use flashloom_units::Value;
use serde_json::{Map, Value as Json};

use crate::catalog::{KeyId, SECTIONS};
use crate::checked::Settings;

/// Keys of each section that a configuration is written without while they have their defaults: they came after results
/// had been published with the hash of theirs, and drives saved with it.
const LEFT_OUT: [(&str, &[&str]); 3] = [
    (
        "device",
        &[
            "reliability",
            "read_cache",
            "readahead_pages",
            "readahead_streams",
            "over_provisioning_counts",
            "unpartitioned",
        ],
    ),
    (
        "ftl",
        &[
            "gc_low_watermark",
            "gc_high_watermark",
            "gc_watermark_pace",
            "slc_cache",
            "slc_static_share",
            "slc_dynamic_share",
            "slc_when_full",
            "slc_fold_threshold",
            "slc_flush_delay",
        ],
    ),
    ("workload", &["submit_time"]),
];

/// True if a key is written out with this value.
fn is_written_out(key: KeyId, value: &Value) -> bool {
    left_out(key) != Some(value)
}

/// The value of a key that a configuration was written without; `None` if it would be written out.
pub fn left_out(key: KeyId) -> Option<&'static Value> {
    let (section, param) = (SECTIONS[key.section()].name, key.param());
    let of_section = LEFT_OUT.iter().find(|(of, _)| *of == section && !key.is_of_policy());
    of_section.filter(|(_, names)| names.contains(&param.name)).map(|_| &param.default)
}

/// Tables in effect, in order: every section, and the chosen policies that have parameters.
fn tables(settings: &Settings) -> Vec<usize> {
    let chosen: Vec<usize> = settings.chosen().map(|(_, _, table)| table).collect();
    let counts = |&index: &usize| {
        let table = &settings.catalog().tables[index];
        table.policy.is_none() || (chosen.contains(&index) && !table.params().is_empty())
    };
    (0..settings.catalog().tables.len()).filter(counts).collect()
}

/// Values of every effective key, by path.
pub fn flat(settings: &Settings) -> impl Iterator<Item = (KeyId, &Value)> {
    let of_table =
        move |index| (0..).map(move |param| settings.catalog().key(index, param)).zip(settings.values(index));
    tables(settings).into_iter().flat_map(of_table).filter(|(key, value)| is_written_out(*key, value))
}

/// The configuration as an object of sections; the table of a chosen policy is an object within its section.
pub fn to_json(settings: &Settings) -> Json {
    let mut root = Map::new();
    for index in tables(settings) {
        let table = &settings.catalog().tables[index];
        let mut object = Map::new();
        for (param, value) in (0..).zip(settings.values(index)) {
            let key = settings.catalog().key(index, param);
            if let Some(value) = json_value(value).filter(|_| is_written_out(key, value)) {
                object.insert(key.param().name.to_owned(), value);
            }
        }
        let section = root.entry(SECTIONS[table.section].name);
        match table.policy {
            None => drop(section.or_insert(Json::Object(object))),
            Some((policy, _)) => {
                if let Some(section) = section.or_insert_with(|| Json::Object(Map::new())).as_object_mut() {
                    section.insert(policy.name.to_owned(), Json::Object(object));
                }
            }
        }
    }
    Json::Object(root)
}

/// The configuration as a file that reads back to equal values. Defaults stand in comments where they have no effect,
/// so that the file is not warned of what nobody wrote.
pub fn to_toml(settings: &Settings, has_effect: impl Fn(KeyId) -> bool) -> String {
    let mut text = String::new();
    for index in tables(settings) {
        let table = &settings.catalog().tables[index];
        let separator = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{separator}[{}]\n", table.path()));
        for (number, (param, value)) in table.params().iter().zip(settings.values(index)).enumerate() {
            if let Some(value) = toml_value(value) {
                let key = settings.catalog().key(index, number);
                let comment = if settings.origin(key).is_some() || has_effect(key) { "" } else { "# " };
                text.push_str(&format!("{comment}{} = {value}\n", param.name));
            }
        }
    }
    text
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
