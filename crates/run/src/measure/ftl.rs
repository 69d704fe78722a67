//! Part of the result about the flash translation layer, from the counters of every FTL and its policies' figures.

use flashloom_ftl::{PAGE_MAPPING, RetiredBlocks, SINGLE_CHIP, allocation, collection, mapping, placement};

use super::room::{copies, room};
use super::{Measured, share};
use flashloom_figures::result::{FtlResult, RetiredResult};

impl Measured<'_> {
    pub(super) fn ftl(&self) -> FtlResult {
        let report = &self.outcome.ftl;
        let programs: u64 = self.outcome.counts.programs.iter().sum();
        // What pads a victim is the buffer's work, not the host's: it amplifies.
        let padding = self.outcome.buffer.map_or(0, |buffer| buffer.padding_pages);
        let page_bytes = self.config.device.nand.page_bytes as f64;
        let host_bytes = self.outcome.host.write_bytes as f64;
        let room = room(&self.config.device, self.outcome);
        let copies = copies(self.outcome) as f64;
        let charged = |charge| programs as f64 - copies + room.unwritten_pages as f64 + charge * copies;
        let collects = self.config.mapping_offers(PAGE_MAPPING);
        FtlResult {
            mapping: self.policy(&mapping::SLOT),
            allocation: collects.then(|| self.policy(&allocation::SLOT)),
            gc: collects.then(|| self.policy(&collection::SLOT)),
            placement: self.config.mapping_offers(SINGLE_CHIP).then(|| self.policy(&placement::SLOT)),
            host_page_writes: report.host_page_writes,
            host_page_reads: report.host_page_reads,
            page_copies: report.page_copies,
            block_erases: report.block_erases,
            read_modify_writes: report.read_modify_writes,
            trimmed_pages: report.trimmed_pages,
            waf_bytes: share(programs as f64 * page_bytes, host_bytes),
            steady_waf_bytes: room.charge.and_then(|charge| share(charged(charge) * page_bytes, host_bytes)),
            waf: share(programs as f64, report.host_page_writes as f64 - padding as f64),
            effective_over_provisioning: self.effective_over_provisioning(),
            room: Some(room),
            retired_blocks: report.retired.map(retired),
        }
    }
}

fn retired(RetiredBlocks { factory, program, erase }: RetiredBlocks) -> RetiredResult {
    RetiredResult { factory, program, erase }
}
