//! Surprising effects of a choice on the figures, shown with the help of its key.

use super::Described;

/// Effect and advice, by key or by key and value.
pub(super) const CONSEQUENCES: Described = described! {
    "buffer.rate":
        "The eviction batch size decides what a write waits for. With `single` no page is evicted before another waits \
         for its room: once as much as `buffer.capacity` has been written, every write of a new page waits for a flash \
         program, even on a drive whose dies are idle most of the time, and writes one at a time use one die at a \
         time. Real drives evict ahead of need, as `linear-threshold` does: writes then wait only if they arrive \
         faster than flash can program them. The papers on eviction compare rates, so their experiments set `single`, \
         which they start from. Where the row `held` of a run says that most writes waited while `busy` says that dies \
         were idle, the rate was the limit.",
    "buffer.rate=single":
        "After the first `buffer.capacity` of data, the median write takes as long as a program of flash, buffer or \
         not.",
    "buffer.capacity":
        "Until it has been written once, all writes are as fast as the link: a run that writes little more measures \
         the buffer, not the drive.",
    "run.precondition":
        "With `none` and `fill` no block has to be collected before the free ones are used up: a short recording on a \
         large drive then ends before the drive ever collects, and its latencies are those of reads and programs \
         alone. With `steady` reads wait behind collection from the first request on, as on a drive that has been in \
         use; 99.9th percentiles can differ by hundreds of times, and with them which scheduler or buffer looks best.",
    "run.precondition=fill":
        "The drive is full but its spare blocks are free: look at `blocks erased` in the summary before trusting a \
         tail latency.",
    "run.precondition=steady":
        "Ageing takes time before the workload. `--save-state FILE` saves the aged drive, and `run.state` loads it in \
         later runs.",
    "host.scheduler":
        "noop, deadline, anticipatory and cfq are those of Linux 2.6.32, none, mq-deadline and kyber those of Linux \
         6.1, 6.12 and 6.18 (`host.linux`), fios and pardispatcher those of their papers; there is no bfq. A scheduler \
         chooses only among requests that wait: where the drive takes every one at once, all are `noop`.",
    "host.queue_depth":
        "Commands beyond the queue depth wait in the host, where reads queue behind writes: on a busy drive the tail \
         of the reads can be far longer at 31 (SATA) than at the 1,024 that NVMe hosts use, because writes that wait \
         for the buffer hold the tags. `in the host` in the latency table says how much of the latency that is.",
    "ftl.gc_threshold":
        "Blocks that are kept free hold no data: each lowers the spare space of its plane, and so raises write \
         amplification, the more the fewer blocks a plane has.",
    "ftl.hot_cold":
        "Hot pages are recognised only if they are written several times as often as others, and after several writes \
         of each: a run that writes less than the drive holds finds next to none. `greedy` makes no difference between \
         hot and cold blocks with equally many valid pages, so that the gain stays small; `cost-benefit` gains more. \
         On planes of few blocks the blocks that hot pages keep open cost more than is gained.",
    "device.over_provisioning":
        "A share of the capacity that the host sees: 0.07 or \"7%\" is 7 %. Blocks that garbage collection keeps free \
         and blocks that are open reduce the spare space, so that a plane of few blocks has less of it than the \
         number says.",
    "device.blocks":
        "A drive that is scaled down by its blocks keeps as many blocks free and open as a large one: its write \
         amplification is higher than that of the drive that it stands for.",
    "run.timing":
        "`counting` has no latency, no throughput and no scheduler: use it for write amplification and erases.",
    "workload.queue_depth":
        "In a closed workload it bounds throughput: with one request outstanding a drive does one thing at a time, \
         whatever it could do.",
    "workload.addresses":
        "`wrap` overlays parts of a recording, which makes more overwrites than were recorded; `scale` changes which \
         requests are neighbours.",
};

/// The text about a key, or about a key with its value.
pub(super) fn of(name: &str) -> Option<&'static str> {
    CONSEQUENCES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_config::Catalog;

    #[test]
    fn every_consequence_is_that_of_a_key_and_of_one_of_its_values() {
        let catalog = Catalog::builtin();
        for (name, _) in CONSEQUENCES {
            let (path, value) = name.split_once('=').map_or((*name, None), |(path, value)| (path, Some(value)));
            let key = catalog.resolve(path).unwrap_or_else(|(_, refusal)| panic!("{path}: {}", refusal.found));
            assert!(value.is_none_or(|value| catalog.names(key.param()).contains(&value)), "{name}");
        }
    }
}
