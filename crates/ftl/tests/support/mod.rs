//! Support for tests of whole FTLs: an FTL on an array in counting mode, with a model of its contents.
#![allow(dead_code, missing_docs)]

pub mod log_blocks;

use std::collections::BTreeSet;
use std::ops::Range;

use flashloom_ftl::{FtlReport, FtlSetup, Mapping, PageHints, PageWrite, Preemption, Space, mapping, placement};
use flashloom_nand::{DieId, HostPage, Lpn, Nand, NandParams, Origin, Ppn};
use flashloom_units::{Figure, Latency, Ns, ParamSet, PolicySpec, Prng, Value};
use flashloom_verify::Verifier;

/// A random element of a list.
pub fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

/// The number in an environment variable, if it is set.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

/// The seeds of as many cases, unless the environment says how many, or from which on.
pub fn seeds(cases: u64) -> Range<u64> {
    let first = number("FLASHLOOM_SEED").unwrap_or(1);
    first..first + number("FLASHLOOM_CASES").unwrap_or(cases)
}

/// Runs a case for each seed, and returns the results in no order. Two threads share them, because a long test outlasts
/// the others.
pub fn over_seeds<T: Send>(seeds: Range<u64>, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = |odd: u64| (seeds.start + odd..seeds.end).step_by(2).map(&run).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut all = half(0);
        all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        all
    })
}

