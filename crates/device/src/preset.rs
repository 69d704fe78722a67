//! Presets: the papers' drives and modern ones, with the source of every figure.
//!
//! A figure whose source reads "assumed" is our choice of an ordinary value for the class of drive, because the source
//! does not state it. Keys that a preset does not name keep the default of the `[device]` section.
//!
//! A preset also sets keys of the `[ftl]` section for an SLC cache and for superblocks, of the `[buffer]` section where
//! a write buffer was measured, and of the `[host]` section to what is usual in front of such a drive; other keys keep
//! the default of their section.

use flashloom_units::{Choice, GIB, Kind, MS, US, Value, format_size, params};

params! {
    /// The choice of a described or fitted drive: a key of the `[device]` section.
    pub struct PresetParams {
        /// A described or fitted drive that the other keys of this section start from, by its name or, of one that
        /// `flashloom fit` wrote, by the path of its file, relative to this one's folder.
        name: String => "preset", Kind::ChoiceOrFile(PRESETS), Value::Name("mlc-16g"),
            "Any key of this section that is also written overrides the preset's value." => Timed;
    }
}

/// One figure of a preset: key in its section, value, source.
pub type Figure = (&'static str, Value, &'static str);

/// Errors of a fitted drive on a measurement that the fit had not seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitError {
    /// Measurement, in a few words.
    pub cell: &'static str,
    /// Each quantity of it, such as "p50", with its error: simulated / recorded - 1, in per cent.
    pub percent: &'static [(&'static str, f32)],
}

/// A load of which a rate is published: writes on an empty drive, reads on one that was filled in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// True of writes, false of reads.
    pub writes: bool,
    /// True if the addresses are random, false if they are in order.
    pub random: bool,
    /// Bytes of a request.
    pub bytes: u64,
    /// Requests outstanding.
    pub depth: u32,
    /// True if the drive is without its SLC cache.
    pub uncached: bool,
}

impl Load {
    const fn in_order(writes: bool) -> Self {
        Self { writes, random: false, bytes: 1 << 20, depth: 32, uncached: false }
    }

    const fn at_random(writes: bool, bytes: u64, depth: u32) -> Self {
        Self { writes, random: true, bytes, depth, uncached: false }
    }

    const fn without_cache(self) -> Self {
        Self { uncached: true, ..self }
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { writes, random, bytes, depth, uncached } = *self;
        let op = if writes { "writes" } else { "reads" };
        let order = if random { "at random" } else { "in order" };
        let cache = if uncached { ", without the SLC cache" } else { "" };
        write!(f, "{} {op} {order}, {depth} outstanding{cache}", format_size(bytes))
    }
}

/// A rate, of bytes or of requests a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerSecond {
    /// Bytes a second.
    Bytes(f64),
    /// Requests a second.
    Requests(f64),
}

/// A rate that the sources of a preset publish, and how near the preset comes to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedRate {
    /// What was done.
    pub load: Load,
    /// The published rate.
    pub rate: PerSecond,
    /// Who publishes it, or of which published figures it is the product; "input" if a key was chosen by it.
    pub source: &'static str,
    /// Simulated / published - 1, in per cent; a test holds the preset to it.
    pub percent: f32,
    /// Why the preset does not reach it; empty if it does.
    pub why: &'static str,
}

/// A preset.
#[derive(Debug)]
pub struct Preset {
    /// Its name in a configuration.
    pub name: &'static str,
    /// Figures of the `[device]` section.
    pub figures: &'static [Figure],
    /// Figures of the `[ftl]` section.
    pub ftl: &'static [Figure],
    /// Figures of the `[buffer]` section.
    pub buffer: &'static [Figure],
    /// Figures of the `[host]` section.
    pub host: &'static [Figure],
    /// Rates that its sources publish, with what it reaches of them.
    pub rates: &'static [PublishedRate],
    /// Errors of a drive that was fitted to measurements, on those that the fit had not seen; none of one that is
    /// described.
    pub fit: &'static [FitError],
}

impl Preset {
    /// Where its figures come from: "fitted" to measurements with a table of errors, or "described".
    pub fn kind(&self) -> &'static str {
        if self.fit.is_empty() { "described" } else { "fitted" }
    }

    /// All figures, each with its section.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static Figure)> {
        let of = |section, figures: &'static [Figure]| figures.iter().map(move |figure| (section, figure));
        let own = of("device", self.figures).chain(of("ftl", self.ftl)).chain(of("buffer", self.buffer));
        own.chain(of("host", self.host))
    }
}

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// A row of figures is `key: value, key: value => source;`: those that follow one another and have one source.
macro_rules! presets {
    (@figures $($($key:literal: $value:expr),+ => $source:expr;)*) => { &[$($(($key, $value, $source),)+)*] };
    ($(
        $name:literal, $help:literal, [$($figures:tt)+]
        $(ftl [$($ftl:tt)+])?
        $(buffer [$($buffer:tt)+])?
        $(host [$($host:tt)+])?
        $(rates [$($load:expr, $rate:expr, $rate_source:expr => $short:expr, $why:expr;)+])?
        $(fit [$($cell:literal: $($quantity:literal $percent:expr),+;)+])?
    )+) => {
        /// The names that `device.preset` takes.
        pub const PRESETS: &[Choice] = &[$(Choice { name: $name, help: $help },)+];

        static ALL: &[Preset] = &[$(Preset {
            name: $name,
            figures: presets!(@figures $($figures)+),
            ftl: presets!(@figures $($($ftl)+)?),
            buffer: presets!(@figures $($($buffer)+)?),
            host: presets!(@figures $($($host)+)?),
            rates: &[$($(PublishedRate {
                load: $load, rate: $rate, source: $rate_source, percent: $short, why: $why,
            },)+)?],
            fit: &[$($(FitError { cell: $cell, percent: &[$(($quantity, $percent)),+] },)+)?],
        },)+];
    };
}

