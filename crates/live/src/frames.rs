//! Memory for the data of pages: frames of one page each, counted by their holders.
//!
//! A page that moves keeps its frame: write buffer, flash operation and physical page hold the same one, and nothing is
//! copied. Frames are numbered from 1 and the lowest are used first. Those up to the limit lie in memory, which is
//! taken in chunks as it is needed; all others lie in one file. Frame 0 is a page of zeros and takes no memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use flashloom_units::SECTOR_BYTES;

pub(crate) const SECTOR: usize = SECTOR_BYTES as usize;

/// Bytes of a chunk, of which the system gives what is written to.
const CHUNK_BYTES: usize = 64 << 20;

/// Memory for the data of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Most bytes of data in memory.
    pub limit_bytes: u64,
    /// Folder for the rest: a file without a name, made when the limit is reached.
    pub folder: PathBuf,
}

/// The data of one page. Zero is the page of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame(u32);

impl Frame {
    pub(crate) const ZEROS: Self = Self(0);

    /// Index into tables; only of frames with data.
    fn at(self) -> usize {
        self.0 as usize - 1
    }
}

/// Where the data of a frame is.
#[derive(Clone, Copy)]
enum Place {
    Zeros,
    Memory { chunk: usize, offset: usize },
    File { offset: u64 },
}

pub(crate) struct Frames {
    page_bytes: usize,
    /// Holders of each frame.
    holders: Vec<u32>,
    /// Frames without holders.
    free: Vec<Frame>,
    chunks: Vec<Box<[u8]>>,
    chunk_frames: usize,
    /// Frames that lie in memory.
    in_memory: usize,
    /// Folder for the file.
    folder: PathBuf,
    file: Option<File>,
    /// Data on its way between frames of which one is in the file.
    passing: Vec<u8>,
    error: Option<io::Error>,
}

impl Frames {
    pub(crate) fn new(page_bytes: u32, memory: Memory) -> Self {
        let in_memory = memory.limit_bytes / u64::from(page_bytes);
        Self {
            page_bytes: page_bytes as usize,
            holders: Vec::new(),
            free: Vec::new(),
            chunks: Vec::new(),
            chunk_frames: CHUNK_BYTES / page_bytes as usize,
            in_memory: usize::try_from(in_memory).unwrap_or(usize::MAX),
            folder: memory.folder,
            file: None,
            passing: vec![0; page_bytes as usize],
            error: None,
        }
    }

    /// The first error of the file: what is read since may be wrong.
    pub(crate) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Frames that are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u64 {
        (self.holders.len() - self.free.len()) as u64
    }

    /// Bytes of memory taken, and of the file.
    pub(crate) fn taken_bytes(&self) -> (u64, u64) {
        let in_memory = self.holders.len().min(self.in_memory);
        let bytes = |frames: usize| (frames * self.page_bytes) as u64;
        (bytes(in_memory), bytes(self.holders.len() - in_memory))
    }

    /// One more holder of a frame.
    #[inline]
    pub(crate) fn keep(&mut self, frame: Frame) -> Frame {
        if frame != Frame::ZEROS {
            self.holders[frame.at()] += 1;
        }
        frame
    }

    /// One holder less.
    #[inline]
    pub(crate) fn release(&mut self, frame: Frame) {
        if frame != Frame::ZEROS {
            let holders = &mut self.holders[frame.at()];
            assert!(*holders > 0, "a frame is released by its holders alone");
            *holders -= 1;
            if *holders == 0 {
                self.free.push(frame);
            }
        }
    }

    /// A frame with this data from a sector on, and whatever around it; the caller holds it.
    pub(crate) fn filled(&mut self, first_sector: u32, data: &[u8]) -> Frame {
        let frame = self.take();
        self.write(frame, first_sector as usize * SECTOR, data);
        frame
    }

    /// `base`, whose holder the caller was, with the sectors in the mask of another frame; the caller holds the result.
    /// The other sectors of that frame mean nothing: if it has one holder, those of `base` may be written to them.
    pub(crate) fn overlaid(&mut self, base: Frame, mask: u32, by: Frame) -> Frame {
        let beneath = u32::MAX >> (32 - self.page_bytes / SECTOR) & !mask;
        if mask == 0 || base == by {
            return base;
        }
        let has_one_holder = |frame: Frame| frame != Frame::ZEROS && self.holders[frame.at()] == 1;
        if has_one_holder(base) && beneath != 0 {
            runs(mask).for_each(|run| self.copy(by, base, run));
            return base;
        }
        let result = if has_one_holder(by) || beneath == 0 { self.keep(by) } else { self.take() };
        if result != by {
            runs(mask).for_each(|run| self.copy(by, result, run));
        }
        runs(beneath).for_each(|run| self.copy(base, result, run));
        self.release(base);
        result
    }

