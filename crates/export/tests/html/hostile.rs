//! Documents that somebody sent: a hostile text in every field and every key makes a page of the same elements, with
//! the same attributes, as a plain text there.

use flashloom_export::dataset::DataSet;
use flashloom_export::html::{Document, page};
use serde_json::{Map, Value, json};

use super::dataset::write;
use super::validation::validation;
use super::{HOSTILE, PICTURES, comparison, elements, own, run};

/// What a key or a text of a document is replaced with: a number keeps them apart.
type Replacement<'a> = &'a dyn Fn(usize) -> String;

/// Pointers to all texts of a value, and to all objects, the inner ones first.
fn places(value: &Value, at: &str, texts: &mut Vec<String>, objects: &mut Vec<String>) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::String(_) => texts.push(at.to_owned()),
        Value::Array(of) => {
            (0..).zip(of).for_each(|(i, of): (usize, _)| places(of, &format!("{at}/{i}"), texts, objects))
        }
        Value::Object(of) => {
            of.iter().for_each(|(key, of)| places(of, &format!("{at}/{}", escaped(key)), texts, objects));
            objects.push(at.to_owned());
        }
        _ => {}
    }
}

fn read(value: &Value) -> Option<Document> {
    Document::read("hostile.json", &value.to_string()).ok()
}

/// A document with a replacement in every text and key that its format leaves free; returns how many of each these are.
fn replaced(document: &Value, replacement: Replacement<'_>) -> (Value, usize, usize) {
    let mut value = document.clone();
    let (mut texts, mut objects) = (Vec::new(), Vec::new());
    places(document, "", &mut texts, &mut objects);
    let (mut changed_texts, mut changed_keys) = (0, 0);
    for at in texts {
        let target = value.pointer_mut(&at).expect("it is there");
        let before = std::mem::replace(target, replacement(changed_texts).into());
        if read(&value).is_some() {
            changed_texts += 1;
        } else {
            *value.pointer_mut(&at).expect("it is there") = before;
        }
    }
    for at in objects {
        let target = value.pointer_mut(&at).expect("it is there");
        let before = target.take();
        let members = before.as_object().expect("an object");
        let keyed = (changed_keys..).zip(members).map(|(number, (_, of))| (replacement(10_000 + number), of.clone()));
        *target = keyed.collect::<Map<_, _>>().into();
        // A field of the format would be missing, or left out.
        let is_free = match read(&value) {
            Some(Document::Run(result)) => kept(&result, &replacement(10_000 + changed_keys)),
            Some(Document::Comparison(comparison)) => kept(&comparison, &replacement(10_000 + changed_keys)),
            Some(Document::Validation(result)) => kept(&result, &replacement(10_000 + changed_keys)),
            _ => false,
        };
        if is_free {
            changed_keys += members.len();
        } else {
            *value.pointer_mut(&at).expect("it is there") = before;
        }
    }
    (value, changed_texts, changed_keys)
}

fn kept(document: &impl serde::Serialize, key: &str) -> bool {
    let json = serde_json::to_string(document).expect("results are JSON");
    json.contains(&json!(key).to_string())
}

/// Holds two pages of one document against each other, one with plain texts and one with hostile ones.
fn alike(plain: &str, hostile: &str) {
    let (plain, hostile) = (elements(plain), elements(hostile));
    for (a, b) in plain.iter().zip(&hostile) {
        assert_eq!((&a.name, &a.attributes), (&b.name, &b.attributes), "beside {:?}", a.text);
    }
    assert_eq!(plain.len(), hostile.len());
    for name in hostile.iter().flat_map(|element| element.attributes.keys()) {
        assert!(!name.starts_with("on") && name != "style" && name != "src", "{name}");
    }
}

/// Holds what a page shows to be visible.
fn nothing_hidden(page: &str) {
    assert!(page.contains("\\u{202e}") && page.contains("\\u{1b}[31m"), "they are shown");
    let hidden = ['\u{1b}', '\u{202e}', '\u{200b}', '\u{9b}'];
    assert!(!own(page).contains(hidden), "nothing is hidden");
}

