//! MCSplit: a log-block FTL over stripes of chips (Kim, Jung and Song, IWSSPS 2008); the multi-channel FTL that CAVE
//! compares with.
//!
//! ```text
//! logical block  the pages of `width` blocks, page i on chip i mod width: consecutive pages are programmed in parallel
//! data and log   superblocks of `width` blocks, one on each chip, erased together; so there are none of a die
//!                (`ftl.superblock`), whose consecutive pages are on planes of one chip
//! log blocks     as in BAST: each belongs to one logical block
//! ```
//!
//! If the width is all chips, a single dead page affects the whole stripe: all its blocks are erased and all their
//! valid pages copied (CAVE, Figure 2). A smaller width is what CAVE says of SubGroup, its reference 14: less striping
//! against more erases. By its abstract SubGroup also keeps hot and cold data in two groups of a superblock; that is
//! not here (Park et al., IEICE Electronics Express 6(6), 2009; decision 0155). MCSplit's paper is a cost analysis and
//! does not say how log blocks are assigned; they are block-associative here, because CAVE compares it with BAST.

use flashloom_units::{Capability, Kind, PolicySpec, Refusal, Value, Violation, params};

use super::Site;
use super::bast::Bast;
use super::log_block::{Chip, Layout, LogSlot, MERGES, MergeKind, Scheme, Store};
use crate::store::WornOut;
use crate::{BLOCK_EXCHANGE, PageWrite};

params! {
    /// Parameters of MCSplit.
    pub struct McSplitParams {
        /// Chips that share a logical block; must divide the number of chips. Default: all of them.
        width: Option<u32> => "width", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "Wider stripes are faster and cost more to collect.";
        /// Log superblocks of each group of `width` chips.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 2, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "mcsplit",
    summary: "data and log blocks striped over chips",
    details: "BAST over superblocks: with a width of one it is BAST, one FTL a chip. A width between one and all chips \
              is the stripe over a group of chips that CAVE names SubGroup for; that paper's groups of hot and cold \
              data are not modelled.",
    source: "Kim, Jung and Song, IWSSPS 2008; CAVE, section 3.2",
    example: "ftl.mapping=mcsplit ftl.mcsplit.width=4 buffer.order=block-lru workload.synthetic.request_size=64KiB",
    instead: "A small random write makes a whole stripe merge: lower `width`, or use `bast` behind a buffer that \
              evicts to all chips at a time (`buffer.rate` = `cave`).",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, Capability::SAVED_STATE],
    params: McSplitParams::PARAMS,
    statistics: MERGES,
};

pub(super) struct McSplit {
    striped: Bast,
}

flashloom_units::state! { McSplit { nested striped; } }

impl Scheme for McSplit {
    type Params = McSplitParams;

    fn layout(params: &McSplitParams, site: &Site<'_>) -> Layout {
        let McSplitParams { width, log_blocks } = *params;
        Bast::with_width(site, width.unwrap_or(site.space.geometry().total_dies()), log_blocks)
    }

    fn check(params: &McSplitParams, site: &Site<'_>) -> Result<(), Refusal> {
        let dies = site.space.geometry().total_dies();
        let Some(width) = params.width.filter(|&width| !dies.is_multiple_of(width)) else {
            return Ok(());
        };
        let found = format!("`ftl.mcsplit.width` = {width} on a drive of {dies} dies");
        let refusal = Refusal::new(found, format!("a number that divides {dies}"));
        let refusal = refusal.at(["ftl.mcsplit.width", "device.channels", "device.preset"]);
        Err(refusal.help("leave it out to stripe over all of them"))
    }

    fn new(_params: McSplitParams, _site: &Site<'_>, store: &Store) -> Self {
        Self { striped: Bast::on(store) }
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        self.striped.write(chip, write)
    }

    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind) {
        self.striped.victim(store, group, opened)
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        self.striped.check_loaded(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::log_block::lab::{Cost, Lab, setup, space};

    /// Four channels, four pages a block, and two log blocks a group, which is the minimum.
    fn lab(width: u64) -> Lab<McSplit> {
        let values = [("width", Value::Count(width)), ("log_blocks", Value::Count(2))];
        Lab::filled(&space(4, 4, 2), &setup("mcsplit", &values))
    }

    /// The figure shows valid and invalid pages but not where the newer copies are. Here they are in place in a log
    /// block, so a partial merge moves exactly the valid pages of the data block. The text names two invalid pages; for
    /// 12 valid ones of 16 there must be four: pages 0 to 3, one on each channel.
    #[test]
    fn cave_figure_2_right_a_stripe_of_four_channels_costs_4_erases_and_12_copies() {
        let mut lab = lab(4);
        assert_eq!(lab.write([0, 1, 2, 3, 16]), Cost::default());
        assert_eq!(lab.write([32]), Cost { partial: 1, copies: 12, erases: 4, ..Cost::default() });
    }

    /// Two invalid pages of one block.
    #[test]
    fn cave_figure_2_left_one_ftl_a_channel_costs_1_erase_and_2_copies() {
        let mut lab = lab(1);
        // Logical blocks 0, 4 and 8 are on channel 0.
        assert_eq!(lab.write([0, 1, 16]), Cost::default());
        assert_eq!(lab.write([32]), Cost { partial: 1, copies: 2, erases: 1, ..Cost::default() });
    }

    /// Pages out of place in the log block are copied too, and its blocks are erased too.
    #[test]
    fn with_the_pages_that_the_text_names_and_two_more_a_full_merge_adds_those_of_the_log() {
        let (mut stripe, mut single) = (lab(4), lab(1));
        stripe.write([4, 12, 6, 14, 16]);
        assert_eq!(stripe.write([32]), Cost { full: 1, copies: 12 + 4, erases: 4 + 4, ..Cost::default() });
        single.write([1, 3, 16]);
        assert_eq!(single.write([32]), Cost { full: 1, copies: 2 + 2, erases: 1 + 1, ..Cost::default() });
    }
}
