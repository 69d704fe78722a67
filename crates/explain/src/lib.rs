//! Help on everything that has a name: one set of pages, shown by `explain` and checked in as documents.

/// Names, each with its description.
type Described = &'static [(&'static str, &'static str)];

/// Declares names with their descriptions.
macro_rules! described {
    ($($name:literal: $help:literal,)+) => { &[$(($name, $help),)+] };
}

mod consequences;
mod fields;
mod missing;
mod outputs;
mod page;
mod policies;
mod terms;
mod timeline;

use std::collections::BTreeSet;

use flashloom_device::{FitError, PRESETS, PerSecond, Preset, PublishedRate, preset};
use flashloom_units::{Choice, Kind, Param, Problem, Statistic, Used, Value};
use flashloom_workload::{FORMATS, FormatSpec};

pub use page::{Block, DocumentPlace, Entry, Page};
pub use policies::summary;

use flashloom_config::{
    Catalog, EXPECT, EXPECT_KEYS, FIT, KeyId, Need, SECTIONS, Table, VARY, needs, object_of, path_of, toml_value,
};
use flashloom_figures::number;
use flashloom_figures::result::older::moved;
use flashloom_figures::schema::{Field, fields};

/// Every page about a name: a section, a key, a value, a policy, a list, a preset, a format, a field of a result, a
/// word of the field, or any other name that an output prints. A name without an exact match may differ in case,
/// blanks, dashes and dots.
pub fn explain(catalog: &Catalog, name: &str) -> Result<Vec<Page>, Problem> {
    let pages = pages(catalog);
    let plain = |name: &str| name.trim().to_lowercase().replace(['-', ' ', '.'], "_");
    let has_exact = pages.iter().any(|page| page.names.iter().any(|known| known == name));
    // Made once, because a name may be as long as a command line.
    let plain_name = plain(name);
    let is_meant = |known: &String| if has_exact { known == name } else { plain(known) == plain_name };
    let found: Vec<Page> = pages.iter().filter(|page| page.names.iter().any(is_meant)).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(now) = moved(name.strip_prefix("result.").unwrap_or(name)) {
        let found = format!("`{name}` is a name of older results");
        return Err(Problem::file("explain", found, format!("`result.{now}`")));
    }
    let names: Vec<String> = pages.into_iter().flat_map(|page| page.names).collect();
    let expected =
        "a name that `flashloom list` shows, a section, a key, a value, a column, or a field such as `result.ftl.waf`";
    let problem = Problem::file("explain", format!("nothing is named `{name}`"), expected);
    Err(problem.suggesting(name, names.iter().map(String::as_str)))
}

/// Every name with a page.
pub fn names(catalog: &Catalog) -> BTreeSet<String> {
    pages(catalog).into_iter().flat_map(|page| page.names).collect()
}

/// The generated documents: the reference and a file for every policy, each as a path below `docs/` and a text.
pub fn documents(catalog: &Catalog) -> Vec<(String, String)> {
    let slots: Vec<String> = catalog.slots().iter().map(|(slot, _)| policies::link(slot)).collect();
    let introduction = format!(
        "# Reference\n\nEvery section, key, preset, format and result of Flashloom, written by the program itself from \
         the tables that it checks configurations with. Each policy has a page of its own: {}. The same pages are \
         shown by `flashloom explain NAME`. `make reference` writes these files anew.\n",
        slots.join(", ")
    );
    let (mut reference, mut files) = (introduction, Vec::new());
    for page in pages(catalog) {
        match (page.to_markdown(), page.place) {
            (Some(text), DocumentPlace::Section(_)) => reference.push_str(&format!("\n{text}")),
            (Some(text), DocumentPlace::File(path)) => files.push((path, text)),
            _ => {}
        }
    }
    files.insert(0, ("reference.md".to_owned(), reference));
    files
}

const DEVICES: &str = "devices";
const FORMATS_LIST: &str = "formats";

