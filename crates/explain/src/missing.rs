//! Help on what is not modelled.

use flashloom_config::missing::MISSING;

use super::{Block, Page, described};

const TITLE: &str = "What is not modelled";
const HELP: &str = "Parts of real drives and hosts that no figure contains. Where one of them would make most of a \
                    tail that is shown, a hint says so (`flashloom explain hints`).";

/// A page of all, and one for each.
pub(super) fn pages() -> Vec<Page> {
    let entries = MISSING.iter().map(|(names, help)| described(names[0], help));
    let names = ["not modelled", "what is not modelled", "model"];
    let whole = Page::section(TITLE, &names, HELP, [Block::entries("Not modelled", entries)]);
    let part = |(names, help): &(&[&str], &str)| {
        let title = format!("{} (not modelled)", names[0]);
        Page::part(title, names.iter().map(|&name| name.to_owned()).collect(), help)
    };
    std::iter::once(whole).chain(MISSING.iter().map(part)).collect()
}
