//! The `[ftl]` section.

use flashloom_nand::{NandParams, Urgency};
use flashloom_units::{Kind, MIB, MS, Ns, S, Used, Value, choice, params};

use crate::slots;

choice! {
    /// Where collected pages are written.
    pub enum GcBlocks {
        /// Into an open block of their own, separate from host writes.
        Separate = "separate",
        /// Into the same open block as host writes.
        Shared = "shared",
    }
}

choice! {
    /// Whether host requests may be served between the copies of a merge or a collection.
    pub enum Preemption {
        /// Host requests wait until the job of their chip has ended, as in KAST.
        None = "none",
        /// Host requests are served next. Jobs run a few pages at a time, ahead of need (KAST's future work).
        Page = "page",
    }
}

choice! {
    /// How much of a collection each page written pays for.
    pub enum GcPace {
        /// The victim's share: `(v + 1) / (b - v)` steps for v of b pages valid, which keeps free space constant on
        /// average.
        Share = "share",
        /// The steps that are needed before the open block is full, spread evenly over its remaining pages.
        Deadline = "deadline",
    }
}

choice! {
    /// Unit of allocation and collection.
    pub enum Superblock {
        /// A block of one plane.
        None = "none",
        /// One block of every plane of a die, written a page of each plane in turn and erased together.
        Die = "die",
    }
}

choice! {
    /// Which free block is opened next.
    pub enum WearLevelling {
        /// The block that was freed first.
        None = "none",
        /// The block with the fewest erases.
        Dynamic = "dynamic",
        /// Like `dynamic`. In addition, data that keeps a little-worn block out of use is moved to a worn block.
        Static = "static",
    }
}

choice! {
    /// Whether pages that are written often are separated from others.
    pub enum HotCold {
        /// All pages share the same blocks.
        None = "none",
        /// Pages that a multi-hash sketch of recent writes classifies as hot are written to blocks of their own.
        MultiHash = "multi-hash",
        /// The first `hot_share` of the pages are written to blocks of their own: an upper bound, for workloads whose
        /// hot pages are there.
        Known = "known",
    }
}

choice! {
    /// Whether blocks with one bit per cell take the host's pages first.
    pub enum SlcCacheKind {
        /// No block is used in another mode than the others.
        None = "none",
        /// Blocks set aside in every plane, which are always in SLC mode.
        Static = "static",
        /// Free blocks of the pool, as many as the free space allows: fewer as the drive fills.
        Dynamic = "dynamic",
    }
}

choice! {
    /// What becomes of the host's pages while the SLC cache is full.
    pub enum WhenFull {
        /// They are written beside it, as without a cache.
        Beside = "beside",
        /// They wait until a block of the cache is folded.
        Fold = "fold",
    }
}

macro_rules! stripe_orders {
    ($($variant:ident = $name:literal,)+) => {
        choice! {
            /// The order in which a stripe visits channels (C), ways (W), dies (D) and planes (P).
            pub enum StripeOrder {
                $(
                    /// The letter on the left varies fastest.
                    $variant = $name,
                )+
            }
        }
    };
}

stripe_orders! {
    Cwdp = "CWDP", Cwpd = "CWPD", Cdwp = "CDWP", Cdpw = "CDPW", Cpwd = "CPWD", Cpdw = "CPDW",
    Wcdp = "WCDP", Wcpd = "WCPD", Wdcp = "WDCP", Wdpc = "WDPC", Wpcd = "WPCD", Wpdc = "WPDC",
    Dcwp = "DCWP", Dcpw = "DCPW", Dwcp = "DWCP", Dwpc = "DWPC", Dpcw = "DPCW", Dpwc = "DPWC",
    Pcwd = "PCWD", Pcdw = "PCDW", Pwcd = "PWCD", Pwdc = "PWDC", Pdcw = "PDCW", Pdwc = "PDWC",
}

