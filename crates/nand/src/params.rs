//! The keys of the `[device]` section that describe the array: its geometry, its latencies and its capabilities.

use flashloom_units::{GIB, KIB, Kind, MS, Ns, S, US, Used, Value, choice, params, transfer_ns};

use crate::{Geometry, Shape};

choice! {
    /// Multi-plane capability: which operations the planes of a die can run at the same time.
    pub enum MultiPlane {
        /// One operation a die at a time.
        None = "none",
        /// Operations of one kind on the same page index of several planes run as one command, as ONFI prescribes.
        Aligned = "aligned",
        /// Operations of one kind on any pages of several planes run as one command.
        Independent = "independent",
    }
}

choice! {
    /// Operations that a host read may suspend on its die.
    pub enum Suspend {
        /// None: a read waits for the operation to end.
        None = "none",
        /// Erases.
        Erase = "erase",
        /// Programs and erases.
        ProgramErase = "program-erase",
    }
}

choice! {
    /// Order in which a die begins its queued operations.
    pub enum DieOrder {
        /// Host reads, then host programs and the collection that they need, then background work; in order of issue
        /// within each.
        Priority = "priority",
        /// In order of issue.
        Fifo = "fifo",
    }
}

const fn time(max: Ns) -> Kind {
    Kind::Time { min: 0, max }
}

/// Range of the energy of an operation: up to a joule.
const ENERGY: Kind = Kind::Energy { min: 0, max: 1_000_000_000_000 };
/// Range of the power of a die: up to 10 W.
const POWER: Kind = Kind::Power { min: 0, max: 10_000_000_000 };
/// Range of the spread of times, as a share of the time.
const SPREAD: Kind = Kind::Ratio { min: 0.0, max: 0.9 };
/// Energy is computed, and times differ, in timed mode only.
const TIMED: Option<Used> = Used::with("run.timing", &["timed"]);

const fn count(max: u64) -> Kind {
    Kind::Count { min: 1, max }
}