/// Chips that have `logical_blocks` logical blocks of `pages` pages each, and `spare_blocks` blocks more.
pub fn chips(chips: u32, logical_blocks: u32, spare_blocks: u32, pages: u32) -> Space {
    let plane = NandParams { channels: chips, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let nand = NandParams { blocks: logical_blocks + spare_blocks, pages, page_bytes: 512, ..plane };
    Space { nand, logical_pages: u64::from(chips * logical_blocks * pages), unit_pages: 1 }
}

/// One such chip.
pub fn chip(logical_blocks: u32, spare_blocks: u32, pages: u32) -> Space {
    chips(1, logical_blocks, spare_blocks, pages)
}

/// Parameters that are counts.
pub fn counts<const M: usize>(set: [(&'static str, u32); M]) -> Vec<(&'static str, Value)> {
    set.map(|(name, count)| (name, Value::Count(count.into()))).to_vec()
}

/// The default FTL with another mapping and the given parameters of it.
pub fn with_mapping(mapping: &str, set: &[(&str, Value)]) -> FtlSetup {
    let mapping = mapping::builtin().choose(mapping, set).expect("the mapping takes these parameters");
    FtlSetup { mapping, ..FtlSetup::with_defaults() }
}

/// [`with_mapping`] under a preemption.
pub fn preempted(mapping: &str, preemption: Preemption, set: &[(&str, Value)]) -> FtlSetup {
    let mut setup = with_mapping(mapping, set);
    setup.params.preemption = preemption;
    setup
}

/// Counters of an FTL, each with its value, which a model has counted too.
macro_rules! counters {
    ($ftl:ident: $($counter:ident = $value:expr),+ $(,)?) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        struct Counts {
            $($counter: u64,)+
        }

        impl Counts {
            fn of($ftl: &Ftl) -> Self {
                Self { $($counter: $value,)+ }
            }

            fn since(&self, before: &Self) -> Self {
                Self { $($counter: self.$counter - before.$counter,)+ }
            }
        }
    };
}
pub(crate) use counters;

/// A naive model of an FTL, which does what the FTL does.
pub trait Model {
    /// Writes pages in one call, as parts of a host request of `request_pages` pages.
    fn write(&mut self, lpns: Range<u32>, request_pages: u32);

    fn read(&mut self, _lpn: u32) {}

    fn trim(&mut self, lpn: u32);
}

/// Random operations on an FTL and its model, filled or not, all over the drive or on a part of it: writes of a page or
/// of several, together or one by one, some from the first of the `block_pages` of a block on, reads, and trims.
/// `check` compares the two after each.
pub fn compare<M: Model>(
    (ftl, model): (&mut Ftl, &mut M),
    prng: &mut Prng,
    block_pages: u32,
    mut check: impl FnMut(&Ftl, &mut M, u32),
) {
    let (pages, mask) = (ftl.logical_pages(), ftl.nand.geometry().full_mask());
    if prng.chance(0.7) {
        ftl.write_each(0..pages);
        (0..pages).for_each(|lpn| model.write(lpn..lpn + 1, 1));
    }
    let span = pick(prng, &[pages, pages, pages.div_ceil(3), pages.div_ceil(8)]);
    let trims = pick(prng, &[0.0, 0.02, 0.3]);
    for operation in 0..200 {
        let mut first = prng.below(span.into()) as u32;
        if prng.chance(0.3) {
            first -= first % block_pages;
        }
        let length = if prng.chance(0.6) { 1 } else { 1 + prng.below(u64::from(2 * block_pages)) as u32 };
        let (end, draw) = ((first + length).min(pages), prng.unit());
        if draw < trims {
            (first..end).for_each(|lpn| ftl.trim(lpn));
            (first..end).for_each(|lpn| model.trim(lpn));
        } else if draw < trims + 0.1 {
            (first..end).for_each(|lpn| ftl.read(lpn));
            (first..end).for_each(|lpn| model.read(lpn));
        } else {
            let request_pages = pick(prng, &[1, 1, 2, 3, end - first]);
            let step = if prng.chance(0.6) { end - first } else { 1 };
            for lpn in (first..end).step_by(step as usize) {
                let together: Vec<_> = (lpn..lpn + step).map(|lpn| (lpn, mask)).collect();
                ftl.write_of_request(request_pages, &together);
                model.write(lpn..lpn + step, request_pages);
            }
        }
        check(ftl, model, operation);
    }
    ftl.check();
}

/// What a log-block mapping has counted.
#[derive(Clone, Debug)]
pub struct Merges {
    pub switch: u64,
    pub partial: u64,
    pub full: u64,
    pub filler_pages: u64,
    pub migrated_pages: u64,
    pub associativity: Vec<u64>,
    pub blocking_ns: Latency,
    pub blocking_bound_ns: Ns,
    pub longest_wait_ns: Ns,
    pub wait_bound_ns: Ns,
    pub reserved_pages: u64,
}

/// An FTL on its array, and which pages the host has written.
pub struct Ftl {
    pub nand: Nand,
    mapping: Box<dyn Mapping>,
    mapping_spec: &'static PolicySpec,
    model: BTreeSet<u32>,
    logical_pages: u32,
    verifier: Option<Verifier>,
}

impl Ftl {
    pub fn new(space: &Space, setup: &FtlSetup, verified: bool) -> Self {
        let mut nand = Nand::new(&space.nand);
        if let Some(cells) = setup.profile(space).ok().and_then(|profile| profile.cells) {
            nand = nand.with_cells(cells);
        }
        let verifier = verified.then(|| Verifier::new(&mut nand, space.logical_pages));
        let mapping = setup.build(space, &nand).expect("the FTL goes with the array");
        let mapping_spec = setup.mapping.spec();
        Self {
            nand,
            mapping,
            mapping_spec,
            model: BTreeSet::new(),
            logical_pages: space.logical_pages as u32,
            verifier,
        }
    }

    /// An FTL on which every page has been written in order, with counters reset.
    pub fn filled(space: &Space, setup: &FtlSetup, verified: bool) -> Self {
        let mut ftl = Self::new(space, setup, verified);
        ftl.write_each(0..ftl.logical_pages);
        ftl.mapping.reset_report();
        ftl.nand.reset_counts();
        ftl
    }

    pub fn die_of(&self, lpn: u32) -> Option<DieId> {
        self.mapping.die_of(Lpn(lpn))
    }

    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Writes sectors of pages together.
    pub fn write(&mut self, pages: &[(u32, u32)]) {
        self.write_of_request(1, pages);
    }

    /// Writes whole pages one after the other.
    pub fn write_each(&mut self, lpns: impl IntoIterator<Item = u32>) {
        let mask = self.nand.geometry().full_mask();
        lpns.into_iter().for_each(|lpn| self.write(&[(lpn, mask)]));
    }

    /// Writes sectors of pages in one call, as parts of a host request of `request_pages` pages.
    pub fn write_of_request(&mut self, request_pages: u32, pages: &[(u32, u32)]) {
        let of_request = |write: PageWrite| write.with(PageHints::of_request(request_pages));
        let writes: Vec<_> = pages.iter().map(|&(lpn, mask)| of_request(self.page_write(lpn, mask))).collect();
        self.mapping.write(&mut self.nand, &writes);
        self.follow();
    }

    fn page_write(&mut self, lpn: u32, mask: u32) -> PageWrite {
        let write = self.verifier.as_ref().map_or(0, |verifier| verifier.oracle.writes());
        let page = HostPage { lpn: Lpn(lpn), mask, write };
        if let Some(verifier) = &mut self.verifier {
            verifier.oracle.written_through(page);
            self.model.insert(lpn);
        }
        PageWrite::new(page, Nand::NO_TAG)
    }

    /// Passes the events of the array to the checks.
    fn follow(&mut self) {
        if let Some(verifier) = &mut self.verifier {
            verifier.follow(&mut self.nand);
        }
    }

    /// Reads a page, which must hold what was written last, and be mapped if the model has it.
    pub fn read(&mut self, lpn: u32) {
        let mask = self.nand.geometry().full_mask();
        if let Some(verifier) = self.verifier.as_mut().filter(|_| self.model.contains(&lpn)) {
            verifier.oracle.read_flash(Lpn(lpn), mask, None);
        }
        let found = self.mapping.read(&mut self.nand, Lpn(lpn), mask, Nand::NO_TAG);
        self.follow();
        assert_eq!(found, self.model.contains(&lpn), "page {lpn} is mapped if it was written and not trimmed");
    }

    pub fn trim(&mut self, lpn: u32) {
        if let Some(verifier) = &mut self.verifier {
            verifier.oracle.discarded(Lpn(lpn));
        }
        self.mapping.trim(&mut self.nand, Lpn(lpn));
        self.follow();
        self.model.remove(&lpn);
    }

    pub fn idle(&mut self) -> bool {
        let stepped = self.mapping.idle(&mut self.nand);
        self.follow();
        stepped
    }

    /// A step of the work that waits for a longer idle time.
    pub fn flush(&mut self) -> bool {
        let stepped = self.mapping.flush(&mut self.nand);
        self.follow();
        stepped
    }

    pub fn report(&self) -> FtlReport {
        self.mapping.report()
    }

    /// A statistic of the mapping.
    fn figure(&self, name: &str) -> Option<Figure> {
        let index = self.mapping_spec.statistics.iter().position(|one| one.name == name)?;
        self.mapping.figures().into_iter().nth(index)
    }

    /// A statistic of the mapping that is a count or a time.
    pub fn count(&self, name: &str) -> u64 {
        self.figure(name).and_then(|figure| figure.whole()).unwrap_or_else(|| panic!("`{name}` is counted"))
    }

    pub fn merges(&self) -> Merges {
        let Some(Figure::Histogram(associativity)) = self.figure("associativity") else { panic!("a histogram") };
        let Some(Figure::Times(blocking_ns)) = self.figure("blocking_ns") else { panic!("times") };
        Merges {
            switch: self.count("switch_merges"),
            partial: self.count("partial_merges"),
            full: self.count("full_merges"),
            filler_pages: self.count("filler_pages"),
            migrated_pages: self.mapping.figures_taken().of(&placement::SLOT)[0].whole().expect("a count"),
            associativity,
            blocking_ns: *blocking_ns,
            blocking_bound_ns: self.count("blocking_bound_ns"),
            longest_wait_ns: self.count("longest_wait_ns"),
            wait_bound_ns: self.count("wait_bound_ns"),
            reserved_pages: self.count("reserved_pages"),
        }
    }

    /// Checks that the counters agree with each other and, in a verified run, the map with the model.
    pub fn check(&self) {
        self.mapping.check().expect("the mapping adds up");
        self.mapping.check_loaded(&self.nand).expect("and could have been loaded");
        self.nand.check().expect("nothing is left");
        let (report, programs) = (self.report(), self.nand.counts().programs);
        assert_eq!(report.host_programs(), programs[Origin::Host as usize]);
        assert_eq!(report.host_programs() + report.other_programs(), programs.iter().sum());
        assert_eq!(report.block_erases, self.nand.counts().erases.iter().sum());
        if let Some(verifier) = &self.verifier {
            verifier.check().expect("every command was legal, and every sector as expected");
            let unlike = |&lpn: &u32| self.mapping.is_mapped(Lpn(lpn)) != self.model.contains(&lpn);
            assert_eq!((0..self.logical_pages).find(unlike), None, "a page is mapped, or not, unlike in the model");
            let mut places: Vec<Ppn> =
                (0..self.logical_pages).filter_map(|lpn| self.mapping.place_of(Lpn(lpn))).collect();
            assert_eq!(places.len(), self.model.len(), "a page that is mapped has a place");
            let geometry = self.nand.geometry();
            let is_written = |&place: &Ppn| geometry.page_in_block(place) < self.nand.written(geometry.block_of(place));
            assert!(places.iter().all(is_written), "which was programmed");
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), self.model.len(), "and is that of no other");
        }
    }
}
