//! The checked value of every key, with the place where it was written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_device::{Preset, preset};
use flashloom_units::{ParamSet, PolicySpec, Value};

use super::catalog::{Catalog, KeyId, SECTIONS, Table, WORKLOAD, WorkloadName};
use super::raw::{Assignment, Origin, Sources};

/// Key that sets the figures of others.
pub(super) const PRESET: &str = "device.preset";

/// Checked values of every key of every table.
///
/// Thousands of runs differ in a key or two: they share the values of each table in which they have the same.
#[derive(Clone, Debug)]
pub struct Settings {
    catalog: Arc<Catalog>,
    tables: Vec<Arc<Values>>,
    /// The tables of each of several workloads, by index of the table; those of other sections are not looked at.
    workloads: Vec<Vec<Arc<Values>>>,
    headers: Arc<[Option<Origin>]>,
    /// Places of the figures of a preset in a file of its own.
    of_preset: Arc<BTreeMap<KeyId, Origin>>,
}

/// Values of a table's keys, each with the place where it was written.
#[derive(Clone, Debug)]
struct Values {
    values: Vec<Value>,
    origins: Vec<Option<Origin>>,
}

impl Settings {
    /// Builds the values without any preset: defaults, then the assignments, the last one of a key winning.
    pub fn new(catalog: &Arc<Catalog>, assignments: &[Assignment], headers: &[Option<Origin>]) -> Self {
        let defaults = |table: &Table| {
            let values = table.params().iter().map(|param| param.default.clone()).collect();
            Arc::new(Values { values, origins: vec![None; table.params().len()] })
        };
        let tables: Vec<_> = catalog.tables.iter().map(defaults).collect();
        let workloads = vec![tables.clone(); catalog.workloads().len()];
        let (catalog, headers) = (Arc::clone(catalog), headers.into());
        let mut settings = Self { catalog, tables, workloads, headers, of_preset: Arc::default() };
        settings.assign(assignments);
        settings
    }

    /// Overwrites the values of keys; the last assignment of a key wins. The preset stays as it is.
    pub fn assign(&mut self, assignments: &[Assignment]) {
        for Assignment { key, value, origin } in assignments {
            self.put(*key, value.clone());
            Arc::make_mut(&mut self.of_mut(*key)[key.table]).origins[key.param] = Some(origin.clone());
        }
    }

    fn put(&mut self, key: KeyId, value: Value) {
        Arc::make_mut(&mut self.of_mut(key)[key.table]).values[key.param] = value;
    }

    /// The tables of the workload that a key is of, or of all of them.
    fn of_mut(&mut self, key: KeyId) -> &mut Vec<Arc<Values>> {
        key.workload.map_or(&mut self.tables, |workload| &mut self.workloads[workload.index])
    }

    fn of(&self, key: KeyId) -> &[Arc<Values>] {
        key.workload.map_or(&self.tables, |workload| &self.workloads[workload.index])
    }

    /// The settings as one of several workloads has them: its keys are those of `[workload]`.
    #[must_use]
    pub fn of_workload(&self, index: usize) -> Self {
        let mut one = Self { workloads: Vec::new(), ..self.clone() };
        let is_of_workload = |table: &Table| SECTIONS[table.section].name == WORKLOAD;
        for (at, _) in self.catalog.tables.iter().enumerate().filter(|(_, table)| is_of_workload(table)) {
            one.tables[at] = Arc::clone(&self.workloads[index][at]);
        }
        one
    }

    /// A key that is known to exist.
    fn key(&self, path: &str) -> KeyId {
        self.catalog.find(path).unwrap_or_else(|| panic!("`{path}` is a key of the tables"))
    }

    /// The workloads that have settings of their own: those of the catalog, or none in the settings of one of them.
    pub fn workloads(&self) -> &[WorkloadName] {
        if self.workloads.is_empty() { &[] } else { self.catalog.workloads() }
    }

    /// [`Self::set`] for one of several workloads.
    pub fn set_of(&mut self, workload: WorkloadName, path: &str, value: Value) {
        self.put(self.key(path).of_workload(Some(workload)), value);
    }

    /// Sets a key that is known to exist to a value of its kind.
    pub fn set(&mut self, path: &str, value: Value) {
        self.put(self.key(path), value);
    }

