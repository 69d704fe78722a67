//! Naive data and log blocks of one chip, for models of log-block schemes: plain lists, searched for each question.

use super::Ftl;

/// Counters of merges, copies and erases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub switch: u64,
    pub partial: u64,
    pub full: u64,
    pub copies: u64,
    pub erases: u64,
    /// Merges by k(L).
    pub associativity: Vec<u64>,
}

/// The place of the newest copy of a page: in the data block of its logical block, or at a page of a log block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CopyPlace {
    Data,
    Log(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merge {
    Switch,
    Partial,
    Full,
}

#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The logical page written to each page; `None` for a filler.
    pub pages: Vec<Option<u32>>,
    /// The logical block of a sequential log block.
    pub sequence_of: Option<u32>,
    pub written: u64,
}

/// The blocks of a chip, what each merge costs, and the rule for the pages that go to data blocks.
pub struct LogBlocks {
    /// Pages per block.
    pub n: u32,
    pub logs: Vec<Option<Log>>,
    /// By logical page.
    pub newest: Vec<Option<CopyPlace>>,
    /// Pages programmed of each data block.
    data: Vec<Option<u32>>,
    /// Pages written to the log.
    pub clock: u64,
    pub counts: Counts,
}

impl LogBlocks {
    pub fn new(n: u32, blocks: u32, log_blocks: u32) -> Self {
        Self {
            n,
            logs: vec![None; log_blocks as usize],
            newest: vec![None; (blocks * n) as usize],
            data: vec![None; blocks as usize],
            clock: 0,
            counts: Counts::default(),
        }
    }

    /// Writes a page to its data block, if it is the next one there. Else counts it as written to the log, where the
    /// scheme has to write it, and returns false.
    pub fn write_in_place(&mut self, lpn: u32) -> bool {
        let (block, offset) = (lpn / self.n, lpn % self.n);
        let is_in_log = (0..self.n).any(|page| matches!(self.place(block, page), Some(CopyPlace::Log(..))));
        let data = &mut self.data[block as usize];
        let is_next = *data == Some(offset) || (data.is_none() && offset == 0 && !is_in_log);
        if is_next {
            *data = Some(offset + 1);
            self.newest[lpn as usize] = Some(CopyPlace::Data);
        } else {
            self.clock += 1;
        }
        is_next
    }

    /// Opens a log block, of which one is free; `sequence_of` is the logical block of a sequential one.
    pub fn open(&mut self, sequence_of: Option<u32>) -> usize {
        let at = self.logs.iter().position(Option::is_none).expect("one is free");
        self.logs[at] = Some(Log { sequence_of, ..Log::default() });
        at
    }

    pub fn log(&mut self, at: usize) -> &mut Log {
        self.logs[at].as_mut().expect("it is in use")
    }

    pub fn in_use(&self) -> Vec<usize> {
        (0..self.logs.len()).filter(|&at| self.logs[at].is_some()).collect()
    }

    pub fn free_log_blocks(&self) -> u32 {
        self.logs.iter().filter(|log| log.is_none()).count() as u32
    }

    pub fn written(&self, at: usize) -> u32 {
        self.logs[at].as_ref().map_or(0, |log| log.pages.len() as u32)
    }

    pub fn free_pages(&self, at: usize) -> u32 {
        self.n - self.written(at)
    }

    /// A(L).
    pub fn data_blocks_of(&self, at: usize) -> Vec<u32> {
        let of = |(lpn, place): (u32, &Option<CopyPlace>)| {
            matches!(place, Some(CopyPlace::Log(log, _)) if *log == at).then_some(lpn / self.n)
        };
        let mut blocks: Vec<u32> = (0..).zip(&self.newest).filter_map(of).collect();
        blocks.dedup();
        blocks
    }

    /// k(L).
    pub fn k(&self, at: usize) -> u32 {
        self.data_blocks_of(at).len() as u32
    }

    pub fn place(&self, block: u32, offset: u32) -> Option<CopyPlace> {
        self.newest[(block * self.n + offset) as usize]
    }

