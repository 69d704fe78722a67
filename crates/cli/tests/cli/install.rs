//! What a package installs beside the program, and the version that all packages have.

use std::fs;
use std::process::{Command, Stdio};

use crate::lab::Lab;

/// The project's folder.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Commands of the program, those of `trace` and `cache` among them.
const COMMANDS: &str = "run compare report probe validate fit serve reproduce generate trace trace-info trace-convert \
                        list explain cache cache-list cache-size cache-clear completions man";

#[test]
fn every_command_has_a_manual_page_that_names_its_options() {
    let lab = Lab::new();
    fs::create_dir(lab.path("man1")).expect("a folder can be made");
    lab.succeed("man man1");
    for command in COMMANDS.split(' ') {
        assert!(lab.read(&format!("man1/flashloom-{command}.1")).contains(".SH SYNOPSIS"), "{command}");
    }
    assert_eq!(fs::read_dir(lab.path("man1")).expect("it can be read").count(), COMMANDS.split(' ').count() + 1);
    assert!(lab.read("man1/flashloom-compare.1").contains("\\-\\-vary"));
}

#[test]
fn manual_pages_need_a_folder_that_exists() {
    Lab::new().refuses("man nowhere", &["there is no such folder", "nowhere"]);
}

/// Bash completes a command, an option and a value with the script in it.
#[test]
fn bash_completes_commands_options_and_values() {
    let lab = Lab::new();
    lab.write("completions.bash", lab.succeed("completions bash").stdout);
    let complete = |line: &str| {
        let words = line.split(' ').count();
        let script = format!(
            "source completions.bash; COMP_WORDS=({line} ''); COMP_CWORD={words}; \
             _flashloom flashloom '' \"${{COMP_WORDS[words - 1]}}\" 2>/dev/null; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", &script]).current_dir(lab.path("")).stderr(Stdio::null()).output();
        String::from_utf8(output.expect("bash can be started").stdout).expect("it is UTF-8")
    };
    assert!(complete("flashloom").contains("reproduce"));
    assert!(complete("flashloom compare").contains("--bounds"));
    assert!(complete("flashloom list").contains("mappings"));
}

/// Cargo has the version of a package beside each path to it; a citation names it as well. The wheel takes it from
/// there, and the changelog has its entries, or is on the way to them.
#[test]
fn there_is_one_version() {
    let read = |name: &str| fs::read_to_string(format!("{ROOT}/{name}")).expect("it can be read");
    let manifest: toml::Value = toml::from_str(&read("Cargo.toml")).expect("cargo reads it too");
    let workspace = &manifest["workspace"];
    let version = workspace["package"]["version"].as_str().expect("it is a text");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let dependencies = workspace["dependencies"].as_table().expect("it is a table");
    for (name, dependency) in dependencies.iter().filter(|(_, dependency)| dependency.get("path").is_some()) {
        assert_eq!(dependency["version"].as_str(), Some(version), "{name}");
    }
    assert!(read("CITATION.cff").contains(&format!("\nversion: {version}\n")));
    let wheel: toml::Value = toml::from_str(&read("crates/python/pyproject.toml")).expect("pip reads it too");
    assert_eq!(wheel["project"]["dynamic"].as_array().map(Vec::as_slice), Some(&["version".into()][..]));
    let changelog = read("CHANGELOG.md");
    let mut releases = changelog.lines().filter_map(|line| line.strip_prefix("## ["));
    let newest = releases.find(|release| *release != "Unreleased]").map(|release| release.split(']').next());
    assert!(newest.is_none_or(|newest| newest == Some(version)), "{newest:?} is the newest release");
}

#[test]
fn every_crate_carries_the_licence() {
    let licence = fs::read_to_string(format!("{ROOT}/LICENSE")).expect("it can be read");
    for entry in fs::read_dir(format!("{ROOT}/crates")).expect("it can be read") {
        let folder = entry.expect("it can be read").path();
        let of_crate = fs::read_to_string(folder.join("LICENSE")).unwrap_or_default();
        assert!(of_crate == licence, "{} links to ../../LICENSE", folder.display());
    }
}
