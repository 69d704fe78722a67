//! The flash store under every mapping: blocks, their pages, and where these are in the array.
//!
//! A mapping has numbers of its own for planes, blocks and pages ([`superblocks`]); only what is emitted here, and by
//! the reads of the mapping, has numbers of the array.

mod blocks;
mod emitted;
mod failures;
mod levelling;
mod pages;
mod replace;
pub(crate) mod superblocks;
mod valid_pages;

pub(crate) use blocks::{BlockState, Blocks};
pub(crate) use failures::{Upkeep, WornOut};
pub(crate) use pages::{Pages, REVERSE_AHEAD};
