//! Out-of-band data: a scan of it finds every page of the host where the map has it, whatever the mapping and whatever
//! has been moved.

use std::collections::BTreeMap;

use crate::support::{Run, mapped, pages, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{DriveSetup, Event, Interest, Observer, Simulation};
use flashloom_nand::{BlockId, Event as NandEvent, Lpn, Nand, NandParams, OperationKind, OutOfBand, PageContent, Ppn};
use flashloom_units::{Ns, Prng, S, Value};
use flashloom_workload::{Op, Request};

/// For each host page, the physical page that the last read of it was served from.
#[derive(Default)]
struct ReadAt(BTreeMap<Lpn, Ppn>);

impl Observer for ReadAt {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn event(&mut self, _now: Ns, event: &Event) {
        if let Event::Flash(NandEvent::Started { command, .. }) = event
            && command.kind == OperationKind::Read
            && command.lpn.is_some()
        {
            self.0.insert(command.lpn, command.ppn);
        }
    }
}

fn drive(mapping: &str, program_failures: f64) -> DriveSetup {
    let nand = NandParams { channels: 2, ways: 1, blocks: 32, pages: 16, program_failures, ..plain_nand() };
    let cache = [("cache", Value::Size(256))];
    let set = if mapping == "dftl" { &cache[..] } else { &[] };
    DriveSetup { keeps_out_of_band: true, ..mapped(unbuffered(plain_with(nand, 1.5)), mapping, set) }
}

/// Whole and partial writes and discards, all submitted at once; after they have completed, a read of every page.
fn requests(setup: &DriveSetup) -> Vec<Request> {
    let (mut prng, logical) = (Prng::new(4), setup.device.logical_pages());
    let mut change = |at: u64| {
        let lpn = prng.below(logical);
        match prng.below(10) {
            0 => request(at * 1_000, Op::Discard, 8 * lpn, 8),
            1 | 2 => request(at * 1_000, Op::Write, 8 * lpn, 3),
            _ => request(at * 1_000, Op::Write, 8 * lpn, 8),
        }
    };
    let changes = (0..4_000).map(&mut change).collect::<Vec<_>>();
    changes.into_iter().chain(pages(Op::Read, 1_000 * S, 0..logical)).collect()
}

/// Every programmed page, grouped by its contents.
fn scan(nand: &Nand) -> BTreeMap<u64, (PageContent, Ppn)> {
    let pages = (0..nand.geometry().total_pages() as u32).map(Ppn);
    let held =
        pages.filter_map(|ppn| nand.out_of_band(ppn).map(|OutOfBand { content, sequence }| (sequence, (content, ppn))));
    let mut scanned = BTreeMap::new();
    held.for_each(|(sequence, page)| assert!(scanned.insert(sequence, page).is_none(), "a program has its own number"));
    scanned
}

/// The physical page of each logical page; the one programmed later replaces the earlier one.
fn places<'a>(pages: impl Iterator<Item = &'a (PageContent, Ppn)>) -> BTreeMap<Lpn, Ppn> {
    let hosts = pages.filter_map(|&(content, ppn)| match content {
        PageContent::Host(lpn) => Some((lpn, ppn)),
        _ => None,
    });
    hosts.collect()
}

/// The drive after a run, and the physical pages that its reads were served from.
fn scanned(mapping: &str, program_failures: f64, timed: bool) -> (Simulation, BTreeMap<Lpn, Ppn>) {
    let setup = drive(mapping, program_failures);
    let (requests, mut read_at) = (requests(&setup), ReadAt::default());
    // Nobody is told of what takes no time.
    let observers: &mut [&mut dyn Observer] = if timed { &mut [&mut read_at] } else { &mut [] };
    (Run { timed, ..Run::new(setup) }.simulated(requests, observers), read_at.0)
}

#[test]
fn a_scan_finds_every_page_where_the_map_has_it() {
    for (mapping, program_failures) in
        [("page", 0.0), ("page", 0.002), ("dftl", 0.0), ("bast", 0.0), ("fast", 0.0), ("sast", 0.0), ("kast", 0.0)]
    {
        let (simulation, read_at) = scanned(mapping, program_failures, true);
        let nand = simulation.target().nand();
        let pages = scan(nand);
        let (newest, oldest) = (places(pages.values()), places(pages.values().rev()));
        assert!(read_at.len() > 300, "{mapping}: {} pages are mapped", read_at.len());
        for (lpn, ppn) in &read_at {
            assert_eq!(newest.get(lpn), Some(ppn), "{mapping}: {lpn:?}");
        }
        // Without the sequence numbers a scan would find older copies.
        let is_older = |(lpn, ppn): (&Lpn, &Ppn)| oldest.get(lpn) != Some(ppn);
        assert!(read_at.iter().filter(|&page| is_older(page)).count() > 100, "{mapping}");
        check_blocks(nand, program_failures);
        let of_map = pages.values().filter(|(content, _)| matches!(content, PageContent::Map(0))).count();
        assert_eq!(of_map > 0, mapping == "dftl", "{mapping}: {of_map} pages are those of the map");
    }
}

#[test]
fn a_drive_that_takes_no_time_has_the_same_pages() {
    for mapping in ["page", "bast", "fast", "kast"] {
        let [timed, counting] = [true, false].map(|timed| {
            let (simulation, _) = scanned(mapping, 0.0, timed);
            scan(simulation.target().nand()).into_values().collect::<Vec<_>>()
        });
        assert_eq!(timed, counting, "{mapping}: in the same order");
    }
}

/// What was programmed and not erased has out-of-band data, unless the program failed; nothing else has.
fn check_blocks(nand: &Nand, program_failures: f64) {
    let mut failed = 0;
    for block in (0..nand.geometry().total_blocks() as u32).map(BlockId) {
        for page in 0..nand.geometry().pages {
            let is_there = nand.out_of_band(nand.geometry().page(block, page)).is_some();
            let is_programmed = page < nand.written(block);
            assert!(is_programmed || !is_there, "{block:?} {page}");
            failed += u32::from(is_programmed && !is_there);
        }
    }
    assert_eq!(failed > 0, program_failures > 0.0, "{failed} programs have left nothing");
}
