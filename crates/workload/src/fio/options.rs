//! Every option of fio 3.33, and its treatment in a simulation; and the names that other versions and engines have.

/// Treatment of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// Supported: it shapes the requests or the report.
    Supported,
    /// Ignored: it cannot matter to a simulation.
    Irrelevant,
    /// Accepted without effect; a hint names it and what to use instead.
    Unheeded(&'static str),
    /// Only these values leave the requests as they are; with the reason why others are refused.
    Only(&'static [&'static str], &'static str),
    /// Refused, because it would change the requests; with the reason why it is not supported.
    Refused(&'static str),
}

/// One option.
#[derive(Debug)]
pub(super) struct OptionSpec {
    /// Name, as `fio --cmdhelp` lists it.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// Treatment of the option.
    pub usage: Use,
}

const SCALE: &str = "addresses of an iolog are taken as they are; `workload.kind` = \"trace\" replays one with \
                     `workload.addresses` = \"scale\"";
const VERIFY: &str = "verification reads back what was written, which the simulator does itself with --verify";
const ZONES: &str = "zoned devices are not simulated";
const BATCH: &str = "requests are submitted and reaped one at a time";
const FOLDER: &str = "files are not looked up in a folder; `filename` names them";
const APPEND: &str = "files are as long as what their jobs use, so that nothing lies before what is appended";
const NAMES: &str = "files are named by job, clone and number; `filename` gives several jobs the same file";
const PAGE_CACHE: &str = "there is no page cache and no file system";
const STEADY: &str = "the length of a job does not depend on what it measures";
const MIXING: &str = "jobs do not steer one another, except through stonewall";
const NO_LOG: &str = "no log is written: `run --fio-json` writes the percentiles, `run --log` every request";
const NO_COMMAND: &str = "no command is started";
const CGROUPS: &str = "there are no cgroups; `prio` and `prioclass` reach the scheduler";
const OFF: &[&str] = &["0"];

const fn supported(name: &'static str, aliases: &'static [&'static str]) -> OptionSpec {
    OptionSpec { name, aliases, usage: Use::Supported }
}

const fn unheeded(name: &'static str, instead: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], usage: Use::Unheeded(instead) }
}

const fn irrelevant(name: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], usage: Use::Irrelevant }
}

