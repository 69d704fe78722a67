//! Watermarks: collection of the whole drive at a time, between two shares of free blocks.
//!
//! ```text
//! fewer free blocks in the drive than gc_low_watermark:   all planes are collected from now on,
//! as many free blocks as gc_high_watermark:               and from here on none is
//! a page is written meanwhile:  it pays for gc_watermark_pace * (v + 1) / (b - v) steps of its plane's collection, for
//!                               a victim with v of b pages valid: with a pace of 1 free space would stay as it is
//! the drive is idle meanwhile:  a step in every plane at a time
//! ```
//!
//! A drive that collects so writes at its full rate for a while and then, for as long, at what collection leaves of it.
//! A plane that has fewer than `gc_threshold` free blocks collects as without watermarks, whatever the drive has. O(1)
//! per block opened or freed, and O(planes) where a stretch begins or ends.

use flashloom_units::Refusal;

use super::plane::{CollectionJob, Pace};
use crate::FtlParams;

/// The watermarks of a store, and whether the drive is between them on its way up.
pub(super) struct Watermarks {
    /// Free blocks of the drive below which collection begins, and with which it ends.
    low: u64,
    high: u64,
    pace: f64,
    /// Whether all planes are collected.
    pub(super) is_collecting: bool,
}

flashloom_units::state! { Watermarks { value is_collecting; fixed low, high, pace; } }

impl Watermarks {
    /// The watermarks of a store with so many blocks; `None` if it has none.
    pub(super) fn new(params: &FtlParams, blocks: u64) -> Option<Self> {
        let [low, high] = [params.gc_low_watermark, params.gc_high_watermark].map(|share| blocks_of(share, blocks));
        (low > 0).then_some(Self { low, high, pace: params.gc_watermark_pace, is_collecting: false })
    }

    /// Takes note of the drive's free blocks; true if collection has begun or ended by them.
    pub(super) fn pass(&mut self, free: u64) -> bool {
        let was_collecting = self.is_collecting;
        self.is_collecting = free < if was_collecting { self.high } else { self.low };
        self.is_collecting != was_collecting
    }

    /// The steps that each page written meanwhile pays for.
    pub(super) fn pace_of(&self, job: &CollectionJob) -> Pace {
        let Pace { steps, pages } = job.share();
        Pace { steps: (f64::from(steps) * self.pace).ceil() as u32, pages }
    }
}

/// Refuses watermarks that are not in order, or that a full drive never reaches. Of so many blocks of a plane, as many
/// as `reach` are free if the drive is full and nothing is left to collect.
///
/// # Errors
/// The watermarks, and what they may be.
pub(super) fn are_within(params: &FtlParams, (blocks, reach): (u64, u64)) -> Result<(), Refusal> {
    let FtlParams { gc_low_watermark: low, gc_high_watermark: high, .. } = *params;
    if low <= 0.0 {
        return Ok(());
    }
    let keys = ["ftl.gc_high_watermark", "ftl.gc_low_watermark", "device.over_provisioning"];
    if high <= low {
        let found = format!("a high watermark of {high}, which is not above the low one of {low}");
        return Err(Refusal::new(found, "a share of free blocks above the low watermark").at(keys));
    }
    if blocks_of(high, blocks) > reach {
        let found = format!(
            "a high watermark of {high}, or {} free blocks a plane, of which a full drive can have {reach}",
            blocks_of(high, blocks)
        );
        let expected = format!("a share of at most {}", reach as f64 / blocks as f64);
        return Err(Refusal::new(found, expected).at(keys).help("lower it, or raise device.over_provisioning"));
    }
    Ok(())
}

/// A share of the blocks, as a number of whole ones.
fn blocks_of(share: f64, blocks: u64) -> u64 {
    (share * blocks as f64).ceil() as u64
}
