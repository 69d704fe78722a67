//! What drives and hosts have and no figure contains: `flashloom explain "not modelled"`. `docs/model.md` has the same
//! names, which a test holds.

/// What is missing: its names, and what figures lack because of it.
pub const MISSING: &[(&[&str], &str)] = &[
    (
        &["SLC cache of log-block mappings"],
        "Only page-level mappings have one (`ftl.slc_cache`), and by rules of this simulator: no drive's own rules \
         are known. Folding goes through the controller, an erase in SLC mode takes tBERS, and a page in SLC mode \
         needs as many read retries as any other.",
    ),
    (
        &["RAIN", "parity"],
        "Parity across dies: neither the space and the programs that it takes, nor reads that are answered from the \
         other dies while one is busy or has failed.",
    ),
    (
        &["drift of times"],
        "A block's tR, tPROG and tBERS stay as they are, however worn it is: only page types differ, and blocks and \
         pages by the spread that is given (`device.read_spread`).",
    ),
    (
        &["one-shot programming"],
        "Every page is programmed by itself, in the time of its type; TLC and QLC mostly program the pages of a word \
         line together or in passes.",
    ),
    (
        &["error rates of flash", "error correction", "retention", "read disturb", "refresh"],
        "With `device.reliability` = \"none\" a read succeeds at the first try. Which reads need retries is for a \
         policy to say: no law of retention, read disturb or wear is built in, nor the time of error correction, nor \
         refresh. Programs and erases fail with the same probability whatever the age of a block.",
    ),
    (
        &["power loss"],
        "Neither losses nor what drives write against them: journals and checkpoints of the map. The map of `page` \
         takes no flash operation.",
    ),
    (
        &["temperature and power", "thermal throttling"],
        "Nothing is throttled, and no state of low power has to be left.",
    ),
    (
        &["cost of discards", "trim time"],
        "A discard takes what any command takes, however many pages it covers, and keeps nobody else waiting: real \
         drives take from microseconds to seconds for a large one, by rules that nobody publishes. The host's discards \
         are not split, and one takes one range.",
    ),
    (
        &["controller", "firmware"],
        "The memory of the controller, and its work but for commands and their pages as they come in: completions, \
         the map and collection take no time of its processors (`device.controller_processors`). Nothing is \
         prefetched, compressed or encrypted.",
    ),
    (
        &["several hosts and queues", "namespaces", "zones"],
        "One host, which several workloads may share ([[workload]]). Its hardware queues (host.hardware_queues) have \
         their own tags; the drive arbitrates among workloads (device.front_arbiter) and not among these. No \
         namespaces with formats of their own, zones, streams or placement hints.",
    ),
    (
        &["processor time of the host"],
        "Submission, scheduling, locks and interrupts take no time: on fast drives these are what real schedulers \
         differ by most.",
    ),
    (
        &["bfq"],
        "Not built in. `cfq`, from which it comes, and `fios` share the drive among tasks; \
         kernel/policies compiles the kernel's own bfq.",
    ),
];

/// What the simulator lacks in place of a feature of that name.
pub fn missing(name: &str) -> Option<&'static str> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    MISSING.iter().find(|(names, _)| names.iter().any(is_it)).map(|(_, help)| *help)
}
