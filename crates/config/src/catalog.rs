//! Catalog of everything that a configuration can contain: its sections, and in them the tables of a registry's
//! policies.
//!
//! `[host]` is a section; `[host.deadline]` is the table of a policy that a key of the section may choose. The sections
//! are fixed, the policies are the registry's. A configuration with several workloads has the tables of `[workload]`
//! once for each: the keys of a workload named `a` are `workload.a.kind`, `workload.a.synthetic.pattern`.

mod names;
mod run_params;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use flashloom_buffer::BufferParams;
use flashloom_device::DeviceParams;
use flashloom_figures::result::older::moved;
use flashloom_ftl::FtlParams;
use flashloom_host::HostParams;
use flashloom_units::{Ageing, Kind, Param, ParamSet, PolicySpec, Refusal, SlotSpec, nearest, one_of};
use flashloom_workload::WorkloadParams;

use crate::registry::Registry;

pub use names::{MOST_WORKLOADS, WORKLOAD, WorkloadName};
pub use run_params::{EndOfLife, Precondition, Rest, RunParams, Timing};

/// A section: one layer of the stack, or the run itself.
#[derive(Debug)]
pub struct Section {
    /// Name, as written between brackets.
    pub name: &'static str,
    /// Description.
    pub help: &'static str,
    /// Whether it describes the drive, whose ageing depends on its keys unless they say otherwise.
    pub is_of_drive: bool,
    params: fn() -> &'static [Param],
}

impl Section {
    const fn new(name: &'static str, help: &'static str, params: fn() -> &'static [Param]) -> Self {
        Self { name, help, is_of_drive: false, params }
    }

    const fn of_drive(self) -> Self {
        Self { is_of_drive: true, ..self }
    }

    /// Keys of the section.
    pub fn params(&self) -> &'static [Param] {
        (self.params)()
    }

    /// Keys that choose a policy: index of the key, and its slot.
    pub fn slots(&self) -> impl Iterator<Item = (usize, &'static SlotSpec)> {
        self.params().iter().enumerate().filter_map(|(index, param)| match param.kind {
            Kind::Policy(slot) => Some((index, slot)),
            _ => None,
        })
    }
}

/// Every section, along the path of a request.
pub static SECTIONS: [Section; 6] = [
    Section::new("workload", "The origin of the requests, and the times at which they arrive.", WorkloadParams::params),
    Section::new("host", "The host's block layer and its I/O scheduler.", HostParams::params),
    Section::new("device", "The drive: its geometry, spare space, timing, link and failures.", DeviceParams::params)
        .of_drive(),
    Section::new("buffer", "The controller's write buffer.", BufferParams::params),
    Section::new(
        "ftl",
        "The flash translation layer: mapping, allocation, garbage collection, wear.",
        FtlParams::params,
    )
    .of_drive(),
    Section::new("run", "The simulation itself, and the state of the drive at its start.", RunParams::params),
];

/// The section that lists the values of a comparison; its keys are those of all the others.
pub const VARY: &str = "vary";

/// The section that lists the ranges of a fit; its keys are those of all the others, too.
pub const FIT: &str = "fit";

/// Name of the list of an experiment's expectations about its results.
pub const EXPECT: &str = "expect";

/// One table: a section, or a policy's own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Index of its section in [`SECTIONS`].
    pub section: usize,
    /// Policy whose table it is, and the index of the section's key that can choose it; `None` for the table of a
    /// section.
    pub policy: Option<(&'static PolicySpec, usize)>,
}

impl Table {
    /// Path, as written between brackets.
    pub fn path(&self) -> String {
        let section = SECTIONS[self.section].name;
        self.policy.map_or_else(|| section.to_owned(), |(policy, _)| format!("{section}.{}", policy.name))
    }

    /// Keys of the section.
    pub fn params(&self) -> &'static [Param] {
        self.policy.map_or_else(|| SECTIONS[self.section].params(), |(policy, _)| policy.params)
    }
}

/// One key of one table of a catalog.
#[derive(Clone, Copy, Debug)]
pub struct KeyId {
    /// Index in [`Catalog::tables`].
    pub table: usize,
    /// Index in the table's parameters.
    pub param: usize,
    /// The workload that it is a key of, where there are several.
    pub workload: Option<WorkloadName>,
    of: Table,
}