    /// Copies the sectors in the mask to `page`, the memory of a page from its sector `first` on.
    pub(crate) fn read(&mut self, frame: Frame, mask: u32, first: u32, page: &mut [u8]) {
        let start = first as usize * SECTOR;
        for run in runs(mask) {
            let to = &mut page[run.start - start..run.end - start];
            match self.place(frame) {
                Place::Zeros => to.fill(0),
                Place::Memory { chunk, offset } => {
                    to.copy_from_slice(&self.chunks[chunk][offset + run.start..offset + run.end]);
                }
                Place::File { offset } => {
                    let read = self.file.as_ref().map(|file| file.read_exact_at(to, offset + run.start as u64));
                    self.note(read);
                }
            }
        }
    }

    fn place(&self, frame: Frame) -> Place {
        if frame == Frame::ZEROS {
            return Place::Zeros;
        }
        let at = frame.at();
        match at.checked_sub(self.in_memory) {
            None => {
                let (chunk, frame) = (at / self.chunk_frames, at % self.chunk_frames);
                Place::Memory { chunk, offset: frame * self.page_bytes }
            }
            Some(in_file) => Place::File { offset: in_file as u64 * self.page_bytes as u64 },
        }
    }

    /// Takes a frame, with whatever data, for one holder.
    fn take(&mut self) -> Frame {
        if let Some(frame) = self.free.pop() {
            self.holders[frame.at()] = 1;
            return frame;
        }
        self.holders.push(1);
        let frame = Frame(self.holders.len() as u32);
        match self.place(frame) {
            Place::Memory { chunk, .. } if chunk == self.chunks.len() => {
                let frames = self.chunk_frames.min(self.in_memory - chunk * self.chunk_frames);
                self.chunks.push(vec![0; frames * self.page_bytes].into());
            }
            Place::File { .. } if self.file.is_none() => match tempfile::tempfile_in(&self.folder) {
                Ok(file) => self.file = Some(file),
                Err(error) => self.note(Some(Err(error))),
            },
            _ => {}
        }
        frame
    }

    fn note(&mut self, outcome: Option<io::Result<()>>) {
        if let (Some(Err(error)), None) = (outcome, &self.error) {
            self.error = Some(error);
        }
    }

    fn write(&mut self, frame: Frame, from: usize, data: &[u8]) {
        match self.place(frame) {
            Place::Zeros => unreachable!("the page of zeros is never written"),
            Place::Memory { chunk, offset } => {
                self.chunks[chunk][offset + from..offset + from + data.len()].copy_from_slice(data);
            }
            Place::File { offset } => {
                let written = self.file.as_ref().map(|file| file.write_all_at(data, offset + from as u64));
                self.note(written);
            }
        }
    }

    fn copy(&mut self, from: Frame, to: Frame, bytes: Range<usize>) {
        match (self.place(from), self.place(to)) {
            (Place::Zeros, Place::Memory { chunk, offset }) => {
                self.chunks[chunk][offset + bytes.start..offset + bytes.end].fill(0);
            }
            (Place::Memory { chunk: old, offset: at }, Place::Memory { chunk, offset }) if old == chunk => {
                self.chunks[chunk].copy_within(at + bytes.start..at + bytes.end, offset + bytes.start);
            }
            (Place::Memory { chunk: old, offset: at }, Place::Memory { chunk, offset }) => {
                let [old, new] = self.chunks.get_disjoint_mut([old, chunk]).expect("two chunks that there are");
                let old = &old[at + bytes.start..at + bytes.end];
                new[offset + bytes.start..offset + bytes.end].copy_from_slice(old);
            }
            _ => {
                let mut passing = std::mem::take(&mut self.passing);
                let mask = mask_of(bytes.start / SECTOR..bytes.end / SECTOR);
                self.read(from, mask, 0, &mut passing);
                self.write(to, bytes.start, &passing[bytes]);
                self.passing = passing;
            }
        }
    }
}

/// The mask of a range of sectors of a page.
pub(crate) fn mask_of(sectors: Range<usize>) -> u32 {
    ((1_u64 << sectors.end) - (1_u64 << sectors.start)) as u32
}

