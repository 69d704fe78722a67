//! `filebench`: a personality over a modelled file system.

use flashloom_units::{Policy, Problem, Problems};

use super::{Context, Generated, Profile, Report, Running, Workload, of_others, unfit};
use crate::filebench::SPEC;
use crate::{Filebench, FilebenchParams};

pub(super) fn policy() -> Policy<dyn Workload> {
    Generated::<FilebenchParams>::policy(&SPEC).with_profile(|params: FilebenchParams, site| {
        // A thread's next step depends only on what it waited for.
        let open_loop = "path replay queue_depth submit_time speed addresses";
        let misfit = of_others(&SPEC, site, open_loop, format!("the keys of [workload.{}] alone", SPEC.name));
        let size = |context: &Context| Filebench::new(&params, context.capacity_sectors, None, &context.prng).err();
        let found = [misfit, site.context.and_then(size).map(unfit)];
        Ok(Profile { misfits: found.into_iter().flatten().collect(), ..Profile::default() })
    })
}

impl Workload for Generated<FilebenchParams> {
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
        Some(self.issued)
    }

    fn report(&mut self) -> Result<Report, Problem> {
        Ok(Report::Filebench(self.report.clone()))
    }
}