params! {
    /// Parameters of the array: geometry, latencies, capabilities of the dies, and failures of blocks.
    pub struct NandParams {
        /// Channels; each is a bus of its own.
        channels: u32 => "channels", count(256), Value::Count(8),
            "More channels move more pages at once.";
        /// Chips on each channel.
        ways: u32 => "ways", count(256), Value::Count(2),
            "More ways keep a channel busy while chips program.";
        /// Dies in each chip; a die runs one array operation at a time.
        dies: u32 => "dies", count(16), Value::Count(1),
            "More dies a chip act like more ways.";
        /// Planes in each die.
        planes: u32 => "planes", count(16), Value::Count(2),
            "Planes add parallelism only with multi_plane.";
        /// Erase blocks in each plane.
        blocks: u32 => "blocks", count(1 << 24), Value::Count(256),
            "More blocks make a larger drive.";
        /// Pages in each block.
        pages: u32 => "pages", count(1 << 14), Value::Count(256),
            "Larger blocks erase less often but copy more at a time.";
        /// Page size in bytes without spare area: 512 B to 16 KiB, a power of two.
        page_bytes: u64 => "page_size", Kind::Size { min: 512, max: 16 * KIB }, Value::Size(8 * KIB),
            "Larger pages program more at once, and small writes read and rewrite more.";
        /// Bits per cell, which is also the number of page types that the pages of a block cycle through.
        bits_per_cell: u32 => "bits_per_cell", count(4), Value::Count(2),
            "Only matters where the page types have different times." => MergesAndModes;
        /// Rated program/erase cycles of a block, for the lifetime in the result. Default: 100,000 for SLC, 3,000 for
        /// MLC and TLC, 1,000 for QLC, by `bits_per_cell`; the lifetime calls a default assumed.
        rated_cycles: Option<u32> => "rated_cycles", count(10_000_000), Value::Absent,
            "It changes nothing in a run: blocks go on beyond it, and fail as program_failures and erase_failures \
             say." => Never;
        /// What the drive's data sheet lets the host write (TBW), to stand beside the lifetime in the result; absent
        /// if unknown.
        rated_writes_bytes: Option<u64> => "rated_writes", Kind::Size { min: 1, max: 1 << 60 }, Value::Absent,
            "It changes nothing in a run." => Never;
        /// Rated program/erase cycles of a block in SLC mode; absent if unknown, and then they count as others.
        slc_rated_cycles: Option<u32> => "slc_rated_cycles", count(10_000_000), Value::Absent,
            "It changes nothing in a run but the lifetime in the result: an erase in SLC mode uses up less of a block \
             that is rated for more of them.",
            Used::without("ftl.slc_cache", &["none"]) => Never;
        /// Array time of a page read (tR), for the first page type.
        read_ns: Ns => "read_time", time(S), Value::Time(75 * US), "" => Merges;
        /// tR of the second page type. Default: that of the first.
        read_ns_2: Option<Ns> => "read_time_2", time(S), Value::Absent, "",
            Used::from("bits_per_cell", &["2"]) => Merges;
        /// tR of the third page type. Default: that of the first.
        read_ns_3: Option<Ns> => "read_time_3", time(S), Value::Absent, "",
            Used::from("bits_per_cell", &["3"]) => Merges;
        /// tR of the fourth page type. Default: that of the first.
        read_ns_4: Option<Ns> => "read_time_4", time(S), Value::Absent, "",
            Used::with("bits_per_cell", &["4"]) => Merges;
        /// Array time of a page program (tPROG), for the first page type.
        program_ns: Ns => "program_time", time(S), Value::Time(750 * US), "" => Merges;
        /// tPROG of the second page type. Default: that of the first.
        program_ns_2: Option<Ns> => "program_time_2", time(S), Value::Absent, "",
            Used::from("bits_per_cell", &["2"]) => Merges;
        /// tPROG of the third page type. Default: that of the first.
        program_ns_3: Option<Ns> => "program_time_3", time(S), Value::Absent, "",
            Used::from("bits_per_cell", &["3"]) => Merges;
        /// tPROG of the fourth page type. Default: that of the first.
        program_ns_4: Option<Ns> => "program_time_4", time(S), Value::Absent, "",
            Used::with("bits_per_cell", &["4"]) => Merges;
        /// tR of a block in SLC mode, for an SLC cache; absent if unknown.
        slc_read_ns: Option<Ns> => "slc_read_time", time(S), Value::Absent, "",
            Used::without("ftl.slc_cache", &["none"]) => Timed;
        /// tPROG of a block in SLC mode, for an SLC cache; absent if unknown.
        slc_program_ns: Option<Ns> => "slc_program_time", time(S), Value::Absent, "",
            Used::without("ftl.slc_cache", &["none"]) => Timed;
        /// Array time of a block erase (tBERS).
        erase_ns: Ns => "erase_time", time(10 * S), Value::Time(3_800 * US), "" => Merges;
        /// Share of tR by which the reads of a page may take longer or shorter, by block and page.
        read_spread: f64 => "read_spread", SPREAD, Value::Ratio(0.0),
            "The means stay; what runs on many dies at once waits for the slowest.", TIMED => Merges;
        /// Share of tPROG by which the programs of a page may take longer or shorter, by block and page.
        program_spread: f64 => "program_spread", SPREAD, Value::Ratio(0.0),
            "The means stay; what runs on many dies at once waits for the slowest.", TIMED => Merges;
        /// Share of tBERS by which the erases of a block may take longer or shorter.
        erase_spread: f64 => "erase_spread", SPREAD, Value::Ratio(0.0),
            "The means stay; what runs on many dies at once waits for the slowest.", TIMED => Merges;
        /// Channel time of an operation's command and address cycles.
        command_ns: Ns => "command_time", time(MS), Value::Time(0), "" => Merges;
        /// Data rate of a channel.
        bus_rate: u64 => "bus_rate", Kind::Rate { min: 1_000, max: 100 * GIB }, Value::Rate(333_000_000), "" => Merges;
        /// Multi-plane commands: whether the planes of a die can work together.
        multi_plane: MultiPlane => "multi_plane", Kind::Choice(MultiPlane::CHOICES), Value::Name("aligned"),
            "Raises the throughput of a die by up to its planes." => Merges;
        /// Whether a copy within a plane is done inside the die (copyback), without a transfer over the channel.
        copyback: bool => "copyback", Kind::Flag, Value::Flag(false),
            "Saves the channel during collection; a real drive then copies bit errors along." => Timed;
        /// Whether the data of the next program is transferred while the die still programs.
        cache_program: bool => "cache_program", Kind::Flag, Value::Flag(false),
            "Hides the transfer behind the program." => Timed;
        /// Operations that a host read may suspend on its die.
        suspend: Suspend => "suspend", Kind::Choice(Suspend::CHOICES), Value::Name("none"),
            "Shortens the longest reads and lengthens programs and erases." => Timed;
        /// Time to suspend an operation; also the time to resume it.
        suspend_ns: Ns => "suspend_time", time(100 * MS), Value::Time(20 * US), "",
            Used::without("suspend", &["none"]) => Timed;
        /// Maximum number of commands of higher classes that a die begins in a row while an operation of a lower class
        /// waits for it; also the maximum number of reads that it begins before a suspended or staged operation.
        max_overtakes: u32 => "max_overtakes", count(1_000), Value::Count(16),
            "More of them shorten host reads and lengthen the wait of everything else: the n-th that waits in its \
             class can be overtaken n times as often." => Timed;
        /// Order in which a die begins its queued operations.
        die_order: DieOrder => "die_order", Kind::Choice(DieOrder::CHOICES), Value::Name("priority"),
            "Priority shortens host latency and delays collection." => Timed;
        /// Share of each plane's blocks that are factory bad, rounded down to whole blocks.
        bad_blocks: f64 => "bad_blocks", Kind::Ratio { min: 0.0, max: 0.5 }, Value::Ratio(0.0),
            "Bad blocks take from the over-provisioning; the host's capacity stays.";
        /// Probability that a program fails. The block is then retired.
        program_failures: f64 => "program_failures", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Every failed block takes from the over-provisioning, until the drive's life is over.";
        /// Probability that an erase fails. The block is then retired.
        erase_failures: f64 => "erase_failures", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Every failed block takes from the over-provisioning, until the drive's life is over.";
        /// Policy of read reliability: retries and failed reads.
        reliability: &'static str => "reliability", Kind::Policy(&crate::reliability::SLOT), Value::Name("none"),
            "Retries make the tail of a worn drive's reads; what cannot be read fails until it is written again.";
        /// Energy of a page read in a die, for the energy in the result; absent if unknown.
        read_pj: Option<u64> => "read_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. All five keys of energy are given, or none.", TIMED => Never;
        /// Energy of a page program in a die.
        program_pj: Option<u64> => "program_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. All five keys of energy are given, or none.", TIMED => Never;
        /// Energy of a block erase in a die.
        erase_pj: Option<u64> => "erase_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. All five keys of energy are given, or none.", TIMED => Never;
        /// Energy of a channel to transfer a byte of data between controller and die.
        bus_pj_a_byte: Option<u64> => "bus_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. All five keys of energy are given, or none.", TIMED => Never;
        /// Power of an idle die.
        idle_nw: Option<u64> => "idle_power", POWER, Value::Absent,
            "It changes nothing in a run. All five keys of energy are given, or none.", TIMED => Never;
        /// Energy of a page read from a block in SLC mode.
        slc_read_pj: Option<u64> => "slc_read_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. Needed beside the five other keys of energy, if there is an SLC cache.",
            Used::without("ftl.slc_cache", &["none"]) => Never;
        /// Energy of a page program in a block in SLC mode.
        slc_program_pj: Option<u64> => "slc_program_energy", ENERGY, Value::Absent,
            "It changes nothing in a run. Needed beside the five other keys of energy, if there is an SLC cache.",
            Used::without("ftl.slc_cache", &["none"]) => Never;
    }
}

