//! The walk of one request (`docs/walk.md`): every file, type, method and function that it names exists in the sources.
//!
//! The sources are read as text, as rustfmt writes them: a block ends with the brace at the indentation of the line
//! that opened it. A name has to be:
//!
//! ```text
//! `timed/dies.rs`    the end of the path of a source file; `format/*.rs` a folder with at least one
//! `Type`             a struct, enum, trait or alias of a source file
//! `Type::name`       a function or constant in an `impl` of the type or in the trait, or a variant of the enum; where
//!                    several files define such a type, in a file that the same paragraph or item names
//! `name`             a function of a file that the same paragraph or item names
//! ```
//!
//! The test sees that a name exists, not that the statement about it is true, nor that one function calls the other. Of
//! two types with one name in one file it sees the members of both, and likewise of functions. Of the output of macros
//! it sees the identifiers of `ids!` alone, and nothing that is only there for tests. Keys and fields of results are
//! checked by `documents.rs`.

use std::collections::BTreeMap;

use crate::support::{files, project, read};

/// A source file with the names that it defines.
#[derive(Default)]
struct SourceFile {
    /// Path from the root of the project.
    path: String,
    /// Functions outside of tests, of types and free ones.
    functions: Vec<String>,
    /// Types, each with its functions, constants and variants in this file.
    types: BTreeMap<String, Vec<String>>,
    /// Types defined here, rather than only given an `impl`.
    defined: Vec<String>,
}

/// All files below `src` of all crates and examples.
fn sources() -> Vec<SourceFile> {
    let paths = ["crates", "examples"].into_iter().flat_map(|folder| files(folder, ".rs"));
    let of_file = |path: String| {
        let text = read(&path);
        parse(path, &text)
    };
    paths.filter(|path| path.contains("/src/")).map(of_file).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name at the start of a text.
fn leading_name(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}

/// A line without indentation and the words before the one that says what it declares.
fn declaration(line: &str) -> &str {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.strip_prefix('(').and_then(|after| after.split_once(')')).map_or(after, |(_, after)| after);
    }
    let mut rest = rest.trim_start();
    for word in ["async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    if rest.starts_with("const fn ") { &rest["const ".len()..] } else { rest }
}

/// The type of `impl<..> Trait for path::Type<..> {`.
fn type_of_impl(line: &str) -> Option<String> {
    let header = line.strip_prefix("impl")?;
    // The parameters of the `impl` itself end where as many angles are closed as were opened.
    let mut depth = 0;
    let end = header.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    let header = if header.starts_with('<') { &header[end?.0 + 1..] } else { header };
    let subject = header.rsplit(" for ").next()?.trim_start_matches(['&', ' ']);
    let path = subject.split(['<', ' ', '{']).next()?;
    path.rsplit("::").next().map(str::to_owned)
}

fn parse(path: String, text: &str) -> SourceFile {
    let mut file = SourceFile { path, ..SourceFile::default() };
    // The type whose block this is, and how far to the left it was opened.
    let mut block: Option<(String, usize, bool)> = None;
    let mut declares_ids = false;
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let indent = line.len() - line.trim_start().len();
        let declared = declaration(line);
        declares_ids = line.trim_end().ends_with("ids! {") || declares_ids && line.trim() != "}";
        if let Some(name) = line.trim().strip_suffix(',').filter(|_| declares_ids) {
            file.types.entry(name.to_owned()).or_default();
            file.defined.push(name.to_owned());
        }
        if block.as_ref().is_some_and(|(_, opened, _)| indent <= *opened && line.trim() == "}") {
            block = None;
            continue;
        }
        if let Some((name, opened, is_enum)) = &block
            && indent == opened + 4
        {
            let members = file.types.entry(name.clone()).or_default();
            let constant = declared.strip_prefix("const ").map(leading_name);
            let variant = is_enum.then(|| leading_name(line.trim_start())).filter(|name| !name.is_empty());
            members.extend(constant.or(variant).map(str::to_owned));
            members.extend(declared.strip_prefix("fn ").map(|rest| leading_name(rest).to_owned()));
        }
        if let Some(rest) = declared.strip_prefix("fn ") {
            file.functions.push(leading_name(rest).to_owned());
        }
        let opens = line.trim_end().ends_with('{');
        if let Some(name) = type_of_impl(declared) {
            block = opens.then_some((name, indent, false));
        }
        for word in ["struct ", "enum ", "trait ", "type "] {
            let Some(rest) = declared.strip_prefix(word).filter(|_| block.is_none()) else { continue };
            let name = leading_name(rest).to_owned();
            file.defined.push(name.clone());
            file.types.entry(name.clone()).or_default();
            block = (opens && word != "struct ").then_some((name, indent, word == "enum "));
        }
    }
    file
}

/// Texts in single backticks, outside of code blocks, by paragraph, list item or table row.
fn paragraphs(text: &str) -> Vec<Vec<String>> {
    let mut paragraphs = vec![String::new()];
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let begins = line.is_empty() || line.starts_with(['-', '#', '|']) || leading_item(line);
        if begins {
            paragraphs.push(String::new());
        }
        if !is_code {
            let paragraph = paragraphs.last_mut().expect("there is one from the beginning");
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    let quoted = |text: &String| text.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    paragraphs.iter().map(quoted).collect()
}

/// True if a line begins an item of a numbered list.
fn leading_item(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.chars().all(|c| c.is_ascii_digit()))
}

