//! `trace`: a recording, replayed.

use std::sync::Arc;

use flashloom_units::{Policy, PolicySpec, Problem, Problems, Refusal};

use super::{Context, Profile, Remark, Running, Unfit, Workload, pathless};
use crate::trace::devices::{listed, overlaid};
use crate::trace::record::Column;
use crate::trace::{Replicate, open_trace_of};
use crate::{
    ALL_DEVICES, Addresses, DeviceInfo, Limited, Replay, Source, TASK_IDS, TraceInfo, TraceOptions, fit, rebase,
};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "trace",
    summary: "a recording in any of the formats of `flashloom list formats`",
    details: "Read as a stream, plain or compressed by gzip or zstd; checked to its end before a run begins. The first \
              request arrives at time zero. Of a recording of several devices `workload.device` says which is \
              replayed.",
    source: "the format's own file names its definition",
    example: "workload.kind=trace workload.path=crates/workload/tests/data/varmail.blktrace workload.addresses=wrap",
    instead: "A recording is one load, of one machine: to vary a single property, such as the share of reads, use \
              `synthetic`. `filebench` and `fio` make new requests as earlier ones complete.",
    ..PolicySpec::BLANK
};

pub(super) fn policy() -> Policy<dyn Workload> {
    let no_path = || pathless(SPEC.name, "recording");
    let policy = Policy::<dyn Workload>::new(&SPEC, move |(), context| {
        let path = context.path.clone().ok_or_else(no_path)?;
        Ok(Box::new(Recorded { path, context: context.clone(), info: None }))
    });
    policy.with_profile(move |(), site| {
        let missing = site.params.path.as_ref().is_none_or(String::is_empty).then(no_path);
        Ok(Profile {
            misfits: missing.into_iter().collect(),
            has_first_sector: true,
            has_replicates: true,
            replay: Some(Replay::Timestamps),
            reads_path: true,
            ..Profile::default()
        })
    })
}

/// Devices that a remark names at most.
const SHOWN: usize = 6;

struct Recorded {
    path: String,
    context: Context,
    /// Summary of the recording; present once it was read.
    info: Option<Arc<TraceInfo>>,
}

impl Recorded {
    /// The sector after the last one that the replay touches.
    fn span(&self) -> u64 {
        let first_sector = self.context.params.first_sector;
        self.info.as_ref().map_or(0, |info| info.end_sector().saturating_sub(first_sector))
    }

    /// Opens the recording at its start.
    fn open(&self) -> Result<impl Source + use<>, Problem> {
        let params = &self.context.params;
        let info = self.info.as_ref().expect("it was read before");
        let trace = open_trace_of(&self.path, &self.context.trace_options(), &info.seen)?;
        Ok(rebase(trace.in_ranges(info.ranges.clone()), params.first_sector))
    }

    /// Refuses to move the ranges of several devices by the sector of one.
    fn moved_ranges(&self) -> Option<Refusal> {
        let params = &self.context.params;
        if !params.takes_all_devices() || params.first_sector == 0 {
            return None;
        }
        let found = format!("`device` = \"{ALL_DEVICES}\" with `first_sector` = {}", params.first_sector);
        let refusal = Refusal::new(found, "one device: a first sector is that of one");
        Some(refusal.at(["workload.first_sector", "workload.device"]))
    }

    /// Finds the request that reaches beyond the drive or begins before `first_sector`. The recording is read again
    /// only if there is one.
    fn check_addresses(&self, info: &TraceInfo) -> Result<(), Problem> {
        let Context { params, capacity_sectors, .. } = &self.context;
        let reaches_beyond = params.addresses == Addresses::Error && self.span() > *capacity_sectors;
        if !reaches_beyond && info.first_sector >= params.first_sector {
            return Ok(());
        }
        let limited = Limited::new(self.open()?, params.requests);
        let mut source = fit(limited, *capacity_sectors, params.addresses, self.span());
        while source.next_request()?.is_some() {}
        Ok(())
    }
}