/// A list of `flashloom list`: its name, its description, and its members with a line on each.
#[derive(Clone, Debug)]
pub struct List {
    /// Name of the list.
    pub name: &'static str,
    /// Description of the members.
    pub help: String,
    /// Name of each member, and one sentence about it.
    pub members: Vec<(&'static str, String)>,
}

/// The names of all lists: those of the slots, to which external policies add nothing, and two more.
pub fn list_names() -> impl Iterator<Item = &'static str> {
    let slots = SECTIONS.iter().flat_map(|section| section.slots().map(|(_, slot)| slot.name));
    slots.chain([DEVICES, FORMATS_LIST])
}

/// Every list, along the path of a request.
pub fn lists(catalog: &Catalog) -> Vec<List> {
    let slots = SECTIONS.iter().flat_map(|section| section.slots().map(|(_, slot)| slot));
    let mut lists: Vec<List> = slots.map(|slot| policies::list(catalog, slot)).collect();
    lists.push(List {
        name: DEVICES,
        help:
            "Drives: `device.preset`. Described ones have figures of data sheets and papers, and assumed ones; fitted \
               ones repeat measurements, with known errors."
                .to_owned(),
        members: PRESETS.iter().map(|choice| (choice.name, preset_help(choice))).collect(),
    });
    lists.push(List {
        name: FORMATS_LIST,
        help: "Formats of recordings: `workload.format`.".to_owned(),
        members: FORMATS.iter().map(|format| (format.name(), sentence(format.help()))).collect(),
    });
    lists
}

fn pages(catalog: &Catalog) -> Vec<Page> {
    let mut pages = Vec::new();
    for table in &catalog.tables {
        match table.policy {
            None => pages.push(section_page(catalog, table)),
            Some((policy, key)) => pages.push(policies::page(catalog, table, policy, key)),
        }
    }
    pages.extend([vary_page(), fit_page(), expect_page()]);
    for list in lists(catalog) {
        pages.push(list_page(&list));
        // The members of a slot are pages already; those of the others follow their list.
        match list.name {
            DEVICES => pages.extend(list.members.iter().map(|(name, help)| preset_page(name, help))),
            FORMATS_LIST => pages.extend(FORMATS.iter().map(format_page)),
            _ => {}
        }
    }
    pages.push(result_page(catalog));
    pages.extend(outputs::pages(catalog, cause_help));
    pages.extend(missing::pages());
    pages.extend(terms::pages());
    pages.extend(fields::pages(catalog));
    pages.extend(timeline::pages());
    pages.extend(catalog.keys().map(|key| key_page(catalog, key)));
    pages.extend(catalog.keys().flat_map(choice_pages));
    pages
}

/// Description of a cause of latency, as in the result's fields.
fn cause_help(cause: &str) -> String {
    let path = format!("host.anatomy.read.whole.parts_ns.{cause}");
    let field = fields().into_iter().find(|field| field.path == path);
    field.map(|field| field.help).unwrap_or_default()
}

/// Pages of a key's values, except policies, presets and formats, which have pages of their own.
fn choice_pages(key: KeyId) -> Vec<Page> {
    let path = key.path();
    let choices = match &key.param().kind {
        Kind::Choice(choices) => choices,
        Kind::CountOr { or, .. } | Kind::SizeOr { or, .. } => std::slice::from_ref(or),
        _ => return Vec::new(),
    };
    if path == "workload.format" {
        return Vec::new();
    }
    let page = |choice: &Choice| {
        let named = format!("{path}={}", choice.name);
        let title = format!("{path} = \"{}\"", choice.name);
        let mut page = Page::part(title, vec![choice.name.to_owned(), named.clone()], &sentence(choice.help));
        page.blocks.extend(consequences::of(&named).map(Block::text));
        page.blocks.push(Block::Text(format!("A value of `{path}`: {}", key.param().help)));
        page
    };
    choices.iter().map(page).collect()
}

fn section_page(catalog: &Catalog, table: &Table) -> Page {
    let section = &SECTIONS[table.section];
    let keys = section.params().iter().map(|param| param_entry(catalog, section.name, param));
    let surprise =
        |param: &Param| Some(described(param.name, consequences::of(&format!("{}.{}", section.name, param.name))?));
    let surprises: Vec<Entry> = section.params().iter().filter_map(surprise).collect();
    let surprises = (!surprises.is_empty()).then(|| Block::entries("Surprising effects", surprises));
    table_page("[", section.name, "]", section.help, [Block::entries("Keys", keys)].into_iter().chain(surprises))
}

