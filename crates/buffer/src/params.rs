//! The `[buffer]` section.

use flashloom_units::{GIB, Kind, MIB, Used, Value, choice, params};

use crate::{order, rate};

choice! {
    /// How a write gets in that finds the buffer full.
    pub enum Admission {
        /// Whole where a victim is a block, page by page where it is a page.
        Auto = "auto",
        /// Each of its pages takes a slot as soon as one is free, and victims leave for all writes that wait.
        ByPage = "by-page",
        /// It is stored when there is room for all of it, or for as much as the buffer can hold. Victims leave for the
        /// writes that wait until half of the buffer is free or on its way to flash, and for the first of them in any
        /// case. So pages that were written together are evicted together, and the buffer stays filled.
        Whole = "whole",
    }
}

params! {
    /// Parameters of the write buffer.
    pub struct BufferParams {
        /// Capacity of the write buffer; "0B" is a drive without one, whose writes complete when they are programmed.
        capacity_bytes: u64 => "capacity", Kind::Size { min: 0, max: 64 * GIB }, Value::Size(16 * MIB),
            "A larger buffer absorbs more rewrites and longer bursts; without power-loss protection it is what a crash \
             loses.";
        /// The replacement policy: which page or block is evicted next.
        order: &'static str => "order", Kind::Policy(&order::SLOT), Value::Name("page-lru"),
            "Pages keep what is hot, blocks keep what belongs together.",
            Used::without("capacity", &["0B"]);
        /// The eviction batch size: the number of victims that are evicted at a time, and when.
        rate: &'static str => "rate", Kind::Policy(&rate::SLOT), Value::Name("linear-threshold"),
            "More victims at a time use more chips and lower the hit ratio of small buffers.",
            Used::without("capacity", &["0B"]);
        /// How a write gets in that finds the buffer full.
        admission: Admission => "admission", Kind::Choice(Admission::CHOICES), Value::Name("auto"),
            "By page every chip has something to write, and a buffer that is small beside the writes that wait evicts \
             pages one by one; whole it evicts what belongs together, as where requests come one after another. \
             \"auto\" is \"whole\" under block-lru, fab, clc and bpac, and \"by-page\" under others.",
            Used::without("capacity", &["0B"]);
    }
}
