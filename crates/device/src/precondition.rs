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

/// Parameters of ageing.
#[derive(Clone, Debug, PartialEq)]
pub struct Ageing {
    /// Logical pages written once, in order of address.
    pub fill_pages: u64,
    /// True to write them in whole streams if the allocation uses streams; false to write one page at a time.
    pub fill_streams: bool,
    /// Overwrites after the fill; `None` for a drive that is only filled.
    pub overwrite: Option<Overwrite>,
}

/// Uniform random overwrites of the filled pages, until steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Overwrite {
    /// Source of the addresses.
    pub prng: Prng,
    /// Length of a window, as a share of the filled pages.
    pub window: f64,
    /// Largest relative difference of write amplification between windows that counts as stable.
    pub tolerance: f64,
    /// Windows after which ageing gives up.
    pub max_windows: u32,
    /// True to let background collection run to its end afterwards.
    pub rest: bool,
}

/// Result of ageing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// Pages written by fill and overwrites.
    pub pages: u64,
    /// Write amplification of the last window; `None` without overwrites.
    pub waf: Option<f64>,
    /// True if write amplification was stable at the end.
    pub stable: bool,
    /// True if the drive wore out while it was aged.
    pub is_worn_out: bool,
}

/// Minimum pages per batch of the fill, like the evictions of a sequential writer.
const FILL_BATCH: u64 = 64;

/// Pages per batch of the fill: whole streams of the allocation's length, because a sequential writer would fill the
/// buffer with whole streams. One page if `fill_streams` is false.
fn fill_batch(ftl: &dyn Mapping, fill_streams: bool) -> u64 {
    let unit = u64::from(ftl.traits().unit_pages);
    if !fill_streams {
        return unit;
    }
    FILL_BATCH.next_multiple_of(unit).next_multiple_of(ftl.wanted_streams().map_or(1, |wanted| u64::from(wanted.pages)))
}

/// Overwrites per call of the FTL: enough to prefetch map entries ahead, few enough to stay in the processor's cache.
const OVERWRITE_BATCH: usize = 256;

/// Pages between calls of the progress callback.
const PROGRESS_PAGES: u64 = 1 << 16;

/// Writes pages to the FTL, bypassing the buffer.
struct Writer<'a> {
    drive: &'a mut Drive,
    interrupt: &'a Interrupt,
    /// Receives the drive's events, if there is an observer.
    look: &'a mut dyn FnMut(&mut Drive),
}

impl Writer<'_> {
    /// Writes whole pages in one call; false if the drive wore out or the ageing was interrupted.
    fn write(&mut self, lpns: impl Iterator<Item = u64>) -> bool {
        self.drive.write_past_buffer(lpns.map(|lpn| Lpn(lpn as u32)), true);
        if self.drive.nand().is_watched() {
            (self.look)(self.drive);
        }
        self.goes_on()
    }

    fn goes_on(&self) -> bool {
        !self.drive.is_worn_out() && !self.interrupt.is_raised()
    }

    /// Writes whole pages one after the other; false as [`Self::write`]. An observer sees the events after each page.
    fn write_apart(&mut self, mut lpns: impl Iterator<Item = u64>) -> bool {
        if self.drive.nand().is_watched() {
            return lpns.all(|lpn| self.write(std::iter::once(lpn)));
        }
        self.drive.write_past_buffer(lpns.map(|lpn| Lpn(lpn as u32)), false);
        self.goes_on()
    }

    /// Runs background steps until there are none left, or as many as the drive has pages: with next to no spare space
    /// collection keeps making dead pages, and would never end.
    fn rest(&mut self) {
        for _ in 0..self.drive.nand().geometry().total_pages() {
            let is_more = self.drive.idle_step(0) || self.drive.flash.flush_step(0);
            // After the last step too, so that its events are checked before the drive is saved.
            if self.drive.nand().is_watched() {
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

/// How a drive was filled. The result is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// In closed form, block by block, because the FTL knows where the pages of a sequential fill go.
    InClosedForm,
    /// By a write for each page.
    PageByPage,
}

/// Ages a drive. Also returns how it was filled, if pages were to be.
pub(crate) fn precondition(
    drive: &mut Drive,
    ageing: &Ageing,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(u64),
    look: &mut dyn FnMut(&mut Drive),
) -> (Preconditioned, Option<Filled>) {
    let mut writer = Writer { drive, interrupt, look };
    let filled = fill(&mut writer, ageing, progress);
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
    drive.flash.reset_counts();
    (aged, filled)
}

/// Fills the drive, in closed form if it can be.
fn fill(writer: &mut Writer<'_>, ageing: &Ageing, progress: &mut dyn FnMut(u64)) -> Option<Filled> {
    let pages = ageing.fill_pages;
    if pages == 0 || !writer.goes_on() {
        return None;
    }
    if writer.drive.flash.fill(pages, fill_batch(writer.drive.ftl(), ageing.fill_streams)) {
        return Some(Filled::InClosedForm);
    }
    fill_page_by_page(writer, ageing, progress);
    Some(Filled::PageByPage)
}

fn fill_page_by_page(writer: &mut Writer<'_>, ageing: &Ageing, progress: &mut dyn FnMut(u64)) {
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
        // Not steady until every page of the drive has been programmed once: before, there is nothing to collect.
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

#[cfg(test)]
mod tests;
