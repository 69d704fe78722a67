//! The status of a drive: what it does and has done, in short. The control socket tells it, and the page shows it.

use flashloom_device::Outcome;
use flashloom_figures::result::{LatencyResult, RunResult};
use flashloom_units::Ns;
use serde::Serialize;

use crate::drive::LiveDrive;
use crate::server::{Counts, Pace};
use crate::session::Session;

/// What was copied from a drive while it stood still.
pub(crate) struct Looked {
    pub(crate) outcome: Outcome,
    pub(crate) model_ns: Ns,
    data_bytes: (u64, u64),
    counts: Counts,
}

impl Looked {
    pub(crate) fn at(drive: &LiveDrive, counts: Counts) -> Self {
        let engine = drive.engine();
        Self { outcome: engine.outcome(), model_ns: engine.now_ns(), data_bytes: drive.data_bytes(), counts }
    }
}

/// What a drive does and has done. The figures of requests are those of a result.
#[derive(Serialize)]
pub(crate) struct Status {
    pace: PaceStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
    is_worn_out: bool,
    model_ns: Ns,
    commands: u64,
    inside: u64,
    requests: RequestStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ns: Option<LatencyResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_amplification: Option<f64>,
    block_erases: u64,
    data: DataStatus,
}

#[derive(Serialize)]
#[serde(tag = "name", rename_all = "lowercase")]
enum PaceStatus {
    Fast { gather: bool },
    Real { speed: f64, latest_ns: Ns },
}

#[derive(Serialize)]
struct RequestStatus {
    reads: u64,
    writes: u64,
    discards: u64,
    flushes: u64,
    fua_writes: u64,
    failed: u64,
    read_bytes: u64,
    write_bytes: u64,
}

#[derive(Serialize)]
struct DataStatus {
    memory_bytes: u64,
    memory_limit_bytes: u64,
    file_bytes: u64,
}

impl Status {
    pub(crate) fn of(session: &Session, looked: &Looked) -> Self {
        let server = session.server();
        let broken = server.broken();
        let Looked { ref outcome, model_ns, data_bytes: (memory_bytes, file_bytes), counts } = *looked;
        let Counts { commands, inside, latest_ns } = counts;
        let pace = match server.pace() {
            Pace::Fast { gathers } => PaceStatus::Fast { gather: gathers },
            Pace::Real { speed } => PaceStatus::Real { speed, latest_ns },
        };
        let RunResult { host, ftl, .. } = session.result_of(outcome, model_ns);
        let requests = RequestStatus {
            reads: host.reads,
            writes: host.writes,
            discards: host.discards,
            flushes: host.flushes,
            fua_writes: host.fua_writes,
            failed: outcome.host.total_failed(),
            read_bytes: host.read_bytes,
            write_bytes: host.write_bytes,
        };
        Self {
            pace,
            broken,
            is_worn_out: outcome.end_of_life.is_some(),
            model_ns,
            commands,
            inside,
            requests,
            latency_ns: host.latency_ns,
            write_amplification: ftl.waf,
            block_erases: ftl.block_erases,
            data: DataStatus { memory_bytes, memory_limit_bytes: session.memory_limit_bytes(), file_bytes },
        }
    }
}