/// The page of a table of an experiment, which is named with its brackets too.
fn table_page(open: &str, name: &str, close: &str, text: &str, more: impl IntoIterator<Item = Block>) -> Page {
    let title = format!("{open}{name}{close}");
    Page::section(&title, &[name, &title], text, more)
}

fn vary_page() -> Page {
    let text = "Keys of all sections, each with a list of values: `\"host.scheduler\" = [\"noop\", \"cfq\"]`. A \
                comparison runs every combination, the key that is given first varying slowest; a single run leaves \
                them out. Counts have ranges, both ends included: `\"run.seed\" = \"1..10\"`, or with a step \
                `\"1..31..10\"`; they may stand in a list too. Keys that vary together, the first value of one with \
                the first of the other, are a table of their own, `[[vary.together]]`, or one option: `--vary \
                'device.preset=mlc-16g,nvme-tlc-1t; device.rated_cycles=3000,1500'`.";
    table_page("[", VARY, "]", text, [])
}

fn fit_page() -> Page {
    let text = "Keys of the drive that `flashloom fit` looks for, each with the two ends of its range, \
                `\"device.read_time\" = [\"20us\", \"90us\"]`, or, of a key that is no quantity, with the values to \
                try, `\"device.ways\" = [1, 2, 4]`. Ranges above 0 are searched by factors, others by steps. \
                Everything but `fit` leaves them out. `docs/fit.md` has the rules.";
    table_page("[", FIT, "]", text, [])
}

fn expect_page() -> Page {
    let text = "Expectations about the results of a comparison, checked after the runs; if one does not hold, \
                `flashloom compare` shows everything all the same and ends with exit status 1. `--no-expect` leaves \
                them out.";
    let formula = "A formula has numbers, `+ - * /`, brackets, `min`, `max`, `mean` and `sum`, `above` (how many \
                   numbers are above the first one), `best` (with several seeds, the number whose mean over the other \
                   seeds is the largest), and fields of results, such as `ftl.waf` or \
                   `buffer.hit_ratio{rate=cave, capacity=128KiB|16MiB}`: braces choose runs by the keys that vary. A \
                   field stands for all the runs that it selects, in their order; operations on several numbers \
                   apply to each of them, or in pairs, and the formula must come to one number. A minus after a \
                   name needs a blank before it.";
    let keys = EXPECT_KEYS.into_iter().map(|(key, help)| described(key, help));
    table_page("[[", EXPECT, "]]", text, [Block::entries("Keys", keys), Block::text(formula)])
}

fn list_page(list: &List) -> Page {
    let is_slot = ![DEVICES, FORMATS_LIST].contains(&list.name);
    let link = |name: &str| if is_slot { format!("{name}.md") } else { String::new() };
    let entries = list.members.iter().map(|(name, help)| Entry { link: link(name), ..described(name, help) });
    Page {
        names: vec![list.name.to_owned()],
        title: list.name.to_owned(),
        place: if is_slot { DocumentPlace::File(policies::index(list.name)) } else { DocumentPlace::Section(2) },
        blocks: vec![Block::text(&list.help), Block::entries("All of them", entries)],
    }
}

/// A preset in a line: whether it is described or fitted, and what it is.
fn preset_help(choice: &Choice) -> String {
    let kind = preset(choice.name).map_or("described", Preset::kind);
    sentence(&format!("{kind}: {}", choice.help))
}

