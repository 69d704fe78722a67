//! The JSON schemas of what goes in and what comes out, generated from the code and checked in under `schema/`.

use flashloom_units::{Kind, Param, Value};
use schemars::schema_for;
use serde_json::{Map, Value as Json, json};

use crate::config::{SECTIONS, TABLES, VARY, json_value};
use crate::result::{Comparison, RunResult};

/// The dialect that all of them are written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Every schema: the name of its file, and its text.
pub fn schemas() -> Vec<(&'static str, String)> {
    let text = |schema: Json| serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    vec![
        ("result.json", text(schema_for!(RunResult).to_value())),
        ("compare.json", text(schema_for!(Comparison).to_value())),
        ("config.json", text(config())),
    ]
}

/// The schema of a result, for help on its fields.
pub fn result() -> Json {
    schema_for!(RunResult).to_value()
}

/// The schema of a configuration file, for editors that complete and check TOML.
fn config() -> Json {
    let mut sections = Map::new();
    for (index, section) in SECTIONS.iter().enumerate() {
        let mut properties = properties(section.params);
        for table in TABLES.iter().filter(|table| table.section == index) {
            let Some((policy, _)) = table.policy else { continue };
            let inner = object(policy.summary, self::properties(policy.params));
            properties.insert(policy.name.to_owned(), inner);
        }
        sections.insert(section.name.to_owned(), object(section.help, properties));
    }
    sections.insert(
        VARY.to_owned(),
        json!({
            "description": "Keys that a comparison varies, such as \"host.scheduler\", each with the list of its values.",
            "type": "object"
        }),
    );
    let mut root = object("A Flashloom experiment.", sections);
    root["$schema"] = DIALECT.into();
    root["title"] = "Experiment".into();
    root
}

fn properties(params: &[Param]) -> Map<String, Json> {
    params.iter().map(|param| (param.name.to_owned(), property(param))).collect()
}

fn object(description: &str, properties: Map<String, Json>) -> Json {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties
    })
}

/// The range of a quantity with a unit cannot be said in a schema; the description says it.
fn property(param: &Param) -> Json {
    let mut schema = match param.kind {
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Size { .. } | Kind::Time { .. } | Kind::Rate { .. } => {
            json!({ "type": "string", "pattern": "^[ ]*[0-9]" })
        }
        Kind::Ratio { min, max } => json!({ "anyOf": [
            { "type": "number", "minimum": min, "maximum": max },
            { "type": "string", "pattern": "%?[ ]*$" },
        ]}),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(_) | Kind::Policy(_) => json!({ "enum": param.names() }),
        Kind::Text => json!({ "type": "string" }),
    };
    schema["description"] = format!("{} Takes {}. {}", param.help, param.expected(), param.tradeoff).trim().into();
    if param.default != Value::Absent {
        schema["default"] = json_value(&param.default).unwrap_or(Json::Null);
    }
    schema
}