use PerSecond::{Bytes, Requests};
use Value::{Count, Flag, Name, Rate, Ratio, Size, Time};

const WRITES_IN_ORDER: Load = Load::in_order(true);
const READS_IN_ORDER: Load = Load::in_order(false);
const PAGES_AT_RANDOM: Load = Load::at_random(true, 16 << 10, 256);
const WRITES_4K: Load = Load::at_random(true, 4 << 10, 128);
const READS_4K: Load = Load::at_random(false, 4 << 10, 128);
const ASSUMED: &str = "assumed";
const KAST: &str = "KAST, section IV";
const CAVE_1: &str = "CAVE, Table 1";
const CAVE_2: &str = "CAVE, Table 2";
const DISKSIM: &str = "SSD extension for DiskSim (2008), the sample parameter file";
const BENCH: &str = "the benchmark drive of this project's speed target";
const PRO: &str = "NVMeVirt (FAST'23), its configuration fitted to a Samsung 970 PRO";
const SIAU: &str = "Siau et al., ISSCC 2019, 13.5: 512 Gb TLC, 128 word lines, 132 MB/s program throughput";
const NVME_DEPTH: &str = "Linux's nvme driver: queues of io_queue_depth = 1,024 entries, one of which stays empty";
const NCQ: &str = "Linux's libata: 32 tags of NCQ, of which it used 31 until 4.18 (2018)";
const FITTED: &str = "fitted, not determined by the measurements: docs/fit.md has the values that are as good";
const PRO_980: &str = "assumed: 1 TB of 1,024 GiB, in 64 planes";
const BICS6: &str = "Kioxia and Western Digital, ISSCC 2021, 30.4: 1 Tb TLC, four planes, 160 MB/s program throughput, \
    tR 50 us, 2.0 Gb/s (as AnandTech lists it)";
const QLC_144: &str = "Intel, ISSCC 2021, 30.2: 1 Tb QLC, 144 tiers, 40 MB/s program throughput";
const TERABIT: &str = "1 Tb in four planes of 16 KiB x 1,536 pages";
const PCIE_4: &str = "assumed: PCIe 4.0 x4 after protocol";
const NM790: &str = "TechPowerUp, Lexar NM790 2 TB review, pSLC cache / write intensive usage";
const MP44S: &str = "TechPowerUp, Team Group MP44S 1 TB review, pSLC cache / write intensive usage";
const ZN540: &str = "the preset nvme-tlc-512g, from which the fit started";
const CONVENTIONAL: &str = "the preset wd-zn540-1tb: its reads are those of that drive, to within 1 %";
const ROWS: &str = "by reads beside a writer: rows of 1 MiB over all planes leave the buffer together, docs/fit.md";
const PLANES_FIRST: &str = "chosen by the rate of folding, of CWDP, PCWD and superblocks of a die: docs/fit.md";
const CRUCIAL: &str = "by what writes wait for: docs/fit.md";
const SUPERPAGES: &str = "the published throughput of a die is that of all its planes together";
const ONE_A_PAGE: &str = "each programs a page of 16 KiB of its own, where NVMeVirt gathers eight for two planes";
const SHORTER: &str = "with NVMeVirt's program time of 185 us its planes are faster than the sheet";
const SHEET_970: &str = "the maker's sheet of the 970 PRO of 512 GB, as Puget Systems has it";
const SHEET_980: &str = "the maker's sheet of the 980 PRO of 1 TB, as Puget Systems has it";
const QLC: &str = "SK hynix, ISSCC 2020, 13.2: 1 Tb QLC, 96 word lines, 30 MB/s program throughput";

