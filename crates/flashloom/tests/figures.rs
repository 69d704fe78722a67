//! Tables of figures in the documents: each says how it is made, and of which inputs. Where an input has changed since,
//! the table has to be made anew; nothing is run to find that out.
//!
//! ```text
//! <!-- figures: HOW; from: INPUT, INPUT; inputs HASH -->    a path of the project, `preset NAME`, or golden counts
//! <!-- figures: of the sources that the text names -->      facts, which no run makes
//! ```
//!
//! A mark is good for the tables below it, up to the next one or the end of its section (`##`). HOW begins with a
//! target of the Makefile, a command, or the way in which somebody measured. `golden` stands for the golden counts,
//! which change with the results of the simulator under most policies, and `golden-blk-mq` for those of the schedulers
//! of today. `make figures PAGE=.. HOW=..` writes the hash,
//! after the table was made.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom::device::{Preset, preset};
use sha2::{Digest, Sha256};

use crate::support::{project, read};

const START: &str = "<!-- figures: ";
/// Facts of a source.
const FACTS: &str = "of the sources that the text names";
/// Where the folders of golden counts are.
const GOLDEN: &str = "crates/run/tests";
/// Cells that begin with a number make a table one of figures.
const CELLS: usize = 3;

/// The pages of docs/ that people write, and the README.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(project().join("docs")).expect("the documents are checked in");
    let pages = docs.map(|entry| entry.expect("the folder can be read").path());
    let is_written =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "md") && !path.ends_with("reference.md");
    let mut pages: Vec<PathBuf> = pages.filter(is_written).chain([project().join("README.md")]).collect();
    pages.sort();
    pages
}

/// What a mark says: how the figures are made, their inputs, and the hash of these.
struct Figures<'a> {
    how: &'a str,
    inputs: Vec<&'a str>,
    hash: &'a str,
}

impl<'a> Figures<'a> {
    fn of(line: &'a str) -> Option<Result<Self, String>> {
        let mark = line.strip_prefix(START)?;
        let parts: Vec<&str> = mark.trim_end().trim_end_matches(" -->").split("; ").collect();
        Some(match parts[..] {
            [FACTS] => Ok(Self { how: FACTS, inputs: Vec::new(), hash: "" }),
            [how, inputs, hash] if inputs.starts_with("from: ") && hash.starts_with("inputs ") => {
                Ok(Self { how, inputs: inputs[6..].split(", ").collect(), hash: &hash[7..] })
            }
            _ => Err(format!("not of the form `{START}HOW; from: INPUT, ..; inputs HASH -->`: {line}")),
        })
    }

