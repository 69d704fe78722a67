//! Words of data sheets, standards and papers that are no names here: each leads to the names that this program has for
//! it, or to what is not modelled.

use super::{Block, Page, described};

const TITLE: &str = "Words of the field";
const HELP: &str = "What data sheets, standards and papers call things, and the keys, fields and policies that stand \
                    for them here. `flashloom explain` takes each; `docs/glossary.md` has the words of the documents.";

macro_rules! terms {
    ($([$($name:literal),+]: $help:literal,)+) => { &[$((&[$($name),+], $help),)+] };
}

/// The words for a thing, and the names of it in backquotes, each of which is explained.
const TERMS: &[(&[&str], &str)] = terms! {
    ["SLC", "MLC", "TLC", "QLC"]:
        "Flash with one (SLC), two (MLC), three (TLC) or four (QLC) bits a cell: `device.bits_per_cell`. `devices` \
         has described drives. A part of the flash that holds one bit a cell and takes bursts: `SLC cache`.",
    ["SLC cache", "pSLC", "SLC mode", "folding"]:
        "Blocks that hold one bit a cell for a time and take the host's pages first: `ftl.slc_cache`. What it took \
         is `result.ftl.mapping.slc_writes`, its erases are `slc_erase_count`. What is not modelled of it: `SLC \
         cache of log-block mappings`.",
    ["DWPD", "drive writes per day", "drive writes a day"]:
        "Drive writes per day: what may be written each day for five years until blocks reach their rating, over the \
         capacity: `mean_drive_writes_per_day` and `worst_drive_writes_per_day`, by `device.rated_cycles`. \
         How long the drive lasts at the rate of the run is `mean_years` and `worst_years`.",
    ["TBW", "terabytes written"]:
        "Bytes that the host may write until blocks reach their rating: `lifetime.mean_bytes` and \
         `lifetime.worst_bytes`, by `device.rated_cycles`. What the data sheet says: `device.rated_writes`.",
    ["P/E cycles", "endurance"]:
        "Erases that a block is rated for: `device.rated_cycles`. Erases of a run: `erase_count`; what they leave of \
         the drive's life: `lifetime`. A block's age changes neither its times nor its failures: `retention`.",
    ["QoS", "quality of service", "tail latency"]:
        "The latency that all but a few requests keep within, as data sheets state it: `p99`, `p99_9` and `p99_99` of \
         `result.host.latency_ns.read` and its siblings; `hints` say where a percentile rests on too few requests. \
         Limits and shares of tenants are not modelled: `several hosts and queues`.",
    ["NCQ", "native command queuing", "outstanding commands"]:
        "The number of commands that the drive takes at once: `host.queue_depth`, 31 or 32 with NCQ and 1 without.",
    ["TRIM", "unmap", "deallocate"]:
        "A request that discards sectors. `discard_share` generates them, recordings have them, `discards` counts \
         them.",
    ["OP", "spare area"]:
        "Flash beyond the capacity that the host sees: `device.over_provisioning`, and what is left of it for garbage \
         collection: `effective_over_provisioning`. A part of the drive without a partition is as good: \
         `device.unpartitioned`.",
    ["WA", "write amplification", "WAF in bytes", "WAF of pages"]:
        "In bytes, as drives count it: bytes programmed over bytes that the host wrote, `ftl.waf_bytes`; \
         `ftl.steady_waf_bytes` is the estimate for a longer run. Of pages: pages programmed over pages that host or \
         buffer wrote to the FTL, `ftl.waf`. A write of 512 bytes counts there as a page, and a buffer hit not at all.",
    ["tR", "tPROG", "tBERS"]:
        "Times of the array for reading and programming a page and erasing a block: `device.read_time`, \
         `device.program_time`, `device.erase_time`.",
    ["LUN"]:
        "A die, the part of a chip that executes a command at a time: `device.dies` of them a chip, `device.ways` \
         chips a channel.",
    ["preconditioning", "ageing", "aging", "steady state"]:
        "What is written to the drive before the workload begins: `run.precondition`; `steady` goes on until write \
         amplification no longer changes.",
    ["write cache", "DRAM cache"]:
        "Memory of the controller that holds written pages until they are programmed: `buffer`. A cached map is \
         `dftl`.",
    ["eviction policy", "cache replacement"]:
        "Which page or block leaves the write buffer next: `buffer.order`; how many leave at a time, and when: \
         `buffer.rate`.",
    ["channel allocator"]:
        "CAVE's choice of the channel that an evicted block goes to: `ftl.placement`, `first-touch` or \
         `round-robin`.",
    ["elevator", "I/O scheduler"]: "The policy that chooses the next request to dispatch: `host.scheduler`.",
};

/// A page of all, and one for each.
pub(super) fn pages() -> Vec<Page> {
    let entries = TERMS.iter().map(|(names, help)| described(&names.join(", "), help));
    let whole = Page::section(TITLE, &["words of the field", "terms"], HELP, [Block::entries("Words", entries)]);
    let part = |(names, help): &(&[&str], &str)| {
        Page::part(names.join(", "), names.iter().map(|&name| name.to_owned()).collect(), help)
    };
    std::iter::once(whole).chain(TERMS.iter().map(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use flashloom_config::Catalog;

    #[test]
    fn every_term_leads_to_names_that_are_explained() {
        let catalog = Catalog::builtin();
        for (terms, help) in TERMS {
            let names: Vec<&str> = help.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "{terms:?} leads nowhere");
            for name in names {
                assert!(explain(&catalog, name).is_ok(), "{terms:?} leads to `{name}`, which nothing explains");
            }
        }
    }
}