/// Energy of the array's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Energy {
    /// Energy of a page read, in picojoules.
    pub read_pj: u64,
    /// Energy of a page program, in picojoules.
    pub program_pj: u64,
    /// Energy of a block erase, in picojoules.
    pub erase_pj: u64,
    /// Energy of a channel to transfer a byte, in picojoules.
    pub bus_pj_a_byte: u64,
    /// Power of an idle die, in nanowatts.
    pub idle_nw: u64,
    /// Energy of a page read in the array's other cell mode, in picojoules.
    pub other_read_pj: u64,
    /// Energy of a page program in the array's other cell mode, in picojoules.
    pub other_program_pj: u64,
}

/// Latencies of the array and its channels, in nanoseconds, resolved from the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// tR of each page type.
    pub read_ns: [Ns; 4],
    /// tPROG of each page type.
    pub program_ns: [Ns; 4],
    /// tBERS.
    pub erase_ns: Ns,
    /// Channel time of command and address cycles.
    pub command_ns: Ns,
    /// Channel time of the data of one sector, in picoseconds, so that rounding errors do not accumulate.
    pub sector_ps: u64,
    /// Number of page types that the pages of a block cycle through.
    pub page_types: u32,
}

/// How many program/erase cycles a block is rated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rating {
    /// Cycles.
    pub cycles: u32,
    /// True if they are the usual ones of the kind of cell, and not given.
    pub is_assumed: bool,
}

