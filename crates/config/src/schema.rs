//! JSON schemas of inputs and outputs, generated from the code and checked in under `schema/`.

use flashloom_figures::schema::Output;
use flashloom_units::{Kind, Param, Value};
use serde_json::{Map, Value as Json, json};

use crate::{Catalog, EXPECT, EXPECT_KEYS, FIT, SECTIONS, VARY, json_value};

/// The JSON Schema dialect of all of them.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Every schema: its file name, and its text.
pub fn schemas(catalog: &Catalog) -> Vec<(&'static str, String)> {
    let text = |schema: Json| serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    let of_output = |output: &Output| (output.file, text((output.schema)()));
    let outputs = catalog.registry().outputs.iter().map(of_output);
    outputs.chain([("config.json", text(config(catalog)))]).collect()
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
