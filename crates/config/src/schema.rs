//! JSON schemas of inputs and outputs, generated from the code and checked in under `schema/`.

use flashloom_figures::schema::Output;
use flashloom_units::{Kind, Param, Statistic, Unit, Value};
use serde_json::{Map, Value as Json, json};

use crate::raw::NAME;
use crate::statistics::object_of;
use crate::{Catalog, EXPECT, EXPECT_KEYS, FIT, SECTIONS, VARY, WORKLOAD, json_value};

/// The JSON Schema dialect of all of them.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Every schema: its file name, and its text.
pub fn schemas(catalog: &Catalog) -> Vec<(&'static str, String)> {
    let text = |schema: Json| serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    let of_output = |output: &Output| (output.file, text(with_figures(catalog, (output.schema)())));
    let outputs = catalog.registry().outputs.iter().map(of_output);
    outputs.chain([("config.json", text(config(catalog)))]).collect()
}

/// A schema in which every object of a policy names the figures of the policies that can stand there.
fn with_figures(catalog: &Catalog, mut schema: Json) -> Json {
    for (slot, policies) in catalog.slots() {
        let path: Vec<&str> = object_of(slot).split('.').collect();
        let Some(section) = schema.pointer(&format!("/$defs/{}", type_of(path[0]))) else { continue };
        let Some(object) = section["properties"].get(path[1]) else { continue };
        let (mut object, mut figures) = (object.clone(), Map::new());
        for statistic in policies.iter().flat_map(|policy| slot.statistics_of(policy)) {
            figures.entry(statistic.name).or_insert_with(|| figure(statistic));
        }
        object["properties"] = figures.into();
        schema["$defs"][type_of(path[0])]["properties"][path[1]] = object;
    }
    schema
}

/// The type of a section of a result, by its name among the schema's definitions.
fn type_of(section: &str) -> String {
    let (first, rest) = section.split_at(1);
    format!("{}{rest}Result", first.to_uppercase())
}

/// Schema of a figure.
fn figure(statistic: &Statistic) -> Json {
    let mut schema = match statistic.unit {
        Unit::Count | Unit::Bytes | Unit::Time => json!({ "type": "integer", "minimum": 0 }),
        Unit::Ratio => json!({ "type": "number" }),
        Unit::Times => json!({ "$ref": "#/$defs/Distribution" }),
        Unit::Histogram => json!({ "$ref": "#/$defs/TallyResult" }),
    };
    schema["description"] = statistic.help.into();
    schema
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
        let one = object(section.help, properties);
        let schema = if section.name == WORKLOAD { one_or_several(one) } else { one };
        sections.insert(section.name.to_owned(), schema);
    }
    let varied = "Keys that a comparison varies, such as \"host.scheduler\", each with the list of its values; those \
                  that vary together are a table of the list `together`.";
    let fitted = "Keys that a fit looks for, such as \"device.read_time\", each with the two ends of its range or, of \
                  a key that is no quantity, with the list of its values.";
    for (name, description) in [(VARY, varied), (FIT, fitted)] {
        sections.insert(name.to_owned(), json!({ "description": description, "type": "object" }));
    }
    sections.insert(EXPECT.to_owned(), expectations());
    let mut root = object("A Flashloom experiment.", sections);
    root["$schema"] = DIALECT.into();
    root["title"] = "Experiment".into();
    root
}

/// The schema of a section, or of a list of them, each with a name.
fn one_or_several(one: Json) -> Json {
    let mut named = one.clone();
    named["description"] = "One of several workloads on the drive.".into();
    named["properties"][NAME] = json!({
        "description": "Name of the workload: its keys are `workload.NAME.KEY`.",
        "type": "string",
        "pattern": "^[a-z0-9_-]{1,32}$",
    });
    named["required"] = json!([NAME]);
    json!({ "description": one["description"], "anyOf": [one, { "type": "array", "items": named }] })
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
    let quantity = || json!({ "type": "string", "pattern": "^[ ]*[0-9]" });
    let mut schema = match param.kind {
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::CountOr { min, max, or } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "enum": [or.name] },
        ]}),
        Kind::SizeOr { or, .. } => json!({ "anyOf": [quantity(), { "enum": [or.name] }] }),
        Kind::Size { .. } | Kind::Time { .. } | Kind::Rate { .. } | Kind::Energy { .. } | Kind::Power { .. } => {
            quantity()
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
