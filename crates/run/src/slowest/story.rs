//! The story of a slow request: its kind, its latency by cause along the I/O path, and the operation that it waited for
//! last.

use std::cmp::Reverse;
use std::fmt::Write as _;

use flashloom_device::{Cause, LastOperation, Parts, Served, Status};
use flashloom_nand::{Geometry, Origin};
use flashloom_units::{Ns, S};
use flashloom_workload::{Op, Request};

use flashloom_figures::number::{count, percent, time};

/// Smallest share shown as a number; a smaller one is shown as less than it.
const SMALLEST_SHARE: f64 = 0.000_1;

/// The story of the slowest requests, the slowest first.
pub fn of(slowest: &[&Served], ended: u64, geometry: Option<&Geometry>) -> String {
    let mut text = heading(slowest, ended);
    for (served, number) in slowest.iter().zip(1..) {
        let _ = write!(text, "\n{number}. {}", request(served));
        for (cause, part) in served.parts.iter().filter(|(_, part)| *part > 0) {
            let (place, reason) = in_words(cause);
            let _ = writeln!(text, "   {:>9} {:>8}  {place}: {reason}", ns(part), share(part, served.latency_ns()));
        }
        text.extend(served.last.map(|last| operation(served, &last, geometry)));
    }
    text
}

/// Their total latency, and the cause that took most of it.
fn heading(slowest: &[&Served], ended: u64) -> String {
    let mut parts = Parts::default();
    slowest.iter().for_each(|served| parts.add(&served.parts));
    let total = parts.total();
    let which = match (slowest.len(), ended) {
        (0, _) => return "No request has ended.\n".to_owned(),
        (_, 1) => format!("The only request took {}", ns(total)),
        (1, _) => format!("The slowest of {} requests took {}", count(ended), ns(total)),
        (several, _) => format!("The {several} slowest of {} requests took {} together", count(ended), ns(total)),
    };
    // Of equal parts the first on the I/O path.
    match parts.iter().max_by_key(|(cause, part)| (*part, Reverse(*cause as u8))) {
        Some((cause, most)) if most > 0 => {
            format!("{which}. Largest part: {} ({}) {}.\n", ns(most), share(most, total), in_words(cause).0)
        }
        _ => format!("{which}.\n"),
    }
}

/// Operation, arrival and outcome of a request.
fn request(served: &Served) -> String {
    let Served { request, command: (first, sectors), .. } = served;
    let merged = if (request.lba, request.sectors) == (*first, *sectors) {
        String::new()
    } else {
        format!(", merged with others into a command of {}", extent(*first, *sectors))
    };
    let arrival = format!("{}.{:09} s", request.arrival_ns / S, request.arrival_ns % S);
    let latency = ns(served.latency_ns());
    let end = match served.status {
        Status::Done(_) => format!("completed {latency} later"),
        Status::Failed(reason) => format!("failed {latency} later because {reason}"),
    };
    format!("{}{merged}.\n   Arrived {arrival} into the run, {end}.\n", what(request))
}

fn what(request: &Request) -> String {
    let Request { lba, sectors, task, .. } = *request;
    let kind = match request.op {
        Op::Read => "Read",
        Op::Write => "Write",
        Op::Discard => "Discard",
        Op::Flush => return format!("Flush by task {task}"),
    };
    let preflush = if request.has(Request::PREFLUSH) { ", after a flush (PREFLUSH)" } else { "" };
    let fua = if request.has(Request::FUA) { ", durable when it completes (FUA)" } else { "" };
    format!("{kind} of {} by task {task}{preflush}{fua}", extent(lba, sectors))
}

fn extent(first: u64, sectors: u32) -> String {
    let noun = if sectors == 1 { "sector" } else { "sectors" };
    format!("{} {noun} at sector {first}", count(sectors.into()))
}