impl PartialEq for KeyId {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyId {}

impl Ord for KeyId {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.workload, self.table, self.param).cmp(&(other.workload, other.table, other.param))
    }
}

impl PartialOrd for KeyId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl KeyId {
    /// Specification of the key.
    pub fn param(self) -> &'static Param {
        &self.of.params()[self.param]
    }

    /// Path, as in `--set`.
    pub fn path(self) -> String {
        format!("{}.{}", self.table_path(), self.param().name)
    }

    /// Path of its table, which names the workload that it is of.
    pub fn table_path(self) -> String {
        let path = self.of.path();
        self.workload.map_or_else(|| path.clone(), |workload| workload.within(&path))
    }

    /// The same key of one of several workloads, or of none of them.
    #[must_use]
    pub fn of_workload(self, workload: Option<WorkloadName>) -> Self {
        Self { workload, ..self }
    }

    /// Whether it is a key of a policy, and not of a section itself.
    pub fn is_of_policy(self) -> bool {
        self.of.policy.is_some()
    }

    /// Index of its section in [`SECTIONS`].
    pub fn section(self) -> usize {
        self.of.section
    }

    /// Whether ageing a drive depends on it: with policies that are all built in or not, with log-block mappings or
    /// without, with blocks in another cell mode or without.
    pub fn ages(self, is_built_in: bool, merges: bool, has_modes: bool) -> bool {
        match self.param().ageing {
            Ageing::OfSection => SECTIONS[self.section()].is_of_drive,
            Ageing::Always => true,
            Ageing::Timed => !is_built_in,
            Ageing::Merges => !is_built_in || merges,
            Ageing::MergesAndModes => !is_built_in || merges || has_modes,
            Ageing::Never => false,
        }
    }
}

/// Everything that a configuration can contain with the policies of a registry.
#[derive(Clone, Debug)]
pub struct Catalog {
    registry: Registry,
    slots: Vec<(&'static SlotSpec, Vec<&'static PolicySpec>)>,
    /// Every table; each section is followed by the tables of its policies.
    pub tables: Vec<Table>,
    /// Index of each section's own table.
    sections: Vec<usize>,
    /// The workloads of the configuration that it is of, if there are several.
    workloads: Vec<WorkloadName>,
}

impl Registry {
    /// Builds the catalog of these policies.
    ///
    /// # Errors
    /// A policy with the name of a key of its section, or of another policy there.
    pub fn catalog(self) -> Result<Arc<Catalog>, Refusal> {
        let slots = self.slots().to_vec();
        let of_slot = |slot: &'static SlotSpec| {
            let found = slots.iter().find(|(known, _)| known.key == slot.key);
            &found.unwrap_or_else(|| panic!("the registry has the slot of {}", slot.key)).1
        };
        let (mut tables, mut sections): (Vec<Table>, Vec<usize>) = Default::default();
        for (section, described) in SECTIONS.iter().enumerate() {
            sections.push(tables.len());
            tables.push(Table { section, policy: None });
            let first = tables.len();
            for (key, slot) in described.slots() {
                for &policy in of_slot(slot) {
                    let path = format!("{}.{}", described.name, policy.name);
                    let refuse =
                        |found: String| Err(Refusal::new(found, "a name that nothing else of the section has"));
                    if described.params().iter().any(|param| param.name == policy.name) {
                        return refuse(format!("a policy named as the key `{path}`"));
                    }
                    let has_params = |table: &Table| table.path() == path && !table.params().is_empty();
                    if !policy.params.is_empty() && tables[first..].iter().any(has_params) {
                        return refuse(format!("a second policy whose parameters are in [{path}]"));
                    }
                    tables.push(Table { section, policy: Some((policy, key)) });
                }
            }
        }
        Ok(Arc::new(Catalog { registry: self, slots, tables, sections, workloads: Vec::new() }))
    }
}

impl Catalog {
    /// The catalog of the built-in policies.
    pub fn builtin() -> Arc<Self> {
        Registry::builtin().catalog().unwrap_or_else(|refusal| panic!("the built-in tables are in order: {refusal}"))
    }

    /// The registry that it was built from.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Every slot with its policies, along the path of a request.
    pub fn slots(&self) -> &[(&'static SlotSpec, Vec<&'static PolicySpec>)] {
        &self.slots
    }

