//! Hints below the tables: what makes the figures mean less than they seem.

use flashloom::experiment::result::HintResult;

/// A paragraph for each hint; empty where there is none.
pub fn of(hints: &[HintResult]) -> String {
    hints.iter().map(|hint| paragraph("", hint)).collect()
}

/// A hint with the key to turn; `of` says what it is about, in brackets, where that is not all that is shown.
pub fn paragraph(of: &str, HintResult { text, key, .. }: &HintResult) -> String {
    format!("\nhint{of}: {text}\n      The key is `{key}`; see `flashloom explain {key}`.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_ends_with_its_key_and_none_leaves_no_trace() {
        let hint =
            HintResult { about: "link".into(), text: "The link was full.".into(), key: "device.link_rate".into() };
        let shown = of(&[hint]);
        assert!(shown.contains("hint: The link was full.") && shown.contains("explain device.link_rate"), "{shown}");
        assert_eq!(of(&[]), "");
    }
}
