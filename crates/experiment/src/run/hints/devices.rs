//! Hint about a recording of several devices: where each is replayed, or whose requests were counted once.

use super::{Run, hint};
use crate::figures::count;
use crate::result::HintResult;

/// Devices that are named at most.
const SHOWN: usize = 6;

impl Run<'_> {
    /// Hint if devices are replayed in ranges of their own, or hand requests down to one another.
    pub(super) fn devices(&self) -> Option<HintResult> {
        let info = self.scanned?;
        let ranges: Vec<String> =
            info.device_ranges().map(|(name, sector)| format!("`{name}` from sector {sector}")).collect();
        if ranges.len() > 1 {
            let more = if ranges.len() > SHOWN { ", .." } else { "" };
            let shown = ranges[..ranges.len().min(SHOWN)].join(", ");
            let text =
                format!("The recording's {} devices are replayed one behind the other: {shown}{more}.", ranges.len());
            return hint("device-ranges", "workload.device", text);
        }
        let below = info.devices.iter().find(|device| device.handed_down > 0)?;
        let text = format!(
            "{} requests of `{name}` are those of a device above it, handed down, and count once, as that one's: \
             `workload.device` = \"{name}\" replays them as they reached `{name}`.",
            count(below.handed_down),
            name = below.name
        );
        hint("handed-down", "workload.device", text)
    }
}
