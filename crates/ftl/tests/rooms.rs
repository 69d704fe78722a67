//! The files of this crate have no circular dependencies.
//!
//! The dependencies of a file are its paths (`crate::`, `super::`, `self::`, and those of imported modules), each
//! followed through re-exports to the file that defines the item. Method calls do not count, because several files may
//! add methods to one type. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module by its path from the root of the crate.
type Module = Vec<String>;

/// The text of a module without comments and tests, and its imports.
struct File {
    text: String,
    imports: BTreeMap<String, Vec<String>>,
}

type Files = BTreeMap<Module, File>;

fn sources(folder: &Path, module: &Module, found: &mut Vec<(Module, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path()) {
        let stem = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let below = [&module[..], std::slice::from_ref(&stem)].concat();
        if entry.is_dir() {
            sources(&entry, &below, found);
        } else {
            let is_folders = ["lib", "mod"].contains(&&*stem);
            found.push((if is_folders { module.clone() } else { below }, fs::read_to_string(entry).expect("a text")));
        }
    }
}

/// The code without tests, and the names of the modules that are only compiled for tests.
fn code(text: &str) -> (String, Vec<String>) {
    let mut tests = Vec::new();
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "#[cfg(test)]" {
            let next = lines.next().unwrap_or_default();
            match next.trim_end().strip_suffix(';') {
                Some(declared) => tests.push(declared.rsplit(' ').next().unwrap_or_default().to_owned()),
                None => break,
            }
        } else {
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
        }
    }
    (code.replace("r#", ""), tests)
}

/// The paths of a use tree such as `crate::{a::B, c}`, which begins with the text.
fn tree(text: &str) -> Vec<Vec<String>> {
    let name_ends = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(name_ends);
    let Some(rest) = rest.strip_prefix("::") else { return vec![vec![name.to_owned()]] };
    let below = match rest.strip_prefix('{') {
        None => tree(rest),
        Some(list) => items(list).iter().flat_map(|item| tree(item)).collect(),
    };
    below.into_iter().map(|path| [vec![name.to_owned()], path].concat()).collect()
}

/// The items of a list up to its closing brace.
fn items(list: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, vec![String::new()]);
    for letter in list.chars() {
        match letter {
            '}' if depth == 0 => break,
            ',' if depth == 0 => found.push(String::new()),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                found.last_mut().expect("there is one").push(letter);
            }
        }
    }
    found.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// All paths of a text that begin with a name.
fn paths(text: &str, name: &str) -> Vec<Vec<String>> {
    let begins = format!("{name}::");
    let is_whole = |at: usize| !text[..at].ends_with(|letter: char| letter.is_alphanumeric() || "_:".contains(letter));
    let places = text.match_indices(&begins).map(|(at, _)| at).filter(|&at| is_whole(at));
    places.flat_map(|at| tree(&text[at..])).collect()
}

/// A path made absolute: `self` and `super` replaced, seen from a module.
fn absolute(module: &Module, path: &[String]) -> Vec<String> {
    let mut base = module.clone();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match &**first {
            "crate" => base.clear(),
            "super" => _ = base.pop(),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    [&base[..], rest].concat()
}

/// The module that defines the item of an absolute path, and true if the path names the module itself.
fn holder(files: &Files, path: &[String], depth: u32) -> (Module, bool) {
    assert!(depth < 32, "an import leads to itself: {path:?}");
    let mut module = Module::new();
    for (at, name) in path.iter().enumerate() {
        let below = [&module[..], std::slice::from_ref(name)].concat();
        if files.contains_key(&below) {
            module = below;
        } else if let Some(target) = files.get(&module).and_then(|file| file.imports.get(name)) {
            return holder(files, &[&target[..], &path[at + 1..]].concat(), depth + 1);
        } else {
            return (module, name == "self");
        }
    }
    (module, true)
}

fn files() -> Files {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &Module::new(), &mut found);
    read(found)
}