    /// The names that are valid values of a key; empty if its values are not names.
    pub fn names(&self, param: &Param) -> Vec<&'static str> {
        match param.kind {
            Kind::Policy(slot) => self.policies(slot).map(|policy| policy.name).collect(),
            _ => param.names(),
        }
    }

    /// The policies of a slot.
    pub fn policies(&self, slot: &SlotSpec) -> impl Iterator<Item = &'static PolicySpec> {
        self.slots.iter().filter(move |(known, _)| known.key == slot.key).flat_map(|(_, specs)| specs.iter().copied())
    }

    /// Describes a valid value, for errors and help.
    pub fn expected(&self, param: &Param) -> String {
        match param.kind {
            Kind::Policy(_) => one_of(self.names(param).into_iter()),
            _ => param.expected(),
        }
    }

    /// The key with an index in the table with an index.
    pub fn key(&self, table: usize, param: usize) -> KeyId {
        KeyId { table, param, workload: None, of: self.tables[table] }
    }

    /// A key of a section's own table.
    pub fn section_key(&self, section: usize, param: usize) -> KeyId {
        self.key(self.sections[section], param)
    }

    /// Finds a key by its path, such as `host.scheduler`.
    pub fn find(&self, path: &str) -> Option<KeyId> {
        if let Some((workload, inner)) = self.workloads.iter().find_map(|one| Some((*one, one.without(path)?))) {
            return self.find(&inner).map(|key| key.of_workload(Some(workload)));
        }
        let (table, key) = path.rsplit_once('.')?;
        let named = self.tables.iter().enumerate().filter(|(_, candidate)| candidate.path() == table);
        let param = |of: &Table| of.params().iter().position(|param| param.name == key);
        named.filter_map(|(table, of)| Some(self.key(table, param(of)?))).next()
    }

    /// Every key, in the order of the tables.
    pub fn keys(&self) -> impl Iterator<Item = KeyId> {
        let of_table =
            move |table: usize| (0..self.tables[table].params().len()).map(move |param| self.key(table, param));
        (0..self.tables.len()).flat_map(of_table)
    }

    /// Finds the table of a section by name.
    pub fn section_table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.policy.is_none() && SECTIONS[table.section].name == name)
    }

    /// Refusal of a name that no section of a file has.
    pub fn unknown_section(&self, name: &str) -> Refusal {
        let names = || SECTIONS.iter().map(|section| section.name).chain([VARY, FIT, EXPECT]);
        let sections = SECTIONS.iter().map(|section| section.name).chain([VARY, FIT]);
        let listed: String = sections.map(|name| format!("[{name}], ")).collect();
        let refusal = Refusal::new(format!("unknown section `{name}`"), format!("one of {listed}[[{EXPECT}]]"));
        self.or_key(name, refusal.suggesting(name, names()))
    }

    /// Refusal of a path to a key that begins with a name that no section has. Lists have no keys of their own.
    fn unknown_beginning(&self, path: &str, name: &str) -> Refusal {
        let names = || SECTIONS.iter().map(|section| section.name);
        let refusal = Refusal::new(format!("unknown section `{name}`"), one_of(names()));
        if ![VARY, FIT].contains(&name) {
            return self.or_key(name, refusal.suggesting(name, names()));
        }
        let inner = path.split_once('.').map(|(_, inner)| inner).filter(|inner| self.follow(inner).is_ok());
        Refusal { help: inner.map(|inner| format!("the key alone: `{inner}`")), ..refusal }
    }

    /// A refusal of a name, which without other advice says where a key of that name is.
    fn or_key(&self, name: &str, refusal: Refusal) -> Refusal {
        let nearest = || nearest(name, self.keys().map(|key| key.param().name));
        Refusal { help: refusal.help.or_else(|| self.belongs_elsewhere(nearest()?)), ..refusal }
    }

    /// Finds a name in a table.
    pub fn member(&self, table: usize, name: &str) -> Option<Member> {
        let described = self.tables[table];
        if let Some(param) = described.params().iter().position(|param| param.name == name) {
            return Some(Member::Key(self.key(table, param)));
        }
        let named = self.policies_of(table).filter(|(_, policy)| *policy == name).map(|(index, _)| index);
        // Of two policies of one name, the table is that of the one that has parameters.
        named.max_by_key(|&index| !self.tables[index].params().is_empty()).map(Member::Table)
    }

    /// Tables of the policies of a section, each with its policy's name; none of another table.
    fn policies_of(&self, table: usize) -> impl Iterator<Item = (usize, &'static str)> {
        let described = self.tables[table];
        let own = self.tables.iter().enumerate().filter(move |(_, other)| other.section == described.section);
        own.filter_map(|(index, other)| other.policy.map(|(policy, _)| (index, policy.name)))
            .filter(move |_| described.policy.is_none())
    }

    /// Refusal of a name that a table does not have.
    pub fn unknown_member(&self, table: usize, name: &str) -> Refusal {
        let described = self.tables[table];
        let path = described.path();
        let expected = match described.params() {
            [] => format!("nothing: `{path}` has no parameters"),
            _ => format!("a key of [{path}]"),
        };
        let policies = self.policies_of(table).map(|(_, policy)| policy);
        let valid = described.params().iter().map(|param| param.name).chain(policies);
        let refusal = Refusal::new(format!("unknown key `{name}` in [{path}]"), expected).suggesting(name, valid);
        // What was a figure of older results.
        let figure = || moved(&format!("{path}.{name}")).map(|now| format!("it is a figure: `{now}` of a result"));
        Refusal { help: figure().or(refusal.help).or_else(|| self.belongs_elsewhere(name)), ..refusal }
    }

    /// Advice for a name that is a key of other tables, or the table of a policy of another section.
    fn belongs_elsewhere(&self, name: &str) -> Option<String> {
        let keys = self.keys().filter(|key| key.param().name == name).map(|key| format!("`{}`", key.path()));
        let is_named = |table: &&Table| table.policy.is_some_and(|(policy, _)| policy.name == name);
        let tables = self.tables.iter().filter(is_named).filter(|table| !table.params().is_empty());
        let paths: Vec<_> = keys.chain(tables.map(|table| format!("`[{}]`", table.path()))).collect();
        (!paths.is_empty()).then(|| format!("there is {}", paths.join(", ")))
    }

    /// Resolves a path such as `host.deadline.read_expire`; a refusal comes with the byte range of the faulty part.
    pub fn resolve(&self, path: &str) -> Result<KeyId, (Range<usize>, Refusal)> {
        self.follow(path).map_err(|(span, end)| (span, self.refusal(path, end)))
    }

    /// [`Self::resolve`] up to where the path leads nowhere, of which [`Self::refusal`] says why.
    pub fn follow<'p>(&self, path: &'p str) -> Result<KeyId, (Range<usize>, DeadEnd<'p>)> {
        let mut start = 0;
        let mut parts = path.split('.').map(|part| {
            let span = start..start + part.len();
            start = span.end + 1;
            (span, part.trim().trim_matches('"'))
        });
        let (span, section) = parts.next().expect("a text has a first part");
        let mut table = self.section_table(section).ok_or((span, DeadEnd::Section(section)))?;
        let mut workload = None;
        if self.has_named(table)
            && let Some((span, name)) = parts.next()
        {
            workload = Some(self.workload(name).ok_or((span, DeadEnd::Workload(name)))?);
        }
        while let Some((span, name)) = parts.next() {
            match self.member(table, name) {
                None => return Err((span, DeadEnd::Member(table, name))),
                Some(Member::Table(inner)) => table = inner,
                Some(Member::Key(key)) => match (key.of_workload(workload), parts.next()) {
                    (key, None) => return Ok(key),
                    (key, Some((span, name))) => return Err((span, DeadEnd::Behind(key, name))),
                },
            }
        }
        Err((0..path.len(), DeadEnd::Table(table)))
    }

    /// Refusal of a path that leads nowhere.
    pub fn refusal(&self, path: &str, end: DeadEnd<'_>) -> Refusal {
        match end {
            DeadEnd::Section(name) => self.unknown_beginning(path, name),
            DeadEnd::Workload(name) => self.unknown_workload(name),
            DeadEnd::Member(table, name) => self.unknown_member(table, name),
            DeadEnd::Behind(key, name) => {
                Refusal::new(format!("`{name}` after the key `{}`", key.path()), "the end of the path")
            }
            DeadEnd::Table(table) => {
                let found = format!("`{path}` is a table, not a key");
                Refusal::new(found, format!("a key of it, such as {}", self.example(table)))
            }
        }
    }

    fn example(&self, table: usize) -> String {
        let (path, params) = (self.tables[table].path(), self.tables[table].params());
        params
            .first()
            .map_or_else(|| format!("none: `{path}` has no parameters"), |param| format!("`{path}.{}`", param.name))
    }
}

