//! JSON schemas of inputs and outputs, generated from the code and checked in under `schema/`.

use flashloom_units::{Kind, Param, PolicySpec, SlotSpec, Statistic, Unit, Value};
use serde_json::{Map, Value as Json, json};

use crate::config::{Catalog, EXPECT, EXPECT_KEYS, FIT, SECTIONS, VARY, json_value};
use crate::registry::{Output, RESULT};

/// The JSON Schema dialect of all of them.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Every schema: its file name, and its text.
pub fn schemas(catalog: &Catalog) -> Vec<(&'static str, String)> {
    let text = |schema: Json| serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    let of_output = |output: &Output| (output.file, text((output.schema)()));
    let outputs = catalog.registry().outputs.iter().map(of_output);
    outputs.chain([("config.json", text(config(catalog)))]).collect()
}

/// A field of a result.
pub struct Field {
    /// Names on the path to it, joined by points.
    pub path: String,
    /// Description.
    pub help: String,
    /// Kind of its value.
    kind: FieldKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Number,
    Other,
}

/// Every field of a result; an object is followed by its own fields.
pub fn fields() -> Vec<Field> {
    let schema = (RESULT.schema)();
    let mut fields = Vec::new();
    collect_fields(&schema, &schema, "", &mut fields);
    fields
}

impl Field {
    /// A field that only needs path and description.
    pub(crate) fn other(path: String, help: String) -> Self {
        Self { path, help, kind: FieldKind::Other }
    }
}

/// Every field of all JSON outputs, including those in lists; each path begins with the name of the output.
pub fn all_fields(catalog: &Catalog) -> Vec<Field> {
    let mut fields = Vec::new();
    for output in &catalog.registry().outputs {
        let schema = (output.schema)();
        collect_all(&schema, &schema, output.name, &mut fields);
    }
    fields
}

/// [`collect_fields`] that also enters lists; a result within a comparison is not repeated.
fn collect_all(schema: &Json, object: &Json, path: &str, fields: &mut Vec<Field>) {
    let Some(properties) = object["properties"].as_object() else { return };
    for (name, property) in properties {
        let path = format!("{path}.{name}");
        let help = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        fields.push(Field::other(path.clone(), help));
        let inner = property["anyOf"].as_array().and_then(|options| options.first()).unwrap_or(property);
        // Of a list or a table what each entry has.
        let each = ["items", "additionalProperties"].into_iter().map(|each| &inner[each]).find(|each| each.is_object());
        let found = each.unwrap_or(inner)["$ref"].as_str();
        let found = found.and_then(|reference| schema.pointer(reference.trim_start_matches('#')));
        if let Some(found) = found.filter(|_| !["comparison.runs.result", "kept.result"].contains(&path.as_str())) {
            collect_all(schema, found, &path, fields);
        }
    }
}

fn collect_fields(schema: &Json, object: &Json, path: &str, fields: &mut Vec<Field>) {
    let Some(properties) = object["properties"].as_object() else { return };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let help = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        fields.push(Field { path: path.clone(), help, kind: kind_of(property) });
        let optional = property["anyOf"].as_array().and_then(|options| options.first());
        let reference = optional.unwrap_or(property)["$ref"].as_str();
        if let Some(inner) = reference.and_then(|reference| schema.pointer(reference.trim_start_matches('#'))) {
            collect_fields(schema, inner, &path, fields);
        }
    }
}

fn kind_of(property: &Json) -> FieldKind {
    let is = |name: &str| match &property["type"] {
        Json::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    };
    if is("integer") || is("number") { FieldKind::Number } else { FieldKind::Other }
}

/// A field of a result that is shaped like a statistic of the unit; none for a unit of plain numbers.
fn shape(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Times => Some("host.latency_ns.all"),
        Unit::Histogram => Some("ftl.associativity"),
        Unit::Count | Unit::Bytes | Unit::Time | Unit::Ratio => None,
    }
}

/// The fields of a statistic of the unit, by their names; none for a unit of plain numbers.
pub fn parts(unit: Unit) -> Vec<Field> {
    let Some(object) = shape(unit) else { return Vec::new() };
    let part = |field: Field| {
        let path = field.path.strip_prefix(object)?.strip_prefix('.')?.to_owned();
        Some(Field { path, ..field })
    };
    fields().into_iter().filter_map(part).collect()
}

/// Paths of every number that a result may hold, including statistics of policies.
pub fn numbers(catalog: &Catalog) -> Vec<String> {
    let numbers = |fields: Vec<Field>| -> Vec<String> {
        fields.into_iter().filter(|field| field.kind == FieldKind::Number).map(|field| field.path).collect()
    };
    let (times, histogram) = (numbers(parts(Unit::Times)), numbers(parts(Unit::Histogram)));
    let statistics = statistics(catalog).flat_map(|(path, _, _, statistic)| match statistic.unit {
        Unit::Times => times.iter().map(|name| format!("{path}.{name}")).collect(),
        Unit::Histogram => histogram.iter().map(|name| format!("{path}.{name}")).collect(),
        _ => vec![path],
    });
    numbers(fields()).into_iter().chain(statistics).collect()
}