const fn only(name: &'static str, values: &'static [&'static str], why: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], usage: Use::Only(values, why) }
}

const fn refused(name: &'static str, why: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], usage: Use::Refused(why) }
}

impl OptionSpec {
    /// The same option with these alternative names.
    const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Options that shape the requests or the report, then those without effect, then those that would change the requests.
pub(super) static OPTIONS: &[OptionSpec] = &[
    supported("rw", &["readwrite"]),
    supported("rwmixread", &[]),
    supported("rwmixwrite", &[]),
    supported("rw_sequencer", &[]),
    supported("bs", &["blocksize"]),
    supported("ba", &["blockalign"]),
    supported("bsrange", &["blocksize_range"]),
    supported("bssplit", &[]),
    supported("size", &[]),
    supported("io_size", &["io_limit"]),
    supported("offset", &["fileoffset"]),
    supported("offset_increment", &[]),
    supported("offset_align", &[]),
    supported("filename", &[]),
    supported("directory", &[]),
    supported("ioengine", &[]),
    supported("iodepth", &[]),
    supported("numjobs", &[]),
    supported("loops", &[]),
    supported("runtime", &["timeout"]),
    supported("time_based", &[]),
    supported("number_ios", &[]),
    supported("startdelay", &["start_delay"]),
    supported("thinktime", &[]),
    supported("thinktime_blocks", &[]),
    supported("rate", &[]),
    supported("rate_iops", &[]),
    supported("random_distribution", &[]),
    supported("percentage_random", &[]),
    supported("norandommap", &[]),
    supported("randrepeat", &[]),
    supported("randseed", &[]),
    supported("fsync", &[]),
    supported("fdatasync", &[]),
    supported("end_fsync", &[]),
    supported("sync", &[]),
    supported("read_iolog", &[]),
    supported("replay_no_stall", &[]),
    supported("replay_time_scale", &[]),
    supported("stonewall", &["wait_for_previous"]),
    supported("new_group", &[]),
    supported("group_reporting", &[]),
    supported("nrfiles", &["nr_files"]),
    supported("openfiles", &[]),
    supported("file_service_type", &[]),
    supported("replay_redirect", &[]),
    supported("prio", &[]),
    supported("prioclass", &[]),
    supported("cmdprio_percentage", &[]),
    supported("cmdprio_class", &[]),
    supported("cmdprio", &[]),
    supported("cmdprio_bssplit", &[]),
    supported("percentile_list", &[]),
    supported("clat_percentiles", &[]),
    supported("lat_percentiles", &[]),
    unheeded("slat_percentiles", "a submission takes no time, so that there is nothing to report"),
    unheeded("write_bw_log", NO_LOG),
    unheeded("write_lat_log", NO_LOG),
    unheeded("write_iops_log", NO_LOG),
    unheeded("write_hist_log", NO_LOG),
    unheeded("write_iolog", "`flashloom generate` writes an iolog"),
    unheeded("ioscheduler", "`host.scheduler` chooses the scheduler"),
    unheeded("write_hint", "lifetimes of data are not told to the drive"),
    unheeded("exec_prerun", NO_COMMAND),
    unheeded("exec_postrun", NO_COMMAND),
    unheeded("cgroup", CGROUPS),
    unheeded("cgroup_weight", CGROUPS),
    unheeded("block_error_percentiles", "blocks that fail are in the result of the run"),
    irrelevant("description"),
    irrelevant("name"),
    irrelevant("lockfile"),
    irrelevant("unique_filename"),
    irrelevant("random_generator"),
    irrelevant("allrandrepeat"),
    irrelevant("direct"),
    irrelevant("buffered"),
    irrelevant("fallocate"),
    irrelevant("fadvise_hint"),
    irrelevant("overwrite"),
    irrelevant("clocksource"),
    irrelevant("mem").or(&["iomem"]),
    irrelevant("iomem_align").or(&["mem_align"]),
    irrelevant("do_verify"),
    irrelevant("verify_interval"),
    irrelevant("verify_offset"),
    irrelevant("verify_pattern"),
    irrelevant("verify_fatal"),
    irrelevant("verify_dump"),
    irrelevant("verify_async"),
    irrelevant("verify_state_save"),
    irrelevant("read_iolog_chunked"),
    irrelevant("lockmem"),
    irrelevant("nice"),
    irrelevant("thinktime_spin"),
    irrelevant("thinktime_blocks_type"),
    irrelevant("rate_cycle").or(&["ratecycle"]),
    irrelevant("invalidate"),
    irrelevant("create_serialize"),
    irrelevant("create_fsync"),
    irrelevant("create_on_open"),
    irrelevant("allow_file_create"),
    irrelevant("allow_mounted_write"),
    irrelevant("cpumask"),
    irrelevant("cpus_allowed"),
    irrelevant("cpus_allowed_policy"),
    irrelevant("numa_cpu_nodes"),
    irrelevant("numa_mem_policy"),
    irrelevant("unlink"),
    irrelevant("unlink_each_loop"),
    irrelevant("exitall_on_error"),
    irrelevant("ignore_error"),
    irrelevant("continue_on_error"),
    irrelevant("error_dump"),
    irrelevant("thread"),
    irrelevant("per_job_logs"),
    irrelevant("bwavgtime"),
    irrelevant("iopsavgtime"),
    irrelevant("log_entries"),
    irrelevant("log_avg_msec"),
    irrelevant("log_hist_msec"),
    irrelevant("log_hist_coarseness"),
    irrelevant("log_max_value"),
    irrelevant("log_offset"),
    irrelevant("log_prio"),
    irrelevant("log_compression"),
    irrelevant("log_compression_cpus"),
    irrelevant("log_store_compressed"),
    irrelevant("log_unix_epoch"),
    irrelevant("log_alternate_epoch"),
    irrelevant("log_alternate_epoch_clock_id"),
    irrelevant("stats"),
    irrelevant("zero_buffers"),
    irrelevant("refill_buffers"),
    irrelevant("scramble_buffers"),
    irrelevant("buffer_pattern"),
    irrelevant("buffer_compress_percentage"),
    irrelevant("buffer_compress_chunk"),
    irrelevant("dedupe_percentage"),
    irrelevant("dedupe_mode"),
    irrelevant("dedupe_working_set_percentage"),
    irrelevant("dedupe_global"),
    irrelevant("significant_figures"),
    irrelevant("disk_util"),
    irrelevant("gtod_reduce"),
    irrelevant("disable_lat"),
    irrelevant("disable_clat"),
    irrelevant("disable_slat"),
    irrelevant("disable_bw_measurement").or(&["disable_bw"]),
    irrelevant("gtod_cpu"),
    irrelevant("cgroup_nodelete"),
    irrelevant("uid"),
    irrelevant("gid"),
    irrelevant("unit_base"),
    irrelevant("hugepage-size"),
    irrelevant("latency_percentile"),
    irrelevant("latency_run"),
    irrelevant("ignore_zone_limits"),
    irrelevant("flow_id"),
    irrelevant("flow_sleep"),
    irrelevant("userspace_reap"),
    irrelevant("hipri"),
    irrelevant("sqthread_poll"),
    irrelevant("registerfiles"),
    irrelevant("fixedbufs"),
    irrelevant("nowait"),
    irrelevant("hipri_percentage"),
    irrelevant("nonvectored"),
    irrelevant("uncached"),
    irrelevant("force_async"),
    irrelevant("sqthread_poll_cpu"),
    irrelevant("thp"),
    irrelevant("no_completion_thread"),
    irrelevant("softrandommap"),
    irrelevant("gpu_dev_id"),
    irrelevant("verify_async_cpus"),
    irrelevant("verifysort"),
    irrelevant("verifysort_nr"),
    irrelevant("flow_watermark"),
    // Options of profiles, which fio takes in any job and follows with their profile alone.
    irrelevant("threads"),
    irrelevant("numruns"),
    irrelevant("block"),
    irrelevant("dir"),
    irrelevant("load"),
    irrelevant("prep"),
    irrelevant("device-names"),
    irrelevant("test-duration"),
    irrelevant("threads-per-queue"),
    irrelevant("read-req-num-512-blocks"),
    irrelevant("large-block-op-kbytes"),
    only("cmd_type", &["nvme"], "the engine io_uring_cmd is not simulated"),
    only("bs_is_seq_rand", OFF, "sizes are those of reads, writes and trims"),
    only("kb_base", &["1024"], "units are those that fio has by default: k is 1024 and ki is 1000"),
    only("bs_unaligned", OFF, "a device is addressed in sectors of 512 bytes").or(&["blocksize_unaligned"]),
    only("iodepth_batch", &["1"], BATCH).or(&["iodepth_batch_submit"]),
    only("iodepth_batch_complete_min", &["1"], BATCH).or(&["iodepth_batch_complete"]),
    only("iodepth_batch_complete_max", &["1"], BATCH),
    only("serialize_overlap", OFF, "overlapping requests are not held back"),
    only("io_submit_mode", &["inline"], BATCH),
    only("filename_format", &["$jobname.$jobnum.$filenum"], NAMES),
    only("fill_device", OFF, "a job without `size` writes all of a device once").or(&["fill_fs"]),
    only("file_append", OFF, APPEND),
    only("verify_only", OFF, VERIFY),
    only("ramp_time", OFF, "statistics begin with the first request; age the drive with run.precondition"),
    only("verify", &["0"], VERIFY),
    only("verify_backlog", OFF, VERIFY),
    only("verify_state_load", OFF, VERIFY),
    only("trim_percentage", OFF, "discards come from rw=trim, randtrim, trimwrite and randtrimwrite"),
    only("zonemode", &["none"], ZONES),
    only("atomic", OFF, PAGE_CACHE),
    only("pre_read", OFF, PAGE_CACHE),
    only("create_only", OFF, "a job that only creates files has no requests"),
    only("fsync_on_close", OFF, "`end_fsync` does the same"),
    only("exitall", OFF, MIXING),
    only("rate_process", &["linear"], "paced requests are evenly spaced"),
    only("rate_ignore_thinktime", OFF, "think time counts against a rate"),
    only("unified_rw_reporting", &["0", "none"], "directions are reported apart"),
    only("latency_target", OFF, STEADY),
    only("max_latency", OFF, STEADY),
    only("thinktime_iotime", OFF, "think time follows a number of requests"),
    only("write_barrier", OFF, "`sync=1` or `fsync` makes writes durable"),
    refused("sync_file_range", PAGE_CACHE),
    refused("wait_for", MIXING),
    refused("opendir", FOLDER),
    refused("filesize", "`size` and `offset` say what part of the device a job uses"),
    refused("iodepth_low", BATCH),
    refused("verify_backlog_batch", VERIFY),
    refused("experimental_verify", VERIFY),
    refused("trim_verify_zero", VERIFY),
    refused("trim_backlog", VERIFY),
    refused("trim_backlog_batch", VERIFY),
    refused("replay_scale", SCALE),
    refused("replay_align", "addresses of an iolog are taken as they are"),
    refused("replay_skip", "every request of an iolog is replayed"),
    refused("merge_blktrace_file", "recordings are not merged"),
    refused("merge_blktrace_scalars", "recordings are not merged"),
    refused("merge_blktrace_iters", "recordings are not merged"),
    refused("zonesize", ZONES),
    refused("zonecapacity", ZONES),
    refused("zonerange", ZONES),
    refused("zoneskip", ZONES),
    refused("read_beyond_wp", ZONES),
    refused("max_open_zones", ZONES),
    refused("job_max_open_zones", ZONES),
    refused("zone_reset_threshold", ZONES),
    refused("zone_reset_frequency", ZONES),
    refused("exit_what", MIXING),
    refused("rate_min", STEADY).or(&["ratemin"]),
    refused("rate_iops_min", STEADY),
    refused("latency_window", STEADY),
    refused("profile", "a profile replaces the whole job file"),
    refused("flow", MIXING),
    refused("steadystate", STEADY).or(&["ss"]),
    refused("steadystate_duration", STEADY).or(&["ss_dur"]),
    refused("steadystate_ramp_time", STEADY).or(&["ss_ramp"]),
];

/// Finds the option of that name.
pub(super) fn find(name: &str) -> Option<&'static OptionSpec> {
    let is = |option: &&OptionSpec| option.name == name || option.aliases.contains(&name);
    OPTIONS.iter().find(is)
}

/// The names of all options, aliases among them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().flat_map(|option| option.aliases.iter().copied().chain([option.name]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_options() {
        let mut names: Vec<_> = names().collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