    /// What the hash has to be.
    fn expected(&self) -> Result<String, String> {
        let mut hash = Sha256::new();
        for input in &self.inputs {
            if let Some(name) = input.strip_prefix("preset ") {
                let preset = preset(name).ok_or_else(|| format!("no preset is named {name}"))?;
                hash.update(values(preset));
            } else {
                let folder = if input.starts_with("golden") { project().join(GOLDEN) } else { project() };
                add(&mut hash, &folder.join(input))?;
            }
        }
        Ok(hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Keys and values of a preset, without their sources.
fn values(preset: &Preset) -> String {
    preset.all().map(|(section, (key, value, _))| format!("{section}.{key}={value:?}\n")).collect()
}

/// Adds the contents of a file, or of all files of a folder in the order of their names.
fn add(hash: &mut Sha256, path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
        let mut inside = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        inside.sort();
        return inside.iter().try_for_each(|path| add(hash, path));
    }
    hash.update(fs::read(path).map_err(failed)?);
    Ok(())
}

/// Number of cells of a line that begin with a number.
fn numbers(line: &str) -> usize {
    let is_number = |cell: &&str| {
        let cell = cell.trim().trim_start_matches(['-', '+', '±', ' ', '*']);
        cell.starts_with(|c: char| c.is_ascii_digit())
    };
    line.split('|').filter(is_number).count()
}

/// What is wrong with the tables of a page: each with its line.
fn faults(text: &str, targets: &str) -> Vec<(usize, String)> {
    let (mut faults, mut is_covered, mut is_code) = (Vec::new(), false, false);
    let mut table: Option<(usize, usize)> = None;
    for (index, line) in text.lines().chain([""]).enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        is_covered &= !line.starts_with("## ");
        if line.starts_with('|') {
            let (first, count) = table.unwrap_or((index + 1, 0));
            table = Some((first, count + numbers(line)));
        } else if let Some((first, count)) = table.take()
            && count >= CELLS
            && !is_covered
        {
            faults.push((first, "a table of figures, and nothing says how it is made".to_owned()));
        }
        let Some(mark) = Figures::of(line) else { continue };
        is_covered = true;
        let checked = mark.and_then(|mark| {
            let target =
                mark.how.strip_prefix("make ").map(|how| how.split(' ').next().expect("a text has a first part"));
            if let Some(target) = target
                && !targets.contains(&format!("\n{target}:"))
            {
                return Err(format!("`make {target}` is no target"));
            }
            let expected = if mark.inputs.is_empty() { String::new() } else { mark.expected()? };
            let how = mark.how;
            let (found, from) = (mark.hash, mark.inputs.join(", "));
            if found == expected {
                return Ok(());
            }
            Err(format!(
                "made of other inputs than are here now ({found}, not {expected}): one of {from} has changed. Make the \
                 figures anew ({how}), then: make figures PAGE=.. HOW='{how}'"
            ))
        });
        faults.extend(checked.err().map(|fault| (index + 1, fault)));
    }
    faults
}

#[test]
fn tables_say_how_they_are_made_and_are_of_the_inputs_that_are_here() {
    let (targets, mut all) = (read("Makefile"), Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).expect("the page can be read");
        let name = page.file_name().expect("it is a file").to_string_lossy().into_owned();
        all.extend(faults(&text, &targets).into_iter().map(|(line, fault)| format!("{name}:{line}: {fault}")));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

/// Writes the hash of the inputs into the marks of figures that were made anew.
#[test]
#[ignore = "it writes: make figures"]
fn figures_were_made_anew() {
    let [how, of_page] = ["HOW", "PAGE"].map(|name| std::env::var(name).unwrap_or_default());
    assert!(!how.is_empty(), "which figures? HOW='make which-scheduler', for example");
    let mut count = 0;
    for page in pages().into_iter().filter(|page| page.to_string_lossy().ends_with(&of_page)) {
        let text = fs::read_to_string(&page).expect("the page can be read");
        let renewed = |line: &str| match Figures::of(line) {
            Some(Ok(mark)) if mark.how == how && !mark.inputs.is_empty() => {
                count += 1;
                let expected = mark.expected().unwrap_or_else(|fault| panic!("{}: {fault}", page.display()));
                line.replace(&format!("; inputs {} -->", mark.hash), &format!("; inputs {expected} -->"))
            }
            _ => line.to_owned(),
        };
        let lines: Vec<String> = text.lines().map(renewed).collect();
        let renewed = lines.join("\n") + "\n";
        if renewed != text {
            fs::write(&page, renewed).expect("the page can be written");
        }
    }
    println!("{count} marks of figures made by `{how}`");
    assert!(count > 0, "no figures are made by `{how}`");
}

#[test]
fn a_changed_input_a_missing_mark_and_an_unknown_target_are_found() {
    let table = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n| z | 3 |\n";
    let mark =
        |how: &str, inputs: &str, hash: &str| format!("{START}{how}; from: {inputs}; inputs {hash} -->\n{table}");
    let found =
        |text: &str| faults(text, "\nunit: x\n").into_iter().map(|(_, fault)| fault).collect::<Vec<_>>().concat();
    assert!(found(table).contains("nothing says how"));
    assert_eq!(found(&format!("{START}{FACTS} -->\n{table}")), "");
    let input = "preset mlc-16g";
    assert!(found(&format!("{START}{FACTS} -->\n{table}\n## Next\n\n{table}")).contains("nothing says how"));
    let right = Figures { how: "", inputs: vec![input], hash: "" }.expected().expect("it is a preset");
    assert_eq!(found(&mark("make unit", input, &right)), "");
    assert!(found(&mark("make unit", "preset nvme-tlc-1t", &right)).contains("preset nvme-tlc-1t has changed"));
    assert!(found(&mark("make units", input, &right)).contains("no target"));
    assert!(found(&mark("make unit", "preset mlc-16", &right)).contains("no preset"));
    assert!(found(&mark("make unit", "no/such/file", &right)).contains("no/such/file"));
    assert!(found(&format!("{START}make unit -->\n{table}")).contains("not of the form"));
}