presets! {
    "mlc-16g", "16 GiB MLC drive, 8 channels x 2 ways, the drive of the benchmarks", [
        "channels": Count(8), "ways": Count(2), "dies": Count(1), "planes": Count(2), "blocks": Count(256),
            "pages": Count(256), "page_size": Size(8 << 10), "over_provisioning": Ratio(0.07) => BENCH;
        "bits_per_cell": Count(2) => ASSUMED;
        "read_time": Time(75 * US), "program_time": Time(750 * US), "erase_time": Time(3_800 * US),
            "bus_rate": Rate(333_000_000) => BENCH;
        "link_rate": Rate(3_500_000_000) => "assumed: PCIe 3.0 x4 after protocol";
    ]
    "kingston-mlc-60g", "60 GB SATA MLC drive with 3 % over-provisioning (ParDispatcher)", [
        "channels": Count(8) => "assumed: ordinary for 60 GB SATA controllers of 2012";
        "ways": Count(2), "dies": Count(1), "planes": Count(2) => ASSUMED;
        "blocks": Count(1_842) => "ParDispatcher, section III-C: 60 GB and 3 % over-provisioning, in blocks of 1 MiB";
        "pages": Count(128) => ASSUMED;
        "page_size": Size(8 << 10) => "assumed: ordinary for 2x nm MLC";
        "over_provisioning": Ratio(0.03) => "ParDispatcher, section III-C";
        "bits_per_cell": Count(2) => "ParDispatcher, section III-A: MLC";
        "read_time": Time(75 * US), "program_time": Time(1_300 * US), "erase_time": Time(3_800 * US) =>
            "assumed: ordinary for 2x nm MLC";
        "bus_rate": Rate(166_000_000) => "assumed: ONFI 2.x at 166 MT/s";
        "link_rate": Rate(300_000_000) => "SATA 3 Gb/s after 8b/10b coding; the paper does not name the generation";
        "full_duplex": Flag(false) => "SATA carries one direction at a time";
        "controller_time": Time(20 * US) => ASSUMED;
    ]
    host ["queue_depth": Count(31) => NCQ;]
    "disksim-ssd", "DiskSim's SSD extension with 4 KiB pages, 128 a block (SLAP)", [
        "channels": Count(8) => "the extension's 8 elements, each with a bus of its own";
        "ways": Count(1), "dies": Count(1), "planes": Count(8), "blocks": Count(2_048) => DISKSIM;
        "pages": Count(128) => "SLAP, section 4: PPB 128 in place of the extension's 64";
        "page_size": Size(4 << 10) => "SLAP, section 4";
        "over_provisioning": Ratio(0.17647) => "15 % of the pages in reserve are 15/85 of what the host sees";
        "bits_per_cell": Count(1) => DISKSIM;
        "rated_cycles": Count(100_000) =>
            "Agrawal et al., USENIX ATC 2008, table 1: Samsung K9XXG08UXM, the SLC flash of the extension";
        "read_time": Time(25 * US), "program_time": Time(200 * US), "erase_time": Time(1_500 * US) => DISKSIM;
        "bus_rate": Rate(40_000_000) => "the extension's chip transfer latency of 25 ns a byte";
        "link_rate": Rate(300_000_000) => "assumed: the extension leaves the link to DiskSim's bus model";
        "full_duplex": Flag(false) => ASSUMED;
        "multi_plane": Name("none") => "the extension runs one operation an element at a time";
    ]
    rates [
        WRITES_IN_ORDER, Bytes(108.4e6), "8 elements, 200 us and 25 ns a byte for each 4 KiB" => -0.6, "";
        READS_IN_ORDER, Bytes(257.2e6), "8 elements, 25 us and 25 ns a byte for each 4 KiB" => 0.0, "";
    ]
    "kast-slc", "one SLC chip of 2 KiB x 64 pages (KAST)", [
        "channels": Count(1), "ways": Count(1), "dies": Count(1), "planes": Count(1) => "KAST simulates one chip";
        "blocks": Count(262_144) => "assumed: 32 GiB, so that the PC traces fit; the paper does not say";
        "pages": Count(64) => KAST;
        "page_size": Size(2 << 10) => "KAST, section I: large-block NAND";
        "over_provisioning": Ratio(0.03) => ASSUMED;
        "bits_per_cell": Count(1), "read_time": Time(25 * US), "program_time": Time(200 * US),
            "erase_time": Time(2 * MS) => KAST;
        "bus_rate": Rate(100 * GIB) => "KAST's costs hold no transfer time: so fast that it does not count";
        "link_rate": Rate(1_000 * GIB) => "as the bus rate";
        "multi_plane": Name("none") => "one plane";
    ]
    rates [
        WRITES_IN_ORDER, Bytes(10.24e6), "KAST's 200 us for 2 KiB" => 0.0, "";
        READS_IN_ORDER, Bytes(81.92e6), "KAST's 25 us for 2 KiB" => -0.1, "";
    ]
    "cave-slc", "8 channels x 4 ways of 1 GB SLC chips (CAVE)", [
        "channels": Count(8), "ways": Count(4) => CAVE_1;
        "dies": Count(1), "planes": Count(1) => ASSUMED;
        "blocks": Count(8_192) => "CAVE, Table 2: 1 GB chips in 128 KB blocks";
        "pages": Count(64) => "CAVE, Table 2: 128 KB blocks of 2 KB pages";
        "page_size": Size(2 << 10) => CAVE_2;
        "over_provisioning": Ratio(0.03) => ASSUMED;
        "bits_per_cell": Count(1), "read_time": Time(25 * US), "program_time": Time(200 * US),
            "erase_time": Time(1_500 * US) => CAVE_2;
        "bus_rate": Rate(32_318_131) => "CAVE, Table 1: transfer time 63.37 us, of one 2 KiB page";
        "link_rate": Rate(190_735_000) => "CAVE, Table 1: host interface bandwidth";
        "full_duplex": Flag(false) => ASSUMED;
        "multi_plane": Name("none") => "one plane";
    ]
    rates [READS_IN_ORDER, Bytes(190_735_000.0), "input: CAVE, Table 1" => 0.0, "";]
    "nvme-mlc-512g", "512 GB MLC NVMe drive as NVMeVirt models it", [
        "channels": Count(8), "ways": Count(2), "dies": Count(1) => PRO;
        "planes": Count(2) => "NVMeVirt has one plane of 32 KiB pages: two of 16 KiB here";
        "blocks": Count(2_048) => "assumed: NVMeVirt divides a capacity by its blocks";
        "pages": Count(512) => ASSUMED;
        "page_size": Size(16 << 10), "over_provisioning": Ratio(0.07), "bits_per_cell": Count(2) => PRO;
        "rated_writes": Size(600_000_000_000_000) => "Samsung 970 PRO of 512 GB: 600 TB (PC Masters, launch report)";
        "read_time": Time(30_013) => "NVMeVirt: 36,013 ns less 6,000 for lower pages";
        "read_time_2": Time(42_013) => "NVMeVirt: 36,013 ns and 6,000 for upper pages";
        "program_time": Time(185 * US) => PRO;
        "erase_time": Time(3 * MS) => "assumed: NVMeVirt sets none";
        "bus_rate": Rate(800_000_000), "link_rate": Rate(3_360_000_000) => PRO;
        "controller_time": Time(4 * US) => "NVMeVirt: firmware latency of the write buffer";
        "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl ["superblock": Name("die") => "NVMeVirt has one plane of 32 KiB pages: both planes program together";]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(2_300e6), SHEET_970 => 21.0, SHORTER;
        READS_IN_ORDER, Bytes(3_500e6), SHEET_970 => -4.0, "the link is NVMeVirt's, of 3,360 MB/s";
        WRITES_4K, Requests(500_000.0), SHEET_970 => -68.1, ONE_A_PAGE;
        READS_4K, Requests(370_000.0), SHEET_970 => -1.7, "";
    ]
    "nvme-tlc-512g", "512 GB TLC NVMe drive, 8 channels of one 512 Gb die", [
        "channels": Count(8) => ASSUMED;
        "ways": Count(1), "dies": Count(1) => "eight dies of 512 Gb make 512 GB";
        "planes": Count(4) => ASSUMED;
        "blocks": Count(910) => "512 Gb in four planes of 16 KiB x 1,152 pages";
        "pages": Count(1_152) => "assumed: 96 word lines x 4 strings x 3 bits";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D TLC";
        "over_provisioning": Ratio(0.07) => ASSUMED;
        "bits_per_cell": Count(3) => SIAU;
        "read_time": Time(45 * US) => "assumed: lower pages; 3D TLC averages about 60 us";
        "read_time_2": Time(60 * US) => "assumed: middle pages";
        "read_time_3": Time(75 * US) => "assumed: upper pages";
        "program_time": Time(496_485) => "132 MB/s over four planes of 16 KiB (Siau et al., ISSCC 2019, 13.5)";
        "erase_time": Time(5 * MS) => ASSUMED;
        "bus_rate": Rate(1_200_000_000) => "assumed: ONFI 4 or Toggle 4 at 1,200 MT/s";
        "link_rate": Rate(3_500_000_000) => "assumed: PCIe 3.0 x4 after protocol";
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl ["superblock": Name("die") => SUPERPAGES;]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(1_056e6), "8 dies of 132 MB/s (Siau et al.)" => -0.6, "";
        PAGES_AT_RANDOM, Bytes(1_056e6), "8 dies of 132 MB/s (Siau et al.)" => -0.7, "";
    ]
    "nvme-qlc-1t", "1 TB QLC NVMe drive, 4 channels x 2 dies of 1 Tb", [
        "channels": Count(4) => ASSUMED;
        "ways": Count(2), "dies": Count(1) => "eight dies of 1 Tb make 1 TB";
        "planes": Count(4) => ASSUMED;
        "blocks": Count(1_366) => "1 Tb in four planes of 16 KiB x 1,536 pages";
        "pages": Count(1_536) => "assumed: 96 word lines x 4 strings x 4 bits";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D QLC";
        "over_provisioning": Ratio(0.07) => ASSUMED;
        "bits_per_cell": Count(4) => QLC;
        "read_time": Time(85 * US) => "assumed: 3D QLC averages about 120 us";
        "read_time_2": Time(110 * US), "read_time_3": Time(130 * US), "read_time_4": Time(155 * US) => ASSUMED;
        "program_time": Time(2_184_533) => "30 MB/s over four planes of 16 KiB (ISSCC 2020, 13.2)";
        "erase_time": Time(10 * MS) => ASSUMED;
        "bus_rate": Rate(800_000_000) => "assumed: 800 MT/s";
        "link_rate": Rate(3_500_000_000) => "assumed: PCIe 3.0 x4 after protocol";
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl ["superblock": Name("die") => SUPERPAGES;]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(240e6), "8 dies of 30 MB/s (ISSCC 2020, 13.2)" => -0.1, "";
        PAGES_AT_RANDOM, Bytes(240e6), "8 dies of 30 MB/s (ISSCC 2020, 13.2)" => -0.2, "";
    ]
    "nvme-tlc-1t", "1 TB TLC NVMe drive with an SLC cache, 8 channels of one 1 Tb die", [
        "channels": Count(8) => ASSUMED;
        "ways": Count(1), "dies": Count(1) => "eight dies of 1 Tb make 1 TB";
        "planes": Count(4) => BICS6;
        "blocks": Count(1_366) => TERABIT;
        "pages": Count(1_536) => "assumed: 128 word lines x 4 strings x 3 bits";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D TLC";
        "over_provisioning": Ratio(0.0995) => "1,000 GB of 1,024 GiB";
        "bits_per_cell": Count(3) => BICS6;
        "read_time": Time(40 * US) => "assumed: lower pages; 50 us on average";
        "read_time_2": Time(50 * US) => "assumed: middle pages";
        "read_time_3": Time(60 * US) => "assumed: upper pages";
        "program_time": Time(409_600) => "160 MB/s over four planes of 16 KiB (ISSCC 2021, 30.4)";
        "erase_time": Time(5 * MS), "slc_read_time": Time(25 * US) => ASSUMED;
        "slc_program_time": Time(131_072) =>
            "4 GB/s over 32 planes of 16 KiB: phase 1 of Samsung 980 PRO and Lexar NM710, 1 TB (TechPowerUp reviews)";
        "bus_rate": Rate(2_000_000_000) => BICS6;
        "link_rate": Rate(7_000_000_000) => PCIE_4;
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl [
        "superblock": Name("die") => SUPERPAGES;
        "slc_cache": Name("dynamic") =>
            "TechPowerUp reviews: the cache of Lexar NM710 and Samsung 980 is a share of the free space";
        "slc_dynamic_share": Ratio(0.43) =>
            "156 GB, the knee of Lexar NM710 1 TB (TechPowerUp), of a third of 1,100 GB";
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(4_000e6), "input: phase 1 of Samsung 980 PRO and Lexar NM710 (TechPowerUp)" => -1.1, "";
        WRITES_IN_ORDER.without_cache(), Bytes(1_280e6), "8 dies of 160 MB/s (ISSCC 2021, 30.4)" => -0.3, "";
        PAGES_AT_RANDOM.without_cache(), Bytes(1_280e6), "8 dies of 160 MB/s (ISSCC 2021, 30.4)" => -0.4, "";
    ]
    "nvme-qlc-2t", "2 TB QLC NVMe drive with an SLC cache, 4 channels x 4 dies of 1 Tb", [
        "channels": Count(4) => ASSUMED;
        "ways": Count(4), "dies": Count(1) => "sixteen dies of 1 Tb make 2 TB";
        "planes": Count(4) => ASSUMED;
        "blocks": Count(1_366) => TERABIT;
        "pages": Count(1_536) => "assumed: 96 word lines x 4 strings x 4 bits";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D QLC";
        "over_provisioning": Ratio(0.0995) => "2,000 GB of 2,048 GiB";
        "bits_per_cell": Count(4) => QLC_144;
        "read_time": Time(85 * US), "read_time_2": Time(110 * US), "read_time_3": Time(130 * US),
            "read_time_4": Time(155 * US) => "the preset nvme-qlc-1t";
        "program_time": Time(1_638_400) => "40 MB/s over four planes of 16 KiB (ISSCC 2021, 30.2)";
        "erase_time": Time(10 * MS), "slc_read_time": Time(30 * US) => ASSUMED;
        "slc_program_time": Time(299_593) =>
            "3.5 GB/s over 64 planes of 16 KiB: phase 1 of Team Group Cardea Zero Z44Q 2 TB (TechPowerUp review)";
        "bus_rate": Rate(1_200_000_000) => "assumed: 1,200 MT/s";
        "link_rate": Rate(7_000_000_000) => PCIE_4;
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl [
        "superblock": Name("die") => SUPERPAGES;
        "slc_cache": Name("dynamic") =>
            "TechPowerUp reviews: all cells of Cardea Zero Z44Q and Sabrent Rocket Q are in SLC mode first";
        "slc_dynamic_share": Ratio(1.0) => "491 GB x 4, the whole of Cardea Zero Z44Q 2 TB (TechPowerUp review)";
        "slc_when_full": Name("fold") => "the same reviews: what follows is folding";
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(3_500e6), "input: phase 1 of Cardea Zero Z44Q 2 TB (TechPowerUp)" => -1.2, "";
        WRITES_IN_ORDER.without_cache(), Bytes(640e6), "16 dies of 40 MB/s (ISSCC 2021, 30.2)" => -0.2, "";
        PAGES_AT_RANDOM.without_cache(), Bytes(640e6), "16 dies of 40 MB/s (ISSCC 2021, 30.2)" => -0.3, "";
    ]
    "lexar-nm790-2tb", "Lexar NM790 of 2 TB: sequential writes of the whole drive alone (TechPowerUp)", [
        "channels": Count(4) => "Maxio MAP1602, the controller of the drive, has four";
        "ways": Count(4), "dies": Count(1) => "sixteen dies of 1 Tb make 2 TB";
        "planes": Count(4) => "assumed: as the die of the preset nvme-tlc-1t";
        "blocks": Count(1_366) => TERABIT;
        "pages": Count(1_536) => "the preset nvme-tlc-1t";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D TLC";
        "over_provisioning": Ratio(0.0737) => "2,048 GB of 2,048 GiB";
        "bits_per_cell": Count(3) => NM790;
        "read_time": Time(40 * US), "read_time_2": Time(50 * US), "read_time_3": Time(60 * US) =>
            "the preset nvme-tlc-1t: no reads were measured";
        "program_time": Time(419_430) => "input: the second plateau, 2.5 GB/s over 64 planes of 16 KiB";
        "erase_time": Time(5 * MS), "slc_read_time": Time(25 * US) => ASSUMED;
        "slc_program_time": Time(209_715) => "input: the first plateau, 5 GB/s over 64 planes of 16 KiB";
        "bus_rate": Rate(2_400_000_000) => "2,400 MT/s, which the controller and its flash are sold with";
        "link_rate": Rate(7_000_000_000) => PCIE_4;
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl [
        "stripe_order": Name("PCWD") => PLANES_FIRST;
        "slc_cache": Name("dynamic") => NM790;
        "slc_dynamic_share": Ratio(0.3834) => "input: the first knee, 280 GB of a third of 1,361 blocks a plane";
        "slc_fold_threshold": Ratio(0.154) => "input: the second knee, 1,300 GB: 3 x 280 + 1,020 of 2,199 GB are taken";
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [WRITES_IN_ORDER, Bytes(5_000e6), "input: the review of the drive (TechPowerUp)" => -1.8, "";]
    fit [
        "whole fill, 1 MiB sequential writes": "mean rate" 6.3;
        "after half of the drive and a pause of 5 min": "rate" 0.0;
    ]
    "team-group-mp44s-1tb", "Team Group MP44S of 1 TB: sequential writes of the whole drive alone (TechPowerUp)", [
        "channels": Count(4) => ASSUMED;
        "ways": Count(2), "dies": Count(1) => "eight dies of 1 Tb make 1 TB";
        "planes": Count(4) => ASSUMED;
        "blocks": Count(1_366) => TERABIT;
        "pages": Count(1_536) => "the preset nvme-qlc-2t";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D QLC";
        "over_provisioning": Ratio(0.0995) => "1,000 GB of 1,024 GiB";
        "bits_per_cell": Count(4) => MP44S;
        "read_time": Time(85 * US), "read_time_2": Time(110 * US), "read_time_3": Time(130 * US),
            "read_time_4": Time(155 * US) => "the preset nvme-qlc-1t: no reads were measured";
        "program_time": Time(2_420_000) => "input: the second plateau, 0.1 GB/s, which is folding";
        "erase_time": Time(10 * MS), "slc_read_time": Time(30 * US) => ASSUMED;
        "slc_program_time": Time(131_072) => "input: the first plateau, 4 GB/s over 32 planes of 16 KiB";
        "bus_rate": Rate(2_400_000_000) => "assumed: 2,400 MT/s";
        "link_rate": Rate(7_000_000_000) => PCIE_4;
        "controller_time": Time(4 * US), "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    ftl [
        "stripe_order": Name("PCWD") => "the preset lexar-nm790-2tb";
        "slc_cache": Name("dynamic") => MP44S;
        "slc_dynamic_share": Ratio(0.8434) => "input: the first knee, 231 GB of a quarter of 1,361 blocks a plane";
        "slc_when_full": Name("fold") => "the review: 231 GB x 4 is nearly the drive, so what follows is folding";
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [WRITES_IN_ORDER, Bytes(4_000e6), "input: the review of the drive (TechPowerUp)" => -1.3, "";]
    fit ["whole fill, 1 MiB sequential writes": "mean rate" 5.7;]
    "samsung-980-pro-1tb", "Samsung 980 PRO of 1 TB: random reads of 4 KiB alone, by SPDK (Ren et al., ICPE 2024)", [
        "channels": Count(8) => ASSUMED;
        "ways": Count(4) => FITTED;
        "dies": Count(1) => ASSUMED;
        "planes": Count(2) => FITTED;
        "blocks": Count(910) => PRO_980;
        "pages": Count(1_152) => "the preset nvme-tlc-512g, from which the fit started";
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D TLC";
        "over_provisioning": Ratio(0.1) => PRO_980;
        "bits_per_cell": Count(3) => "TLC, by the maker's data sheet";
        "rated_writes": Size(600_000_000_000_000) => "600 TB in five years (Legit Reviews, 980 PRO review)";
        "read_time": Time(22_730), "read_time_2": Time(27_840), "read_time_3": Time(40_190) => FITTED;
        "program_time": Time(496_485), "erase_time": Time(5 * MS) =>
            "the preset nvme-tlc-512g, from which the fit started: no writes were fitted";
        "bus_rate": Rate(647_700_000) => FITTED;
        "link_rate": Rate(3_500_000_000) => "the preset nvme-tlc-512g: what 4 KiB reads reach, which need no more";
        "controller_time": Time(21_650) => FITTED;
        "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        Load::at_random(false, 4 << 10, 256), Requests(783_333.0), "Ren et al., the artefact's fio JSON" => -1.8, "";
        READS_IN_ORDER, Bytes(7_000e6), SHEET_980
            => -50.0, "the link is that of nvme-tlc-512g, and the 4 KiB reads that were fitted need no more";
        WRITES_IN_ORDER, Bytes(5_000e6), SHEET_980 => -58.3, "an SLC cache was not fitted, nor were writes";
    ]
    fit [
        "4 KiB random reads, 1 outstanding": "requests/s" -0.6, "p50" 4.1, "p90" 4.4, "p99" 2.9, "p99.9" -2.9;
        "4 KiB random reads, 4 outstanding": "requests/s" 0.3, "p50" 2.6, "p90" 0.6, "p99" -4.1, "p99.9" -4.0;
        "4 KiB random reads, 16 outstanding": "requests/s" 2.6, "p50" -5.7, "p90" 0.7, "p99" -0.8, "p99.9" -1.1;
        "4 KiB random reads, 64 outstanding": "requests/s" 1.6, "p50" 4.7, "p90" -0.9, "p99" -2.9, "p99.9" -4.0;
        "4 KiB random reads, 256 outstanding": "requests/s" -2.0, "p50" -3.6, "p90" 16.8, "p99" 10.7, "p99.9" -4.3;
    ]
    "wd-zn540-1tb", "WD Ultrastar DC ZN540 of 1 TB: random reads by SPDK, and the rate of large sequential writes \
    (Doekemeijer et al., IEEE Cluster 2023)", [
        "channels": Count(8) => ASSUMED;
        "ways": Count(2) => FITTED;
        "dies": Count(1) => ASSUMED;
        "planes": Count(4) => "as the die of the preset nvme-tlc-512g; two are worse";
        "blocks": Count(910) => "assumed: 1 TB of 1,024 GiB, in 64 planes";
        "pages": Count(1_152) => ZN540;
        "page_size": Size(16 << 10) => "assumed: ordinary for 3D TLC";
        "over_provisioning": Ratio(0.07) => ZN540;
        "bits_per_cell": Count(3) => "TLC, by the maker's data sheet";
        "read_time": Time(20_980), "read_time_2": Time(22_000), "read_time_3": Time(49_750) => FITTED;
        "program_time": Time(866_600) => "input: 1.21 GB/s of sequential writes over 64 planes of 16 KiB";
        "erase_time": Time(5 * MS) => ZN540;
        "bus_rate": Rate(476_700_000) => FITTED;
        "link_rate": Rate(3_190_000_000) => "fitted; 3,064 to 3,355 MB/s are as good";
        "link_command_time": Time(743), "controller_time": Time(34_450) => FITTED;
        "suspend": Name("program-erase"), "cache_program": Flag(true) => ASSUMED;
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    rates [
        WRITES_IN_ORDER, Bytes(1_210e6), "input: Doekemeijer et al., large sequential writes" => -0.9, "";
        Load::at_random(false, 4 << 10, 256), Requests(437_000.0), "Doekemeijer et al.: one process of SPDK"
            => -12.4, "of the cells that were fitted it is the worst (docs/fit.md)";
    ]
    fit [
        "4 KiB random reads, 4 outstanding": "requests/s" -2.4, "p50" -4.4, "p99" -3.5, "p99.9" -2.2;
        "4 KiB random reads, 64 outstanding": "requests/s" -5.2, "p50" 6.3, "p99" -3.4, "p99.9" -10.1;
        "8 KiB random reads, 2 outstanding": "requests/s" -0.9, "p50" -4.2, "p99" -2.2, "p99.9" 1.9;
        "8 KiB random reads, 32 outstanding": "requests/s" 1.7, "p50" -1.4, "p99" 1.2, "p99.9" 5.0;
        "16 KiB random reads, 1 outstanding": "requests/s" -3.4, "p50" -1.1, "p99" 12.0, "p99.9" 10.0;
        "16 KiB random reads, 16 outstanding": "requests/s" 0.4, "p50" -0.8, "p99" 0.2, "p99.9" 1.5;
        "16 KiB random reads, 256 outstanding": "requests/s" 5.9, "p50" -7.4, "p99" 4.8, "p99.9" 5.0;
    ]
    "vu-conventional-1tb", "The conventional NVMe drive beside the ZN540, not named: reads beside writes, and four \
    writers in steady state (Doekemeijer et al., IEEE Cluster 2023)", [
        "channels": Count(8), "ways": Count(2), "dies": Count(1), "planes": Count(4) => CONVENTIONAL;
        "blocks": Count(987) => "assumed: 1 TB and the over-provisioning, in 64 planes";
        "pages": Count(1_152), "page_size": Size(16 << 10) => CONVENTIONAL;
        "over_provisioning": Ratio(0.16) => "input: the mean rate of four writers in steady state";
        "bits_per_cell": Count(3), "read_time": Time(20_980), "read_time_2": Time(22_000), "read_time_3": Time(49_750),
            "program_time": Time(866_600), "erase_time": Time(5 * MS), "bus_rate": Rate(476_700_000),
            "link_rate": Rate(3_190_000_000), "link_command_time": Time(743), "controller_time": Time(34_450) =>
            CONVENTIONAL;
        "suspend": Name("program-erase") => "reads beside a writer take less than a program";
        "suspend_time": Time(100 * US) => "input: mean of reads beside writers at 0, 100 and 500 MiB/s";
        "cache_program": Flag(true) => CONVENTIONAL;
    ]
    ftl ["superblock": Name("die") => "a writer of 128 KiB at a time has the rate of all planes";]
    buffer [
        "capacity": Size(64 << 20) => "assumed; 16 MiB does as well";
        "order": Name("region"), "region.region_size": Size(1 << 40), "region.batch": Count(64) => ROWS;
    ]
    host ["queue_depth": Count(1_023) => NVME_DEPTH;]
    fit [
        "4 KiB random reads beside a writer at 50 MiB/s": "mean" 0.5;
        "4 KiB random reads beside a writer at 250 MiB/s": "mean" -5.0;
        "4 KiB random reads beside a writer at 1,000 MiB/s": "mean" 1.8;
        "four writers of 1 MiB at random in steady state": "mean rate" 2.4;
    ]
    "crucial-250gb-sata", "Crucial SATA drive of 250 GB, of 2018: random reads and writes of 4 KiB (fio-plot)", [
        "channels": Count(4) => ASSUMED;
        "ways": Count(4) => "as the fit started; with two, reads at 16 outstanding have a p99 that is 36 % too high";
        "dies": Count(1), "planes": Count(2) => ASSUMED;
        "blocks": Count(1_366) => "250 GB and the over-provisioning, in 32 planes";
        "pages": Count(1_536) => ASSUMED;
        "page_size": Size(4 << 10) => CRUCIAL;
        "over_provisioning": Ratio(0.1) => ASSUMED;
        "bits_per_cell": Count(3) => "assumed: ordinary for SATA drives of 2018";
        "read_time": Time(63_830), "read_time_2": Time(68_340), "read_time_3": Time(83_140),
            "program_time": Time(291_900) => FITTED;
        "erase_time": Time(5 * MS) => ASSUMED;
        "bus_rate": Rate(400_000_000) => "assumed: 400 MT/s";
        "link_rate": Rate(550_000_000) => "SATA 6 Gb/s after 8b/10b coding and frames";
        "full_duplex": Flag(false) => "SATA carries one direction at a time";
        "link_command_time": Time(11_640), "controller_time": Time(40_000) => FITTED;
    ]
    buffer [
        "capacity": Size(296 << 10), "rate": Name("cave"), "cave.victims": Count(74), "cave.wait": Name("batch") =>
            CRUCIAL;
    ]
    host ["queue_depth": Count(31) => NCQ;]
    fit [
        "4 KiB random reads, 1 outstanding": "requests/s" -5.9, "p50" 8.9, "p90" 13.8, "p99" 7.6, "p99.9" 3.4;
        "4 KiB random reads, 4 outstanding": "requests/s" 12.0, "p50" -5.1, "p90" -8.5, "p99" -0.2, "p99.9" 4.6;
        "4 KiB random reads, 16 outstanding": "requests/s" 0.7, "p50" 0.7, "p90" -0.3, "p99" 0.2, "p99.9" -2.5;
        "4 KiB random reads, 64 outstanding": "requests/s" -1.9, "p50" 3.0, "p90" 2.5, "p99" 7.2, "p99.9" -1.2;
        "4 KiB random writes, 4 outstanding": "requests/s" -5.0, "p50" 0.0, "p90" -7.0, "p99" -12.0, "p99.9" -22.8;
        "4 KiB random writes, 16 outstanding": "requests/s" -1.7, "p50" -3.2, "p90" 1.2, "p99" -21.5, "p99.9" 28.2;
        "4 KiB random writes, 64 outstanding": "requests/s" -4.7, "p50" 18.1, "p90" -28.8, "p99" -26.5, "p99.9" -32.9;
    ]
}
