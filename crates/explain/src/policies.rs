//! A page for every policy: description, when to use another, source, a working configuration, parameters.

use flashloom_units::{PolicySpec, SlotSpec, Statistic};

use super::{Block, DocumentPlace, Entry, List, Page, consequences, described, param_entry, sentence};
use flashloom_config::{Catalog, SECTIONS, Table, example};

/// What has to be known of an example that reads a file.
const FILE_OF_EXAMPLE: &str = "The path is relative to the folder of the experiment. This file is among Flashloom's \
                               sources: the experiment is for their topmost folder.";

/// The list of a slot, whose help begins with the term that people search for.
pub(super) fn list(catalog: &Catalog, slot: &SlotSpec) -> List {
    let members = catalog.policies(slot).map(|policy| (policy.name, sentence(policy.summary))).collect();
    let help = format!("{}: {} (`{}`).", capital(slot.role), slot.help, slot.key);
    List { name: slot.name, help, members }
}

/// The page of a policy that a key of its section can choose.
pub(super) fn page(catalog: &Catalog, table: &Table, policy: &PolicySpec, key: usize) -> Page {
    let section = &SECTIONS[table.section];
    let path = table.path();
    let (_, slot) = section.slots().find(|(index, _)| *index == key).expect("a table of a policy has a slot");
    let mut blocks = vec![
        Block::Text(format!("{}. {}", capital(slot.role), sentence(policy.summary))),
        Block::Text(sentence(policy.details)),
    ];
    if !policy.instead.is_empty() {
        blocks.push(Block::Text(format!("When not to use it: {}", sentence(policy.instead))));
    }
    // One of a user's own may have none.
    if !policy.source.is_empty() {
        blocks.push(Block::Text(format!("Source: {}", sentence(policy.source))));
    }
    let named = format!("{}={}", slot.key, policy.name);
    blocks.extend(consequences::of(&named).map(Block::text));
    if !policy.needs.is_empty() {
        let needs: Vec<_> = policy.needs.iter().map(|&need| need.in_words()).collect();
        blocks.push(Block::Text(format!("Needs {}.", needs.join(" and "))));
    }
    if !policy.example.is_empty() {
        blocks.push(Block::text("A configuration that works, with the defaults of all other keys:"));
        // What cannot be read, which only a policy from outside can bring, is shown as it was written.
        let lines = example(catalog, policy.example).unwrap_or_else(|_| policy.example.replace(' ', "\n"));
        blocks.push(Block::Configuration(lines));
        if policy.example.contains(".path=") {
            blocks.push(Block::text(FILE_OF_EXAMPLE));
        }
    }
    if !policy.params.is_empty() {
        let entries = policy.params.iter().map(|param| param_entry(catalog, &path, param)).collect();
        blocks.push(Block::Entries(format!("Parameters, in `[{path}]`"), entries));
    }
    if !policy.statistics.is_empty() {
        let entry = |one: &Statistic| Entry { kind: one.unit.in_words().to_owned(), ..described(one.name, one.help) };
        blocks.push(Block::entries("Statistics", policy.statistics.iter().map(entry)));
    }
    Page {
        names: vec![policy.name.to_owned(), path, named],
        title: format!("{} = \"{}\"", slot.key, policy.name),
        place: DocumentPlace::File(file(slot, policy)),
        blocks,
    }
}

/// The lines of `docs/SUMMARY.md` for the pages of policies.
pub fn summary(catalog: &Catalog) -> String {
    let mut lines = String::new();
    for (slot, policies) in catalog.slots() {
        lines.push_str(&format!("- {}\n", link(slot)));
        for policy in policies {
            lines.push_str(&format!("  - [{}]({})\n", policy.name, file(slot, policy)));
        }
    }
    lines
}

/// Link to the list of a slot, from a file in `docs/`.
pub(super) fn link(slot: &SlotSpec) -> String {
    format!("[{}]({})", capital(slot.role), index(slot.name))
}

/// File of the list of a slot, below `docs/`.
pub(super) fn index(slot: &str) -> String {
    format!("reference/{slot}/README.md")
}

fn file(slot: &SlotSpec, policy: &PolicySpec) -> String {
    format!("reference/{}/{}.md", slot.name, policy.name)
}

fn capital(text: &str) -> String {
    sentence(text).trim_end_matches('.').to_owned()
}
