//! The house: a crate knows only those on the floors below its own, and files that know each other in a circle are one
//! module with its parts, but for the circles named here.
//!
//! A file knows another if a `use`, or a path that begins with `crate` or `super`, leads to what is defined there; a
//! name that a module only hands on leads to where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::{files, project, read as text_of};

/// The crates by floors, from the ground up.
const FLOORS: &[&[&str]] = &[
    &["huge-pages", "units"],
    &["files"],
    &["workload"],
    &["host", "nand"],
    &["ftl"],
    &["buffer"],
    &["verify"],
    &["device"],
    &["figures"],
    &["config"],
    &["run"],
    &["explain", "live", "report"],
    &["study"],
    &["export"],
    &["flashloom"],
    &["cli", "fuzz", "plugin", "python"],
    &["nbdkit"],
];

/// Circles that are no module with its parts, each with why it stands.
const KNOWN: &[(&str, &str)] = &[
    (
        "device: engine, engine::account, engine::ending, engine::looking, engine::splits, observer, simulation::run, \
         simulation::tenant, target, watchers",
        "a target has methods with a body that take a run and its observers",
    ),
    ("live: control, image, session, status, web", "a session with its sockets, its page and its image"),
    ("nand: event, operation", "an operation tells of itself"),
    ("nand: lib, known, region, timed, timed::moved", "the array is defined in the root of its crate"),
    ("run: aged, cache, engines, spent", "a drive is aged by an engine, which begins with an aged drive"),
    (
        "units: param, policy, problem, quantity, refusal, statistic",
        "a parameter may name a policy, which has parameters; what is refused names both",
    ),
];

/// Crates without any circle, even of a module with its parts.
const WITHOUT: &[&str] = &["ftl"];

/// Code without comments, strings' lines and tests at its end.
fn code(path: &str) -> String {
    let text = text_of(path);
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// A module: names on the way to it from the root of its crate.
type Module = Vec<String>;

fn module_of(root: &str, file: &str) -> Module {
    let inside = file.strip_prefix(root).and_then(|path| path.strip_suffix(".rs")).expect("it is in the folder");
    let mut names: Module = inside.trim_start_matches('/').split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        names.pop();
    }
    names
}

/// What one file of a crate says.
struct Source {
    /// What it defines.
    defined: BTreeSet<String>,
    /// Names that it takes from elsewhere: each with the whole path, from the root of the crate.
    taken: BTreeMap<String, Module>,
    /// Every path of this crate that it names.
    paths: BTreeSet<Module>,
}

/// A name at the start of a text, and the rest.
fn name(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// The paths of a `use`, with the names that they get here.
fn leaves(tree: &str, before: &[String], found: &mut Vec<(Module, String)>) {
    let tree = tree.trim();
    let (first, rest) = name(tree);
    let mut path = before.to_vec();
    if !first.is_empty() && first != "self" {
        path.push(first.to_owned());
    }
    if let Some(inner) = rest.strip_prefix("::{") {
        let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    leaves(&inner[start..at], &path, found);
                    start = at + 1;
                }
                _ => {}
            }
        }
    } else if let Some(inner) = rest.strip_prefix("::") {
        leaves(inner, &path, found);
    } else if let Some(last) = path.last().cloned() {
        let as_name = rest.trim().strip_prefix("as ").map_or(last, str::to_owned);
        found.push((path, as_name));
    }
}

/// A path from the root of the crate, of one as it is written in a module.
fn absolute(module: &Module, path: &[String], children: &BTreeSet<Module>) -> Option<Module> {
    let mut from = module.clone();
    let mut rest = path;
    match rest.first().map(String::as_str)? {
        "crate" => {
            from.clear();
            rest = &rest[1..];
        }
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                from.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            let mut whole = from.clone();
            whole.push(child.to_owned());
            children.contains(&whole).then_some(())?;
        }
    }
    from.extend(rest.iter().cloned());
    Some(from)
}

