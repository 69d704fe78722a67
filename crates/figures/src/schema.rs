//! What a program writes as JSON: every output with its schema, and the fields of a result.

use flashloom_units::Unit;
use serde_json::Value as Json;

/// What the program writes as JSON: an object that `explain` and the schemas describe.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Name of the object, with which the paths of its fields begin.
    pub name: &'static str,
    /// File of its schema, in the folder `schema`.
    pub file: &'static str,
    /// Its JSON schema.
    pub schema: fn() -> Json,
}

/// An [`Output`]: its name, the file of its schema, its type. The file is checked in, and held by a test against the
/// type, from which tests take it.
#[macro_export]
macro_rules! output {
    ($name:literal, $file:literal, $type:ty) => {
        $crate::schema::Output {
            name: $name,
            file: $file,
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!($type).to_value(),
            #[cfg(not(feature = "schema"))]
            schema: || {
                let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/", $file));
                serde_json::from_str(file).expect("a test holds it against its type")
            },
        }
    };
}

/// The result of a run.
pub const RESULT: Output = output!("result", "result.json", crate::result::RunResult);

/// What every program writes.
pub const OUTPUTS: [Output; 4] = [
    RESULT,
    output!("comparison", "compare.json", crate::result::Comparison),
    output!("kept", "kept.json", crate::result::KeptRun),
    output!("recording", "recording.json", flashloom_workload::TraceInfo),
];

/// A field of a result.
pub struct Field {
    /// Names on the path to it, joined by points.
    pub path: String,
    /// Description.
    pub help: String,
    /// True if its value is a number.
    pub is_number: bool,
}

/// Every field of a result; an object is followed by its own fields.
pub fn fields() -> Vec<Field> {
    let schema = (RESULT.schema)();
    let mut fields = Vec::new();
    collect_fields(&schema, &schema, "", false, &mut fields);
    fields
}

impl Field {
    /// A field that only needs path and description.
    pub fn other(path: String, help: String) -> Self {
        Self { path, help, is_number: false }
    }
}

/// Every field of JSON outputs, including those in lists; each path begins with the name of the output.
pub fn all_fields(outputs: &[Output]) -> Vec<Field> {
    let mut fields = Vec::new();
    for output in outputs {
        let schema = (output.schema)();
        collect_fields(&schema, &schema, output.name, true, &mut fields);
    }
    fields
}

/// Results within other outputs, and of each workload in a result, whose fields are not repeated.
const RESULTS: [&str; 3] = ["comparison.runs.result", "kept.result", "result.tenants.host"];

/// Collects the fields of an object of a schema, and those of the objects in it; in lists only if these are entered.
fn collect_fields(schema: &Json, object: &Json, path: &str, enters_lists: bool, fields: &mut Vec<Field>) {
    let Some(properties) = object["properties"].as_object() else { return };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let help = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        fields.push(Field { path: path.clone(), help, is_number: is_number(property) });
        let inner = property["anyOf"].as_array().and_then(|options| options.first()).unwrap_or(property);
        // Of a list or a table what each entry has.
        let each = ["items", "additionalProperties"].into_iter().map(|each| &inner[each]).find(|each| each.is_object());
        let found = each.filter(|_| enters_lists).unwrap_or(inner)["$ref"].as_str();
        let found = found.and_then(|reference| schema.pointer(reference.trim_start_matches('#')));
        if let Some(found) = found.filter(|_| !RESULTS.contains(&path.as_str())) {
            collect_fields(schema, found, &path, enters_lists, fields);
        }
    }
}

fn is_number(property: &Json) -> bool {
    let is = |name: &str| match &property["type"] {
        Json::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    };
    is("integer") || is("number")
}

/// The fields of a figure of a policy of that unit, by their names; none for a unit of plain numbers.
pub fn parts(unit: Unit) -> Vec<Field> {
    let shape = match unit {
        Unit::Times => "Distribution",
        Unit::Histogram => "TallyResult",
        Unit::Count | Unit::Bytes | Unit::Time | Unit::Ratio => return Vec::new(),
    };
    let schema = (RESULT.schema)();
    let mut fields = Vec::new();
    collect_fields(&schema, &schema["$defs"][shape], "", false, &mut fields);
    fields
}
