//! What the tests of the buffer share: building one by the names of its policies.
#![allow(dead_code, missing_docs)]

use flashloom_buffer::{WriteBuffer, order, rate};
use flashloom_units::{Slot, Value};

/// Pages in a logical block.
pub const PAGES_PER_BLOCK: u32 = 4;

/// A buffer of that many pages over four dies.
pub fn buffer(order: &str, set: &[(&str, Value)], rate: &str, pages: u32) -> WriteBuffer {
    let values = |slot: &Slot, name, set| slot.find(name).expect("the policy exists").values(set);
    let rate = rate::build(rate, &values(&rate::SLOT, rate, &[]), 4);
    WriteBuffer::new(pages, order::build(order, &values(&order::SLOT, order, set), pages, PAGES_PER_BLOCK), rate)
}