fn read(module: &Module, code: &str, modules: &BTreeSet<Module>) -> Source {
    let mut source = Source { defined: BTreeSet::new(), taken: BTreeMap::new(), paths: BTreeSet::new() };
    for line in code.lines() {
        let words = line.trim_start().split(' ').skip_while(|word| {
            word.starts_with("pub") || ["unsafe", "const", "async", "static"].contains(word) && !word.ends_with(':')
        });
        let words: Vec<&str> = words.collect();
        let item = match words[..] {
            ["fn" | "struct" | "enum" | "trait" | "type" | "union" | "macro_rules!", item, ..] => item,
            [item, ..] if line.contains("const ") || line.contains("static ") => item,
            [item, "{", ..] => item,
            _ => continue,
        };
        source.defined.insert(name(item).0.to_owned());
    }
    // What is only handed on is not known.
    let (mut rest, mut used) = (code, String::new());
    while let Some(at) = rest.find("use ") {
        let (before, statement) = (&rest[..at], &rest[at + 4..]);
        let end = statement.find(';').unwrap_or(statement.len());
        let is_handed_on = before.trim_end().rsplit(['\n', ' ']).next().is_some_and(|word| word.starts_with("pub"));
        used.push_str(before);
        let mut found = Vec::new();
        leaves(&statement[..end].replace('\n', " "), &[], &mut found);
        for (path, as_name) in found {
            if let Some(path) = absolute(module, &path, modules) {
                source.paths.extend((!is_handed_on).then(|| path.clone()));
                source.taken.insert(as_name, path);
            }
        }
        rest = &statement[end..];
    }
    used.push_str(rest);
    for start in ["crate::", "super::"] {
        for (at, _) in used.match_indices(start) {
            let mut path = Vec::new();
            let mut rest = &used[at..];
            loop {
                let (part, after) = name(rest);
                if part.is_empty() {
                    break;
                }
                path.push(part.to_owned());
                let Some(after) = after.strip_prefix("::") else { break };
                rest = after;
            }
            source.paths.extend(absolute(module, &path, modules));
        }
    }
    source
}

/// The module in which what a path leads to is defined.
fn home(path: &[String], sources: &BTreeMap<Module, Source>, depth: usize) -> Option<Module> {
    let length = (0..=path.len()).rev().find(|&length| sources.contains_key(&path[..length]))?;
    let (module, rest) = path.split_at(length);
    let source = &sources[module];
    let Some(item) = rest.first().filter(|item| !source.defined.contains(*item) && depth < 8) else {
        return Some(module.to_vec());
    };
    let Some(elsewhere) = source.taken.get(item) else { return Some(module.to_vec()) };
    let whole: Module = elsewhere.iter().chain(&rest[1..]).cloned().collect();
    home(&whole, sources, depth + 1)
}

/// The files that each file of a crate knows.
fn arrows(root: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = files(root, ".rs");
    let files: Vec<(Module, String)> = files.iter().map(|file| (module_of(root, file), code(file))).collect();
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    arrows_of(&files.iter().map(|(module, code)| (module.clone(), read(module, code, &modules))).collect())
}

fn arrows_of(sources: &BTreeMap<Module, Source>) -> BTreeMap<Module, BTreeSet<Module>> {
    let known = |(module, source): (&Module, &Source)| {
        let homes = source.paths.iter().filter_map(|path| home(path, sources, 0));
        (module.clone(), homes.filter(|other| other != module).collect())
    };
    sources.iter().map(known).collect()
}