params! {
    /// Parameters of the flash translation layer.
    pub struct FtlParams {
        /// Mapping of logical to physical pages.
        mapping: &'static str => "mapping", Kind::Policy(&slots::MAPPING), Value::Name("page"),
            "Finer maps write less and need more memory.";
        /// Unit of the map, a multiple of `device.page_size`: pages of a unit lie together, and a write of a part of it
        /// reads the rest and programs all of it. 0: a page.
        mapping_unit_bytes: u64 => "mapping_unit", Kind::Size { min: 0, max: MIB }, Value::Size(0),
            "A map of large units fits in little memory; writes smaller than a unit are amplified.",
            Used::with("mapping", &["page", "dftl"]);
        /// Allocation: the plane that each page is written to.
        allocation: &'static str => "allocation", Kind::Policy(&slots::ALLOCATION), Value::Name("interleave"),
            "Parallelism against locality.";
        /// Garbage collection: the block that is collected next.
        gc: &'static str => "gc", Kind::Policy(&slots::COLLECTION), Value::Name("greedy"),
            "Fewer copies now against fewer copies later.";
        /// Placement: the chip of each evicted logical block, if every chip has an FTL of its own.
        placement: &'static str => "placement", Kind::Policy(&slots::PLACEMENT), Value::Name("static"),
            "Spreading evictions over the chips uses all of them; pages that a logical block has elsewhere are moved.";
        /// Order in which allocation visits channels (C), ways (W), dies (D) and planes (P).
        stripe_order: StripeOrder => "stripe_order", Kind::Choice(StripeOrder::CHOICES), Value::Name("CWDP"),
            "Planes early make multi-plane commands likely, channels early spread transfers.";
        /// Unit of allocation and collection. With `die`, other keys that say plane and block mean the die and its
        /// superblock.
        superblock: Superblock => "superblock", Kind::Choice(Superblock::CHOICES), Value::Name("none"),
            "The planes of a die program a superpage and erase a superblock at once (device.multi_plane); victims are \
            larger, and a block that fails takes its superblock along.";
        /// Free blocks of a plane below which a write first collects.
        gc_threshold: u32 => "gc_threshold", Kind::Count { min: 2, max: 1 << 20 }, Value::Count(2),
            "More free blocks absorb bursts and leave less spare space to collect from.";
        /// Free blocks of a plane below which it is collected while the drive is idle. Off unless above gc_threshold.
        background_threshold: u32 => "background_threshold", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(4),
            "Collecting early shortens later stalls and copies pages that might have died.";
        /// Idle time of the drive before background collection starts.
        idle_delay_ns: Ns => "idle_delay", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(5 * MS),
            "Short delays collect more and collide with requests more often." => Never;
        /// Share of the drive's blocks that are free below which all planes are collected, until the share is
        /// `gc_high_watermark`. Off at 0.
        gc_low_watermark: f64 => "gc_low_watermark", Kind::Ratio { min: 0.0, max: 0.9 }, Value::Ratio(0.0),
            "A drive that collects at times writes at its full rate between them; the space between the watermarks \
            is not used to collect from.";
        /// Share of the drive's blocks that are free at which collection below the low watermark ends.
        gc_high_watermark: f64 => "gc_high_watermark", Kind::Ratio { min: 0.0, max: 0.9 }, Value::Ratio(0.0),
            "Far from the low watermark, stretches with and without collection are long.",
            Used::without("gc_low_watermark", &["0%"]);
        /// Steps that each page written below the watermarks pays for, as a multiple of those that keep free space
        /// constant.
        gc_watermark_pace: f64 => "gc_watermark_pace", Kind::Ratio { min: 1.0, max: 64.0 }, Value::Ratio(2.0),
            "A fast pace makes stretches of collection short, and the writes in them slow.",
            Used::without("gc_low_watermark", &["0%"]);
        /// Where collected pages are written.
        gc_blocks: GcBlocks => "gc_blocks", Kind::Choice(GcBlocks::CHOICES), Value::Name("separate"),
            "Pages that survived a collection are colder than new ones.";
        /// Whether host requests may be served between the copies of a merge or a collection.
        preemption: Preemption => "preemption", Kind::Choice(Preemption::CHOICES), Value::Name("page"),
            "Shortens the host's waits at the price of space that is kept for the meantime.";
        /// How much of a plane's collection each page written to the plane pays for, if host requests may be served
        /// between its copies.
        gc_pace: GcPace => "gc_pace", Kind::Choice(GcPace::CHOICES), Value::Name("deadline"),
            "Work that is done in time never has to be done all at once; the share is what each page takes, on \
            average.";
        /// Which free block is opened next.
        wear_levelling: WearLevelling => "wear_levelling", Kind::Choice(WearLevelling::CHOICES), Value::Name("dynamic"),
            "Evens out erases among blocks that are rewritten; only `static` moves cold data.";
        /// Difference in erases between a block and the least worn block of its plane above which data is moved.
        wear_threshold: u32 => "wear_threshold", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(16),
            "A narrower spread costs more copies of data that nobody changes.",
            Used::with("wear_levelling", &["static"]);
        /// Whether pages that are written often are separated from others.
        hot_cold: HotCold => "hot_cold", Kind::Choice(HotCold::CHOICES), Value::Name("none"),
            "Pages that die together make cheap victims; each plane needs one more open block, or two where collected \
            pages have blocks of their own.";
        /// Count at which a page is hot, under `multi-hash`; counters have four bits.
        hot_threshold: u32 => "hot_threshold", Kind::Count { min: 1, max: 15 }, Value::Count(8),
            "A lower count finds hot pages that are hardly hotter than others, and takes cold ones for hot.",
            Used::with("hot_cold", &["multi-hash"]);
        /// Interval in writes after which all counts are halved, as a share of the host's pages, under `multi-hash`. A
        /// page that is written k times as often as the average page has a count between k and 2k times this.
        hot_decay: f64 => "hot_decay", Kind::Ratio { min: 0.01, max: 100.0 }, Value::Ratio(2.0),
            "Longer intervals tell hot from cold more surely, and find out later that a page has changed.",
            Used::with("hot_cold", &["multi-hash"]);
        /// Share of the host's pages, from the first page on, that are hot under `known`.
        hot_share: f64 => "hot_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.2),
            "The share that is hot in the workload gives the bound; any other mixes hot and cold.",
            Used::with("hot_cold", &["known"]);
        /// SLC cache: blocks with one bit per cell that take the host's pages first, and are folded when the drive is
        /// idle. Needs `device.slc_read_time` and `device.slc_program_time`.
        slc_cache: SlcCacheKind => "slc_cache", Kind::Choice(SlcCacheKind::CHOICES), Value::Name("none"),
            "Bursts are written fast; what is not overwritten in the cache is written twice.";
        /// Share of each plane's blocks that a static SLC cache sets aside, rounded up to whole blocks.
        slc_static_share: f64 => "slc_static_share", Kind::Ratio { min: 0.0001, max: 0.9 }, Value::Ratio(0.02),
            "A larger cache takes longer bursts, and its blocks are missing from the over-provisioning.",
            Used::with("slc_cache", &["static"]);
        /// Share of the free space that a dynamic SLC cache may take: of what the plane has room for and is not mapped
        /// outside the cache.
        slc_dynamic_share: f64 => "slc_dynamic_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(1.0),
            "A larger cache takes longer bursts, and leaves fewer free blocks for what comes after them.",
            Used::with("slc_cache", &["dynamic"]);
        /// What becomes of the host's pages while the SLC cache is full.
        slc_when_full: WhenFull => "slc_when_full", Kind::Choice(WhenFull::CHOICES), Value::Name("beside"),
            "Folding makes room at the price of writing everything twice; beside it pages take their full time once.",
            Used::without("slc_cache", &["none"]);
        /// Share of a plane's blocks that are free below which pages of the host no longer go beside the full SLC cache
        /// but wait until a block of it is folded. 0: never.
        slc_fold_threshold: f64 => "slc_fold_threshold", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Folding in time keeps free blocks, and writes the last part of a full drive twice.",
            Used::with("slc_when_full", &["beside"]);
        /// Idle time of the drive before the SLC cache is folded, if that is longer than `idle_delay`; collection in
        /// the background goes first.
        slc_flush_delay_ns: Ns => "slc_flush_delay", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(100 * MS),
            "Short delays make room sooner, and copy pages that might have been overwritten.",
            Used::without("slc_cache", &["none"]) => Never;
    }
}

/// Free blocks that a plane needs before the host opens one: that block, one for the collector, and, if blocks can
/// fail, one for the pages of a failed block.
pub(crate) fn free_to_open(nand: &NandParams) -> u32 {
    2 + u32::from(nand.can_fail())
}

impl Preemption {
    /// The urgency of the operations of a merge, or of a collection that a write needs.
    pub(crate) fn urgency(self) -> Urgency {
        match self {
            Self::None => Urgency::Blocking,
            Self::Page => Urgency::Needed,
        }
    }
}

impl FtlParams {
    /// Blocks that an SLC cache never gives back, of the `blocks` of a plane, or superblocks of a die.
    pub fn slc_cache_blocks(&self, blocks: u32) -> u32 {
        match self.slc_cache {
            SlcCacheKind::None => 0,
            SlcCacheKind::Static => (f64::from(blocks) * self.slc_static_share).ceil() as u32,
            SlcCacheKind::Dynamic => 1,
        }
    }

    /// Free blocks below which a plane of that array is collected: `gc_threshold`, or at least as many as opening a
    /// block takes.
    pub fn collects_below(&self, nand: &NandParams) -> u32 {
        self.gc_threshold.max(free_to_open(nand))
    }
}