/// Ranges of bytes of the consecutive sectors in a mask.
fn runs(mut mask: u32) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let first = mask.trailing_zeros();
        if first == 32 {
            return None;
        }
        let count = (mask >> first).trailing_ones();
        let end = first + count;
        mask = mask.checked_shr(end).map_or(0, |rest| rest << end);
        Some(first as usize * SECTOR..end as usize * SECTOR)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4 * SECTOR;

    /// Room for some frames in memory, and for the others in a file.
    fn frames(limit_bytes: u64) -> Frames {
        Frames::new(PAGE as u32, Memory { limit_bytes, folder: std::env::temp_dir() })
    }

    fn content(frames: &mut Frames, frame: Frame) -> Vec<u8> {
        let mut page = vec![9; PAGE];
        frames.read(frame, 0xf, 0, &mut page);
        page.chunks(SECTOR).map(|sector| sector[SECTOR - 1]).collect()
    }

    #[test]
    fn the_sectors_of_a_mask_are_runs_of_bytes() {
        let of = |mask| runs(mask).map(|run| (run.start / SECTOR, run.end / SECTOR)).collect::<Vec<_>>();
        assert_eq!(of(0b0110_1001), [(0, 1), (3, 4), (5, 7)]);
        assert_eq!((of(u32::MAX), of(0), of(1 << 31)), (vec![(0, 32)], vec![], vec![(31, 32)]));
        assert_eq!(mask_of(1..3), 0b110);
    }

    #[test]
    fn a_frame_is_changed_for_its_only_holder_and_copied_for_others() {
        // All in the file, all in memory, and the first two frames in memory.
        for limit_bytes in [0, u64::MAX, 2 * PAGE as u64] {
            let mut frames = frames(limit_bytes);
            let old = frames.filled(0, &[1; PAGE]);
            let new = frames.filled(0, &[2; PAGE]);
            let [kept, new_kept] = [old, new].map(|frame| frames.keep(frame));
            let mixed = frames.overlaid(old, 0b0110, new);
            assert!(mixed != kept && mixed != new_kept, "others hold both");
            assert_eq!((content(&mut frames, mixed), content(&mut frames, kept)), (vec![1, 2, 2, 1], vec![1; 4]));
            assert_eq!(content(&mut frames, new), [2; 4]);
            let again = frames.overlaid(mixed, 0b1000, Frame::ZEROS);
            assert_eq!((again, content(&mut frames, again)), (mixed, vec![1, 2, 2, 0]), "it had one holder");
            let over_zeros = frames.overlaid(Frame::ZEROS, 0b0110, new);
            assert_eq!(content(&mut frames, over_zeros), [0, 2, 2, 0]);
            let whole = frames.overlaid(over_zeros, 0b1111, kept);
            assert_eq!((whole, frames.held()), (kept, 3), "a whole page is not copied");
            assert_eq!(content(&mut frames, Frame::ZEROS), [0; 4]);
            assert!(frames.error().is_none());
        }
    }

    #[test]
    fn what_only_its_writer_holds_is_completed_in_its_place() {
        for limit_bytes in [0, u64::MAX, PAGE as u64] {
            let mut frames = frames(limit_bytes);
            let old = frames.filled(0, &[1; PAGE]);
            let written = frames.filled(2, &[2; SECTOR]);
            let kept = frames.keep(old);
            assert_eq!(frames.overlaid(old, 0b0100, written), written);
            assert_eq!((content(&mut frames, written), content(&mut frames, kept)), (vec![1, 1, 2, 1], vec![1; 4]));
            frames.release(written);
            let zeros = frames.overlaid(Frame::ZEROS, 0b0100, written);
            assert_eq!((zeros, content(&mut frames, zeros)), (written, vec![0, 0, 2, 0]));
            assert_eq!(frames.held(), 2);
        }
    }

    #[test]
    fn what_is_not_held_is_used_again_and_memory_stays_below_its_limit() {
        // The second chunk has room for two frames.
        let chunk = CHUNK_BYTES / PAGE;
        let mut frames = frames((CHUNK_BYTES + 3 * PAGE - 1) as u64);
        let mut taken: Vec<Frame> = (0..chunk).map(|_| frames.filled(0, &[])).collect();
        taken.extend((0..5).map(|byte| frames.filled(0, &[byte; PAGE])));
        let bytes = ((CHUNK_BYTES + 2 * PAGE) as u64, 3 * PAGE as u64);
        assert_eq!(frames.taken_bytes(), bytes);
        for byte in 0..5 {
            assert_eq!(content(&mut frames, taken[chunk + byte]), [byte as u8; 4]);
        }
        frames.release(taken[chunk]);
        assert_eq!((frames.filled(0, &[7; PAGE]), frames.held()), (taken[chunk], chunk as u64 + 5));
        assert_eq!(frames.taken_bytes(), bytes);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_an_error_that_is_kept() {
        let mut frames = Frames::new(PAGE as u32, Memory { limit_bytes: 0, folder: "/nowhere/at/all".into() });
        frames.filled(0, &[1; PAGE]);
        assert!(frames.error().is_some());
    }
}
