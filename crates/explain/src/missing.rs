//! Help on what is not modelled.

use flashloom_config::missing::MISSING;

use super::{Block, DocumentPlace, Page, described};

const TITLE: &str = "What is not modelled";
const HELP: &str = "Parts of real drives and hosts that no figure contains. Where one of them would make most of a \
                    tail that is shown, a hint says so (`flashloom explain hints`).";

/// A page of all, and one for each.
pub(super) fn pages() -> Vec<Page> {
    let entries = MISSING.iter().map(|(names, help)| described(names[0], help)).collect();
    let whole = Page {
        names: ["not modelled", "what is not modelled", "model"].map(str::to_owned).to_vec(),
        title: TITLE.to_owned(),
        place: DocumentPlace::Section(2),
        blocks: vec![Block::Text(HELP.to_owned()), Block::Entries("Not modelled".to_owned(), entries)],
    };
    let part = |(names, help): &(&[&str], &str)| Page {
        title: format!("{} (not modelled)", names[0]),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        place: DocumentPlace::Elsewhere,
        blocks: vec![Block::Text((*help).to_owned())],
    };
    std::iter::once(whole).chain(MISSING.iter().map(part)).collect()
}
