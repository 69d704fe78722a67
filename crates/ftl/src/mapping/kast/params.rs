//! The parameters of KAST, and what follows from them.

use flashloom_units::{Kind, Refusal, Used, Value, choice, params};

use crate::Preemption;

choice! {
    /// How a page of offset 0 is written if a random log block holds pages of its logical block (Figure 4).
    pub enum SequentialStart {
        /// Append it to the random log block; no sequential one is opened (4b).
        Append = "append",
        /// Open a sequential log block for it; the other pages stay in the random one (4c).
        Allocate = "allocate",
        /// Open a sequential log block, and copy the other pages and those between them to it (4d).
        Copy = "copy",
    }
}

choice! {
    /// Choice of the random log block merged in step 3: "the smallest merge cost and the smallest free pages".
    pub enum RandomVictim {
        /// The lowest associativity; among equals, fewest free pages.
        Cost = "cost",
        /// The lowest ratio of associativity to pages written: the least cost for the room that the merge makes.
        CostPerPage = "cost-per-page",
    }
}

choice! {
    /// Handling of a sequential log block when the next page of its logical block leaves too large a gap (Figure 5).
    pub enum LargeGap {
        /// Merge it partially; the page is written in the course of the merge (5c).
        Merge = "merge",
        /// Turn it into a random log block, which takes the page (5d).
        Transform = "transform",
        /// Transform while it has many free pages, else merge: the paper's recommendation.
        Auto = "auto",
    }
}

choice! {
    /// Log blocks that may be merged to open a sequential one for a page of offset 0 when none is free.
    pub enum StartMerge {
        /// Any: the page skips step 2, as in the paper.
        Any = "any",
        /// Only those without many free pages. Otherwise the page tries step 2 first.
        Filled = "filled",
    }
}

params! {
    /// Parameters of KAST.
    pub struct KastParams {
        /// Log blocks of a chip.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 2, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
        /// Maximum number of data blocks that a log block is associated with: the K of the name.
        k: u32 => "k", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(8),
            "A larger K merges less often and for longer.";
        /// Maximum number of log blocks of a chip that are sequential at the same time.
        sequential_log_blocks: u32 => "sequential_log_blocks", Kind::Count { min: 0, max: 1 << 16 }, Value::Count(4),
            "More serve more sequential streams and leave less for random pages.";
        /// Free log blocks of a chip kept for sequential writes: random pages do not open them as long as another log
        /// block can take the pages (step 2). 0 follows the paper: random pages open any free log block.
        reserved_log_blocks: u32 => "reserved_log_blocks", Kind::Count { min: 0, max: 1 << 16 }, Value::Count(1),
            "A sequence finds a free log block and merges none for it; random pages share log blocks sooner, so that \
             their merges have more data blocks.",
            Used::from("sequential_log_blocks", &["1"]);
        /// Consecutive pages from offset 0 on that must be written together to open a sequential log block. 1 follows
        /// the paper: any page of offset 0 opens one.
        stream_threshold: u32 => "stream_threshold", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(1),
            "Short writes at offset 0 stay among random pages; a stream that comes in small parts is not seen.";
        /// Largest gap, in pages, that is copied into a sequential log block to append a page behind it: the paper's
        /// "small gap".
        small_gap: u32 => "small_gap", Kind::Count { min: 0, max: 1 << 16 }, Value::Count(4),
            "More padding keeps streams together and copies pages that may be written soon.";
        /// Free pages, in percent of a block, at which a sequential log block is kept or transformed rather than
        /// merged: the paper's "many free pages".
        many_free_percent: u32 => "many_free_percent", Kind::Count { min: 0, max: 100 }, Value::Count(50),
            "A smaller share transforms more streams into random log blocks.";
        /// Idle time after which a sequential log block may be transformed or replaced: the paper's "long time", in
        /// pages written to the other log blocks of its chip. Default: the pages of a block.
        long_time: Option<u32> => "long_time", Kind::Count { min: 0, max: 1 << 30 }, Value::Absent,
            "A longer time waits longer for a stream to go on, and lets fewer others begin.";
        /// How a page of offset 0 is written if a random log block holds pages of its logical block.
        sequential_start: SequentialStart => "sequential_start", Kind::Choice(SequentialStart::CHOICES),
            Value::Name("append"),
            "Sequential log blocks merge cheaply if the stream goes on.";
        /// Log blocks that may be merged to open a sequential one for a page of offset 0 when none is free.
        start_merge: StartMerge => "start_merge", Kind::Choice(StartMerge::CHOICES), Value::Name("any"),
            "Merging any begins every sequence, and merges log blocks of a few pages for sequences of a few pages.",
            Used::from("sequential_log_blocks", &["1"]);
        /// Handling of a sequential log block when the next page of its logical block leaves too large a gap.
        large_gap: LargeGap => "large_gap", Kind::Choice(LargeGap::CHOICES), Value::Name("auto"),
            "Merging keeps log blocks free, transforming keeps them used.";
        /// Choice of the random log block to merge when no log block can take the page.
        random_victim: RandomVictim => "random_victim", Kind::Choice(RandomVictim::CHOICES),
            Value::Name("cost-per-page"),
            "The cheapest merge blocks for the shortest time; the cheapest for a page needs fewer merges.";
    }
}

/// Largest number of copies and erases that a page can wait for beyond the merge that makes room for it. A page causes
/// at most one merge, and merging an SLB makes room too. In addition it waits for work that the previous page left:
/// with (4d) the padding of a new SLB; with (5c), without preemption, the rest of a partial merge. That merge frees a
/// log block, so no full merge of N K copies follows it.
pub(super) fn besides(params: &KastParams, pages: u32, preemption: Preemption) -> (u32, u32) {
    let padding = if params.sequential_start == SequentialStart::Copy { pages - 1 } else { 0 };
    match preemption {
        Preemption::None if params.k == 1 => (pages - 1, 1),
        Preemption::None => (padding, 0),
        Preemption::Page => (pages + padding, 2),
    }
}

/// Refuses a reserve that leaves random pages no log block to open.
pub(super) fn check_reserve(params: &KastParams, preemption: Preemption) -> Result<(), Refusal> {
    let KastParams { log_blocks, reserved_log_blocks: reserved, sequential_log_blocks, .. } = *params;
    let (kept, beside) = match preemption {
        Preemption::None => (0, ""),
        Preemption::Page => (1, ", and one is kept for merges (ftl.preemption)"),
    };
    let most = log_blocks.saturating_sub(1 + kept);
    // Too few log blocks for any reserve: reported by the check that all schemes share.
    if most == 0 || sequential_log_blocks == 0 || reserved <= most {
        return Ok(());
    }
    let found =
        format!("{reserved} of {log_blocks} log blocks of a chip (`ftl.kast.log_blocks`) reserved for sequences");
    let expected = format!("at most {most}: random pages need one to open{beside}");
    let refusal = Refusal::new(found, expected);
    let refusal = refusal.at(["ftl.kast.reserved_log_blocks", "ftl.kast.log_blocks", "ftl.preemption"]);
    Err(refusal.help("lower ftl.kast.reserved_log_blocks, or raise ftl.kast.log_blocks"))
}
