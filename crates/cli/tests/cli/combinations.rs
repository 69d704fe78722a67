//! Catalogue of combinations that cannot work: each is refused before anything runs, naming both sides and the way out.

use crate::errors::refused_configs;

#[test]
fn combinations_with_a_log_block_mapping() {
    refused_configs(
        [
            ("slap_with_bast", "bast", "ftl.allocation = \"slap\""),
            ("static_allocation_with_fast", "fast", "ftl.allocation = \"static\""),
            ("collection_with_sast", "sast", "ftl.gc = \"cost-benefit\""),
            ("collection_threshold_with_mcsplit", "mcsplit", "ftl.gc_threshold = 5"),
            ("hot_pages_with_kast", "kast", "ftl.hot_cold = \"multi-hash\""),
            ("superblocks_with_mcsplit", "mcsplit", "ftl.superblock = \"die\""),
            // Blocks that fail.
            ("bad_blocks_leave_too_few_for_kast", "kast", "device.bad_blocks = \"40%\""),
            ("no_block_for_a_failed_one", "bast", "device.bad_blocks = \"4.7%\"\ndevice.program_failures = 0.001"),
            // Logical blocks that move without one FTL a chip, and without a buffer.
            ("round_robin_with_mcsplit", "mcsplit", "ftl.placement = \"round-robin\""),
            ("round_robin_without_buffer", "kast", "ftl.placement = \"round-robin\"\nbuffer.capacity = \"0B\""),
            // An associativity above the pages of a block, and reserves that leave random pages no log block.
            ("kast_k", "kast", "device.pages = 64\nftl.kast.k = 65"),
            ("sast_k", "sast", "device.pages = 64\nftl.sast.k = 65"),
            ("kast_reserve", "kast", "ftl.kast.reserved_log_blocks = 8\nftl.preemption = \"none\""),
            ("kast_reserve_preempted", "kast", "ftl.kast.reserved_log_blocks = 7\nftl.preemption = \"page\""),
            // Stripes that do not divide the chips.
            ("mcsplit_width", "mcsplit", "ftl.mcsplit.width = 3"),
        ]
        .map(|(name, mapping, more)| {
            (name, format!("{more}\nftl.mapping = \"{mapping}\"\nftl.{mapping}.log_blocks = 8\n"))
        }),
    );
}

#[test]
fn combinations_with_another_mapping_or_buffer() {
    refused_configs([
        ("round_robin_with_page", "ftl.placement = \"round-robin\"\n"),
        ("round_robin_with_dftl", "ftl.mapping = \"dftl\"\nftl.placement = \"round-robin\"\n"),
        ("eviction_without_buffer", "[buffer]\norder = \"fab\"\nrate = \"cave\"\ncapacity = \"0B\"\n"),
        ("log_blocks", "ftl.mapping = \"fast\"\nftl.fast.log_blocks = 1000\n"),
        ("preempted_log_blocks", "ftl.mapping = \"kast\"\nftl.kast.log_blocks = 3\n"),
        // All are told in one pass.
        (
            "several_combinations",
            "ftl.mapping = \"kast\"\nftl.kast.k = 1000\nftl.allocation = \"slap\"\nftl.gc = \"fifo\"\n\
             ftl.placement = \"round-robin\"\nbuffer.capacity = \"0B\"\n",
        ),
    ]);
}

#[test]
fn streams_that_do_not_fit_and_that_follow_time_where_there_is_none() {
    let slap = |(name, more)| (name, format!("ftl.allocation = \"slap\"\n{more}\n"));
    let streams = [
        ("stream_threshold", "device.pages = 64\nftl.slap.stream_threshold = 65"),
        ("substreams_of_a_stream", "ftl.slap.stream_threshold = 4\nftl.slap.substreams = 5"),
        ("stream_in_the_buffer", "buffer.capacity = \"64KiB\"\nftl.slap.stream_threshold = 17"),
        ("substreams_over_chips", "ftl.slap.stream_threshold = 64\nftl.slap.substreams = 32"),
        ("substreams_at_the_start", "ftl.slap.substreams = \"auto\"\nftl.slap.delta_start = 5"),
        ("substreams_misspelt", "ftl.slap.substreams = \"auot\""),
    ];
    refused_configs(streams.map(slap));
    refused_configs([
        (
            "streams_without_time",
            "[run]\ntiming = \"counting\"\n[ftl]\nallocation = \"slap\"\nslap.substreams = \"auto\"\n\
             slap.search = \"window\"\n",
        ),
        (
            "window_without_a_buffer",
            "buffer.capacity = \"0B\"\nftl.allocation = \"slap\"\nftl.slap.search = \"window\"\n",
        ),
    ]);
}
