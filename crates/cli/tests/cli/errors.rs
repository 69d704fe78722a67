//! Catalogue of bad input: each is refused with exit status 2 before anything runs, and the message shows file, line
//! and column, what was found and what was expected.

use crate::lab::Lab;

const TRACE: &str = "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,R,8,8\n2000,W,16,8\n";

/// An experiment on a trace of the given content.
fn experiment_on(trace: &str, more: &str) -> Lab {
    let lab = Lab::new();
    let text = format!("[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n{more}");
    lab.write("experiment.toml", text).write("trace.csv", trace);
    lab
}

/// Asserts that the program refuses it as bad input, prints nothing, leaves no file behind, and that the message
/// matches the snapshot.
fn refused(name: &str, lab: &Lab, arguments: &[&str]) {
    let before = lab.files();
    let answer = lab.run(arguments);
    assert_eq!(answer.code, Some(2), "{name}: {}", answer.stderr);
    assert_eq!(answer.stdout, "", "{name}");
    assert_eq!(lab.files(), before, "{name}");
    insta::assert_snapshot!(name, answer.stderr);
}

/// Asserts that a configuration is refused.
pub fn refused_config(name: &str, text: &str) {
    let lab = Lab::new();
    lab.write("experiment.toml", text);
    refused(name, &lab, &["run", "experiment.toml", "--json", "result.json"]);
}

