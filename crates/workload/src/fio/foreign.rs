//! Names that are no options of a job here: those of engines that are not simulated, and of other versions of fio.
//! Source: the tables of options of fio 3.33 to 3.42.

/// Where an option comes from that a job here cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An engine of fio 3.33 that is not simulated.
    Engine(&'static str),
    /// A version of fio after 3.33.
    Later(&'static str),
    /// A version of fio before 3.33, which refuses it.
    Earlier,
}

/// Options of the engines that are not simulated.
const OF_ENGINES: &[(&str, &str)] = &[
    ("cpuio", "cpuchunks cpuload cpumode exit_on_io_done"),
    ("dfs` or `libhdfs", "chunk_size"),
    ("dfs", "cont object_class pool svcl"),
    ("e4defrag", "donorname inplace"),
    ("exec", "arguments grace_time program std_redirect"),
    ("filestat", "stat_type"),
    ("gfapi", "brick single-instance volume"),
    (
        "http",
        "http_host http_mode http_pass http_s3_key http_s3_keyid http_s3_region http_s3_sse_customer_algorithm \
         http_s3_sse_customer_key http_s3_storage_class http_swift_auth_token http_user http_verbose https",
    ),
    ("libcufile", "cuda_io gpu_dev_ids"),
    ("libhdfs", "chunck_size hdfs_use_direct hdfsdirectory hostname namenode port single_instance"),
    ("libiscsi", "initiator"),
    ("librpma_apm_client", "busy_wait_polling direct_write_to_pmem serverip"),
    ("mtd", "skip_bad"),
    ("nbd", "uri"),
    ("net` or `rdma", "proto"),
    ("net", "interface listen mss nodelay pingpong protocol ttl window_size"),
    ("nfs", "nfs_url"),
    ("rados", "busy_poll clientname clustername conf touch_objects"),
    ("rbd", "rbdname"),
    ("rdma", "bindname verb"),
    ("sg", "readfua sg_write_mode stream_id writefua"),
    ("xnvme", "xnvme_admin xnvme_async xnvme_be xnvme_dev_nsid xnvme_iovec xnvme_sync"),
];

/// Options by the version of fio that they came with.
const LATER: &[(&str, &str)] = &[
    (
        "3.34",
        "fdp fdp_pli libblkio_driver libblkio_path libblkio_pre_connect_props libblkio_num_entries \
         libblkio_queue_size libblkio_pre_start_props libblkio_vectored libblkio_write_zeroes_on_trim \
         libblkio_wait_mode libblkio_force_enable_completion_eventfd xnvme_mem xnvme_dev_subnqn",
    ),
    ("3.35", "steadystate_check_interval"),
    ("3.36", "fdp_pli_select priohint job_start_clock_id cmdprio_hint md_per_io_size pi_act pi_chk apptag apptag_mask"),
    ("3.37", "num_range thinkcycles log_window_value"),
    (
        "3.38",
        "verify_write_sequence dataplacement data_placement plid_select plids dp_scheme log_issue_time write_mode \
         verify_mode",
    ),
    ("3.39", "deac libaio_vectored"),
    ("3.40", "verify_pattern_interval verify_header_seed recover_zbd_write_error"),
    ("3.41", "filetype sprandom spr_num_regions spr_op http_s3_security_token http_object_mode"),
    ("3.42", "spr_cs ramp_size write_zone_remainder comm end_syncfs rbd_encryption_format rbd_encryption_passphrase"),
];

/// Options that fio 3.33 refuses as deprecated.
const EARLIER: &str = "percentage_sequential rwmixcycle";

/// True if a name is one of a list, separated by blanks.
fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// The origin of an option that is not in the table of fio 3.33; `None` if no fio has it.
pub(super) fn origin(name: &str) -> Option<Origin> {
    let of = |table: &'static [(&str, &str)]| table.iter().find(|(_, names)| is_in(names, name)).map(|(of, _)| *of);
    let later = || of(LATER).map(Origin::Later);
    let earlier = || is_in(EARLIER, name).then_some(Origin::Earlier);
    of(OF_ENGINES).map(Origin::Engine).or_else(later).or_else(earlier)
}

#[cfg(test)]
mod tests {
    use super::super::options::find;
    use super::*;

    #[test]
    fn every_name_has_one_origin_and_is_no_option_here() {
        let tables = OF_ENGINES.iter().chain(LATER).map(|(_, names)| *names).chain([EARLIER]);
        let mut names: Vec<_> = tables.flat_map(|names| names.split(' ')).collect();
        assert!(names.iter().all(|name| find(name).is_none()));
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!((origin("fdp"), origin("verb")), (Some(Origin::Later("3.34")), Some(Origin::Engine("rdma"))));
        assert_eq!((origin("rwmixcycle"), origin("iodept")), (Some(Origin::Earlier), None));
    }
}