/// It begins as [`HOSTILE`] does, so that both are sorted alike.
fn plain(number: usize) -> String {
    format!("\"plain {number}")
}

fn hostile(number: usize) -> String {
    format!("{HOSTILE}{number}")
}

fn check(document: &impl serde::Serialize, least_texts: usize, least_keys: usize) {
    let value = serde_json::to_value(document).expect("results are JSON");
    let (benign, ..) = replaced(&value, &plain);
    let (poisoned, texts, keys) = replaced(&value, &hostile);
    assert!(texts >= least_texts && keys >= least_keys, "{texts} texts, {keys} keys");
    let [benign, poisoned] =
        [("plain", benign), (HOSTILE, poisoned)].map(|(name, of)| page(name, &read(&of).expect("ok")));
    alike(&benign, &poisoned);
    nothing_hidden(&poisoned);
}

#[test]
fn a_hostile_run_makes_the_page_of_a_plain_one() {
    check(&run(&PICTURES), 40, 60);
}

#[test]
fn a_hostile_comparison_makes_the_page_of_a_plain_one() {
    let mut value = serde_json::to_value(comparison(&PICTURES)).expect("results are JSON");
    value["expectations"] = json!([{ "claim": "c", "formula": "f", "at_least": 1.0, "value": 2.0, "holds": true }]);
    value["hints"] = json!([{ "about": "a", "text": "t", "key": "k", "rows": [1, 2] }]);
    value["left_out"] = json!([{ "vary": { "a": "b" }, "problems": ["p"] }]);
    check(&value, 160, 240);
}

#[test]
fn a_hostile_validation_makes_the_page_of_a_plain_one() {
    check(&validation(2), 30, 60);
}

/// A data set whose varied keys, their values and everything else that is a text are made by `text`.
fn swept(text: Replacement<'_>) -> DataSet {
    let folder = tempfile::tempdir().expect("a folder");
    // The last two would be one id.
    let keys: Vec<String> = (0..3).map(text).chain(["__proto__", "a.b", "a-b"].map(str::to_owned)).collect();
    let config = json!({ text(4): { text(5): text(6), "__proto__": text(7) }, "constructor": [text(8)] });
    let row = |number: usize, is_ok: bool, seed: u64| {
        let mut row = json!({
            "id": text(100 + 10 * number + seed as usize), "status": if is_ok { "ok" } else { "failed" },
            "version": text(1), "seed": seed, "error.type": text(2), "error.message": text(3),
            "host.iops": 1000.0, "host.latency_ns.all.p99_9": 5e6 + number as f64, "ftl.waf": 1.5,
            "nand.erases.total": 100.0 + number as f64, "integrity.verified": true, "run.wall_seconds": 0.5,
            "config": config.to_string(),
        });
        for (at, key) in (20..).zip(&keys) {
            row[key] = text(at + 10 * (number % 3)).into();
        }
        row["__proto__"] = if number.is_multiple_of(2) { "__proto__" } else { "constructor" }.into();
        row
    };
    let rows: Vec<Value> = (0..8).flat_map(|number| [1, 2].map(|seed| row(number, number != 5, seed))).collect();
    let varied: Vec<&str> = keys.iter().map(String::as_str).collect();
    write(&folder.path().join("data.parquet"), &rows, Some(&varied));
    match Document::open(folder.path().to_str().expect("text")).unwrap_or_else(|problem| panic!("{problem}")) {
        Document::Sweep(data) => data,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hostile_data_set_makes_the_page_of_a_plain_one() {
    let benign = page("plain", &Document::Sweep(swept(&plain)));
    let poisoned = page(HOSTILE, &Document::Sweep(swept(&hostile)));
    alike(&benign, &poisoned);
    nothing_hidden(&poisoned);
    let ids: Vec<String> = elements(&poisoned).iter().filter_map(|of| of.attributes.get("id").cloned()).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "each id is that of one element");
    assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')), "{ids:?}");
}
