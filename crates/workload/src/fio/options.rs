//! Every option of fio 3.33, and its treatment in a simulation; and the names that other versions and engines have.

use std::collections::BTreeMap;
use std::sync::LazyLock;

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

/// Options that shape the requests or the report, then those without effect, then those that would change the requests:
/// a treatment, and the names of the options that have it. An alternative name follows a slash.
const OPTIONS: &[(Use, &str)] = &[
    (
        Use::Supported,
        "rw/readwrite rwmixread rwmixwrite rw_sequencer bs/blocksize ba/blockalign bsrange/blocksize_range bssplit \
         size io_size/io_limit offset/fileoffset offset_increment offset_align filename directory ioengine iodepth \
         numjobs loops runtime/timeout time_based number_ios startdelay/start_delay thinktime thinktime_blocks rate \
         rate_iops random_distribution percentage_random norandommap randrepeat randseed fsync fdatasync end_fsync \
         sync read_iolog replay_no_stall replay_time_scale stonewall/wait_for_previous new_group group_reporting \
         nrfiles/nr_files openfiles file_service_type replay_redirect prio prioclass cmdprio_percentage cmdprio_class \
         cmdprio cmdprio_bssplit percentile_list clat_percentiles lat_percentiles",
    ),
    (Use::Unheeded("a submission takes no time, so that there is nothing to report"), "slat_percentiles"),
    (Use::Unheeded(NO_LOG), "write_bw_log write_lat_log write_iops_log write_hist_log"),
    (Use::Unheeded("`flashloom generate` writes an iolog"), "write_iolog"),
    (Use::Unheeded("`host.scheduler` chooses the scheduler"), "ioscheduler"),
    (Use::Unheeded("lifetimes of data are not told to the drive"), "write_hint"),
    (Use::Unheeded(NO_COMMAND), "exec_prerun exec_postrun"),
    (Use::Unheeded(CGROUPS), "cgroup cgroup_weight"),
    (Use::Unheeded("blocks that fail are in the result of the run"), "block_error_percentiles"),
    (
        Use::Irrelevant,
        "description name lockfile unique_filename random_generator allrandrepeat direct buffered fallocate \
         fadvise_hint overwrite clocksource mem/iomem iomem_align/mem_align do_verify verify_interval verify_offset \
         verify_pattern verify_fatal verify_dump verify_async verify_state_save read_iolog_chunked lockmem nice \
         thinktime_spin thinktime_blocks_type rate_cycle/ratecycle invalidate create_serialize create_fsync \
         create_on_open allow_file_create allow_mounted_write cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes \
         numa_mem_policy unlink unlink_each_loop exitall_on_error ignore_error continue_on_error error_dump thread \
         per_job_logs bwavgtime iopsavgtime log_entries log_avg_msec log_hist_msec log_hist_coarseness log_max_value \
         log_offset log_prio log_compression log_compression_cpus log_store_compressed log_unix_epoch \
         log_alternate_epoch log_alternate_epoch_clock_id stats zero_buffers refill_buffers scramble_buffers \
         buffer_pattern buffer_compress_percentage buffer_compress_chunk dedupe_percentage dedupe_mode \
         dedupe_working_set_percentage dedupe_global significant_figures disk_util gtod_reduce disable_lat \
         disable_clat disable_slat disable_bw_measurement/disable_bw gtod_cpu cgroup_nodelete uid gid unit_base \
         hugepage-size latency_percentile latency_run ignore_zone_limits flow_id flow_sleep userspace_reap hipri \
         sqthread_poll registerfiles fixedbufs nowait hipri_percentage nonvectored uncached force_async \
         sqthread_poll_cpu thp no_completion_thread softrandommap gpu_dev_id verify_async_cpus verifysort \
         verifysort_nr flow_watermark",
    ),
    // Options of profiles, which fio takes in any job and follows with their profile alone.
    (
        Use::Irrelevant,
        "threads numruns block dir load prep device-names test-duration threads-per-queue read-req-num-512-blocks \
         large-block-op-kbytes",
    ),
    (Use::Only(&["nvme"], "the engine io_uring_cmd is not simulated"), "cmd_type"),
    (Use::Only(OFF, "sizes are those of reads, writes and trims"), "bs_is_seq_rand"),
    (Use::Only(&["1024"], "units are those that fio has by default: k is 1024 and ki is 1000"), "kb_base"),
    (Use::Only(OFF, "a device is addressed in sectors of 512 bytes"), "bs_unaligned/blocksize_unaligned"),
    (
        Use::Only(&["1"], BATCH),
        "iodepth_batch/iodepth_batch_submit iodepth_batch_complete_min/iodepth_batch_complete \
         iodepth_batch_complete_max",
    ),
    (Use::Only(OFF, "overlapping requests are not held back"), "serialize_overlap"),
    (Use::Only(&["inline"], BATCH), "io_submit_mode"),
    (Use::Only(&["$jobname.$jobnum.$filenum"], NAMES), "filename_format"),
    (Use::Only(OFF, "a job without `size` writes all of a device once"), "fill_device/fill_fs"),
    (Use::Only(OFF, APPEND), "file_append"),
    (Use::Only(OFF, VERIFY), "verify_only"),
    (Use::Only(OFF, "statistics begin with the first request; age the drive with run.precondition"), "ramp_time"),
    (Use::Only(&["0"], VERIFY), "verify"),
    (Use::Only(OFF, VERIFY), "verify_backlog verify_state_load"),
    (Use::Only(OFF, "discards come from rw=trim, randtrim, trimwrite and randtrimwrite"), "trim_percentage"),
    (Use::Only(&["none"], ZONES), "zonemode"),
    (Use::Only(OFF, PAGE_CACHE), "atomic pre_read"),
    (Use::Only(OFF, "a job that only creates files has no requests"), "create_only"),
    (Use::Only(OFF, "`end_fsync` does the same"), "fsync_on_close"),
    (Use::Only(OFF, MIXING), "exitall"),
    (Use::Only(&["linear"], "paced requests are evenly spaced"), "rate_process"),
    (Use::Only(OFF, "think time counts against a rate"), "rate_ignore_thinktime"),
    (Use::Only(&["0", "none"], "directions are reported apart"), "unified_rw_reporting"),
    (Use::Only(OFF, STEADY), "latency_target max_latency"),
    (Use::Only(OFF, "think time follows a number of requests"), "thinktime_iotime"),
    (Use::Only(OFF, "`sync=1` or `fsync` makes writes durable"), "write_barrier"),
    (Use::Refused(PAGE_CACHE), "sync_file_range"),
    (Use::Refused(MIXING), "wait_for"),
    (Use::Refused(FOLDER), "opendir"),
    (Use::Refused("`size` and `offset` say what part of the device a job uses"), "filesize"),
    (Use::Refused(BATCH), "iodepth_low"),
    (Use::Refused(VERIFY), "verify_backlog_batch experimental_verify trim_verify_zero trim_backlog trim_backlog_batch"),
    (Use::Refused(SCALE), "replay_scale"),
    (Use::Refused("addresses of an iolog are taken as they are"), "replay_align"),
    (Use::Refused("every request of an iolog is replayed"), "replay_skip"),
    (Use::Refused("recordings are not merged"), "merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters"),
    (
        Use::Refused(ZONES),
        "zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones \
         zone_reset_threshold zone_reset_frequency",
    ),
    (Use::Refused(MIXING), "exit_what"),
    (Use::Refused(STEADY), "rate_min/ratemin rate_iops_min latency_window"),
    (Use::Refused("a profile replaces the whole job file"), "profile"),
    (Use::Refused(MIXING), "flow"),
    (Use::Refused(STEADY), "steadystate/ss steadystate_duration/ss_dur steadystate_ramp_time/ss_ramp"),
];

/// Finds the option of that name.
pub(super) fn find(name: &str) -> Option<&'static OptionSpec> {
    static BY_NAME: LazyLock<BTreeMap<&str, OptionSpec>> = LazyLock::new(|| {
        let spec = |option: &'static str, usage| {
            let name = option.split('/').next().unwrap_or_default();
            option.split('/').map(move |alias| (alias, OptionSpec { name, usage }))
        };
        OPTIONS.iter().flat_map(|(usage, row)| row.split(' ').flat_map(move |option| spec(option, *usage))).collect()
    });
    BY_NAME.get(name)
}

/// The names of all options, alternative ones among them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().flat_map(|(_, row)| row.split(' ')).flat_map(|option| option.rsplit('/'))
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
