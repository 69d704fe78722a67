//! A paper cut down to some of its figures.

use std::collections::BTreeSet;

use flashloom_units::Problem;

use super::{Group, Paper, Workload, scoped};

/// True if an id is `name`, or begins with it up to a hyphen: `figure-1` begins `figure-1-oltp` but not `figure-10`.
fn begins(name: &str, id: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Paper {
    /// Removes all rows but those of groups with one of the ids, all experiments that these do not need, and all
    /// tables, which need every experiment. A name that is no id stands for those that it begins. A group that is
    /// repeated for workloads has its own id, and for each of them one with the name of the workload before it.
    ///
    /// # Errors
    /// A name begins no id.
    pub fn only(&mut self, names: &[String]) -> Result<(), Problem> {
        if let Some(unknown) =
            names.iter().find(|name| self.groups.iter().all(|group| self.takes(group, name).is_none()))
        {
            return Err(self.unknown(unknown));
        }
        let taken = |group: &Group| {
            let mut with = Vec::new();
            let mut is_whole = false;
            for of in names.iter().filter_map(|name| self.takes(group, name)) {
                is_whole |= of.is_empty();
                with.extend(of);
            }
            let with = if is_whole { Vec::new() } else { with };
            (is_whole || !with.is_empty()).then(|| Group { with, ..group.clone() })
        };
        self.groups = self.groups.iter().filter_map(taken).collect();
        self.tables.clear();
        self.keep_what_is_needed();
        Ok(())
    }

    /// What a name takes of a group: nothing if none, all if an empty list, else the workloads of these names.
    fn takes(&self, group: &Group, name: &str) -> Option<Vec<String>> {
        let workloads = |group: &Group| self.each(group.each_workload).flatten();
        let is_one = |group: &Group| {
            group.id == name || workloads(group).any(|workload| scoped(Some(workload), &group.id) == name)
        };
        let is_id = self.groups.iter().any(is_one);
        let takes = |id: &str| if is_id { id == name } else { begins(name, id) };
        if takes(&group.id) {
            return Some(Vec::new());
        }
        let with = workloads(group).filter(|workload| takes(&scoped(Some(workload), &group.id)));
        let with: Vec<String> = with.map(|workload| workload.name.clone()).collect();
        (!with.is_empty()).then_some(with)
    }

    fn unknown(&self, name: &str) -> Problem {
        let ids = || self.groups.iter().map(|group| &*group.id);
        let is_repeated = self.groups.iter().any(|group| group.each_workload).then_some(", with a workload before it");
        let expected = format!("one of {}{}", ids().collect::<Vec<_>>().join(", "), is_repeated.unwrap_or_default());
        let problem = Problem::file("--only", format!("`{name}` is no figure of {}", self.paper), expected);
        let repeated = self.groups.iter().filter(|group| group.each_workload);
        let with = |group: &Group| -> Vec<String> {
            self.workloads.iter().map(|workload| scoped(Some(workload), &group.id)).collect()
        };
        let with: Vec<String> = repeated.flat_map(with).collect();
        problem.suggesting(name, ids().chain(with.iter().map(String::as_str)))
    }

    /// Removes the experiments, and the workloads of experiments, that no group needs.
    fn keep_what_is_needed(&mut self) {
        // A formula of a group that is made for each workload means the experiment with that workload, if there is one.
        let with_workloads = |group: &Group| -> BTreeSet<String> {
            let names = group.experiments();
            let scoped = |workload| names.iter().map(move |name| scoped(workload, name));
            self.each_of(group).flat_map(scoped).chain(names.iter().cloned()).collect()
        };
        let needed: BTreeSet<String> = self.groups.iter().flat_map(with_workloads).collect();
        let takes = |workload: &Workload, name: &str| needed.contains(&scoped(Some(workload), name));
        let (workloads, studies) = (&self.workloads, &self.experiments);
        let experiments: Vec<_> = studies
            .iter()
            .filter(|study| {
                let is_repeated = || workloads.iter().any(|workload| takes(workload, &study.name));
                needed.contains(&study.name) || study.each_workload && is_repeated()
            })
            .cloned()
            .collect();
        let of_groups: BTreeSet<&str> = self
            .groups
            .iter()
            .flat_map(|group| self.each_of(group))
            .flatten()
            .map(|workload| &*workload.name)
            .collect();
        let repeated = || experiments.iter().filter(|study| study.each_workload);
        let is_needed = |workload: &&Workload| {
            of_groups.contains(&*workload.name) || repeated().any(|study| takes(workload, &study.name))
        };
        self.workloads = workloads.iter().filter(is_needed).cloned().collect();
        self.experiments = experiments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(paper: &str, names: &[&str]) -> Result<Paper, Problem> {
        let mut paper = Paper::named(paper).expect("it is one");
        paper.only(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?;
        Ok(paper)
    }

    /// Groups with their workloads, as the ids of rows have them.
    fn ids(paper: &Paper) -> Vec<String> {
        let ids = |group| paper.each_of(group).map(move |workload| scoped(workload, &group.id));
        paper.groups.iter().flat_map(ids).collect()
    }

    #[test]
    fn a_name_takes_the_ids_that_it_begins_up_to_a_hyphen() {
        assert!(begins("figure-1", "figure-1") && begins("figure-1", "figure-1-oltp"));
        assert!(!begins("figure-1", "figure-10") && !begins("figure-1-", "figure-1-oltp") && !begins("", "figure-1"));
        let figure_3 = ids(&only("pardispatcher", &["figure-3"]).expect("it has one"));
        assert_eq!(figure_3.len(), 16, "four workloads on four drives: {figure_3:?}");
        assert!(figure_3.iter().all(|id| id.starts_with("figure-3-")), "{figure_3:?}");
        assert_eq!(ids(&only("slap", &["delta-reads"]).expect("it has one")), ["delta-reads"]);
        assert_eq!(
            ids(&only("slap", &["energy", "delta"]).expect("it has them")),
            ["delta", "energy"],
            "an id is itself"
        );
        let repeated = ids(&only("pardispatcher", &["figure-3-oltp-depth"]).expect("it has some"));
        assert_eq!(
            repeated,
            ["depth-1", "depth-1-325us", "depth-1-dftl"].map(|drive| format!("figure-3-oltp-{drive}"))
        );
        let fileserver = ids(&only("pardispatcher", &["fileserver"]).expect("it has some"));
        assert!(fileserver.len() > 2 && fileserver.iter().all(|id| id.starts_with("fileserver-")), "{fileserver:?}");
    }

    #[test]
    fn a_workload_before_an_id_takes_this_workload_alone_and_runs_no_other() {
        let paper = only("pardispatcher", &["fileserver-depth-4"]).expect("it has one");
        assert_eq!(ids(&paper), ["fileserver-depth-4"]);
        assert!(paper.studies().count() > 0 && paper.studies().all(|(name, ..)| name.starts_with("fileserver-")));
        let whole = only("pardispatcher", &["fileserver-depth-4", "depth-4"]).expect("it has both");
        assert_eq!(ids(&whole).len(), whole.workloads.len());
        let two = only("pardispatcher", &["fileserver-depth-4", "oltp-regions"]).expect("it has both");
        assert_eq!(ids(&two), ["fileserver-depth-4", "oltp-regions"]);
    }

    #[test]
    fn a_name_that_begins_no_id_is_refused_with_the_nearest() {
        for (name, nearest) in
            [("figure-4", "figure-3-"), ("regionz", "regions"), ("fileserver-depth4", "fileserver-depth-4")]
        {
            let problem = only("pardispatcher", &[name]).expect_err("there is none");
            let text = format!("{problem:?}");
            assert!(text.contains(&format!("`{name}` is no figure of pardispatcher")), "{text}");
            assert!(name == "figure-4" || text.contains(&format!("did you mean `{nearest}`?")), "{text}");
        }
    }

    #[test]
    fn what_each_id_needs_is_there() {
        for name in super::super::PAPERS {
            for id in ids(&Paper::named(name).expect("it is one")) {
                let paper = only(name, &[&id]).unwrap_or_else(|problem| panic!("{name}: {id}: {problem:?}"));
                assert!(ids(&paper).contains(&id), "{name}: {id}");
                let known: BTreeSet<String> = paper.studies().map(|(name, ..)| name).collect();
                for group in &paper.groups {
                    for workload in paper.each_of(group) {
                        let is_there = |name: &String| known.contains(name) || known.contains(&scoped(workload, name));
                        assert!(group.experiments().iter().all(is_there), "{name}: {id}");
                    }
                }
            }
        }
    }
}
