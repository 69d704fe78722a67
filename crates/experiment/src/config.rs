//! Configurations: TOML files and command line options in, checked and typed parameters out.
//!
//! Five layers, each of which uses only those before it:
//!
//! ```text
//! catalog     all that a configuration can contain: sections, policies of a registry, their keys
//! raw         all that was written: texts, assignments, axes, expectations, each with its place
//! checked     one value of every key, of its kind and in its range
//! typed       one run: the parameters of every section, and the rules across keys
//! experiment  a file and its options: one run, or the runs of a comparison
//! ```
//!
//! Every problem is found in one pass, and nothing after this module sees an unchecked value.

mod catalog;
mod checked;
mod experiment;
mod raw;
mod typed;

pub use catalog::{
    Catalog, EXPECT, EndOfLife, KeyId, Precondition, Rest, RunParams, SECTIONS, Section, Table, Timing, VARY,
};
pub use experiment::{Experiment, Need, Reason, Sweep, Unfit, Unused, Variant, check_set, needs, path_of};
pub use raw::{Axis, Bounds, EXPECT_KEYS, Expectation, Origin, Source};
pub use typed::{Config, example, json_value, toml_value};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The layers in the order of the module's documentation.
    const LAYERS: [&str; 5] = ["catalog", "raw", "checked", "typed", "experiment"];

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("it can be listed").path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    /// The layers that a text names in a path of this module.
    fn named(text: &str) -> impl Iterator<Item = usize> {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let names = |layer: &str| ["super::", "config::"].iter().any(|path| code.contains(&format!("{path}{layer}::")));
        (0..LAYERS.len()).filter(move |&layer| names(LAYERS[layer]))
    }

    #[test]
    fn a_layer_knows_only_those_before_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
        for (layer, name) in LAYERS.iter().enumerate() {
            let mut files = sources(&root.join(name));
            files.push(root.join(format!("{name}.rs")));
            for file in files {
                let text = fs::read_to_string(&file).expect("a source can be read");
                let above = named(&text).find(|&other| other > layer).map(|other| LAYERS[other]);
                assert_eq!(above, None, "{} knows a layer that is built on it", file.display());
            }
        }
        assert_eq!(
            named("use crate::config::typed::Config;").collect::<Vec<_>>(),
            [3],
            "a layer that is named is seen"
        );
    }
}
