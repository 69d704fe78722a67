//! What a plugin says of itself, so that a program can tell before it serves whether both belong together: lines that
//! `nbdkit --dump-plugin` prints.
//!
//! ```text
//! flashloom_version=0.1.0
//! flashloom_revision=31d67b65...                of Flashloom's sources
//! flashloom_own_revision=9f8e7d6c...            of a registry that states one
//! flashloom_policies.ftl.mapping=page,dftl,...  a line a slot
//! ```

use std::fmt;

use flashloom_config::registry::{Registry, UNKNOWN_REVISION};
use flashloom_units::{PolicySpec, SlotSpec};

const VERSION: &str = "flashloom_version";
const REVISION: &str = "flashloom_revision";
const OWN_REVISION: &str = "flashloom_own_revision";
const POLICIES: &str = "flashloom_policies.";

/// A build of Flashloom: its sources, and the policies that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    version: String,
    revision: String,
    own_revision: Option<String>,
    /// Names of policies by the key of their slot.
    policies: Vec<(String, Vec<String>)>,
}

impl Build {
    /// This build, of Flashloom's sources of that revision, with the policies of a registry.
    pub fn of(registry: &Registry, revision: &str) -> Self {
        let names = |specs: Vec<&PolicySpec>| specs.into_iter().map(|spec| spec.name.to_owned()).collect();
        let states_none = [UNKNOWN_REVISION, revision].contains(&registry.revision);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: revision.to_owned(),
            own_revision: (!states_none).then(|| registry.revision.to_owned()),
            policies: registry.slots().map(|(slot, specs)| (slot.key.to_owned(), names(specs))).into(),
        }
    }

    /// Reads what a plugin says of itself among other lines; `None` if it does not say what it is built of.
    pub fn parse(text: &str) -> Option<Self> {
        let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |key: &str| lines.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let of_slot = |(name, value): &(&str, &str)| {
            let names = value.split(',').map(str::to_owned).collect();
            Some((name.strip_prefix(POLICIES)?.to_owned(), names))
        };
        Some(Self {
            version: value(VERSION)?,
            revision: value(REVISION)?,
            own_revision: value(OWN_REVISION),
            policies: lines.iter().filter_map(of_slot).collect(),
        })
    }

    /// Whether this plugin was built of the sources that a program was built of. One that states no revision of its own
    /// may serve any program of that Flashloom.
    pub fn belongs_to(&self, program: &Self) -> bool {
        let is_own = self.own_revision.is_none() || self.own_revision == program.own_revision;
        is_own && (&self.version, &self.revision) == (&program.version, &program.revision)
    }

    /// The sources, in words.
    pub fn sources(&self) -> String {
        let own = self.own_revision.as_ref().map_or(String::new(), |own| format!(", with policies of revision {own}"));
        format!("Flashloom {} of revision {}{own}", self.version, self.revision)
    }

    /// The first policy of a registry that it does not have, by name.
    pub fn missing_of(&self, registry: &Registry) -> Option<&'static str> {
        let lacks = |(slot, specs): (&SlotSpec, Vec<&'static PolicySpec>)| {
            specs.into_iter().find(|spec| !self.has(slot, spec)).map(|spec| spec.name)
        };
        registry.slots().into_iter().find_map(lacks)
    }

    /// Whether it has this policy, by name.
    pub fn has(&self, slot: &SlotSpec, policy: &PolicySpec) -> bool {
        let names = self.policies.iter().filter(|(key, _)| key == slot.key).flat_map(|(_, names)| names);
        names.into_iter().any(|name| name == policy.name)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}={}\n{REVISION}={}", self.version, self.revision)?;
        if let Some(own) = &self.own_revision {
            writeln!(f, "{OWN_REVISION}={own}")?;
        }
        self.policies.iter().try_for_each(|(key, names)| writeln!(f, "{POLICIES}{key}={}", names.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(revision: &'static str) -> Registry {
        Registry { revision, ..Registry::builtin() }
    }

    #[test]
    fn what_a_plugin_says_is_read_back_among_what_nbdkit_says() {
        for build in [Build::of(&Registry::builtin(), "r1"), Build::of(&own("mine"), "r1")] {
            let said = format!("path=/a=b\nname=flashloom\nversion=9\n{build}\nhas_pread=1\nno line of this kind\n");
            assert_eq!(Build::parse(&said), Some(build));
        }
        assert_eq!(Build::parse("name=file\nversion=1.32.5\n"), None);
    }

    #[test]
    fn a_plugin_belongs_to_programs_of_its_sources() {
        let builtin = |revision| Build::of(&Registry::builtin(), revision);
        let program = Build::of(&own("mine"), "r1");
        assert!(builtin("r1").belongs_to(&program), "it has what is built in");
        assert!(program.belongs_to(&program));
        assert!(!builtin("r2").belongs_to(&program));
        assert!(!Build::of(&own("before"), "r1").belongs_to(&program));
        assert!(!program.belongs_to(&builtin("r1")), "policies of another program");
        let older = Build { version: "0.0.9".to_owned(), ..builtin("r1") };
        assert!(!older.belongs_to(&builtin("r1")));
    }

    #[test]
    fn a_registry_of_what_a_plugin_has_refuses_the_rest() {
        let mut plugin = Build::of(&Registry::builtin(), "r1");
        plugin.policies.iter_mut().for_each(|(_, names)| names.retain(|name| name != "fast"));
        assert_eq!(plugin.missing_of(&Registry::builtin()), Some("fast"));
        let less = Registry::builtin().only(|slot, policy| plugin.has(slot, policy));
        assert_eq!(plugin.missing_of(&less), None);
        assert!(less.mappings.find("fast").is_none() && less.mappings.find("kast").is_some());
        assert_eq!(less.schedulers.specs().count(), Registry::builtin().schedulers.specs().count());
    }
}
