//! Helpers of the buffer's tests: building a buffer by the names of its policies.
#![allow(dead_code, missing_docs)]

use flashloom_buffer::order::{self, OrderSetup};
use flashloom_buffer::rate::{self, RateSetup};
use flashloom_buffer::{Rate, WriteBuffer};
use flashloom_units::Value;

/// Number of pages of a logical block.
pub const PAGES_PER_BLOCK: u32 = 4;
/// Size of a page, and number of pages of the drive.
const PAGE_BYTES: u64 = 4_096;
const LOGICAL_PAGES: u32 = 1 << 20;

/// A buffer of `pages` pages over four dies.
pub fn buffer(order: &str, set: &[(&str, Value)], rate: &str, pages: u32) -> WriteBuffer {
    let order = order::builtin().choose(order, set).expect("the order takes these parameters");
    let setup =
        OrderSetup { pages, pages_per_block: PAGES_PER_BLOCK, page_bytes: PAGE_BYTES, logical_pages: LOGICAL_PAGES };
    let order = order.build(&setup);
    WriteBuffer::new(pages, order.expect("it can be built"), self::rate(rate, &[]))
}

/// A rate for four dies.
pub fn rate(rate: &str, set: &[(&str, Value)]) -> Box<dyn Rate> {
    let rate = rate::builtin().choose(rate, set).expect("the rate takes these parameters");
    rate.build(&RateSetup { dies: 4, superpage: 1 }).expect("it can be built")
}