/// Asserts that `run`, `trace info` and `trace convert` refuse a trace for the same reason.
fn refused_trace(name: &str, trace: &str) {
    let lab = experiment_on(trace, "");
    refused(name, &lab, &["run", "experiment.toml", "--json", "result.json"]);
    let of_run = lab.run(&["run", "experiment.toml"]).stderr;
    for arguments in [vec!["trace", "info", "trace.csv"], vec!["trace", "convert", "trace.csv", "out.csv"]] {
        let answer = lab.run(&arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(answer.stderr, of_run, "{arguments:?}");
    }
}

#[test]
fn a_garbage_line_in_the_middle_of_a_trace() {
    refused_trace("trace_garbage_line", &TRACE.replace("1000,R,8,8", "%$!garbage"));
}

#[test]
fn an_option_that_breaks_a_file_is_what_is_pointed_at() {
    let lab = Lab::new();
    let workload =
        "[workload]\nkind = \"synthesized\"\n[workload.synthesized]\nfootprint = \"1GiB\"\nspan = \"4GiB\"\n";
    lab.write("experiment.toml", format!("{workload}[device]\nblocks = 1024\n"));
    refused(
        "option_too_few_requests",
        &lab,
        &["run", "experiment.toml", "--set", "workload.synthesized.requests=20000"],
    );
    let option = "device.over_provisioning=0.1%";
    refused("option_over_provisioning", &lab, &["run", "experiment.toml", "--set", option]);
}

#[test]
fn an_anatomy_where_nothing_takes_time() {
    refused_config("anatomy_without_time", "[run]\ntiming = \"counting\"\nanatomy = true\n");
}

#[test]
fn more_hardware_queues_than_processors_and_more_requests_than_there_are() {
    refused_config("hardware_queues", "[host]\nprocessors = 4\nhardware_queues = 8\n");
    let many = "[host]\nprocessors = 64\nhardware_queues = 64\nnr_requests = 65_536\n";
    refused_config("hardware_queues_of_many_requests", many);
}

#[test]
fn throttling_and_schedulers_of_blk_mq_in_the_block_layer_of_before() {
    refused_config("throttling_before_blk_mq", "[host]\nwbt = \"on\"\n");
    refused_config("scheduler_before_blk_mq", "[host]\nscheduler = \"kyber\"\nlinux = \"2.6.32\"\n");
}

#[test]
fn an_expectation_about_an_anatomy_that_no_run_keeps() {
    let formula = "max(host.anatomy.read.p99.parts_ns.collection)";
    let expect = format!("[[expect]]\nclaim = \"x\"\nformula = \"{formula}\"\nat_most = 1\n");
    let lab = Lab::new();
    lab.write("experiment.toml", expect);
    refused("expect_without_anatomy", &lab, &["compare", "experiment.toml", "--vary", "host.scheduler=noop,deadline"]);
}

#[test]
fn a_time_that_nothing_can_count() {
    refused_trace("trace_too_late", &TRACE.replace("2000,W", "18446744073709551615,W"));
}

#[test]
fn standard_output_for_what_is_no_result() {
    let lab = Lab::new();
    lab.write("experiment.toml", "");
    refused("timeline_to_standard_output", &lab, &["run", "experiment.toml", "--timeline", "-"]);
}

#[test]
fn a_letter_in_a_number() {
    refused_trace("trace_letter_in_number", &TRACE.replace("1000,R,8,8", "1000,R,8x,8"));
}

#[test]
fn a_negative_size() {
    refused_trace("trace_negative_size", &TRACE.replace("1000,R,8,8", "1000,R,8,-8"));
}

#[test]
fn a_size_of_zero() {
    refused_trace("trace_zero_size", &TRACE.replace("1000,R,8,8", "1000,R,8,0"));
}

#[test]
fn a_trace_without_requests() {
    refused("trace_empty", &experiment_on("timestamp_ns,op,lba,sectors\n", ""), &["run", "experiment.toml"]);
    refused("trace_empty_file", &experiment_on("", ""), &["run", "experiment.toml"]);
}

#[test]
fn a_truncated_binary_trace() {
    let lab = experiment_on("", "format = \"blktrace\"\n");
    // The magic number and version of a little-endian blktrace event, whose 48 bytes then end early.
    let mut event = 0x6561_7407u32.to_le_bytes().to_vec();
    event.extend([0; 20]);
    lab.write("trace.csv", event);
    refused("trace_truncated_binary", &lab, &["run", "experiment.toml"]);
}

#[test]
fn a_trace_of_another_format_than_named() {
    refused("trace_other_format", &experiment_on(TRACE, "format = \"msr\"\n"), &["run", "experiment.toml"]);
}

#[test]
fn time_going_backwards() {
    refused_trace("trace_time_backwards", &TRACE.replace("2000,W", "500,W"));
}

#[test]
fn an_address_beyond_the_device() {
    let lab = experiment_on(&TRACE.replace("2000,W,16,8", "2000,W,99999999999,8"), "");
    refused("trace_beyond_device", &lab, &["run", "experiment.toml"]);
}

#[test]
fn an_address_before_the_first_sector() {
    let lab = experiment_on(TRACE, "first_sector = 12\n");
    refused("trace_before_first_sector", &lab, &["run", "experiment.toml"]);
}

#[test]
fn a_missing_trace_and_a_folder_in_place_of_one() {
    let lab = experiment_on(TRACE, "");
    refused("trace_missing", &lab, &["run", "experiment.toml", "--set", "workload.path=nowhere.csv"]);
    std::fs::create_dir(lab.path("folder")).unwrap();
    refused("trace_directory", &lab, &["run", "experiment.toml", "--set", "workload.path=folder"]);
    refused("trace_missing_info", &lab, &["trace", "info", "nowhere.csv"]);
}

#[test]
fn a_dependent_replay_of_a_trace_without_task_ids() {
    let lab = experiment_on(TRACE, "replay = \"dependent\"\n");
    refused("trace_without_task_ids", &lab, &["run", "experiment.toml"]);
}

#[test]
fn a_recording_without_a_path_and_a_path_without_a_recording() {
    refused_config("kind_without_path", "[workload]\nkind = \"trace\"\n");
    refused_config("path_without_kind", "[workload]\npath = \"trace.csv\"\n");
}

#[test]
fn a_quantity_without_a_unit() {
    refused_config("bare_time", "[device]\nread_time = 75\n");
    refused_config("bare_time_in_quotes", "[device]\nread_time = \"75\"\n");
}

#[test]
fn a_banana_as_a_size() {
    refused_config("banana", "[buffer]\ncapacity = \"banana\"\n");
}

#[test]
fn a_misspelt_key_section_and_policy() {
    refused_config("misspelt_key", "[host]\nqueue_dept = 8\n");
    refused_config("misspelt_section", "[hosts]\nqueue_depth = 8\n");
    refused_config("misspelt_policy", "[host]\nscheduler = \"dedline\"\n");
    refused_config("misspelt_policy_table", "[host.dedline]\nfifo_batch = 8\n");
    refused_config("key_without_section", "scheduler = \"noop\"\n");
}

#[test]
fn expectations_that_mean_nothing() {
    let expectation = |more: &str| format!("[[expect]]\nclaim = \"fast\"\n{more}");
    refused_config("expect_misspelt_key", &expectation("formula = \"host.iops\"\nat_lest = 1\nat_most = 2\n"));
    refused_config("expect_without_formula", &expectation("at_least = 1\n"));
    refused_config("expect_without_bound", &expectation("formula = \"max(host.iops)\"\n"));
    refused_config("expect_empty_range", &expectation("formula = \"max(host.iops)\"\nat_least = 2\nat_most = 1\n"));
    refused_config("expect_text_as_bound", &expectation("formula = \"max(host.iops)\"\nat_least = \"1\"\n"));
    refused_config("expect_bad_formula", &expectation("formula = \"max(host.iops\"\nat_least = 1\n"));
    refused_config("expect_unknown_field", &expectation("formula = \"max(host.iosp)\"\nat_least = 1\n"));
    refused_config("expect_other_experiment", &expectation("formula = \"max(other:host.iops)\"\nat_least = 1\n"));
    refused_config("expect_section", "[expect]\nclaim = \"fast\"\n");
}

#[test]
fn expectations_of_runs_that_there_are_not() {
    let lab = Lab::new();
    let compare = |name: &str, formula: &str| {
        let text = format!(
            "[vary]\n\"host.scheduler\" = [\"noop\", \"cfq\"]\n\n\
             [[expect]]\nclaim = \"fast\"\nformula = \"{formula}\"\nat_least = 1\n"
        );
        lab.write("experiment.toml", text);
        refused(name, &lab, &["compare", "experiment.toml"]);
    };
    compare("expect_no_such_run", "max(host.iops{scheduler=deadline})");
    compare("expect_key_that_does_not_vary", "max(host.iops{capacity=1MiB})");
    compare("expect_several_numbers", "host.iops");
}

#[test]
fn a_key_that_moved_to_another_section() {
    refused_config("placement_under_buffer", "[buffer]\nplacement = \"round-robin\"\n");
    refused_config("adaptive_under_buffer", "ftl.mapping = \"bast\"\n[buffer.adaptive]\nwidest = 4\n");
}

#[test]
fn over_provisioning_of_zero() {
    refused_config("over_provisioning_zero", "[device]\nover_provisioning = 0\n");
}

#[test]
fn a_device_too_small_for_its_spare_blocks() {
    refused_config("device_too_small", "[device]\nblocks = 8\n");
}

#[test]
fn a_collection_threshold_that_can_be_lowered_for_spare_blocks() {
    refused_config("threshold_too_high", "[device]\nblocks = 40\n\n[ftl]\ngc_threshold = 20\n");
}

#[test]
fn spare_blocks_for_no_number_of_log_blocks() {
    let device = "[device]\nblocks = 16\nover_provisioning = 0.07\n\n";
    refused_config("no_room_for_log_blocks", &format!("{device}[ftl]\nmapping = \"bast\"\nbast.log_blocks = 4\n"));
}

#[test]
fn a_device_whose_pages_have_no_32_bit_numbers() {
    refused_config("too_many_pages", "[device]\nblocks = 1_000_000\npages = 1024\n");
}

#[test]
fn a_drive_whose_map_has_too_many_entries() {
    // 16 TiB in pages of 4 KiB.
    let device = "[device]\nchannels = 16\nways = 8\ndies = 4\nplanes = 4\nblocks = 1023\npages = 2048\n";
    let large = format!("{device}page_size = \"4KiB\"\n[buffer]\ncapacity = \"0B\"\n");
    refused_config("map_too_large", &large);
    refused_config("map_too_large_in_units", &format!("{large}[ftl]\nmapping_unit = \"8KiB\"\n"));
    refused_config("map_too_large_of_log_blocks", &format!("{large}[ftl]\nmapping = \"fast\"\n"));
}

#[test]
fn a_page_that_is_no_power_of_two_and_a_buffer_of_broken_pages() {
    refused_config("page_size", "[device]\npage_size = \"5000B\"\n[host]\nqueue_depth = 8\n");
    refused_config("buffer_of_broken_pages", "[buffer]\ncapacity = \"1MB\"\n");
}

#[test]
fn a_missing_configuration_and_a_folder_in_place_of_one() {
    let lab = Lab::new();
    refused("config_missing", &lab, &["run", "nowhere.toml"]);
    std::fs::create_dir(lab.path("folder")).unwrap();
    refused("config_directory", &lab, &["compare", "folder"]);
}

#[test]
fn malformed_toml() {
    refused_config("toml_unclosed", "[host\nscheduler = \"noop\"\n");
    refused_config("toml_unquoted", "[host]\nscheduler = noop\n");
    refused_config("toml_duplicate", "[host]\nqueue_depth = 8\nqueue_depth = 9\n");
    let lab = Lab::new();
    lab.write("experiment.toml", b"[host]\nscheduler = \"\xff\"\n");
    refused("toml_not_text", &lab, &["run", "experiment.toml"]);
}

#[test]
fn a_number_that_overflows() {
    refused_config("overflow_count", "[run]\nseed = 99999999999999999999\n");
    refused_config("overflow_size", "[buffer]\ncapacity = \"99999999TiB\"\n");
}

#[test]
fn a_value_of_another_type_and_out_of_range() {
    refused_config("type_text_as_number", "[host]\nqueue_depth = \"8\"\n");
    refused_config("type_list", "[host]\nqueue_depth = [8]\n");
    refused_config("type_table", "[host]\nqueue_depth.x = 8\n");
    refused_config("type_value_as_section", "host = 8\n");
    refused_config("range", "[host]\nqueue_depth = 0\n");
    refused_config("speed_zero", "[workload]\nspeed = 0\n");
    refused_config("speed_infinite", "[workload]\nspeed = inf\n");
}

#[test]
fn a_workload_that_does_not_fit_its_device_or_its_replay() {
    refused_config("footprint", "[workload.synthetic]\nfootprint_size = \"1TiB\"\n");
    refused_config("filebench_files", "[workload]\nkind = \"filebench\"\n[workload.filebench]\nfiles = 20\n");
    refused_config("first_sector_without_recording", "[workload]\nfirst_sector = 63\n");
    refused_config("filebench_replay", "[workload]\nkind = \"filebench\"\nreplay = \"closed\"\n");
    refused_config("synthesized_span", "[workload]\nkind = \"synthesized\"\n[workload.synthesized]\nspan = \"1TiB\"\n");
    refused_config("replay_without_times", "[workload]\nreplay = \"timestamps\"\n");
}

#[test]
fn every_problem_is_found_in_one_pass() {
    refused_config(
        "many",
        "[host]\nschedular = \"noop\"\nqueue_depth = 0\n\n[device]\nread_time = 75\n[hots]\n[buffer]\n\
         capacity = \"1MB\"\n",
    );
}

#[test]
fn options_are_checked_as_the_file_is() {
    let lab = Lab::new();
    lab.write("experiment.toml", "");
    let set = |name: &str, text: &str| refused(name, &lab, &["run", "experiment.toml", "--set", text]);
    set("set_misspelt", "host.schedular=noop");
    set("set_without_value", "host.scheduler");
    set("set_bare_quantity", "buffer.capacity=5");
    set("set_table", "host.deadline=5");
    let vary = |name: &str, texts: &[&str]| {
        let options = texts.iter().flat_map(|text| ["--vary", text]);
        refused(name, &lab, &["compare", "experiment.toml"].into_iter().chain(options).collect::<Vec<_>>());
    };
    vary("vary_misspelt_value", &["host.scheduler=noop,dedline"]);
    vary("vary_twice", &["host.queue_depth=1,2,1", "host.queue_depth=3"]);
    vary("vary_nothing", &[]);
    vary("vary_cross_check", &["device.blocks=256,8"]);
    let both = ["compare", "experiment.toml", "--vary", "host.queue_depth=1,2", "--set", "host.queue_depth=3"];
    refused("vary_and_set", &lab, &both);
    lab.write(
        "experiment.toml",
        "[vary]\n\"host.schedular\" = [\"noop\"]\nhost.queue_depth = 3\nhost.nr_requests = []\n",
    );
    refused("vary_section", &lab, &["run", "experiment.toml"]);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let lab = Lab::new();
    lab.write("experiment.toml", "");
    std::fs::create_dir(lab.path("folder")).unwrap();
    refused("output_directory", &lab, &["run", "experiment.toml", "--json", "folder"]);
    for options in [["--timeline", "nowhere/timeline.csv"], ["--log", "nowhere/log.parquet"]] {
        let answer = lab.run(&[&["run", "experiment.toml"][..], &options].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{}", answer.stderr);
        assert!(answer.stderr.contains(options[1]), "{}", answer.stderr);
    }
}

#[test]
fn a_log_that_cannot_be_had() {
    let lab = Lab::new();
    lab.write("experiment.toml", "[run]\nprecondition = \"none\"\ntiming = \"counting\"\n");
    refused("log_without_time", &lab, &["run", "experiment.toml", "--log", "log.csv", "--slowest", "5"]);
    lab.write("experiment.toml", "");
    refused("log_unknown_ending", &lab, &["run", "experiment.toml", "--log", "log.csv.gz"]);
    refused("slowest_of_none", &lab, &["run", "experiment.toml", "--slowest", "0"]);
    for count in ["1001", "-1", "ten", "5000000000"] {
        assert_eq!(lab.run(&["run", "experiment.toml", "--slowest", count]).code, Some(2), "{count}");
    }
}

#[test]
fn a_misspelt_column_of_a_log() {
    let log = "timestamp_ns,op,lba,sectors,latency_ns,status,colection_ns\n0,W,0,8,100,done,100\n";
    refused_trace("trace_misspelt_column", log);
}

#[test]
fn a_log_that_is_no_trace() {
    let lab = Lab::new();
    lab.write("log.parquet", b"PAR1\x15\x04");
    refused("trace_of_parquet", &lab, &["trace", "info", "log.parquet"]);
}

#[test]
fn a_log_out_of_order_of_arrival() {
    refused_trace(
        "trace_log_unsorted",
        "timestamp_ns,op,lba,sectors,latency_ns,status\n9,W,0,8,1,done\n5,W,8,8,9,done\n",
    );
}

#[test]
fn a_conversion_that_cannot_hold_the_trace_or_does_not_know_its_format() {
    let lab = Lab::new();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,D,8,8\n");
    refused("convert_unsupported", &lab, &["trace", "convert", "trace.csv", "out.ssdsim"]);
    refused("convert_unknown_format", &lab, &["trace", "convert", "trace.csv", "out.xyz"]);
}

#[test]
fn a_name_that_nothing_has() {
    let lab = Lab::new();
    refused("explain_unknown", &lab, &["explain", "dedline"]);
    refused("explain_odd", &lab, &["explain", "±\u{1b}[31m"]);
    assert_eq!(lab.run(&["list", "bananas"]).code, Some(2));
    assert_eq!(lab.run(&["frobnicate"]).code, Some(2));
    assert_eq!(lab.run(&["compare", "a.toml", "--jobs", "0"]).code, Some(2));
}

#[test]
fn a_drive_that_cannot_be_probed() {
    let lab = Lab::new();
    lab.write("experiment.toml", "[run]\nprecondition = \"none\"\ntiming = \"counting\"\n");
    refused("probe_without_time", &lab, &["probe", "experiment.toml", "--outstanding", "64"]);
    lab.write("experiment.toml", "[run]\nfill = 0.5\n");
    refused("probe_of_half_a_drive", &lab, &["probe", "experiment.toml"]);
    lab.write("experiment.toml", "");
    refused("probe_request_size", &lab, &["probe", "experiment.toml", "--request-size", "1000B"]);
    refused("probe_bare_request_size", &lab, &["probe", "experiment.toml", "--request-size", "4096"]);
    refused("probe_huge_requests", &lab, &["probe", "experiment.toml", "--request-size", "1GiB"]);
    for option in [["--reach", "1.5"], ["--reach", "90"], ["--seeds", "0"], ["--outstanding", "0"], ["--requests", "1"]]
    {
        assert_eq!(lab.run(&[&["probe", "experiment.toml"][..], &option].concat()).code, Some(2), "{option:?}");
    }
}

#[test]
fn ranges_of_chips_that_the_drive_has_not() {
    let text = |layout: &str, chips: u32| {
        format!("[ftl]\nallocation = \"static\"\n[ftl.static]\nlayout = \"{layout}\"\nregion_chips = {chips}\n")
    };
    refused_config("region_chips_that_do_not_divide", &text("contiguous", 3));
    refused_config("region_chips_with_striped", &text("striped", 2));
}

#[test]
fn no_output_takes_the_place_of_an_input_or_of_another_output() {
    let lab = Lab::new();
    let trace = "timestamp_ns,op,lba,sectors\n0,W,0,8\n";
    let experiment = "[workload]\nkind = \"trace\"\npath = \"a.csv\"\n";
    let compared = format!("{experiment}[vary]\n\"host.scheduler\" = [\"noop\", \"deadline\"]\n");
    lab.write("a.csv", trace).write("a.toml", &compared);
    for arguments in [
        &["run", "a.toml", "--json", "a.toml"][..],
        &["run", "a.toml", "--json", "./a.csv"],
        &["run", "a.toml", "--json", "same", "--timeline", "same"],
        &["run", "a.toml", "--log", "a.csv"],
        &["run", "a.toml", "--timeline", "same.csv", "--log", "same.csv"],
        &["compare", "a.toml", "--csv", "a.csv"],
        &["compare", "a.toml", "--csv", "same", "--json", "same"],
        &["probe", "a.toml", "--json", "a.toml"],
        &["generate", "a.toml", "--out", "a.csv"],
        &["trace", "convert", "a.csv", "a.csv"],
    ] {
        let answer = lab.run(arguments);
        assert_eq!(answer.code, Some(2), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("another file to write to"), "{arguments:?}: {}", answer.stderr);
    }
    assert_eq!((lab.read("a.csv"), lab.read("a.toml")), (trace.to_owned(), compared));
    assert_eq!(lab.files().len(), 2, "{:?}", lab.files());
}

#[test]
fn an_empty_path_is_none() {
    let lab = crate::commands::small();
    for kind in ["trace", "fio"] {
        let kind_is = format!("workload.kind={kind}");
        let arguments = ["run", "small.toml", "--set", &kind_is, "--set", "workload.path="];
        let said = lab.run(&arguments).stderr;
        assert!(said.contains(&format!("`kind` = \"{kind}\" without a path")), "{said}");
    }
}
