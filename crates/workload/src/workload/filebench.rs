//! `filebench`: a personality over a modelled file system.

use flashloom_units::{Policy, Problem, Problems, Refusal};

use super::{Context, Profile, Report, Running, Site, Workload, unfit};
use crate::filebench::SPEC;
use crate::{Filebench, FilebenchParams};

pub(super) fn policy() -> Policy<dyn Workload> {
    let policy = Policy::<dyn Workload>::new(&SPEC, |params: FilebenchParams, context| {
        Ok(Box::new(Personality { params, context: context.clone() }))
    });
    policy.with_profile(|params: FilebenchParams, site| {
        let size = |context: &Context| Filebench::new(&params, context.capacity_sectors, None, &context.prng).err();
        let found = [of_others(site), site.context.and_then(size).map(unfit)];
        Ok(Profile { misfits: found.into_iter().flatten().collect(), ..Profile::default() })
    })
}

/// Refuses the keys of open-loop replay: a thread's next step depends only on what it waited for.
fn of_others(site: &Site<'_>) -> Option<Refusal> {
    let name = site.asked(&["path", "replay", "queue_depth", "submit_time", "speed", "addresses"])?;
    let found = format!("`{name}` with `kind` = \"{}\"", SPEC.name);
    let expected = format!("the keys of [workload.{}] alone", SPEC.name);
    Some(Refusal::new(found, expected).at([format!("workload.{name}")]))
}

struct Personality {
    params: FilebenchParams,
    context: Context,
}

impl Workload for Personality {
    /// Zero: the number is known only at the end, and [`Running::issued`] counts it.
    fn expected_requests(&self) -> u64 {
        0
    }

    fn has_task_ids(&self) -> bool {
        true
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let Context { params, capacity_sectors, prng, .. } = &self.context;
        Ok(Box::new(Filebench::new(&self.params, *capacity_sectors, params.requests, prng)?))
    }
}

impl Running for Filebench {
    fn issued(&self) -> Option<u64> {
        Some(Filebench::issued(self))
    }

    fn report(&mut self) -> Result<Report, Problem> {
        Ok(Report::Filebench(Filebench::report(self).clone()))
    }
}
