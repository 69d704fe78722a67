//! Hints about spare space: what a run took of it without paying, what keeps the data of the ageing, what a scaled-down
//! drive keeps free.

use flashloom_ftl::Counts;
use flashloom_units::{SECTOR_BYTES, Value};
use flashloom_workload::workload::Footprint;

use super::{NOTABLE, Run, hint};
use crate::config::Timing;
use crate::figures::{count, factor, percent};
use crate::result::{HintResult, RoomResult};

/// Charge from which on a run differs notably from one that goes on.
const NOTABLE_CHARGE: f64 = 1.0 + NOTABLE;
/// Share of the over-provisioning that is worth a hint if it is kept free or open.
const LOST: f64 = 0.2;

impl Run<'_> {
    /// Hint if the run lived on erased pages that were there before its first request.
    pub(super) fn unpaid(&self) -> Option<HintResult> {
        let ftl = &self.result.ftl;
        let room = ftl.room.as_ref()?;
        let (owed, written) = (room.taken_pages() + room.unwritten_pages as f64, room.written_pages as f64);
        if written == 0.0
            || self.result.nand.erases.total == 0
            || room.charge.is_some_and(|charge| charge < NOTABLE_CHARGE)
        {
            return None;
        }
        let key = self.length_key();
        let unpaid = percent(owed / (written + room.unwritten_pages as f64));
        let stays = match (ftl.waf_bytes, ftl.steady_waf_bytes) {
            (Some(run), Some(steady)) => {
                let (run, steady) = (factor(run), factor(steady));
                format!(
                    "write amplification is {run} in bytes, and {steady} once that is paid for; a longer run has to"
                )
            }
            _ => format!(
                "write amplification is lower than it stays, and there is no lifetime; {}",
                self.pays(room, &key)
            ),
        };
        let text = format!(
            "{unpaid} of what was written took pages that were erased before the first request, or has not reached \
             flash: {stays}."
        );
        hint("unpaid", &key, text)
    }

    /// How long a run pays for half of what it writes, and how to have that sooner.
    pub(super) fn pays(&self, room: &RoomResult, key: &str) -> String {
        let longer = if key.ends_with(".requests") {
            let requests = self.requests_until_charged(room);
            format!("about {} requests pay for half of it (`--set {key}={requests}`)", count(requests))
        } else {
            "a longer one, or a smaller drive, pays for more".to_owned()
        };
        match self.counts() {
            true => {
                format!("{longer}, and `--set run.timing=counting` counts the same many times faster, without a rest")
            }
            false => longer,
        }
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

    /// Hint if a drive has fewer blocks than its preset, and keeps a notable part of its spare space free or open.
    pub(super) fn scaled_down(&self) -> Option<HintResult> {
        let capacity = &self.config.device.capacity;
        let effective = self.result.ftl.effective_over_provisioning?;
        let preset = self.config.blocks_of_preset()?;
        let (blocks, asked) = (self.config.device.nand.blocks, capacity.over_provisioning);
        if capacity.counts == Counts::Effective || blocks >= preset || effective >= asked * (1.0 - LOST) {
            return None;
        }
        let text = format!(
            "Of {} over-provisioning {} are left: planes of {} blocks keep as many free and open as those of {}, so \
             that write amplification is higher than the whole drive's. \"effective\" counts what is left.",
            percent(asked),
            percent(effective),
            count(blocks.into()),
            count(preset.into())
        );
        hint("scaled-down", "device.over_provisioning_counts", text)
    }
}
