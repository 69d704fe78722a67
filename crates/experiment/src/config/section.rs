//! The sections of a configuration and the tables in them, from the parameter tables of every layer.
//!
//! `[host]` is a section; `[host.deadline]` is the table of a policy that a key of the section may choose.

use std::ops::Range;
use std::sync::LazyLock;

use flashloom_buffer::BufferParams;
use flashloom_ftl::FtlParams;
use flashloom_host::HostParams;
use flashloom_nand::DeviceParams;
use flashloom_units::{Kind, Param, ParamSet, PolicySpec, Slot, nearest};
use flashloom_workload::WorkloadParams;

use super::expectation::EXPECT;
use super::run_params::RunParams;

/// A section: one layer of the stack, or the run itself.
#[derive(Debug)]
pub struct Section {
    /// As written between brackets.
    pub name: &'static str,
    /// What it describes.
    pub help: &'static str,
    /// Its keys.
    pub params: &'static [Param],
}

impl Section {
    /// The keys that choose a policy, with their slots.
    pub fn slots(&self) -> impl Iterator<Item = (usize, &'static Slot)> {
        self.params.iter().enumerate().filter_map(|(index, param)| match param.kind {
            Kind::Policy(slot) => Some((index, slot)),
            _ => None,
        })
    }
}

/// Every section, along the path of a request.
pub static SECTIONS: [Section; 6] = [
    Section {
        name: "workload",
        help: "Where the requests come from and when they arrive.",
        params: WorkloadParams::PARAMS,
    },
    Section { name: "host", help: "The host's block layer and its I/O scheduler.", params: HostParams::PARAMS },
    Section {
        name: "device",
        help: "What the drive is made of and how fast its parts are.",
        params: DeviceParams::PARAMS,
    },
    Section { name: "buffer", help: "The controller's write buffer.", params: BufferParams::PARAMS },
    Section {
        name: "ftl",
        help: "The flash translation layer: mapping, allocation, collection, wear.",
        params: FtlParams::PARAMS,
    },
    Section {
        name: "run",
        help: "How the simulation is run, and what state the drive is in at its start.",
        params: RunParams::PARAMS,
    },
];

/// The section that lists the values of a comparison; its keys are those of all the others.
pub const VARY: &str = "vary";

/// One table: a section, or a policy's own parameters.
#[derive(Debug)]
pub struct Table {
    /// Index of its section in [`SECTIONS`].
    pub section: usize,
    /// The policy whose table it is, and the index of the section's key that may choose it.
    pub policy: Option<(&'static PolicySpec, usize)>,
}

/// Every table; each section is followed by the tables of its policies.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let mut tables = Vec::new();
    for (section, described) in SECTIONS.iter().enumerate() {
        tables.push(Table { section, policy: None });
        for (key, slot) in described.slots() {
            tables.extend(slot.policies.iter().map(|policy| Table { section, policy: Some((policy, key)) }));
        }
    }
    tables
});

impl Table {
    /// As written between brackets.
    pub fn path(&self) -> String {
        let section = SECTIONS[self.section].name;
        self.policy.map_or_else(|| section.to_owned(), |(policy, _)| format!("{section}.{}", policy.name))
    }

    /// Its keys.
    pub fn params(&self) -> &'static [Param] {
        self.policy.map_or(SECTIONS[self.section].params, |(policy, _)| policy.params)
    }
}

/// One key of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId {
    /// Index in [`TABLES`].
    pub table: usize,
    /// Index in the table's parameters.
    pub param: usize,
}

impl KeyId {
    /// The key of that path, such as `host.scheduler`.
    pub fn find(path: &str) -> Option<Self> {
        let (table, key) = path.rsplit_once('.')?;
        let table = TABLES.iter().position(|candidate| candidate.path() == table)?;
        let param = TABLES[table].params().iter().position(|param| param.name == key)?;
        Some(Self { table, param })
    }

    /// What is described of it.
    pub fn param(self) -> &'static Param {
        &TABLES[self.table].params()[self.param]
    }

    /// As `--set` takes it.
    pub fn path(self) -> String {
        format!("{}.{}", TABLES[self.table].path(), self.param().name)
    }

    /// Index of its section in [`SECTIONS`].
    pub fn section(self) -> usize {
        TABLES[self.table].section
    }
}

/// Every key there is, in the order of the tables.
pub fn keys() -> impl Iterator<Item = KeyId> {
    TABLES
        .iter()
        .enumerate()
        .flat_map(|(table, described)| (0..described.params().len()).map(move |param| KeyId { table, param }))
}

/// What is wrong with a key or a value, before it is known where that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// What to do.
    pub help: Option<String>,
}

impl Fault {
    /// A fault without advice.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into(), help: None }
    }

    /// The same fault, suggesting the nearest valid name.
    #[must_use]
    pub fn suggesting<'a>(mut self, written: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        self.help = nearest(written, valid).map(|name| format!("did you mean `{name}`?"));
        self
    }
}

/// The table of a section, by name.
pub fn section_table(name: &str) -> Result<usize, Fault> {
    if let Some(table) = TABLES.iter().position(|table| table.policy.is_none() && table.path() == name) {
        return Ok(table);
    }
    let names = || SECTIONS.iter().map(|section| section.name).chain([VARY, EXPECT]);
    let sections = SECTIONS.iter().map(|section| section.name).chain([VARY]);
    let listed: String = sections.map(|name| format!("[{name}], ")).collect();
    let fault = Fault::new(format!("unknown section `{name}`"), format!("one of {listed}[[{EXPECT}]]"));
    let fault = fault.suggesting(name, names());
    let key = || nearest(name, keys().map(|key| key.param().name)).and_then(belongs_elsewhere);
    Err(Fault { help: fault.help.or_else(key), ..fault })
}

