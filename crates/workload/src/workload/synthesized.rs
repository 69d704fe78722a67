//! `synthesized`: requests that fit a published characterisation.

use flashloom_units::{Ns, Policy, Problem, Problems};

use super::{Context, Generated, Profile, Report, Running, Workload, unfit};
use crate::synthesized::SPEC;
use crate::{Arrivals, Replay, Replayed, Request, Source, Synthesized, SynthesizedParams};

pub(super) fn policy() -> Policy<dyn Workload> {
    Generated::<SynthesizedParams>::policy(&SPEC).with_profile(|params: SynthesizedParams, site| {
        let size = |context: &Context| Synthesized::new(&params, context.capacity_sectors, &context.prng).err();
        let found = site.context.and_then(size).map(unfit);
        Ok(Profile { misfits: found.into_iter().collect(), replay: Some(Replay::Closed), ..Profile::default() })
    })
}

impl Workload for Generated<SynthesizedParams> {
    fn expected_requests(&self) -> u64 {
        self.context.limited(self.params.target().requests)
    }

    fn has_task_ids(&self) -> bool {
        false
    }

    /// The recordings that it was fitted to did not tell.
    fn tells_sync_writes(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let capacity = self.context.capacity_sectors;
        let source = Synthesized::new(&self.params, capacity, &self.context.prng)?;
        Ok(Box::new(Stream { workload: self, replayed: self.context.replayed(source, capacity, false) }))
    }
}

struct Stream<'a> {
    workload: &'a Generated<SynthesizedParams>,
    replayed: Replayed<Box<dyn Source>>,
}

impl Arrivals for Stream<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.replayed.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.replayed.take(now)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.replayed.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.replayed.is_over()
    }
}

impl Running for Stream<'_> {
    fn report(&mut self) -> Result<Report, Problem> {
        let Generated { params, context } = self.workload;
        let achieved = Synthesized::measure(params, context.capacity_sectors, &context.prng)?;
        Ok(Report::Character { target: params.target(), achieved })
    }
}
