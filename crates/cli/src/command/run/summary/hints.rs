//! Hints below the tables: warnings that figures mean less than they seem.

use flashloom::experiment::result::HintResult;

/// One paragraph per hint; empty without hints.
pub fn of(hints: &[HintResult]) -> String {
    hints.iter().map(|hint| paragraph("", hint)).collect()
}

/// Formats a hint with the key to change. `of` names the rows that it is about, in brackets, if not all are.
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