    /// Applies the figures of the preset to keys that were not written. Keys may be written afterwards, too. Those of a
    /// preset in a file of its own are given.
    pub fn apply_preset(&mut self, of_file: &[Assignment]) {
        for Assignment { key, value, .. } in of_file {
            if self.origin(*key).is_none() {
                self.put(*key, value.clone());
            }
        }
        self.of_preset = Arc::new(of_file.iter().map(|figure| (figure.key, figure.origin.clone())).collect());
        let Value::Name(name) = *self.value(PRESET) else { return };
        for (section, (key, value, _)) in preset(name).into_iter().flat_map(Preset::all) {
            // The tests of the catalog hold every figure of a preset to be a key.
            let key = self.key(&format!("{section}.{key}"));
            if self.origin(key).is_none() {
                self.put(key, value.clone());
            }
        }
    }

    /// The value of a key that is known to exist.
    pub fn value(&self, path: &str) -> &Value {
        self.value_of(self.key(path))
    }

    /// True if a key was given a value, rather than left at its default.
    pub fn is_written(&self, path: &str) -> bool {
        self.catalog.find(path).is_some_and(|key| self.origin(key).is_some())
    }

    /// True if a key was given a value, or has one from the file of a preset.
    pub fn is_given(&self, path: &str) -> bool {
        self.catalog.find(path).is_some_and(|key| self.origin(key).is_some() || self.of_preset.contains_key(&key))
    }

    /// Place where a key was given its value; `None` if it was left at its default.
    pub fn origin(&self, key: KeyId) -> Option<&Origin> {
        self.of(key)[key.table].origins[key.param].as_ref()
    }

    /// True if a key was set to another value than its default. Writing out a default changes nothing, so that an
    /// effective configuration reads back.
    pub fn asks(&self, path: &str) -> bool {
        self.catalog.find(path).is_some_and(|key| *self.value(path) != key.param().default)
    }

    /// Place where the name of a table was first written, if it was.
    pub fn header(&self, table: usize) -> Option<&Origin> {
        self.headers[table].as_ref()
    }

    /// The value of a key.
    pub fn value_of(&self, key: KeyId) -> &Value {
        &self.of(key)[key.table].values[key.param]
    }

    /// The catalog of the configuration.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The values of a table, in the order of its parameters.
    pub fn values(&self, table: usize) -> &[Value] {
        &self.tables[table].values
    }

    /// The typed parameters of a section.
    pub fn typed<P: ParamSet>(&self, section: &str) -> P {
        let table = self.catalog.section_table(section);
        P::from_values(self.values(table.expect("every typed section is in the table of sections")))
    }

    /// The chosen policies: the key that chose, the policy, and the index of the policy's table.
    pub fn chosen(&self) -> impl Iterator<Item = (KeyId, &'static PolicySpec, usize)> {
        self.catalog.tables.iter().enumerate().filter_map(|(index, table)| {
            let (policy, param) = table.policy?;
            let key = self.catalog.section_key(table.section, param);
            (*self.value_of(key) == Value::Name(policy.name)).then_some((key, policy, index))
        })
    }

    /// Place for a problem with these keys: in the file of the preset, if none of them was written elsewhere. Otherwise
    /// the first that an option gave, because the file was probably valid before; else the first that was written, else
    /// the name of its section, else the beginning of the file.
    pub fn pointer(&self, paths: &[impl AsRef<str>]) -> Origin {
        let keys = || paths.iter().filter_map(|path| self.catalog.find(path.as_ref()));
        let figure = keys().find_map(|key| self.of_preset.get(&key));
        let is_written = keys().any(|key| key.path() != PRESET && self.origin(key).is_some());
        if let Some(figure) = figure.filter(|_| !is_written) {
            return figure.clone();
        }
        let origins = || keys().filter_map(|key| self.origin(key));
        // The file is the first source, and every option one of its own after it.
        let written = origins().find(|origin| origin.source > 0).or_else(|| origins().next()).cloned();
        let header = || keys().find_map(|key| self.headers[key.table].clone());
        written.or_else(header).unwrap_or(Origin { source: 0, span: 0..0 })
    }

    /// Resolves a path that was written in a configuration, relative to its source's folder.
    pub fn located(&self, key: &str, path: &str, sources: &Sources) -> PathBuf {
        self.origin(self.key(key)).map_or(PathBuf::new(), |origin| sources.get(origin.source).folder.clone()).join(path)
    }
}
