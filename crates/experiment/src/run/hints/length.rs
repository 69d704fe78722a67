//! Hints about runs that are too short for their drive, and the smaller drive that they are long enough for.

use flashloom_workload::Addresses;
use serde_json::Value;

use super::{NOTABLE, Run, hint};
use crate::config::Config;
use crate::figures::{factor, percent};
use crate::result::HintResult;

/// Fewest blocks a plane, and pages a block, of a smaller drive: with less, free and open blocks are most of the spare
/// space.
const LEAST_BLOCKS: u32 = 32;
const LEAST_PAGES: u32 = 16;

impl Run<'_> {
    pub(super) fn never_collected(&self) -> Option<HintResult> {
        let nand = &self.result.nand;
        if nand.programs.host == 0 || nand.programs.gc > 0 || nand.erases.total > 0 {
            return None;
        }
        let figures = match self.host().duration_ns {
            Some(_) => "latencies and write amplification are those",
            None => "write amplification is that",
        };
        let found =
            format!("No block was erased during the run, so that {figures} of a drive that never collects garbage");
        let precondition = self.config.run.precondition.name();
        if precondition == "steady" {
            let (key, advice) = self.longer_or_smaller();
            return hint(
                "never-collected",
                key,
                format!("{found}: the workload is too short for this drive; {advice}."),
            );
        }
        let text = format!(
            "{found}: after `run.precondition` = \"{precondition}\" it still had free blocks, which \"steady\" uses up."
        );
        hint("never-collected", "run.precondition", text)
    }

    /// Hint if a recording overwrote so little of an aged drive that its garbage is still that of the ageing.
    pub(super) fn short_for_drive(&self) -> Option<HintResult> {
        let nand = &self.result.nand;
        let written = nand.programs.host as f64 / self.config.device.geometry().total_pages() as f64;
        let is_aged = self.config.run.precondition.name() == "steady";
        if self.scanned.is_none() || !is_aged || nand.erases.total == 0 || written >= NOTABLE {
            return None;
        }
        let (key, advice) = self.longer_or_smaller();
        let text = format!(
            "The recording wrote {} of the drive, so that collections found what the random writes of the ageing left, \
             and write amplification is theirs more than the recording's: {advice}.",
            percent(written)
        );
        hint("short-for-drive", key, text)
    }

    pub(super) fn lifetime(&self) -> Option<HintResult> {
        let lifetime = self.result.wear.lifetime.as_ref()?;
        if lifetime.erases_mean >= 1.0 {
            return None;
        }
        let (key, advice) = self.longer_or_smaller();
        let text = format!(
            "The lifetime comes from {} erases a block on average: until each was erased about once, chance decides \
             which is the worst; {advice}.",
            factor(lifetime.erases_mean)
        );
        hint("lifetime", key, text)
    }

    /// What makes the run long enough for its drive: a key, and words.
    fn longer_or_smaller(&self) -> (&'static str, String) {
        let key = self.length_key();
        if key != RECORDED {
            return (key, "a longer one helps".to_owned());
        }
        match self.smaller() {
            Some(options) => ("device.blocks", format!("on a smaller drive it overwrites every page once: {options}")),
            None => {
                let planes = self.config.device.geometry().total_planes();
                let help = format!("a longer recording helps, or a drive of fewer planes than these {planes}");
                ("device.ways", help)
            }
        }
    }

    /// Options that make the drive so small that the run programs as many pages for the host as it has: fewer blocks, or
    /// also fewer pages in each. `None` if that leaves too few of them, or the recording no room.
    fn smaller(&self) -> Option<String> {
        let nand = &self.config.device.nand;
        let planes = u64::from(self.config.device.geometry().total_planes());
        let pages_a_plane = u32::try_from(self.result.nand.programs.host / planes).ok()?;
        let blocks = pages_a_plane / nand.pages;
        let (blocks, pages) = match blocks {
            LEAST_BLOCKS.. => (blocks, nand.pages),
            _ => (LEAST_BLOCKS, pages_a_plane / LEAST_BLOCKS / nand.bits_per_cell * nand.bits_per_cell),
        };
        if pages < LEAST_PAGES || (blocks, pages) >= (nand.blocks, nand.pages) {
            return None;
        }
        let config = self.config.reshaped(blocks, pages).filter(|config| self.has_room(config))?;
        let smaller = &config.device.nand;
        let mut options = format!("`--set device.blocks={}`", smaller.blocks);
        if smaller.pages < nand.pages {
            options.push_str(&format!(" `--set device.pages={}`", smaller.pages));
        }
        Some(options)
    }

    /// True if the addresses of the recording are within that drive, or are moved there.
    fn has_room(&self, config: &Config) -> bool {
        let first = config.workload.first_sector;
        let span = self.scanned.map_or(0, |info| info.span_bytes.div_ceil(flashloom_units::SECTOR_BYTES));
        config.workload.addresses != Addresses::Error || span.saturating_sub(first) <= config.device.capacity_sectors()
    }

    /// Key that makes the workload longer.
    pub(super) fn length_key(&self) -> &'static str {
        let workload = &self.config.workload;
        key_of(workload.kind, workload.requests.is_some())
    }
}

/// Key of what was recorded or written down elsewhere, and is as long as it is.
const RECORDED: &str = "workload.path";

/// Key that makes a workload longer, by the configuration of its result.
pub fn length_key(config: &Value) -> &'static str {
    let workload = &config["workload"];
    key_of(workload["kind"].as_str().unwrap_or_default(), workload.get("requests").is_some())
}

fn key_of(kind: &str, is_cut: bool) -> &'static str {
    match kind {
        _ if is_cut => "workload.requests",
        "synthetic" => "workload.synthetic.requests",
        "synthesized" => "workload.synthesized.requests",
        "trace" | "fio" => RECORDED,
        _ => "workload.kind",
    }
}