fn preset_page(name: &str, help: &str) -> Page {
    let mut blocks = vec![Block::text(help)];
    let mut add = |heading: &str, entries: Vec<Entry>| {
        if !entries.is_empty() {
            blocks.push(Block::entries(heading, entries));
        }
    };
    if let Some(Preset { figures, ftl, buffer, host, rates, fit, .. }) = preset(name) {
        for (heading, values) in [
            ("Figures, each with its source", figures),
            ("Its FTL, in `[ftl]`", ftl),
            ("Its write buffer, in `[buffer]`", buffer),
            ("Usual settings of its host, in `[host]`", host),
        ] {
            let entry = |(key, value, source): &(&str, Value, &str)| described(&assignment(key, value), source);
            add(heading, values.iter().map(entry).collect());
        }
        let entry = |PublishedRate { load, rate, source, percent, why }: &PublishedRate| {
            let rate = match rate {
                PerSecond::Bytes(rate) => number::rate(*rate),
                PerSecond::Requests(rate) => format!("{} requests/s", number::count(*rate as u64)),
            };
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            described(&load.to_string(), &format!("{rate} ({source}); simulated {percent:+.1} %{why}"))
        };
        add(
            "Published rates, and what it reaches of them, empty when it is written and filled when it is read",
            rates.iter().map(entry).collect(),
        );
        let entry = |FitError { cell, percent }: &FitError| {
            let shown = percent.iter().map(|(quantity, error)| format!("{quantity} {error:+.1} %"));
            described(cell, &shown.collect::<Vec<_>>().join(", "))
        };
        add("Errors on measurements that the fit had not seen", fit.iter().map(entry).collect());
    }
    Page {
        names: vec![name.to_owned()],
        title: format!("device.preset = \"{name}\""),
        place: DocumentPlace::Section(3),
        blocks,
    }
}

fn format_page(format: &FormatSpec) -> Page {
    Page {
        names: vec![format.name().to_owned()],
        title: format!("workload.format = \"{}\"", format.name()),
        place: DocumentPlace::Section(3),
        blocks: vec![
            Block::Text(sentence(format.help())),
            Block::Text(format!("Example: `{}`", format.example)),
            Block::Text(format!("Source: {}", sentence(format.source))),
        ],
    }
}

fn key_page(catalog: &Catalog, key: KeyId) -> Page {
    let (path, param) = (key.path(), key.param());
    // What it is used with stands below, with what that is used with in turn.
    let alone = Param { used: None, ..param.clone() };
    let heading = format!("Key of `[{}]`", catalog.tables[key.table].path());
    let mut blocks = vec![Block::Entries(heading, vec![param_entry(catalog, "", &alone)])];
    match param.kind {
        Kind::Choice(choices) | Kind::ChoiceOrFile(choices) => {
            blocks.push(Block::entries("Values", choices.iter().map(|choice| described(choice.name, choice.help))));
        }
        Kind::CountOr { or, .. } | Kind::SizeOr { or, .. } => {
            blocks.push(Block::entries("Beside a number", [described(or.name, or.help)]));
        }
        Kind::Policy(slot) => {
            let entries = catalog.policies(slot).map(|policy| described(policy.name, policy.summary));
            blocks.push(Block::entries("Values", entries));
        }
        _ => {}
    }
    let of_preset = |choice: &Choice| {
        let (_, (_, value, source)) =
            preset(choice.name)?.all().find(|(section, (key, ..))| path == format!("{section}.{key}"))?;
        Some(described(&format!("{} with the preset {}", assignment(param.name, value), choice.name), source))
    };
    let of_presets: Vec<Entry> = PRESETS.iter().filter_map(of_preset).collect();
    if !of_presets.is_empty() {
        blocks.push(Block::entries("Values of presets in place of the default", of_presets));
    }
    blocks.extend(consequences::of(&path).map(Block::text));
    let needs = needs(catalog, key);
    if !needs.is_empty() {
        let only = if needs.iter().all(Need::excludes) { "" } else { " only" };
        let needs: Vec<String> = needs.iter().map(Need::to_string).collect();
        blocks.push(Block::Text(format!("It is used{only} {}.", needs.join(" and "))));
    }
    Page { names: vec![param.name.to_owned(), path.clone()], title: path, place: DocumentPlace::Elsewhere, blocks }
}

fn described(term: &str, help: &str) -> Entry {
    Entry { term: term.to_owned(), kind: String::new(), text: sentence(help), link: String::new() }
}

fn param_entry(catalog: &Catalog, table: &str, param: &Param) -> Entry {
    let used = |used: Used| format!("Used {}.", Need::of(catalog, path_of(table, used), used).called(used.key));
    let sentences = [param.help.to_owned(), param.tradeoff.to_owned(), param.used.map(used).unwrap_or_default()];
    let said: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    let term = assignment(param.name, &param.default);
    Entry { term, kind: catalog.expected(param), text: said.join(" "), link: String::new() }
}

