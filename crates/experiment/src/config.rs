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
    Catalog, EXPECT, EndOfLife, FIT, KeyId, Precondition, Rest, RunParams, SECTIONS, Section, Table, Timing, VARY,
};
pub use experiment::{Experiment, Need, Reason, Sweep, Unfit, Unused, Variant, check_set, needs, path_of};
pub use raw::{Axis, Bounds, EXPECT_KEYS, Expectation, Origin, Source};
pub(crate) use typed::Found;
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

    /// Whether a path begins with a layer.
    fn begins_with(path: &str, layer: &str) -> bool {
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        path.trim_start().strip_prefix(layer).is_some_and(|after| !after.starts_with(is_name))
    }

    /// The layers that a text names in a path of this module: by itself, in a list, or on the way to an item.
    fn named(text: &str) -> impl Iterator<Item = usize> {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let paths = ["super::", "config::"].into_iter().flat_map(move |path| code.split(path).skip(1));
        let paths: Vec<&str> = paths.collect();
        let names = move |layer: &str| {
            paths.iter().any(|path| match path.strip_prefix('{') {
                Some(list) => {
                    list.split([';', '}']).take(1).flat_map(|list| list.split(',')).any(|path| begins_with(path, layer))
                }
                None => begins_with(path, layer),
            })
        };
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
        for (uses, layers) in [
            ("use crate::config::typed::Config;", &[3][..]),
            ("use super::typed;", &[3]),
            ("use super::{raw, typed as above};", &[1, 3]),
            ("use super::typed_otherwise;", &[]),
        ] {
            assert_eq!(named(uses).collect::<Vec<_>>(), layers, "{uses}");
        }
    }
}