/// The flash operation that a request waited for last, and its times.
fn operation(served: &Served, last: &LastOperation, geometry: Option<&Geometry>) -> String {
    let kind = if last.is_program { "program" } else { "read" };
    let lpn = if last.lpn.is_some() { format!(" of logical page {}", last.lpn.0) } else { String::new() };
    let place = geometry.map_or(String::new(), |geometry| {
        let block = geometry.block_of(last.ppn);
        let die = geometry.die_of(geometry.plane_of(block));
        let page = geometry.page_in_block(last.ppn);
        format!(" (channel {}, die {}, block {}, page {page})", geometry.channel_of(die), die.0, block.0)
    });
    let origin = match last.origin {
        Origin::Host => "",
        Origin::Gc => " for garbage collection",
        Origin::Merge => " for a merge",
        Origin::Map => " for the map",
        Origin::Wear => " for wear levelling",
        Origin::Fold => " for folding the SLC cache",
    };
    let arrival = served.request.arrival_ns;
    let issued = match last.issued_ns.checked_sub(arrival) {
        Some(after) => format!("{} after the request arrived", ns(after)),
        None => format!("{} before the request arrived", ns(arrival - last.issued_ns)),
    };
    format!(
        "   Last flash operation: {kind}{lpn} at physical page {}{place}{origin},\n   issued {issued}, started {} \
         later, ended {} after that.\n",
        last.ppn.0,
        ns(last.started_ns - last.issued_ns),
        ns(last.ended_ns - last.started_ns)
    )
}

/// Place of a request during a cause, and the reason.
const fn in_words(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::NrRequests => (
            "held in front of the block layer",
            "it takes no more of its kind (`nr_requests`), or throttles them (`wbt`)",
        ),
        Cause::Tag => ("held in the scheduler for a tag", "the drive already held `queue_depth` commands"),
        Cause::Scheduler => {
            ("held in the scheduler by its choice", "it waited although the drive would have taken a command")
        }
        Cause::Controller => ("in the controller", "it took the command up"),
        Cause::Link => ("on the host link", "behind other transfers, and crossing it"),
        Cause::Flush => ("waiting for a flush", "data written before had to be in flash first"),
        Cause::Slot => ("waiting for slots of the write buffer", "it was full until older pages were in flash"),
        Cause::HostRead => ("behind reads for the host", "the die read other pages that the host had asked for"),
        Cause::HostProgram => {
            ("behind programs for the host", "the die programmed other pages that the host had written")
        }
        Cause::Collection => (
            "behind garbage collection",
            "the die copied pages out of a block that was to be erased, this page perhaps among them",
        ),
        Cause::Merge => (
            "behind a merge",
            "the die copied pages of log blocks and data blocks into a new block, this page perhaps among them",
        ),
        Cause::Map => ("behind the map", "translation pages had to be read or programmed first"),
        Cause::Wear => ("behind wear levelling", "the die moved pages between blocks of unequal wear"),
        Cause::Erase => ("behind an erase", "the die erased a block"),
        Cause::Suspension => {
            ("behind a suspension", "the die stopped a program or an erase for a read, or took it up again")
        }
        Cause::Channel => ("waiting for the channel", "its bus carried other commands or data"),
        Cause::Served => ("being served by flash", "command, array and data transfer of the page itself"),
        Cause::Fold => (
            "behind a fold of the SLC cache",
            "the die copied pages from the cache to blocks of the drive's own cells, this page perhaps among them",
        ),
        Cause::Front => (
            "in its submission queue",
            "the drive held `front_commands` commands, or fetched those of other queues before",
        ),
        Cause::Retry => ("being read again", "the array repeated the read of the page, or of another by one command"),
    }
}

/// Formats a duration.
fn ns(ns: Ns) -> String {
    time(ns as f64)
}

/// Formats a share.
fn share(part: Ns, whole: Ns) -> String {
    let share = part as f64 / whole as f64;
    if share < SMALLEST_SHARE { format!("< {}", percent(SMALLEST_SHARE)) } else { percent(share) }
}