/// What a name means within a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// A key.
    Key(KeyId),
    /// The table of a policy.
    Table(usize),
}

/// Looks a name up in a table.
pub fn member(table: usize, name: &str) -> Result<Member, Fault> {
    let described = &TABLES[table];
    if let Some(param) = described.params().iter().position(|param| param.name == name) {
        return Ok(Member::Key(KeyId { table, param }));
    }
    let policies = || {
        let own = TABLES.iter().enumerate().filter(|(_, other)| other.section == described.section);
        own.filter_map(|(index, other)| other.policy.map(|(policy, _)| (index, policy.name)))
            .filter(|_| described.policy.is_none())
    };
    if let Some((index, _)) = policies().find(|(_, policy)| *policy == name) {
        return Ok(Member::Table(index));
    }
    let path = described.path();
    let expected = if described.params().is_empty() {
        format!("nothing: `{path}` has no parameters")
    } else {
        format!("a key of [{path}]")
    };
    let valid = described.params().iter().map(|param| param.name).chain(policies().map(|(_, policy)| policy));
    let fault = Fault::new(format!("unknown key `{name}` in [{path}]"), expected).suggesting(name, valid);
    Err(Fault { help: fault.help.or_else(|| belongs_elsewhere(name)), ..fault })
}

/// Advice for a name that is a key of other tables.
fn belongs_elsewhere(name: &str) -> Option<String> {
    let paths: Vec<_> = keys().filter(|key| key.param().name == name).map(|key| format!("`{}`", key.path())).collect();
    (!paths.is_empty()).then(|| format!("there is {}", paths.join(", ")))
}

/// Resolves a path such as `host.deadline.read_expire`; a fault comes with the part of the text that it is about.
pub fn resolve(path: &str) -> Result<KeyId, (Range<usize>, Fault)> {
    let mut parts = Vec::new();
    let mut start = 0;
    for part in path.split('.') {
        parts.push((start..start + part.len(), part.trim().trim_matches('"')));
        start += part.len() + 1;
    }
    let (section_span, section) = &parts[0];
    let mut table = section_table(section).map_err(|fault| (section_span.clone(), fault))?;
    let mut rest = parts[1..].iter();
    while let Some((span, name)) = rest.next() {
        match member(table, name).map_err(|fault| (span.clone(), fault))? {
            Member::Table(inner) => table = inner,
            Member::Key(key) => match rest.next() {
                None => return Ok(key),
                Some((span, name)) => {
                    let found = format!("`{name}` after the key `{}`", key.path());
                    return Err((span.clone(), Fault::new(found, "the end of the path")));
                }
            },
        }
    }
    let found = format!("`{path}` is a table, not a key");
    Err((0..path.len(), Fault::new(found, format!("a key of it, such as {}", example(table)))))
}

fn example(table: usize) -> String {
    let described = &TABLES[table];
    described.params().first().map_or_else(
        || format!("none: `{}` has no parameters", described.path()),
        |param| format!("`{}.{}`", described.path(), param.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_path_is_unique_and_is_found_again() {
        let mut seen = BTreeSet::new();
        for key in keys() {
            assert!(seen.insert(key.path()), "`{}` exists twice", key.path());
            assert_eq!(KeyId::find(&key.path()), Some(key));
            assert_eq!(resolve(&key.path()), Ok(key));
        }
    }

    #[test]
    fn no_policy_is_named_as_a_key_of_its_section() {
        for table in TABLES.iter() {
            let Some((policy, _)) = table.policy else { continue };
            let section = &SECTIONS[table.section];
            assert!(section.params.iter().all(|param| param.name != policy.name), "{}", table.path());
            assert!(policy.params.iter().all(|param| !matches!(param.kind, Kind::Policy(_))), "{}", table.path());
        }
    }

    #[test]
    fn every_key_is_documented_and_its_default_is_within_its_range() {
        for key in keys() {
            let param = key.param();
            assert!(param.help.ends_with('.'), "{}: the help is a sentence", key.path());
            assert!(param.accepts(&param.default), "{}: {:?}", key.path(), param.default);
            assert!(
                param.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn every_slot_is_reached_by_the_key_that_it_names() {
        for section in &SECTIONS {
            for (index, slot) in section.slots() {
                assert_eq!(slot.key, format!("{}.{}", section.name, section.params[index].name));
                assert!(!slot.policies.is_empty(), "{}", slot.key);
            }
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_says_which_part_is_wrong() {
        let (span, fault) = resolve("host.schedular").unwrap_err();
        assert_eq!((span, fault.help.as_deref()), (5..14, Some("did you mean `scheduler`?")));
        let (span, fault) = resolve("hots.scheduler").unwrap_err();
        assert_eq!((span, fault.help.as_deref()), (0..4, Some("did you mean `host`?")));
        assert_eq!(resolve("host").unwrap_err().1.expected, "a key of it, such as `host.scheduler`");
        assert_eq!(resolve("host.scheduler.x").unwrap_err().0, 15..16);
    }
}
