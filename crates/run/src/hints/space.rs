//! Hints about spare space: what a run took of it without paying, what keeps the data of the ageing, what a scaled-down
//! drive keeps free.

use flashloom_ftl::Counts;
use flashloom_units::{SECTOR_BYTES, Value};
use flashloom_workload::workload::Footprint;

use super::length::lengthens;
use super::{NOTABLE, Run, hint};
use flashloom_config::{Config, Timing};
use flashloom_figures::number::{count, factor, percent};
use flashloom_figures::result::{HintResult, RoomResult};

/// Charge above which the figures of a run differ notably from those of a longer run.
const NOTABLE_CHARGE: f64 = 1.0 + NOTABLE;
/// Share of the over-provisioning that is worth a hint if planes of few blocks keep it free or open.
const LOST: f64 = 0.2;

impl Run<'_> {
    /// Hint if the run lived on erased pages that were there before its first request.
    pub(super) fn unpaid(&self) -> Option<HintResult> {
        let ftl = &self.result.ftl;
        let room = ftl.room.as_ref()?;
        let (owed, written) = (room.taken_pages() + room.unwritten_pages as f64, room.written_pages as f64);
        if written == 0.0
            || owed <= 0.0
            || self.result.nand.erases.total == 0
            || room.charge.is_some_and(|charge| charge < NOTABLE_CHARGE)
        {
            return None;
        }
        let key = self.length_key();
        let share = owed / (written + room.unwritten_pages as f64);
        let unpaid = if share < 1.0 { percent(share) } else { "All".to_owned() };
        let stays = match (ftl.waf_bytes, ftl.steady_waf_bytes) {
            (Some(run), Some(steady)) => {
                format!("Write amplification is {} in bytes, and about {} in a longer run", factor(run), factor(steady))
            }
            _ => format!("Write amplification is too low, and there is no lifetime: {}", self.pays(room, &key)),
        };
        let text = format!(
            "{unpaid} of what was written went to pages that were erased before the first request, or is still in \
             memory, and has cost no erase yet. {stays}."
        );
        hint("unpaid", &key, text)
    }

    /// How long a run pays for half of what it writes, and how to have that sooner.
    pub(super) fn pays(&self, room: &RoomResult, key: &str) -> String {
        let longer = if lengthens(key) {
            let requests = self.requests_until_charged(room);
            format!("about {} requests pay for half of it (`--set {key}={requests}`)", count(requests))
        } else {
            "a longer run, or a smaller drive, pays for more".to_owned()
        };
        if !self.counts() {
            return longer;
        }
        format!("{longer}, and `--set run.timing=counting` counts the same many times faster, without a rest")
    }

    /// Whether a timed run can be counted instead, but for its series and anatomy.
    fn counts(&self) -> bool {
        let counting = Value::Name(Timing::Counting.name());
        let of_time = [("run.series", Value::Absent), ("run.anatomy", Value::Flag(false))];
        let changes = [[("run.timing", counting)].as_slice(), &of_time].concat();
        self.config.run.timing == Timing::Timed && self.config.with(&changes).is_some()
    }

    /// Requests with which the run pays for half of what it writes, rounded up to two digits.
    fn requests_until_charged(&self, room: &RoomResult) -> u64 {
        let pages_a_request = room.written_pages as f64 / self.host().requests as f64;
        // A tenth more, for pages that are still taken while collection begins.
        let requests = 1.1 * room.pages_until_charged() / pages_a_request;
        let digit = 10f64.powf((requests.log10().floor() - 1.0).max(0.0));
        ((requests / digit).ceil() * digit) as u64
    }

    /// Hint if ageing wrote beyond what the workload writes, whose data stays.
    pub(super) fn kept_data(&self) -> Option<HintResult> {
        let capacity = self.config.device.capacity_sectors() * SECTOR_BYTES;
        let share = match self.config.workload_profile().footprint? {
            Footprint::Bytes(bytes) => bytes as f64 / capacity as f64,
            Footprint::Share(share) => share,
        };
        let run = &self.config.run;
        if run.precondition.name() == "none" || self.host().writes == 0 || share >= run.fill * (1.0 - NOTABLE) {
            return None;
        }
        let text = format!(
            "The workload writes {} of the drive, and ageing has written {} of it, whose data stays: what the workload \
             leaves is no spare space. `--set run.fill={}` leaves it unwritten; `device.unpartitioned` limits both.",
            percent(share),
            percent(run.fill),
            (share * 1e4).ceil() / 1e4
        );
        hint("kept-data", "run.fill", text)
    }

    /// Hint if a drive has fewer blocks than its preset, and is left with notably less spare space for that.
    pub(super) fn scaled_down(&self) -> Option<HintResult> {
        let (config, capacity) = (self.config, &self.config.device.capacity);
        let (blocks, of_preset) = (config.device.nand.blocks, config.blocks_of_preset()?);
        if self.result.nand.erases.total == 0 || capacity.counts == Counts::Effective || blocks >= of_preset {
            return None;
        }
        let whole = config.with(&[("device.blocks", Value::Count(of_preset.into()))])?;
        let [left, of_whole] = [config, &whole].map(Config::effective_over_provisioning);
        let (left, of_whole) = (left?, of_whole?);
        if left >= of_whole * (1.0 - LOST) {
            return None;
        }
        let text = format!(
            "Of {} over-provisioning collection has {} in planes of {} blocks, and {} in those of {} that the preset \
             has, whose write amplification is lower: `--set device.over_provisioning_counts=effective` `--set \
             device.over_provisioning={:.4}` leaves as much.",
            percent(capacity.over_provisioning),
            percent(left),
            count(blocks.into()),
            percent(of_whole),
            count(of_preset.into()),
            of_whole
        );
        hint("scaled-down", "device.over_provisioning_counts", text)
    }
}
