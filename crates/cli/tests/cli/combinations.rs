//! Catalogue of combinations that cannot work: each is refused before anything runs, naming both sides and the way out.

use crate::errors::refused_config;

/// Asserts that a log-block mapping, which has one FTL per chip, is refused with these further keys.
fn with_mapping(name: &str, mapping: &str, more: &str) {
    refused_config(name, &format!("{more}\nftl.mapping = \"{mapping}\"\nftl.{mapping}.log_blocks = 8\n"));
}

#[test]
fn an_allocation_with_a_log_block_mapping() {
    with_mapping("slap_with_bast", "bast", "ftl.allocation = \"slap\"");
    with_mapping("static_allocation_with_fast", "fast", "ftl.allocation = \"static\"");
}

#[test]
fn collection_with_a_log_block_mapping() {
    with_mapping("collection_with_sast", "sast", "ftl.gc = \"cost-benefit\"");
    with_mapping("collection_threshold_with_mcsplit", "mcsplit", "ftl.gc_threshold = 5");
    with_mapping("hot_pages_with_kast", "kast", "ftl.hot_cold = \"multi-hash\"");
    with_mapping("superblocks_with_kast", "kast", "ftl.superblock = \"die\"");
    with_mapping("static_levelling_with_kast", "kast", "ftl.wear_levelling = \"static\"");
}

#[test]
fn blocks_that_fail_with_a_log_block_mapping() {
    with_mapping("bad_blocks_with_kast", "kast", "device.bad_blocks = \"1%\"");
    with_mapping("program_failures_with_bast", "bast", "device.program_failures = 0.001");
}

#[test]
fn a_placement_that_moves_logical_blocks_without_one_ftl_a_chip() {
    refused_config("round_robin_with_page", "ftl.placement = \"round-robin\"\n");
    refused_config("round_robin_with_dftl", "ftl.mapping = \"dftl\"\nftl.placement = \"round-robin\"\n");
    with_mapping("round_robin_with_mcsplit", "mcsplit", "ftl.placement = \"round-robin\"");
}

#[test]
fn a_placement_that_moves_logical_blocks_without_a_buffer() {
    with_mapping("round_robin_without_buffer", "kast", "ftl.placement = \"round-robin\"\nbuffer.capacity = \"0B\"");
}

#[test]
fn an_order_and_a_rate_without_a_buffer() {
    refused_config("eviction_without_buffer", "[buffer]\norder = \"fab\"\nrate = \"cave\"\ncapacity = \"0B\"\n");
}

#[test]
fn an_associativity_above_the_pages_of_a_block() {
    with_mapping("kast_k", "kast", "device.pages = 64\nftl.kast.k = 65");
    with_mapping("sast_k", "sast", "device.pages = 64\nftl.sast.k = 65");
}

#[test]
fn a_reserve_that_leaves_random_pages_no_log_block() {
    with_mapping("kast_reserve", "kast", "ftl.kast.reserved_log_blocks = 8\nftl.preemption = \"none\"");
    with_mapping("kast_reserve_preempted", "kast", "ftl.kast.reserved_log_blocks = 7\nftl.preemption = \"page\"");
}

#[test]
fn more_log_blocks_than_spare_blocks() {
    refused_config("log_blocks", "ftl.mapping = \"fast\"\nftl.fast.log_blocks = 1000\n");
}

#[test]
fn stripes_that_do_not_divide_the_chips() {
    with_mapping("mcsplit_width", "mcsplit", "ftl.mcsplit.width = 3");
}

#[test]
fn preemption_with_too_few_log_blocks() {
    refused_config("preempted_log_blocks", "ftl.mapping = \"kast\"\nftl.kast.log_blocks = 3\n");
}

#[test]
fn streams_that_do_not_fit() {
    let slap = |name: &str, more: &str| refused_config(name, &format!("ftl.allocation = \"slap\"\n{more}\n"));
    slap("stream_threshold", "device.pages = 64\nftl.slap.stream_threshold = 65");
    slap("substreams_of_a_stream", "ftl.slap.stream_threshold = 4\nftl.slap.substreams = 5");
    slap("stream_in_the_buffer", "buffer.capacity = \"64KiB\"\nftl.slap.stream_threshold = 17");
    slap("substreams_over_chips", "ftl.slap.stream_threshold = 64\nftl.slap.substreams = 32");
    slap("substreams_at_the_start", "ftl.slap.substreams = \"auto\"\nftl.slap.delta_start = 5");
}

#[test]
fn streams_that_follow_time_where_there_is_none() {
    let counted = "[run]\ntiming = \"counting\"\n[ftl]\nallocation = \"slap\"\n";
    let text = format!("{counted}slap.substreams = \"auto\"\nslap.search = \"window\"\n");
    refused_config("streams_without_time", &text);
    let text = "buffer.capacity = \"0B\"\nftl.allocation = \"slap\"\nftl.slap.search = \"window\"\n";
    refused_config("window_without_a_buffer", text);
    refused_config("substreams_misspelt", "ftl.allocation = \"slap\"\nftl.slap.substreams = \"auot\"\n");
}

#[test]
fn every_combination_that_cannot_work_is_told_in_one_pass() {
    let text = "ftl.mapping = \"kast\"\nftl.kast.k = 1000\nftl.allocation = \"slap\"\nftl.gc = \"fifo\"\n\
                ftl.placement = \"round-robin\"\nbuffer.capacity = \"0B\"\n";
    refused_config("several_combinations", text);
}
