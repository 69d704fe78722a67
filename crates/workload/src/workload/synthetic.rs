//! `synthetic`: requests made from a seed.

use flashloom_units::{Policy, Problems, Refusal};

use super::{Context, Footprint, Generated, Profile, Rounds, Running, Site, Workload, trace, unfit};
use crate::synthetic::SPEC;
use crate::{Pattern, Replay, Synthetic, SyntheticParams};

pub(super) fn policy() -> Policy<dyn Workload> {
    Generated::<SyntheticParams>::policy(&SPEC).with_profile(|params: SyntheticParams, site| {
        let size = |context: &Context| Synthetic::new(&params, context.capacity_sectors, &context.prng).err();
        let found = [of_a_recording(site), missing(&params, site), site.context.and_then(size).map(unfit)];
        let replay = if params.interarrival_ns.is_some() { Replay::Timestamps } else { Replay::Closed };
        Ok(Profile {
            misfits: found.into_iter().flatten().collect(),
            replay: Some(replay),
            rate_key: Some("workload.synthetic.interarrival"),
            footprint: Some(footprint(&params).0),
            rounds: (params.pattern == Pattern::Sequential).then(|| rounds(&params)),
            ..Profile::default()
        })
    })
}

/// The addresses, and the key that decides them.
fn footprint(params: &SyntheticParams) -> (Footprint, &'static str) {
    match params.footprint_size {
        Some(bytes) => (Footprint::Bytes(bytes), "workload.synthetic.footprint_size"),
        None => (Footprint::Share(params.footprint), "workload.synthetic.footprint"),
    }
}

fn rounds(params: &SyntheticParams) -> Rounds {
    let (footprint, key) = footprint(params);
    Rounds { step_bytes: params.alignment.unwrap_or(params.request_size), footprint, key }
}

/// Refuses the default kind beside a path: a user who names a file wants the file.
fn of_a_recording(site: &Site<'_>) -> Option<Refusal> {
    let is_left = site.params.path.is_some() && !site.is_chosen;
    let found = format!("a path, but `kind` is left at \"{}\"", SPEC.name);
    let expected = format!("`kind` = \"{}\" in [workload] too", trace::SPEC.name);
    is_left.then(|| Refusal::new(found, expected).at(["workload.path"]))
}

/// Refuses a replay that needs times or tasks which the requests do not have.
fn missing(params: &SyntheticParams, site: &Site<'_>) -> Option<Refusal> {
    let (found, expected) = match site.params.replay? {
        Replay::Dependent if params.tasks == 0 => {
            ("a dependent replay of requests without task ids", "`tasks` of at least 1 in [workload.synthetic]")
        }
        Replay::Timestamps if params.interarrival_ns.is_none() => {
            ("a replay by time of requests without times", "`interarrival` in [workload.synthetic], or another replay")
        }
        _ => return None,
    };
    Some(Refusal::new(found, expected).at(["workload.replay"]))
}

impl Workload for Generated<SyntheticParams> {
    fn expected_requests(&self) -> u64 {
        self.context.limited(self.params.requests)
    }

    fn has_task_ids(&self) -> bool {
        self.params.tasks > 0
    }

    fn undrawn(&self) -> Option<Refusal> {
        if self.params.draws() {
            return None;
        }
        let refusal = Refusal::new("a sequential workload, which draws nothing", "a workload that draws");
        let help = "leave --seeds out, or choose another workload.synthetic.pattern, or run.precondition = \"steady\" \
                    for drives that differ";
        Some(refusal.at(["workload.synthetic.pattern"]).help(help))
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let capacity = self.context.capacity_sectors;
        let source = Synthetic::new(&self.params, capacity, &self.context.prng)?;
        Ok(Box::new(self.context.replayed(source, capacity, self.params.interarrival_ns.is_some())))
    }
}
