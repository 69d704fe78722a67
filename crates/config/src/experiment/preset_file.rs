//! Presets in files of their own: `device.preset = "./mydrive.toml"`.
//!
//! Such a file has the keys of a drive, in `[device]`, `[buffer]`, `[ftl]` and `[host]`, and starts from no preset
//! itself. Its path is relative to the folder of the text that names it. `flashloom fit` writes one.

use std::collections::BTreeMap;

use flashloom_units::{Refusal, Value};

use std::sync::Arc;

use crate::catalog::{Catalog, SECTIONS};
use crate::checked::PRESET;
use crate::raw::{Assignment, Axis, Origin, Report, Source, read_document};

/// Sections that the file of a drive may have.
const OF_DRIVES: [&str; 4] = ["device", "buffer", "ftl", "host"];

/// The presets in files that an experiment names, by their paths as they were written.
#[derive(Clone, Debug, Default)]
pub struct PresetFiles(BTreeMap<String, PresetFile>);

#[derive(Clone, Debug)]
struct PresetFile {
    /// Index of its text.
    source: usize,
    figures: Vec<Assignment>,
}

impl PresetFiles {
    /// Reads every file that an assignment or an axis names; problems go to the report.
    pub fn read(catalog: &Arc<Catalog>, report: &mut Report, assignments: &[Assignment], axes: &[Axis]) -> Self {
        let written = assignments.iter().filter(|one| one.key.path() == PRESET).map(|one| (&one.value, &one.origin));
        let varied = axes.iter().filter(|axis| axis.key.path() == PRESET).flat_map(|axis| &axis.values);
        let mut files = Self::default();
        for (value, origin) in written.chain(varied.map(|(value, origin)| (value, origin))) {
            let Value::Text(path) = value else { continue };
            if !files.0.contains_key(&**path)
                && let Some(file) = PresetFile::read(catalog, report, path, origin)
            {
                files.0.insert(path.to_string(), file);
            }
        }
        files
    }

    /// The figures of the preset of that path; none of one with a name.
    pub fn figures(&self, path: &str) -> &[Assignment] {
        self.0.get(path).map_or(&[], |file| &file.figures)
    }

    /// Index of the text of the preset of that path.
    pub fn source(&self, path: &str) -> Option<usize> {
        self.0.get(path).map(|file| file.source)
    }

    /// Indices of all texts.
    pub fn sources(&self) -> impl Iterator<Item = usize> {
        self.0.values().map(|file| file.source)
    }
}

impl PresetFile {
    fn read(catalog: &Arc<Catalog>, report: &mut Report, path: &str, origin: &Origin) -> Option<Self> {
        let found = report.sources.get(origin.source).folder.join(path);
        let text = match Source::read(&found.to_string_lossy()) {
            Ok(text) => text,
            Err(problem) => {
                let found = format!("the preset {}: {}", problem.file, problem.refusal.found);
                let refusal = Refusal::new(found, "the TOML file of a drive, such as `flashloom fit` writes");
                report.distrust(origin, refusal.help("a path starts from the folder of this file"), None);
                return None;
            }
        };
        let source = report.sources.add(text);
        let (_, document) = read_document(catalog, report, source);
        for one in &document.assignments {
            let (path, section) = (one.key.path(), one.key.section());
            let refusal = if path == PRESET {
                Refusal::new("a preset in the file of a preset", "the keys of a drive")
            } else if !OF_DRIVES.contains(&SECTIONS[section].name) {
                let found = format!("`{path}` in the file of a drive");
                Refusal::new(found, "keys of [device], [buffer], [ftl] and [host]")
            } else {
                continue;
            };
            report.distrust(&one.origin, refusal, Some(section));
        }
        let others = [&document.axes, &document.fit].into_iter().flatten().map(|axis| &axis.origin);
        let others = others.chain(document.expectations.iter().map(|expected| &expected.origin));
        for other in others {
            let refusal = Refusal::new("a list of an experiment in the file of a drive", "the keys of a drive");
            report.refuse(other, refusal);
        }
        Some(Self { source, figures: document.assignments })
    }
}