/// A statistic: its path in a result, its slot and policy, and its description.
type Found = (String, &'static SlotSpec, &'static PolicySpec, &'static Statistic);

/// Every statistic of every policy.
pub fn statistics(catalog: &Catalog) -> impl Iterator<Item = Found> {
    let of_slot = |(slot, policies): &(&'static SlotSpec, Vec<&'static PolicySpec>)| {
        let (section, key) = slot.key.split_once('.').expect("a slot's key is one of a section");
        let object = match slot.key {
            "host.scheduler" => "scheduler.statistics".to_owned(),
            "device.reliability" => "nand.reliability.statistics".to_owned(),
            _ => format!("{section}.statistics.{key}"),
        };
        let of_policy = |policy: &&'static PolicySpec| {
            let (slot, policy, object) = (*slot, *policy, object.clone());
            let path = move |statistic: &Statistic| format!("{object}.{}", statistic.name);
            slot.statistics_of(policy).map(move |statistic| (path(statistic), slot, policy, statistic))
        };
        policies.iter().flat_map(of_policy).collect::<Vec<_>>()
    };
    catalog.slots().iter().flat_map(of_slot)
}

/// Schema of a configuration file, for editors that complete and check TOML.
fn config(catalog: &Catalog) -> Json {
    let mut sections = Map::new();
    for (index, section) in SECTIONS.iter().enumerate() {
        let mut properties = properties(catalog, section.params());
        for table in catalog.tables.iter().filter(|table| table.section == index) {
            let Some((policy, _)) = table.policy else { continue };
            if policy.params.is_empty() && properties.contains_key(policy.name) {
                continue;
            }
            let inner = object(policy.summary, self::properties(catalog, policy.params));
            properties.insert(policy.name.to_owned(), inner);
        }
        sections.insert(section.name.to_owned(), object(section.help, properties));
    }
    sections.insert(
        VARY.to_owned(),
        json!({
            "description": "Keys that a comparison varies, such as \"host.scheduler\", each with the list of its \
                            values; those that vary together are a table of the list `together`.",
            "type": "object"
        }),
    );
    sections.insert(
        FIT.to_owned(),
        json!({
            "description": "Keys that a fit looks for, such as \"device.read_time\", each with the two ends of its \
                            range or, of a key that is no quantity, with the list of its values.",
            "type": "object"
        }),
    );
    sections.insert(EXPECT.to_owned(), expectations());
    let mut root = object("A Flashloom experiment.", sections);
    root["$schema"] = DIALECT.into();
    root["title"] = "Experiment".into();
    root
}

fn expectations() -> Json {
    let property = |(key, help): (&str, &str)| {
        let kind = if key.starts_with("at_") { "number" } else { "string" };
        (key.to_owned(), json!({ "type": kind, "description": help }))
    };
    let mut table = object("A claim on the results of a comparison.", EXPECT_KEYS.into_iter().map(property).collect());
    table["required"] = json!(["claim", "formula"]);
    json!({ "type": "array", "items": table })
}

fn properties(catalog: &Catalog, params: &[Param]) -> Map<String, Json> {
    params.iter().map(|param| (param.name.to_owned(), property(catalog, param))).collect()
}

fn object(description: &str, properties: Map<String, Json>) -> Json {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties
    })
}

/// Schema of a key. A schema cannot express the range of a quantity with a unit; the description states it.
fn property(catalog: &Catalog, param: &Param) -> Json {
    let mut schema = match param.kind {
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::CountOr { min, max, or } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "enum": [or.name] },
        ]}),
        Kind::SizeOr { or, .. } => json!({ "anyOf": [
            { "type": "string", "pattern": "^[ ]*[0-9]" },
            { "enum": [or.name] },
        ]}),
        Kind::Size { .. } | Kind::Time { .. } | Kind::Rate { .. } | Kind::Energy { .. } | Kind::Power { .. } => {
            json!({ "type": "string", "pattern": "^[ ]*[0-9]" })
        }
        Kind::Ratio { min, max } => json!({ "anyOf": [
            { "type": "number", "minimum": min, "maximum": max },
            { "type": "string", "pattern": "%?[ ]*$" },
        ]}),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(_) | Kind::Policy(_) => json!({ "enum": catalog.names(param) }),
        Kind::ChoiceOrFile(_) => json!({ "anyOf": [
            { "enum": catalog.names(param) },
            { "type": "string", "pattern": "\\.toml$|[/\\\\]" }
        ] }),
        Kind::Text => json!({ "type": "string" }),
    };
    schema["description"] =
        format!("{} Takes {}. {}", param.help, catalog.expected(param), param.tradeoff).trim().into();
    if param.default != Value::Absent {
        schema["default"] = json_value(&param.default).unwrap_or(Json::Null);
    }
    schema
}
