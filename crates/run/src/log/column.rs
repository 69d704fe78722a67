//! The columns of a log, for every file format. A request is a row of numbers; some numbers are indices of words.

use flashloom_device::{Cause, Reason, Served, Status};
use flashloom_workload::{LOG_COLUMNS, Priority, Request};

/// One request: a number per column, in the order of [`LOG_COLUMNS`].
pub type Row = [u64; LOG_COLUMNS.len()];

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Numbers of 64 bits: times, the address.
    Wide,
    /// Numbers of 32 bits.
    Small,
    /// 0 or 1.
    Flag,
    /// Indices into a list of words.
    Word(&'static [&'static str]),
}

/// Names in the order of [`flashloom_workload::Op`], as in a trace.
const OPS: [&str; 4] = ["R", "W", "D", "F"];

/// Done, then the failures by [`Reason`], as in `host.failed` of a result.
const STATUSES: [&str; 1 + Reason::COUNT] = {
    let mut names = [Status::DONE.name(); 1 + Reason::COUNT];
    let mut at = 0;
    while at < Reason::COUNT {
        names[1 + at] = Reason::ALL[at].name();
        at += 1;
    }
    names
};

/// Number of columns before those of the causes, of which the last three have none of their own: retries, folds and
/// the front.
const LEADING: usize = LOG_COLUMNS.len() - (Cause::COUNT - 3);

/// Content of the column of that name.
pub fn content(name: &str) -> Content {
    match name {
        "op" => Content::Word(&OPS),
        "ioprio" => Content::Word(&Priority::NAMES),
        "status" => Content::Word(&STATUSES),
        "sectors" | "task" => Content::Small,
        "sync" | "flush" | "fua" => Content::Flag,
        _ => Content::Wide,
    }
}

/// The row of a request.
pub fn row(served: &Served) -> Row {
    let request = &served.request;
    let leading: [u64; LEADING] = [
        request.arrival_ns,
        request.op as u64,
        request.lba,
        u64::from(request.sectors),
        u64::from(request.task),
        u64::from(request.has(Request::SYNC)),
        u64::from(request.has(Request::PREFLUSH)),
        u64::from(request.has(Request::FUA)),
        request.priority().index() as u64,
        served.latency_ns(),
        served.admitted_ns,
        served.dispatched_ns,
        served.ended_ns,
        match served.status {
            Status::Done(_) => 0,
            Status::Failed(reason) => 1 + reason.at() as u64,
        },
    ];
    let mut row = [0; LOG_COLUMNS.len()];
    row[..LEADING].copy_from_slice(&leading);
    row[LEADING..].iter_mut().zip(served.parts.iter()).for_each(|(cell, (_, part))| *cell = part);
    // Columns are as they were before reads could be repeated and drives had an SLC cache or submission queues: the
    // time of retries is that of the service, the time behind folds that behind collections, and the time in a queue
    // that of the controller.
    row[LEADING + Cause::Served as usize] += served.parts[Cause::Retry];
    row[LEADING + Cause::Collection as usize] += served.parts[Cause::Fold];
    row[LEADING + Cause::Controller as usize] += served.parts[Cause::Front];
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_workload::Op;

    #[test]
    fn the_causes_but_retries_folds_and_the_front_have_a_column_each_in_their_order() {
        let names = Cause::ALL.iter().filter(|cause| ![Cause::Retry, Cause::Fold, Cause::Front].contains(cause));
        assert!(
            LOG_COLUMNS[LEADING..].iter().eq(&names.map(|cause| format!("{}_ns", cause.name())).collect::<Vec<_>>())
        );
    }

    #[test]
    fn words_are_in_the_order_of_what_they_stand_for() {
        assert_eq!([Op::Read, Op::Write, Op::Discard, Op::Flush].map(|op| OPS[op as usize]), ["R", "W", "D", "F"]);
        let word = |reason: Reason| STATUSES[1 + reason.at()];
        assert_eq!((word(Reason::EndOfLife), word(Reason::ReadOnly)), ("end_of_life", "read_only"));
    }
}