fn read(found: Vec<(Module, String)>) -> Files {
    let mut tests = BTreeSet::new();
    let mut files = Files::new();
    for (module, text) in found {
        let (text, only_tests) = code(&text);
        tests.extend(only_tests.into_iter().map(|name| [&module[..], &[name]].concat()));
        files.insert(module, File { text, imports: BTreeMap::new() });
    }
    files.retain(|module, _| !tests.contains(module));
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    for (module, file) in &mut files {
        for path in file.text.split("use ").skip(1).flat_map(|rest| tree(rest.trim_start())) {
            let is_child = modules.contains(&[&module[..], &path[..1]].concat());
            let is_own = ["crate", "super", "self"].contains(&&*path[0]);
            let (Some(name), true) = (path.last(), is_child || is_own) else { continue };
            let name = if name == "self" { &path[path.len() - 2] } else { name };
            let target =
                absolute(module, &path[..path.len() - usize::from(path.last().is_some_and(|it| it == "self"))]);
            file.imports.insert(name.clone(), target);
        }
    }
    files
}

/// The modules that a module depends on.
fn used(files: &Files, module: &Module) -> BTreeSet<Module> {
    let file = &files[module];
    let own = ["crate", "super", "self"].iter().flat_map(|name| paths(&file.text, name));
    let own = own.map(|path| absolute(module, &path));
    let children = files.keys().filter(|other| other.len() == module.len() + 1 && other.starts_with(module));
    let children = children.map(|child| (&child[module.len()], child));
    let imported = file.imports.iter().chain(children);
    let through = imported.filter(|(_, target)| holder(files, target, 0).1).flat_map(|(name, target)| {
        paths(&file.text, name).into_iter().map(move |path| [&target[..], &path[1..]].concat())
    });
    let named = own.chain(through).map(|path| holder(files, &path, 0)).filter(|(_, is_module)| !is_module);
    named.map(|(holder, _)| holder).filter(|other| other != module).collect()
}

/// The modules of circular dependencies, if any: those left after removing, again and again, modules that depend on
/// none of the rest or that none of the rest depends on.
fn circle(files: &Files) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut uses: BTreeMap<_, _> = files.keys().map(|module| (module.clone(), used(files, module))).collect();
    loop {
        let used: BTreeSet<Module> = uses.values().flatten().cloned().collect();
        let before = uses.len();
        uses.retain(|module, of| !of.is_empty() && used.contains(module));
        let left: BTreeSet<Module> = uses.keys().cloned().collect();
        uses.values_mut().for_each(|of| of.retain(|other| left.contains(other)));
        if uses.len() == before {
            return uses;
        }
    }
}

#[test]
fn no_file_uses_one_that_uses_it() {
    let files = files();
    assert!(files.len() > 60 && used(&files, &vec!["mapping".to_owned(), "cached".to_owned()]).len() > 3);
    let said: Vec<String> = circle(&files)
        .iter()
        .map(|(module, of)| {
            let of: Vec<String> = of.iter().map(|other| other.join("::")).collect();
            format!("{} uses {}", module.join("::"), of.join(", "))
        })
        .collect();
    assert!(said.is_empty(), "these files use each other:\n{}", said.join("\n"));
}

/// Finds a module imported by name, an item through a re-export, and one by a path within the code.
#[test]
fn every_way_to_use_a_file_is_seen() {
    let text = |uses: &str| {
        let source = |module: &str, text: &str| {
            let path = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
            (path.collect::<Module>(), text.to_owned())
        };
        read(vec![
            source("", "mod low;\nmod high;\npub use high::High;\n"),
            source("low", uses),
            source("high", "use crate::low::Low;\npub struct High(Low);\n"),
        ])
    };
    let low = "pub struct Low;\n";
    assert!(circle(&text(low)).is_empty());
    for uses in [
        "use super::high;\nfn f() -> high::High { high::High }\n",
        "use crate::High;\n",
        "use crate::{std, High as _};\n",
        "fn f(_: &super::high::High) {}\n",
    ] {
        assert!(!circle(&text(&format!("{uses}{low}"))).is_empty(), "{uses}");
    }
    assert!(circle(&text(&format!("{low}#[cfg(test)]\nmod tests {{\n    use super::high::High;\n}}\n"))).is_empty());
}