impl Rating {
    /// Usual cycles of cells of one, two, three (3D) and four bits. The first two: Hewlett-Packard, "Solid State Drive
    /// Technology: Differences between SLC, MLC and TLC NAND", table 1. The others: the upper ends of 1,000 to 3,000
    /// and of 100 to 1,000, the ranges of makers of industrial drives (Lexar Enterprise, Delkin).
    const USUAL: [u32; 4] = [100_000, 3_000, 3_000, 1_000];
}

impl NandParams {
    /// The rating of a block in the array's own cell mode.
    pub fn rating(&self) -> Rating {
        let usual = Rating { cycles: Rating::USUAL[self.bits_per_cell as usize - 1], is_assumed: true };
        self.rated_cycles.map_or(usual, |cycles| Rating { cycles, is_assumed: false })
    }

    /// Geometry of the array.
    pub fn geometry(&self) -> Geometry {
        Geometry::new(Shape {
            channels: self.channels,
            ways: self.ways,
            dies: self.dies,
            planes: self.planes,
            blocks: self.blocks,
            pages: self.pages,
            page_bytes: self.page_bytes as u32,
        })
    }

    /// Latencies of the array.
    pub fn timing(&self) -> Timing {
        let types = |first: Ns, others: [Option<Ns>; 3]| {
            [first, others[0].unwrap_or(first), others[1].unwrap_or(first), others[2].unwrap_or(first)]
        };
        Timing {
            read_ns: types(self.read_ns, [self.read_ns_2, self.read_ns_3, self.read_ns_4]),
            program_ns: types(self.program_ns, [self.program_ns_2, self.program_ns_3, self.program_ns_4]),
            erase_ns: self.erase_ns,
            command_ns: self.command_ns,
            sector_ps: transfer_ns(512 * 1_000, self.bus_rate),
            page_types: self.bits_per_cell,
        }
    }

    /// [`Self::timing`] of the slowest pages and blocks that the spread of times allows, for bounds.
    pub fn slowest_timing(&self) -> Timing {
        let slowest = |ns: Ns, spread: f64| (ns as f64 * (1.0 + spread)).ceil() as Ns;
        let Timing { read_ns, program_ns, erase_ns, .. } = self.timing();
        Timing {
            read_ns: read_ns.map(|ns| slowest(ns, self.read_spread)),
            program_ns: program_ns.map(|ns| slowest(ns, self.program_spread)),
            erase_ns: slowest(erase_ns, self.erase_spread),
            ..self.timing()
        }
    }

    /// Energy of the array's operations; `None` if it is not given. Those in another cell mode take as much as others
    /// where that is not given.
    pub fn energy(&self) -> Option<Energy> {
        let (read_pj, program_pj) = (self.read_pj?, self.program_pj?);
        Some(Energy {
            read_pj,
            program_pj,
            erase_pj: self.erase_pj?,
            bus_pj_a_byte: self.bus_pj_a_byte?,
            idle_nw: self.idle_nw?,
            other_read_pj: self.slc_read_pj.unwrap_or(read_pj),
            other_program_pj: self.slc_program_pj.unwrap_or(program_pj),
        })
    }

    /// The energy keys of every array, each with whether it is given; [`Self::energy`] needs all of them.
    pub fn energy_keys(&self) -> [(&'static str, bool); 5] {
        [
            ("device.read_energy", self.read_pj.is_some()),
            ("device.program_energy", self.program_pj.is_some()),
            ("device.erase_energy", self.erase_pj.is_some()),
            ("device.bus_energy", self.bus_pj_a_byte.is_some()),
            ("device.idle_power", self.idle_nw.is_some()),
        ]
    }

    /// The energy keys of an array with an SLC cache beyond [`Self::energy_keys`], each with whether it is given.
    pub fn slc_energy_keys(&self) -> [(&'static str, bool); 2] {
        [
            ("device.slc_read_energy", self.slc_read_pj.is_some()),
            ("device.slc_program_energy", self.slc_program_pj.is_some()),
        ]
    }

    /// Number of factory bad blocks in each plane.
    pub fn bad_blocks_a_plane(&self) -> u32 {
        (f64::from(self.blocks) * self.bad_blocks).floor() as u32
    }

    /// Whether blocks can fail in use.
    pub fn can_fail(&self) -> bool {
        self.program_failures > 0.0 || self.erase_failures > 0.0
    }
}
