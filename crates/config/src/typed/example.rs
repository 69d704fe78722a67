//! An example of a policy's specification, written out as a configuration file.

use flashloom_units::Refusal;

use super::effective::toml_value;
use crate::catalog::{Catalog, KeyId};
use crate::raw::check_option;

/// The keys of [`PolicySpec::example`](flashloom_units::PolicySpec::example) as a file, table by table along the path
/// of a request.
///
/// # Errors
/// The word that is not a key with a valid value.
pub fn example(catalog: &Catalog, words: &str) -> Result<String, Refusal> {
    let read = |word: &str| -> Result<(KeyId, String), Refusal> {
        let expected = || Refusal::new(format!("`{word}`"), "a key and its value, such as `host.scheduler=noop`");
        let (path, written) = word.split_once('=').ok_or_else(expected)?;
        let key = catalog.resolve(path).map_err(|(_, refusal)| refusal)?;
        let value = check_option(catalog, key.param(), written)?;
        Ok((key, toml_value(&value).ok_or_else(expected)?))
    };
    let mut settings = words.split_whitespace().map(read).collect::<Result<Vec<_>, _>>()?;
    settings.sort_by_key(|(key, _)| *key);
    let mut text = String::new();
    let mut open = None;
    for (key, value) in settings {
        if open.replace(key.table) != Some(key.table) {
            let separator = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{separator}[{}]\n", catalog.tables[key.table].path()));
        }
        text.push_str(&format!("{} = {value}\n", key.param().name));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_gathered_in_their_tables() {
        let words = "ftl.gc=fifo workload.synthetic.pattern=zipf ftl.allocation=static";
        let text = "[workload.synthetic]\npattern = \"zipf\"\n\n[ftl]\nallocation = \"static\"\ngc = \"fifo\"\n";
        assert_eq!(example(&Catalog::builtin(), words).as_deref(), Ok(text));
    }

    #[test]
    fn a_word_that_is_no_assignment_is_told() {
        for (words, found) in [("ftl.gc", "`ftl.gc`"), ("ftl.gd=fifo", "unknown key `gd`"), ("ftl.gc=fif", "`fif`")] {
            let refusal = example(&Catalog::builtin(), words).unwrap_err();
            assert!(refusal.found.contains(found), "{refusal:?}");
        }
    }
}
