//! The status of a drive: what it does and has done, in short. The control socket tells it, and the page shows it.

use flashloom_device::Outcome;
use flashloom_figures::result::RunResult;
use flashloom_units::Ns;
use serde_json::{Value, json};

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

/// What a drive does and has done. The figures of requests are those of a result; what there is nothing to say of is
/// left out.
pub(crate) fn status(session: &Session, looked: &Looked) -> Value {
    let server = session.server();
    let Looked { ref outcome, model_ns, data_bytes: (memory_bytes, file_bytes), counts } = *looked;
    let Counts { commands, inside, latest_ns } = counts;
    let RunResult { host, ftl, .. } = session.result_of(outcome, model_ns);
    let mut status = json!({
        "pace": match server.pace() {
            Pace::Fast { gathers } => json!({"name": "fast", "gather": gathers}),
            Pace::Real { speed } => json!({"name": "real", "speed": speed, "latest_ns": latest_ns}),
        },
        "broken": server.broken(),
        "is_worn_out": outcome.end_of_life.is_some(),
        "model_ns": model_ns,
        "commands": commands,
        "inside": inside,
        "requests": {
            "reads": host.reads,
            "writes": host.writes,
            "discards": host.discards,
            "flushes": host.flushes,
            "fua_writes": host.fua_writes,
            "failed": outcome.host.total_failed(),
            "read_bytes": host.read_bytes,
            "write_bytes": host.write_bytes,
        },
        "latency_ns": host.latency_ns,
        "write_amplification": ftl.waf,
        "block_erases": ftl.block_erases,
        "data": {
            "memory_bytes": memory_bytes,
            "memory_limit_bytes": session.memory_limit_bytes(),
            "file_bytes": file_bytes,
        },
    });
    status.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    status
}
