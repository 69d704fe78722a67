//! Names of workloads, where a configuration has several.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use flashloom_units::{Refusal, one_of};

use super::{Catalog, Member, SECTIONS};

/// Name of the section whose keys each of several workloads has for itself.
pub const WORKLOAD: &str = "workload";

/// Longest name, in bytes.
const LONGEST: usize = 32;

/// Most workloads of a configuration: their queues and figures are a byte wide.
pub const MOST_WORKLOADS: usize = 64;

/// The name of one of several workloads. Names stay in memory for as long as the program runs, each once.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadName {
    /// Its index, in the order of the configuration.
    pub index: usize,
    /// The name.
    pub name: &'static str,
}

impl PartialEq for WorkloadName {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for WorkloadName {}

impl PartialOrd for WorkloadName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WorkloadName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.index.cmp(&other.index)
    }
}

impl WorkloadName {
    fn new(index: usize, name: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let name = known.get(name).copied().unwrap_or_else(|| {
            let kept: &'static str = name.to_owned().leak();
            known.insert(kept);
            kept
        });
        Self { index, name }
    }

    /// The path of a table or key of `[workload]` with this name in it.
    pub(super) fn within(self, path: &str) -> String {
        match path.split_once('.') {
            Some((section, inner)) => format!("{section}.{}.{inner}", self.name),
            None => format!("{path}.{}", self.name),
        }
    }

    /// A path that begins with this name without it; `None` for other paths.
    pub(super) fn without(self, path: &str) -> Option<String> {
        let inner = path.strip_prefix(WORKLOAD)?.strip_prefix('.')?.strip_prefix(self.name)?.strip_prefix('.')?;
        Some(format!("{WORKLOAD}.{inner}"))
    }
}

impl Catalog {
    /// The catalog of a configuration with workloads of these names, which [`Self::check_name`] was asked about.
    pub(crate) fn with_workloads(&self, names: &[String]) -> Self {
        let workloads = (0..).zip(names).map(|(index, name)| WorkloadName::new(index, name)).collect();
        Self { workloads, ..self.clone() }
    }

    /// The workloads of the configuration that it is of, in their order; none if there is one without a name.
    pub fn workloads(&self) -> &[WorkloadName] {
        &self.workloads
    }

    /// Whether a table is that of the section whose keys each of several workloads has for itself.
    pub(crate) fn has_named(&self, table: usize) -> bool {
        let described = self.tables[table];
        !self.workloads.is_empty() && described.policy.is_none() && SECTIONS[described.section].name == WORKLOAD
    }

    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<WorkloadName> {
        self.workloads.iter().copied().find(|workload| workload.name == name)
    }

    /// Refuses the name of a workload that is none, or that a path could mistake for something else.
    pub(crate) fn check_name(&self, name: &str, before: &[String]) -> Result<(), Refusal> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        let expected = format!("a name of lower-case letters, digits, `-` and `_`, at most {LONGEST} of them");
        let found = format!("a workload named `{name}`");
        if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_plain) {
            return Err(Refusal::new(found, expected));
        }
        if before.iter().any(|other| other == name) {
            return Err(Refusal::new(format!("a second workload named `{name}`"), "each name once"));
        }
        let table = self.section_table(WORKLOAD).expect("there is such a section");
        match self.member(table, name) {
            None if name != "name" => Ok(()),
            Some(Member::Table(_)) => {
                Err(Refusal::new(found, expected).help(format!("`{name}` is a kind of workload")))
            }
            _ => Err(Refusal::new(found, expected).help(format!("`{name}` is a key of a workload"))),
        }
    }

    /// Refusal of a name that no workload has.
    pub(super) fn unknown_workload(&self, name: &str) -> Refusal {
        let names = || self.workloads.iter().map(|workload| workload.name);
        let refusal = Refusal::new(format!("`{name}` where there are several workloads"), one_of(names()));
        let table = self.section_table(WORKLOAD).expect("there is such a section");
        let of_one = || format!("a key of one of them, such as `{WORKLOAD}.{}.{name}`", self.workloads[0].name);
        let is_member = self.member(table, name).is_some();
        if is_member { refusal.help(of_one()) } else { refusal.suggesting(name, names()) }
    }
}
