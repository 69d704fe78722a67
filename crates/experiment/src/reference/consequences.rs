//! What a choice does to the figures where that surprises, shown with the help of its key.

/// By key, or by key and value: what follows from it, and what to do.
pub(super) const CONSEQUENCES: &[(&str, &str)] = &[
    (
        "buffer.rate",
        "The rate decides what a write waits for. With `single` nothing leaves the buffer before a page waits for its \
         room: once as much as `buffer.capacity` has been written, every write of something new waits for a program of \
         flash, even on a drive whose dies are idle most of the time, and writes one at a time use one die at a time. \
         A drive writes ahead of need, as `linear-threshold` does: writes then wait only where they come faster than \
         flash takes them. The papers on eviction compare rates, so their experiments set `single`, which they start \
         from. Where the row `held` of a run says that most writes waited while `busy` says that dies were idle, the \
         rate was the limit.",
    ),
    (
        "buffer.rate=single",
        "After the first `buffer.capacity` of data, the median write takes as long as a program of flash, buffer or \
         not.",
    ),
    (
        "buffer.capacity",
        "Until it has been written once, all writes are as fast as the link: a run that writes little more measures \
         the buffer, not the drive.",
    ),
    (
        "run.precondition",
        "With `none` and `fill` no block has to be collected before the free ones are used up: a short recording on a \
         large drive then ends before the drive ever collects, and its latencies are those of reads and programs \
         alone. With `steady` reads wait behind collection from the first request on, as on a drive that has been in \
         use; 99.9th percentiles can differ by hundreds of times, and with them which scheduler or buffer looks best.",
    ),
    (
        "run.precondition=fill",
        "The drive is full but its spare blocks are free: look at `blocks erased` in the summary before trusting a \
         tail.",
    ),
    (
        "run.precondition=steady",
        "Ageing costs time before the workload. `--save-state FILE` keeps the aged drive, and `run.state` gives it to \
         later runs.",
    ),
    (
        "host.queue_depth",
        "What the drive does not hold waits in the host, where reads queue behind writes: on a busy drive the tail of \
         the reads can be far longer at 31 (SATA) than at the 1,024 that NVMe hosts use, because writes that wait for \
         the buffer hold the tags. `in the host` in the latency table says how much of the latency that is.",
    ),
    (
        "ftl.gc_threshold",
        "Blocks that are kept free cannot hold data: each lowers the spare space of its plane, and so raises write \
         amplification, the more the fewer blocks a plane has.",
    ),
    (
        "ftl.hot_cold",
        "Hot pages are told from others only where they are written several times as often, and after each has been \
         written some times: a run that writes less than the drive holds finds next to none. `greedy` collects hot and \
         cold blocks alike when they have as many valid pages, so that what is gained stays small; `cost-benefit` \
         gains more. On planes of few blocks the blocks that hot pages keep open cost more than that.",
    ),
    (
        "device.over_provisioning",
        "A share of the capacity that the host sees: 0.07 or \"7%\" is 7 %. Blocks that collection keeps free and \
         blocks that are open hold none of the host's data, so that a plane of few blocks has less spare space to \
         collect from than the number says.",
    ),
    (
        "device.blocks",
        "A drive that is scaled down by its blocks keeps as many blocks free and open as a large one: its write \
         amplification is higher than that of the drive that it stands for.",
    ),
    (
        "run.timing",
        "`counting` has no latency, no throughput and no scheduler: its write amplification and erases are what it is \
         for.",
    ),
    (
        "workload.queue_depth",
        "In a closed workload it bounds throughput: with one request outstanding a drive does one thing at a time, \
         whatever it could do.",
    ),
    (
        "workload.addresses",
        "`wrap` lays parts of a recording over one another, which makes more overwrites than were recorded; `scale` \
         changes which requests are neighbours.",
    ),
];

/// What there is to say of a key, or of a key with its value.
pub(super) fn of(name: &str) -> Option<&'static str> {
    CONSEQUENCES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Catalog;

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
