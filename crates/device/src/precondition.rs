//! Ageing a drive before it is measured: fill it, then overwrite until write amplification is stable.
//!
//! Pages are written straight to the FTL in counting mode, so an aged drive costs seconds. Write amplification is
//! taken over windows; it is stable when it differs by less than the tolerance from the window before, twice in a row,
//! once every page of the drive has been programmed.

use flashloom_ftl::Mapping;
use flashloom_nand::Lpn;
use flashloom_units::{Interrupt, Prng};
use serde::{Deserialize, Serialize};

use crate::Drive;

/// How to age a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Ageing {
    /// How many logical pages are written once, in order of address.
    pub fill_pages: u64,
    /// Whether they come in whole streams, if the allocation wants any; else they come one at a time.
    pub fill_streams: bool,
    /// Overwrites after that, none for a drive that is only filled.
    pub overwrite: Option<Overwrite>,
}

/// Uniform random overwrites of the filled pages, until steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Overwrite {
    /// Where the addresses come from.
    pub prng: Prng,
    /// Pages in a window, as a share of the filled pages.
    pub window: f64,
    /// Largest relative difference of write amplification between windows that counts as stable.
    pub tolerance: f64,
    /// Gives up after that many windows.
    pub max_windows: u32,
    /// Whether the drive is then left alone, until it has collected what it collects in idle time.
    pub rest: bool,
}

/// What ageing did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// Pages written, fill and overwrites.
    pub pages: u64,
    /// Write amplification of the last window; nothing without overwrites.
    pub waf: Option<f64>,
    /// Whether it was stable at the end.
    pub stable: bool,
    /// Whether so many blocks failed that the drive's life ended before.
    pub is_worn_out: bool,
}

/// Pages that are filled together at least, as a sequential writer's evictions would come.
const FILL_BATCH: u64 = 64;

/// Pages that are filled together: whole streams of the length that the allocation wants. A writer that fills a drive
/// in order of address leaves no gap in the buffer, so whatever makes a stream is one; unless no page is to be in a
/// stream.
fn fill_batch(ftl: &dyn Mapping, fill_streams: bool) -> u64 {
    if !fill_streams {
        return 1;
    }
    FILL_BATCH.next_multiple_of(ftl.wanted_streams().map_or(1, |wanted| u64::from(wanted.pages)))
}

/// Overwrites that are given to the FTL at a time: so many that it can look up pages ahead, so few that they stay in
/// the processor's cache.
const OVERWRITE_BATCH: usize = 256;

/// How often the progress is told, in pages.
const PROGRESS_PAGES: u64 = 1 << 16;

/// Pages go to the FTL, past the buffer.
struct Writer<'a> {
    drive: &'a mut Drive,
    interrupt: &'a Interrupt,
    /// Sees what the drive tells, if anybody looks.
    look: &'a mut dyn FnMut(&mut Drive),
}

impl Writer<'_> {
    /// Writes whole pages together; false if the drive is worn out, or the ageing is interrupted.
    fn write(&mut self, lpns: impl Iterator<Item = u64>) -> bool {
        self.drive.write_past_buffer(lpns.map(|lpn| Lpn(lpn as u32)), true);
        if self.drive.is_watched() {
            (self.look)(self.drive);
        }
        self.goes_on()
    }

    fn goes_on(&self) -> bool {
        !self.drive.is_worn_out() && !self.interrupt.is_raised()
    }

    /// Writes whole pages one after the other; false as [`Self::write`]. Where anybody looks, that is done after each
    /// of them.
    fn write_apart(&mut self, mut lpns: impl Iterator<Item = u64>) -> bool {
        if self.drive.is_watched() {
            return lpns.all(|lpn| self.write(std::iter::once(lpn)));
        }
        self.drive.write_past_buffer(lpns.map(|lpn| Lpn(lpn as u32)), false);
        self.goes_on()
    }

    /// Leaves the drive alone until there is nothing left to do in the background. What moves pages may leave some that
    /// are dead, so that on a drive with next to no spare space there is always something: after as many steps as the
    /// drive has pages it has rested.
    fn rest(&mut self) {
        for _ in 0..self.drive.nand().geometry().total_pages() {
            let is_more = self.drive.idle_step(0);
            // The last step is seen too: whatever is told is checked before the drive is saved.
            if self.drive.is_watched() {
                (self.look)(self.drive);
            }
            if !is_more || self.interrupt.is_raised() {
                return;
            }
        }
    }

    fn programs(&self) -> u64 {
        self.drive.nand().counts().programs.iter().sum()
    }
}

pub(crate) fn precondition(
    drive: &mut Drive,
    ageing: &Ageing,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
    look: &mut dyn FnMut(&mut Drive),
) -> Preconditioned {
    let mut writer = Writer { drive, interrupt, look };
    let (mut first, mut told) = (0, 0);
    while first < ageing.fill_pages {
        let end = (first + fill_batch(writer.drive.ftl(), ageing.fill_streams)).min(ageing.fill_pages);
        if !writer.write(first..end) {
            break;
        }
        if first >= told {
            progress(first);
            told += PROGRESS_PAGES;
        }
        first = end;
    }
    let mut aged = Preconditioned {
        pages: ageing.fill_pages,
        waf: None,
        stable: ageing.overwrite.is_none() || ageing.fill_pages == 0,
        is_worn_out: false,
    };
    if let Some(overwrite) = ageing.overwrite.as_ref().filter(|_| ageing.fill_pages > 0) {
        overwrite_until_stable(&mut writer, overwrite, ageing.fill_pages, &mut aged, progress);
        if overwrite.rest {
            writer.rest();
        }
    }
    if drive.is_worn_out() {
        aged = Preconditioned {
            pages: drive.ftl().report().host_page_writes,
            waf: None,
            stable: false,
            is_worn_out: true,
        };
    }
    drive.reset_flash_counts();
    aged
}

fn overwrite_until_stable(
    writer: &mut Writer<'_>,
    overwrite: &Overwrite,
    filled: u64,
    aged: &mut Preconditioned,
    progress: &mut dyn FnMut(u64),
) {
    let mut prng = overwrite.prng.clone();
    let window = ((filled as f64 * overwrite.window) as u64).max(1);
    // Results depend on the order of the first sixteen addresses, which begin with the second.
    let mut first: [u64; 16] = std::array::from_fn(|_| prng.below(filled));
    first.rotate_left(1);
    let mut lpns = first.into_iter().chain(std::iter::repeat_with(|| prng.below(filled)));
    let mut stable_windows = 0;
    for _ in 0..overwrite.max_windows {
        let before = writer.programs();
        for page in (0..window).step_by(OVERWRITE_BATCH) {
            let pages = (window - page).min(OVERWRITE_BATCH as u64);
            if !writer.write_apart(lpns.by_ref().take(pages as usize)) {
                return;
            }
            if page % PROGRESS_PAGES == 0 {
                progress(aged.pages + page);
            }
        }
        aged.pages += window;
        let waf = (writer.programs() - before) as f64 / window as f64;
        // Before every page of the drive has been programmed once there is nothing to collect, which is not steady.
        let used_up = before >= writer.drive.nand().geometry().total_pages();
        let stable = used_up && aged.waf.is_some_and(|last| (waf / last - 1.0).abs() < overwrite.tolerance);
        stable_windows = if stable { stable_windows + 1 } else { 0 };
        aged.waf = Some(waf);
        if stable_windows == 2 {
            aged.stable = true;
            return;
        }
    }
}