impl Workload for Recorded {
    fn recording(&self) -> Option<(&str, TraceOptions)> {
        Some((&self.path, self.context.trace_options()))
    }

    fn read(&mut self, scanned: Option<&Arc<TraceInfo>>) -> Result<(), Unfit> {
        let info = scanned.expect("a recording is scanned before it is held against a drive");
        let params = &self.context.params;
        let refusal = if params.device.is_none() { overlaid(&info.devices) } else { self.moved_ranges() };
        if let Some(refusal) = refusal {
            return Err(refusal.into());
        }
        let info = if params.takes_all_devices() { Arc::new(info.in_ranges()) } else { Arc::clone(info) };
        self.info = Some(Arc::clone(&info));
        if !info.has_task_ids && params.replay == Some(Replay::Dependent) {
            let expected = format!("{}; those of `{}` do not", TASK_IDS.in_words(), self.path);
            return Err(Refusal::new("a dependent replay", expected).at(["workload.replay"]).into());
        }
        Ok(self.check_addresses(&info)?)
    }

    fn scanned(&self) -> Option<&TraceInfo> {
        self.info.as_deref()
    }

    fn remarks(&self) -> Vec<Remark> {
        let Some(info) = &self.info else { return Vec::new() };
        let key = "workload.device";
        let ranges: Vec<String> =
            info.device_ranges().map(|(name, sector)| format!("`{name}` from sector {sector}")).collect();
        if ranges.len() > 1 {
            let count = ranges.len();
            let shown = listed(ranges.into_iter(), SHOWN);
            let text = format!("The recording's {count} devices are replayed one behind the other: {shown}.");
            return vec![Remark { about: "devices", key, text }];
        }
        let below: Vec<&DeviceInfo> = info.devices.iter().filter(|device| device.handed_down > 0).collect();
        let Some(first) = below.first() else { return Vec::new() };
        let requests: u64 = below.iter().map(|device| device.handed_down).sum();
        let (names, name) = (listed(below.iter().map(|device| format!("`{}`", device.name)), SHOWN), &first.name);
        let text = format!(
            "{requests} requests of {names} are those of a device above, handed down, and count once, as that one's: \
             `{key}` = \"{name}\" replays them as they reached `{name}`."
        );
        vec![Remark { about: "handed-down", key, text }]
    }

    fn expected_requests(&self) -> u64 {
        self.context.limited(self.info.as_ref().map_or(0, |info| info.requests))
    }

    fn has_task_ids(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.has_task_ids)
    }

    /// Formats with events are those of block layers, which mark them.
    fn tells_sync_writes(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.columns.has(Column::Sync) || info.event.is_some())
    }

    fn has_priorities(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.used.has(Column::Ioprio))
    }

    fn undrawn(&self) -> Option<Refusal> {
        if self.context.params.replicate != Some(true) {
            let refusal = Refusal::new("a recording as it is, which draws nothing", "`workload.replicate` = true");
            return Some(refusal.at(["workload.replicate"]).help("leave workload.replicate out: --seeds sets it"));
        }
        if self.expected_requests() > 2 {
            return None;
        }
        let found = "a recording of one or two requests, which can hardly begin elsewhere";
        let refusal = Refusal::new(found, "at least three requests");
        Some(refusal.at(["workload.path"]).help("leave --seeds out: one run says all that this recording can"))
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        let params = &self.context.params;
        if params.replicate != Some(true) {
            return Ok(Box::new(self.context.replayed(self.open()?, self.span(), true)));
        }
        let prng = self.context.prng.branch("replicate");
        let keeps_moments = params.replay_or_default(true) != Replay::Closed;
        let replicate = Replicate::new(|| self.open(), self.expected_requests(), keeps_moments, &prng)?;
        let replayed = self.context.replayed(replicate, self.span(), true);
        Ok(Box::new(replayed.with_wavering_depth(prng.branch("depth"))))
    }
}