    /// Number of pages of a logical block up to the last for which the condition holds.
    pub fn end(&self, block: u32, holds: impl Fn(Option<CopyPlace>) -> bool) -> u32 {
        (1..=self.n).rev().find(|&end| holds(self.place(block, end - 1))).unwrap_or(0)
    }

    /// The kind of merge for a sequential log block.
    pub fn merge_of(&self, at: usize, block: u32) -> Merge {
        let written = self.written(at);
        let is_in_place = |offset: u32| match self.place(block, offset) {
            Some(CopyPlace::Data) => offset >= written,
            Some(CopyPlace::Log(log, index)) => log != at || index as u32 == offset,
            None => true,
        };
        if self.k(at) == 0 || !(0..self.n).all(is_in_place) {
            Merge::Full
        } else if self.end(block, |place| place == Some(CopyPlace::Data)) <= written {
            Merge::Switch
        } else {
            Merge::Partial
        }
    }

    pub fn append(&mut self, at: usize, lpn: u32) {
        let clock = self.clock;
        let log = self.log(at);
        log.pages.push(Some(lpn));
        log.written = clock;
        self.newest[lpn as usize] = Some(CopyPlace::Log(at, self.written(at) as usize - 1));
        assert!(self.written(at) <= self.n);
    }

    /// Copies pages of a logical block to the log block that holds it in place, up to an offset.
    pub fn pad(&mut self, at: usize, block: u32, upto: u32) {
        for offset in self.written(at)..upto {
            let lpn = block * self.n + offset;
            let is_mapped = self.newest[lpn as usize].is_some();
            self.log(at).pages.push(is_mapped.then_some(lpn));
            if is_mapped {
                self.newest[lpn as usize] = Some(CopyPlace::Log(at, offset as usize));
            }
            self.counts.copies += 1;
        }
    }

    pub fn replace_data_block(&mut self, block: u32, pages: u32) {
        self.counts.erases += u64::from(self.data[block as usize].is_some());
        self.data[block as usize] = Some(pages);
    }

    pub fn note_merge(&mut self, at: usize) {
        let k = self.k(at) as usize;
        let length = self.counts.associativity.len().max(k + 1);
        self.counts.associativity.resize(length, 0);
        self.counts.associativity[k] += 1;
    }

    /// Switch: a sequential log block becomes the data block of its logical block.
    pub fn becomes_data_block(&mut self, at: usize, block: u32) {
        for place in &mut self.newest {
            if matches!(place, Some(CopyPlace::Log(log, _)) if *log == at) {
                *place = Some(CopyPlace::Data);
            }
        }
        self.replace_data_block(block, self.written(at));
        self.logs[at] = None;
    }

    pub fn merge(&mut self, at: usize, kind: Merge) {
        self.note_merge(at);
        if kind != Merge::Full {
            let block = self.data_blocks_of(at)[0];
            if kind == Merge::Partial {
                self.counts.partial += 1;
                self.pad(at, block, self.end(block, |place| place == Some(CopyPlace::Data)));
            } else {
                self.counts.switch += 1;
            }
            return self.becomes_data_block(at, block);
        }
        self.counts.full += 1;
        for block in self.data_blocks_of(at) {
            let end = self.end(block, |place| place.is_some());
            let first = block * self.n;
            self.newest[first as usize..(first + end) as usize]
                .iter_mut()
                .flatten()
                .for_each(|place| *place = CopyPlace::Data);
            self.counts.copies += u64::from(end);
            self.replace_data_block(block, end);
        }
        self.counts.erases += 1;
        self.logs[at] = None;
    }
}

impl Counts {
    /// What an FTL has counted.
    pub fn of(ftl: &Ftl) -> Self {
        let (report, merges) = (ftl.report(), ftl.merges());
        Self {
            switch: merges.switch,
            partial: merges.partial,
            full: merges.full,
            copies: report.page_copies,
            erases: report.block_erases,
            associativity: merges.associativity,
        }
    }
}