/// Where a path ends that leads to no key.
#[derive(Clone, Copy, Debug)]
pub enum DeadEnd<'p> {
    /// A section that there is not.
    Section(&'p str),
    /// A name that no workload has.
    Workload(&'p str),
    /// A name that a table does not have.
    Member(usize, &'p str),
    /// A name behind a key.
    Behind(KeyId, &'p str),
    /// A table.
    Table(usize),
}

/// Meaning of a name within a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// A key.
    Key(KeyId),
    /// The table of a policy.
    Table(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_device::{PRESETS, preset};
    use std::collections::BTreeSet;

    #[test]
    fn every_path_is_unique_and_is_found_again() {
        let (catalog, mut seen) = (Catalog::builtin(), BTreeSet::new());
        for key in Catalog::builtin().keys() {
            assert!(seen.insert(key.path()), "`{}` exists twice", key.path());
            assert_eq!(catalog.find(&key.path()), Some(key));
            assert_eq!(catalog.resolve(&key.path()), Ok(key));
        }
    }

    #[test]
    fn policies_share_a_name_where_one_of_them_at_most_has_parameters() {
        let catalog = Catalog::builtin();
        let named = |slot: &str| catalog.find(&format!("ftl.{slot}")).map(|key| catalog.names(key.param()));
        assert!(["allocation", "placement"].map(named).into_iter().flatten().all(|names| names.contains(&"static")));
        assert_eq!(catalog.resolve("ftl.static.layout").map(KeyId::path), Ok("ftl.static.layout".to_owned()));
    }

    #[test]
    fn every_key_is_documented_and_its_default_is_within_its_range() {
        for key in Catalog::builtin().keys() {
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
    fn every_figure_of_a_preset_is_a_key_within_its_range() {
        let catalog = Catalog::builtin();
        for described in PRESETS.iter().filter_map(|choice| preset(choice.name)) {
            for (section, (key, value, source)) in described.all() {
                let path = format!("{section}.{key}");
                let id = catalog.find(&path).unwrap_or_else(|| panic!("{}: {path} is no key", described.name));
                assert!(id.param().accepts(value), "{}: {path} = {value:?}", described.name);
                assert!(!source.is_empty(), "{}: {path} has no source", described.name);
            }
        }
    }

    #[test]
    fn every_slot_is_reached_by_the_key_that_it_names() {
        let catalog = Catalog::builtin();
        for section in &SECTIONS {
            for (index, slot) in section.slots() {
                assert_eq!(slot.key, format!("{}.{}", section.name, section.params()[index].name));
                assert!(catalog.policies(slot).count() > 0, "{}", slot.key);
            }
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_says_which_part_is_wrong() {
        let catalog = Catalog::builtin();
        let (span, refusal) = catalog.resolve("host.schedular").unwrap_err();
        assert_eq!((span, refusal.help.as_deref()), (5..14, Some("did you mean `scheduler`?")));
        let (span, refusal) = catalog.resolve("hots.scheduler").unwrap_err();
        assert_eq!((span, refusal.help.as_deref()), (0..4, Some("did you mean `host`?")));
        // Lists of a file are no beginning of a path, nor what was meant by one.
        for (path, help) in [
            ("fit.device.read_time", Some("the key alone: `device.read_time`")),
            ("vary.ftl.gc", Some("the key alone: `ftl.gc`")),
            ("fit.x", None),
            ("vary", None),
            ("fti.gc", Some("did you mean `ftl`?")),
        ] {
            let (_, refusal) = catalog.resolve(path).unwrap_err();
            assert_eq!(refusal.help.as_deref(), help, "{path}");
            assert!(!refusal.expected.contains(FIT) && refusal.expected.contains("workload"), "{}", refusal.expected);
        }
        assert_eq!(catalog.resolve("host").unwrap_err().1.expected, "a key of it, such as `host.scheduler`");
        assert_eq!(catalog.resolve("host.scheduler.x").unwrap_err().0, 15..16);
    }
}
