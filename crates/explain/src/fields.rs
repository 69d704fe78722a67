//! Pages for the fields of results: one by path, and one by short name (`waf`, `p99_9`) for all its occurrences.

use flashloom_units::{SlotSpec, Statistic, one_of};

use super::{Block, DocumentPlace, Page, described, sentence};
use flashloom_config::{Catalog, SECTIONS, statistics as known_statistics};
use flashloom_figures::schema::{Field, all_fields, parts};

/// Maximum number of paths listed by name for a meaning that occurs in many places.
const LISTED: usize = 6;

/// A page for every field of all JSON outputs, then one for every short name.
pub(super) fn pages(catalog: &Catalog) -> Vec<Page> {
    let mut fields = all_fields(&catalog.registry().outputs);
    fields.extend(statistics(catalog));
    let by_path = fields.iter().map(|field| Page::part(field.path.clone(), names(&field.path), &sentence(&field.help)));
    by_path.chain(short_pages(&fields)).collect()
}

/// Fields of the policies' own statistics: one for all policies of a slot that count the same.
fn statistics(catalog: &Catalog) -> Vec<Field> {
    let mut found: Vec<(String, &SlotSpec, &Statistic, Vec<&'static str>)> = Vec::new();
    for (path, slot, policy, statistic) in known_statistics(catalog) {
        match found.iter_mut().find(|(known, _, other, _)| *known == path && *other == statistic) {
            Some((.., policies)) => policies.push(policy.name),
            None => found.push((path, slot, statistic, vec![policy.name])),
        }
    }
    let field = |(path, slot, statistic, policies): (String, &SlotSpec, &Statistic, Vec<&'static str>)| {
        let help = sentence(statistic.help);
        let of = match &policies[..] {
            _ if slot.statistics.contains(statistic) => format!("for every `{}`", slot.key),
            [policy] => format!("by `{}` = \"{policy}\"", slot.key),
            several => format!("by `{}` = {}", slot.key, one_of(several.iter().copied())),
        };
        let unit = statistic.unit.in_words();
        let part = |part: Field| Field::other(format!("result.{path}.{}", part.path), part.help);
        let whole = Field::other(format!("result.{path}"), format!("{help} Counted {of}: {unit}."));
        std::iter::once(whole).chain(parts(statistic.unit).into_iter().map(part)).collect::<Vec<_>>()
    };
    found.into_iter().flat_map(field).collect()
}

/// Names of a path: whole, and without leading parts down to two names: `result.ftl.waf`, `ftl.waf`.
fn names(path: &str) -> Vec<String> {
    let starts = std::iter::once(0).chain(path.match_indices('.').map(|(at, _)| at + 1));
    let ends = starts.map(|start| &path[start..]).filter(|end| end.contains('.'));
    ends.map(str::to_owned).collect()
}

/// Fields grouped by their last name, in order of first appearance. Sections have pages of their own.
fn short_pages(fields: &[Field]) -> Vec<Page> {
    let last = |field: &Field| field.path.rsplit_once('.').map_or(field.path.clone(), |(_, name)| name.to_owned());
    let mut shorts: Vec<(String, Vec<&Field>)> = Vec::new();
    for field in fields {
        let short = last(field);
        if SECTIONS.iter().any(|section| section.name == short) {
            continue;
        }
        match shorts.iter_mut().find(|(known, _)| *known == short) {
            Some((_, found)) => found.push(field),
            None => shorts.push((short, vec![field])),
        }
    }
    shorts.into_iter().map(|(short, found)| short_page(short, &found)).collect()
}

fn short_page(short: String, found: &[&Field]) -> Page {
    let mut meanings: Vec<(&str, Vec<&str>)> = Vec::new();
    for field in found {
        match meanings.iter_mut().find(|(help, _)| *help == field.help) {
            Some((_, paths)) => paths.push(&field.path),
            None => meanings.push((&field.help, vec![&field.path])),
        }
    }
    let entry = |(help, paths): (&str, Vec<&str>)| {
        described(paths[0], &format!("{}{}", sentence(help), elsewhere(&paths[1..])))
    };
    Page {
        title: format!("{short} (a field of results)"),
        names: vec![short],
        place: DocumentPlace::Elsewhere,
        blocks: vec![Block::entries("Stands as", meanings.into_iter().map(entry))],
    }
}

/// Describes the other places of fields with the same meaning.
fn elsewhere(paths: &[&str]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let listed = paths.iter().take(LISTED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(LISTED);
    format!(" Also {listed}{}.", if more > 0 { format!(", and {more} more") } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_path_and_by_its_ends() {
        assert_eq!(names("result.ftl.waf"), ["result.ftl.waf", "ftl.waf"]);
    }

    #[test]
    fn a_short_name_tells_its_meanings_apart_and_where_each_stands() {
        let field = |path: &str, help: &str| Field::other(path.to_owned(), help.to_owned());
        let fields =
            [field("result.a.max", "The longest."), field("result.b.max", "The longest."), field("x.max", "Most.")];
        let pages = short_pages(&fields);
        let [page] = pages.as_slice() else { panic!("there is one short name") };
        let text = page.to_text();
        assert!(text.contains("The longest. Also `result.b.max`.") && text.contains("Most."), "{text}");
    }
}
