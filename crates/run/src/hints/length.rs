//! Hints about runs that are too short for their drive, and the smaller drive that they are long enough for.

use std::iter;

use flashloom_units::{PolicySpec, SECTOR_BYTES};
use flashloom_workload::Addresses;
use serde_json::Value;

use super::{NOTABLE, Run, hint};
use flashloom_config::Catalog;
use flashloom_figures::number::{factor, percent};
use flashloom_figures::result::HintResult;

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
            let (key, advice) = match (self.length_key(), &self.result.ftl.room) {
                (key, Some(room)) if lengthens(&key) => (key.clone(), self.pays(room, &key)),
                _ => self.longer_or_smaller(),
            };
            let text = format!("{found}: the workload is too short for this drive; {advice}.");
            return hint("never-collected", &key, text);
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
        hint("short-for-drive", &key, text)
    }

    /// Hint if a lifetime comes from few erases; of one whose rating is assumed it is the last.
    pub(super) fn lifetime(&self, is_assumed: bool) -> Option<HintResult> {
        let lifetime = self.result.wear.lifetime.as_ref()?;
        if lifetime.erases_mean >= 1.0 || lifetime.is_assumed_rating != is_assumed {
            return None;
        }
        let (key, advice) = self.longer_or_smaller();
        let text = format!(
            "The lifetime comes from {} erases a block on average: until each was erased about once, chance decides \
             which is the worst; {advice}.",
            factor(lifetime.erases_mean)
        );
        hint("lifetime", &key, text)
    }

    /// What makes the run long enough for its drive: a key, and words.
    fn longer_or_smaller(&self) -> (String, String) {
        let key = self.length_key();
        if key != RECORDED {
            return (key, "a longer one helps".to_owned());
        }
        match self.smaller() {
            Some(options) => {
                let help = format!("on a smaller drive it overwrites every page once: {options}");
                ("device.blocks".to_owned(), help)
            }
            None => {
                let planes = self.config.device.geometry().total_planes();
                let help = format!("a longer recording helps, or a drive of fewer planes than these {planes}");
                ("device.ways".to_owned(), help)
            }
        }
    }

    /// Options that make the drive so small that the run programs as many pages for the host as it has: fewer blocks
    /// and, where those would be too few or leave no spare space, fewer pages in each. `None` without such a drive.
    fn smaller(&self) -> Option<String> {
        let nand = &self.config.device.nand;
        let planes = u64::from(self.config.device.geometry().total_planes());
        let pages_a_plane = u32::try_from(self.result.nand.programs.host / planes).ok()?;
        let fewest = (pages_a_plane / nand.pages).max(LEAST_BLOCKS);
        let shapes = iter::successors(Some(fewest), |blocks| blocks.checked_mul(2)).map(|blocks| {
            let pages = pages_a_plane / blocks / nand.bits_per_cell * nand.bits_per_cell;
            (blocks, pages.min(nand.pages))
        });
        let (blocks, pages, config) = shapes
            .take_while(|&(blocks, pages)| blocks <= nand.blocks && pages >= LEAST_PAGES)
            .filter(|&(blocks, pages)| blocks < nand.blocks || pages < nand.pages)
            .find_map(|(blocks, pages)| Some((blocks, pages, self.config.reshaped(blocks, pages)?)))?;
        let shorter = if pages < nand.pages { format!(" `--set device.pages={pages}`") } else { String::new() };
        let span = self.scanned.map_or(0, |info| info.span_bytes.div_ceil(SECTOR_BYTES));
        let has_room = span.saturating_sub(config.workload.first_sector) <= config.device.capacity_sectors();
        let is_moved = has_room || config.workload.addresses != Addresses::Error;
        let wrapped = if is_moved { "" } else { " `--set workload.addresses=wrap`" };
        Some(format!("`--set device.blocks={blocks}`{shorter}{wrapped}"))
    }

    /// Key that makes the workload longer.
    pub(super) fn length_key(&self) -> String {
        let is_cut = self.config.workload.requests == Some(self.host().requests);
        key_of(self.config.policy("workload.kind").0, self.config.workload_profile().reads_path, is_cut)
    }
}

/// True if a key makes requests. `workload.requests` only cuts a workload, which may have no more.
pub(super) fn lengthens(key: &str) -> bool {
    key.ends_with(".requests") && key != "workload.requests"
}

/// Key of what was recorded or written down elsewhere, and is as long as it is.
const RECORDED: &str = "workload.path";

/// Key that makes the workload of a result longer.
pub fn length_key(catalog: &Catalog, result: &Value) -> String {
    let (workload, requests) = (&result["config"]["workload"], &result["host"]["requests"]);
    let kind = workload["kind"].as_str().unwrap_or_default();
    let spec = catalog.registry().workloads.find(kind).map_or(&PolicySpec::BLANK, |policy| policy.spec);
    key_of(spec, workload["path"].is_string(), workload.get("requests") == Some(requests))
}

/// `is_cut`: all the requests came that `workload.requests` lets come.
fn key_of(spec: &PolicySpec, reads_path: bool, is_cut: bool) -> String {
    if is_cut {
        "workload.requests".to_owned()
    } else if spec.params.iter().any(|param| param.name == "requests") {
        format!("workload.{}.requests", spec.name)
    } else if reads_path {
        RECORDED.to_owned()
    } else {
        "workload.kind".to_owned()
    }
}