/// A key with its value as in a configuration; the key alone if there is no value.
fn assignment(key: &str, value: &Value) -> String {
    toml_value(value).map_or_else(|| key.to_owned(), |value| format!("{key} = {value}"))
}

/// The page of the whole result; each of its fields has another.
fn result_page(catalog: &Catalog) -> Page {
    let entry = |field: Field| Entry { text: field.help, ..described(&format!("result.{}", field.path), "") };
    let mut listed = Vec::new();
    for field in fields() {
        // Beside the name of a policy stands what is counted for every policy there.
        let object = field.path.strip_suffix(&format!(".{}", Statistic::POLICY)).map(str::to_owned);
        listed.push(entry(field));
        let Some(object) = object else { continue };
        let slot = catalog.slots().iter().map(|(slot, _)| slot).find(|slot| object_of(slot) == object);
        let counted = slot.map_or(&[][..], |slot| slot.statistics).iter();
        listed.extend(counted.map(|one| described(&format!("result.{object}.{}", one.name), one.help)));
    }
    let intro = "The result that `flashloom run --json FILE` writes; `schema/result.json` is its JSON schema. Units \
                 are in the names, and a field that does not apply is absent. What a policy counts itself \
                 is on its page.";
    Page::section("Result", &["result"], intro, [Block::entries("Fields", listed)])
}

/// Capitalises a text and ends it with a full stop.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let capital: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '?', '!', ')']) || text.is_empty() { "" } else { "." };
    format!("{capital}{}{end}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use flashloom_config::registry::Registry;
    use flashloom_units::{Policy, PolicySpec, Refusal};
    use flashloom_workload::workload::Workload;

    use super::*;

    fn text(catalog: &Catalog, name: &str) -> String {
        let pages = explain(catalog, name).unwrap_or_else(|problem| panic!("{problem}"));
        pages.iter().map(Page::to_text).collect()
    }

    fn refusal(name: &str) -> Refusal {
        explain(&Catalog::builtin(), name).unwrap_err().refusal
    }

    #[test]
    fn every_policy_key_preset_format_and_result_field_has_a_page() {
        for name in ["host", "host.scheduler", "queue_depth", "noop", "mlc-16g", "msr", "schedulers", "result.ftl.waf"]
        {
            assert!(!text(&Catalog::builtin(), name).contains("  :"), "{name}");
        }
        assert!(explain(&Catalog::builtin(), "result.host.latency_ns.read.p99_9").is_ok());
    }

    #[test]
    fn words_of_data_sheets_lead_to_the_names_here() {
        for (name, here) in [
            ("slc", "`device.bits_per_cell`"),
            ("slc", "`SLC cache`"),
            ("SLC", "`device.bits_per_cell`"),
            ("SLC", "`SLC cache`"),
            ("DWPD", "`worst_drive_writes_per_day`"),
            ("TBW", "`lifetime.worst_bytes`"),
            ("QoS", "`p99_9`"),
            ("p99.99", "host.latency_ns.all.p99_99"),
        ] {
            assert!(text(&Catalog::builtin(), name).contains(here), "{name}");
        }
    }

    #[test]
    fn a_long_name_is_made_plain_once() {
        let long = "pages".repeat(20_000);
        assert!(refusal(&long).found.len() > long.len(), "it is said whole");
    }

    #[test]
    fn a_policy_without_a_source_is_explained_without_one() {
        static BARE: PolicySpec = PolicySpec { name: "bare", ..PolicySpec::BLANK };
        let mut registry = Registry::builtin();
        let bare = Policy::<dyn Workload>::new(&BARE, |(), _| Err(Refusal::new("it", "never to run")));
        registry.workloads.add(bare).expect("its specification is in order");
        let text = text(&registry.catalog().expect("it is in order"), "bare");
        assert!(text.contains("workload.kind") && !text.contains("Source:"), "{text}");
    }

    #[test]
    fn a_name_of_older_results_leads_to_that_of_today() {
        for name in ["ftl.merges.full", "result.ftl.merges.full"] {
            assert_eq!(refusal(name).expected, "`result.ftl.mapping.full_merges`");
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        assert_eq!(refusal("nooop").help.as_deref(), Some("did you mean `noop`?"));
    }
}