/// Source files whose path ends with a name; `*.rs` stands for all files of a folder.
fn files_of<'a>(sources: &'a [SourceFile], name: &str) -> Vec<&'a SourceFile> {
    let is_named = |file: &&SourceFile| match name.strip_suffix("/*.rs") {
        Some(folder) => file.path.rsplit_once('/').is_some_and(|(parent, _)| ends_with_path(parent, folder)),
        None => ends_with_path(&file.path, name),
    };
    sources.iter().filter(is_named).collect()
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// True if a name exists, given the other names of its paragraph.
fn exists(sources: &[SourceFile], beside: &[String], name: &str) -> bool {
    if name.ends_with(".rs") {
        return !files_of(sources, name).is_empty();
    }
    // Folders, and what `documents.rs` checks.
    if name.contains('/') {
        return project().join(name).exists();
    }
    if name.contains('.') {
        return true;
    }
    let named = || beside.iter().filter(|name| name.ends_with(".rs")).flat_map(|name| files_of(sources, name));
    let is_type = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
    match name.split_once("::") {
        Some((of, member)) => {
            let defines = |file: &&SourceFile| file.defined.iter().any(|name| name == of);
            let has =
                |file: &SourceFile| file.types.get(of).is_some_and(|members| members.iter().any(|name| name == member));
            match sources.iter().filter(defines).count() {
                0 => false,
                1 => sources.iter().any(has),
                _ => named().any(has),
            }
        }
        None if is_type(name) => sources.iter().any(|file| file.defined.iter().any(|defined| defined == name)),
        None => named().any(|file| file.functions.iter().any(|function| function == name)),
    }
}

/// Names in a text that do not exist, and the number of its names.
fn unknown(sources: &[SourceFile], text: &str) -> (Vec<String>, usize) {
    let paragraphs = paragraphs(text);
    let names = paragraphs.iter().map(Vec::len).sum();
    let unknown = |paragraph: &Vec<String>| {
        paragraph.iter().filter(|name| !exists(sources, paragraph, name)).cloned().collect::<Vec<_>>()
    };
    (paragraphs.iter().flat_map(unknown).collect(), names)
}

#[test]
fn what_the_walk_names_exists() {
    let (unknown, names) = unknown(&sources(), &read("docs/walk.md"));
    assert!(unknown.is_empty(), "docs/walk.md names what is not there: {unknown:?}");
    assert!(names > 100, "the walk names files and functions, not only {names}");
}

#[test]
fn a_name_that_does_not_exist_is_found() {
    let sources = sources();
    for known in [
        "`crates/device/src/drive.rs`, `drive/link.rs`, `trace/format/*.rs`, `crates/nand`",
        "`Drive`, `Drive::accept`, `Mapping::write`, `Decision::NotBefore`, `DriveEvent`, `Nand::NO_TAG`",
        "`array_ended` in `timed/ends.rs`\ngoes on, and so does `transferred`",
        "`buffer.capacity = \"0B\"`",
        "```\n`Nothing::at_all`\n```",
    ] {
        assert_eq!(unknown(&sources, known).0, Vec::<String>::new());
    }
    let paths = ["crates/device/src/drove.rs", "rive.rs", "nothing/*.rs", "crates/nothing"];
    let names = ["Drove", "Drive::acept", "Drove::accept", "Decision::Never", "array_ended"];
    for missing in paths.into_iter().chain(names) {
        assert_eq!(unknown(&sources, &format!("`{missing}`")).0, [missing]);
    }
    let apart = "1. `timed/ends.rs`: `array_ended`\n2. `array_ended`, and `no_such_function` in `timed/ends.rs`";
    assert_eq!(unknown(&sources, apart).0, ["no_such_function"], "a name is looked for in the files of its item");
    assert_eq!(unknown(&sources, "1. `timed/ends.rs`\n2. `array_ended`").0, ["array_ended"]);
}

#[test]
fn a_type_that_several_files_define_is_that_of_the_file_beside_it() {
    let sources = [
        ("one", "pub struct State {\n    x: u32,\n}\n\nimpl Rule for State {\n    fn one() {}\n}\n"),
        ("two", "struct State(u32);\n\nimpl<T: Fn(u8)> a::State<T> {\n    pub(crate) fn two() {}\n}\n"),
        ("three", "// fn four() {}\nenum Kind {\n    Full,\n    Part { of: u32 },\n}\n"),
        ("four", "fn six() {}\n\n#[cfg(test)]\nmod tests {\n    fn five() {}\n}\n"),
    ];
    let sources = sources.map(|(name, text)| parse(format!("crates/a/src/{name}.rs"), text));
    let names = |text: &str| unknown(&sources, text).0;
    assert_eq!(names("`State::one` in `one.rs`, `State::two` in `two.rs`, `Kind::Full`, `Kind::Part`"), [""; 0]);
    assert_eq!(names("`State::one` in `two.rs`"), ["State::one"]);
    assert_eq!(names("`State::one`, `Kind::None`"), ["State::one", "Kind::None"]);
    assert_eq!(names("`four` in `three.rs`, `five` and `six` in `four.rs`, `x` in `one.rs`"), ["four", "five", "x"]);
}
