//! The `[ftl]` section.

use flashloom_nand::NandParams;
use flashloom_units::{Kind, MS, Ns, S, Used, Value, choice, params};

use crate::slots;

choice! {
    /// Where collected pages are written.
    pub enum GcBlocks {
        /// Into an open block of their own, apart from what the host writes.
        Separate = "separate",
        /// Into the block that the host writes to.
        Shared = "shared",
    }
}

choice! {
    /// Whether a request of the host may go between the copies of a merge or a collection.
    pub enum Preemption {
        /// It waits until the job that its chip is at is over, as in KAST.
        None = "none",
        /// It goes next: jobs are done a few pages at a time, ahead of the need for their space (KAST's future work).
        Page = "page",
    }
}

choice! {
    /// How much of a collection a page that is written pays for.
    pub enum GcPace {
        /// The victim's share: `(v + 1) / (b - v)` steps for v of b pages valid, which holds free space on average.
        Share = "share",
        /// What has to be done before the open block is full, spread evenly over the pages that are left in it.
        Deadline = "deadline",
    }
}

choice! {
    /// What is allocated and collected at a time.
    pub enum Superblock {
        /// A block of one plane.
        None = "none",
        /// A block of every plane of a die, written a page of each plane in turn and erased together.
        Die = "die",
    }
}

choice! {
    /// Which free block is opened next.
    pub enum WearLevelling {
        /// The one that was freed first.
        None = "none",
        /// The one that was erased least often.
        Dynamic = "dynamic",
        /// As `dynamic`; and data that keeps a little-worn block from use is moved to a worn one.
        Static = "static",
    }
}

choice! {
    /// Whether pages that are written often are kept apart from others.
    pub enum HotCold {
        /// All in the same blocks.
        None = "none",
        /// Pages that a multi-hash sketch of recent writes takes for hot go to blocks of their own.
        MultiHash = "multi-hash",
        /// The first `hot_share` of the pages do: a bound for a workload whose hot pages lie there.
        Known = "known",
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
        /// How logical pages are mapped to physical ones.
        mapping: &'static str => "mapping", Kind::Policy(&slots::MAPPING), Value::Name("page"),
            "Finer maps write less and need more memory.";
        /// Which plane a page is written to.
        allocation: &'static str => "allocation", Kind::Policy(&slots::ALLOCATION), Value::Name("interleave"),
            "Parallelism against locality.";
        /// Which block is collected.
        gc: &'static str => "gc", Kind::Policy(&slots::COLLECTION), Value::Name("greedy"),
            "Fewer copies now against fewer copies later.";
        /// Which chip an evicted logical block goes to, where every chip has an FTL of its own.
        placement: &'static str => "placement", Kind::Policy(&slots::PLACEMENT), Value::Name("static"),
            "Spreading evictions over the chips uses all of them; pages that a logical block has elsewhere are moved.";
        /// The order in which allocation goes over channels (C), ways (W), dies (D) and planes (P).
        stripe_order: StripeOrder => "stripe_order", Kind::Choice(StripeOrder::CHOICES), Value::Name("CWDP"),
            "Planes early make multi-plane commands likely, channels early spread transfers.";
        /// What is allocated and collected at a time; with `die`, wherever another key says plane and block, it is the
        /// die and its superblock.
        superblock: Superblock => "superblock", Kind::Choice(Superblock::CHOICES), Value::Name("none"),
            "The planes of a die program a superpage and erase a superblock at once (device.multi_plane); victims are \
            larger, and a block that fails takes its superblock along.";
        /// Free blocks of a plane below which a write first collects.
        gc_threshold: u32 => "gc_threshold", Kind::Count { min: 2, max: 1 << 20 }, Value::Count(2),
            "More free blocks absorb bursts and leave less spare space to collect from.";
        /// Free blocks of a plane below which it is collected while the drive is idle; a number not above gc_threshold
        /// turns this off.
        background_threshold: u32 => "background_threshold", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(4),
            "Collecting early shortens later stalls and copies pages that might have died.";
        /// How long the drive must be idle before it collects in the background.
        idle_delay_ns: Ns => "idle_delay", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(5 * MS),
            "Short delays collect more and collide with requests more often.";
        /// Where collected pages are written.
        gc_blocks: GcBlocks => "gc_blocks", Kind::Choice(GcBlocks::CHOICES), Value::Name("separate"),
            "Pages that survived a collection are colder than new ones.";
        /// Whether a request of the host may go between the copies of a merge or a collection.
        preemption: Preemption => "preemption", Kind::Choice(Preemption::CHOICES), Value::Name("page"),
            "Shortens the host's waits at the price of space that is kept for the meantime.";
        /// How much of a plane's collection a page that is written there pays for, where the host may go between its
        /// copies.
        gc_pace: GcPace => "gc_pace", Kind::Choice(GcPace::CHOICES), Value::Name("deadline"),
            "Work that is done in time never has to be done all at once; the share is what each page takes, on \
            average.";
        /// Which free block is opened next.
        wear_levelling: WearLevelling => "wear_levelling", Kind::Choice(WearLevelling::CHOICES), Value::Name("dynamic"),
            "Evens out erases among blocks that are rewritten; only `static` moves cold data.";
        /// How many more erases than the least worn block of its plane a block may have before data is moved.
        wear_threshold: u32 => "wear_threshold", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(16),
            "A narrower spread costs more copies of data that nobody changes.",
            Used::with("wear_levelling", &["static"]);
        /// Whether pages that are written often are kept apart from others.
        hot_cold: HotCold => "hot_cold", Kind::Choice(HotCold::CHOICES), Value::Name("none"),
            "Pages that die together make cheap victims; each plane needs one more open block, or two where collected \
            pages have blocks of their own.";
        /// Count from which a page is hot, under `multi-hash`; counters have four bits.
        hot_threshold: u32 => "hot_threshold", Kind::Count { min: 1, max: 15 }, Value::Count(8),
            "A lower count finds hot pages that are hardly hotter than others, and takes cold ones for hot.",
            Used::with("hot_cold", &["multi-hash"]);
        /// Writes after which all counts are halved, as a share of the host's pages, under `multi-hash`. A page that is
        /// written k times as often as the average one counts k to 2k times this.
        hot_decay: f64 => "hot_decay", Kind::Ratio { min: 0.01, max: 100.0 }, Value::Ratio(2.0),
            "Longer intervals tell hot from cold more surely, and find out later that a page has changed.",
            Used::with("hot_cold", &["multi-hash"]);
        /// Share of the host's pages, from the first on, that are hot under `known`.
        hot_share: f64 => "hot_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.2),
            "The share that is hot in the workload gives the bound; any other mixes hot and cold.",
            Used::with("hot_cold", &["known"]);
    }
}

/// Free blocks that a plane needs before the host opens one: that block, one for the collector, and, if blocks can
/// fail, one for the pages of a failed block.
pub(crate) fn free_to_open(nand: &NandParams) -> u32 {
    2 + u32::from(nand.can_fail())
}

impl FtlParams {
    /// Free blocks below which a plane of that array is collected: `gc_threshold`, or at least as many as opening a
    /// block takes.
    pub fn collects_below(&self, nand: &NandParams) -> u32 {
        self.gc_threshold.max(free_to_open(nand))
    }
}