/// Every set of files that know each other, over others or at once.
fn circles(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reach = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = next.pop() {
            next.extend(arrows[&at].iter().filter(|other| seen.insert((*other).clone())).cloned());
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows.keys().map(|module| (module, reach(module))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, seen) in &reached {
        if seen.contains(*module) && found.iter().all(|circle| !circle.contains(*module)) {
            found.push(seen.iter().filter(|other| reached[other].contains(*module)).cloned().collect());
        }
    }
    found
}

/// A circle as its crate and its files.
fn in_words(room: &str, circle: &BTreeSet<Module>) -> String {
    let name = |module: &Module| if module.is_empty() { "lib".to_owned() } else { module.join("::") };
    format!("{room}: {}", circle.iter().map(name).collect::<Vec<_>>().join(", "))
}

#[test]
fn files_know_each_other_in_no_circle_but_that_of_a_module_with_its_parts() {
    let mut found = Vec::new();
    for room in FLOORS.iter().flat_map(|floor| floor.iter()) {
        let is_whole = |circle: &BTreeSet<Module>| {
            circle.iter().any(|head| !head.is_empty() && circle.iter().all(|part| part.starts_with(head)))
        };
        let circles = circles(&arrows(&format!("crates/{room}/src")));
        let circles = circles.iter().filter(|circle| WITHOUT.contains(room) || !is_whole(circle));
        found.extend(circles.map(|circle| in_words(room, circle)));
    }
    let known: Vec<&str> = KNOWN.iter().map(|(circle, _)| *circle).collect();
    found.sort();
    assert_eq!(found, known, "left: the circles there are; right: those that are known");
}

#[test]
fn a_crate_knows_only_those_on_the_floors_below() {
    let folders = fs::read_dir(project().join("crates")).expect("it can be listed");
    let folders = folders.map(|entry| entry.expect("it can be listed").path());
    let mut rooms: Vec<String> = folders
        .filter(|folder| folder.join("src/lib.rs").is_file())
        .map(|folder| folder.file_name().expect("it has a name").to_string_lossy().into_owned())
        .collect();
    rooms.sort();
    let mut known: Vec<&str> = FLOORS.iter().flat_map(|floor| floor.iter().copied()).collect();
    known.sort_unstable();
    assert_eq!(rooms, known, "every crate stands on a floor");
    for (floor, rooms) in FLOORS.iter().enumerate() {
        for room in rooms.iter() {
            let manifest = text_of(&format!("crates/{room}/Cargo.toml"));
            let needed = manifest.split("[dependencies]").nth(1).unwrap_or_default();
            let needed = needed.split("\n[").next().unwrap_or_default();
            for (other, upper) in
                FLOORS.iter().enumerate().flat_map(|(at, rooms)| rooms.iter().map(move |room| (room, at)))
            {
                let is_needed = needed.lines().any(|line| line.starts_with(&format!("flashloom-{other}.")));
                assert!(!is_needed || upper < floor, "{room} knows {other}");
            }
            let lib = text_of(&format!("crates/{room}/src/lib.rs"));
            assert!(lib.starts_with("//! "), "the first line of {room} says what it is");
        }
    }
}

#[test]
fn a_path_leads_to_what_it_names_wherever_that_is_handed_on() {
    let module = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Module>();
    let files = [
        ("", "mod a;\nmod b;\npub use a::{inner::Deep, Shown};\npub struct Root;\n"),
        ("a", "pub struct Shown;\npub(super) use self::inner::Deep;\n"),
        ("a::inner", "use super::super::b;\npub fn deep() -> b::Other {}\npub enum Deep {}\n"),
        ("b", "use crate::{\n    Deep, Root as Top,\n};\npub struct Other;\n"),
    ];
    let modules: BTreeSet<Module> = files.iter().map(|(path, _)| module(path)).collect();
    let sources: BTreeMap<Module, Source> =
        files.iter().map(|(path, code)| (module(path), read(&module(path), code, &modules))).collect();
    let known = arrows_of(&sources);
    let of = |path: &str| known[&module(path)].iter().map(|other| other.join("::")).collect::<Vec<_>>();
    assert_eq!((of(""), of("a")), (vec![], vec![]), "what is only handed on is not known");
    assert_eq!((of("a::inner"), of("b")), (vec!["b".to_owned()], vec![String::new(), "a::inner".to_owned()]));
    let circle: BTreeSet<Module> = [module("a::inner"), module("b")].into();
    assert_eq!(circles(&known), [circle]);
}
