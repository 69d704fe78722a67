//! Catalogue of bad input: each is refused with exit status 2 before anything runs, and the message shows file, line
//! and column, what was found and what was expected.

use std::fs;

use crate::lab::Lab;

const TRACE: &str = "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,R,8,8\n2000,W,16,8\n";

/// An experiment on a trace of the given content.
fn experiment_on(trace: impl AsRef<[u8]>, more: &str) -> Lab {
    let lab = Lab::new();
    let text = format!("[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n{more}");
    lab.write("experiment.toml", text).write("trace.csv", trace);
    lab
}

/// Asserts that the program refuses it as bad input, and that the message matches the snapshot.
fn refused(name: &str, lab: &Lab, arguments: &str) {
    insta::assert_snapshot!(name, lab.refuses(arguments, &[]));
}

/// Asserts that configurations are refused, by the names of their snapshots.
pub fn refused_configs<'a>(configs: impl IntoIterator<Item = (&'a str, impl AsRef<[u8]>)>) {
    for (name, text) in configs {
        let lab = Lab::new();
        lab.write("experiment.toml", text);
        refused(name, &lab, "run experiment.toml --json result.json");
    }
}

/// Asserts that commands on one experiment are refused.
fn refused_commands(experiment: &str, commands: &[(&str, &str)]) {
    let lab = Lab::new();
    lab.write("experiment.toml", experiment).write("log.parquet", b"PAR1\x15\x04");
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,D,8,8\n").write("folder/empty", "");
    commands.iter().for_each(|(name, arguments)| refused(name, &lab, arguments));
}

#[test]
fn traces_are_refused_by_each_command_for_the_same_reason() {
    let log = "timestamp_ns,op,lba,sectors,latency_ns,status";
    for (name, trace) in [
        ("trace_garbage_line", TRACE.replace("1000,R,8,8", "%$!garbage")),
        ("trace_letter_in_number", TRACE.replace("1000,R,8,8", "1000,R,8x,8")),
        ("trace_negative_size", TRACE.replace("1000,R,8,8", "1000,R,8,-8")),
        ("trace_zero_size", TRACE.replace("1000,R,8,8", "1000,R,8,0")),
        ("trace_too_late", TRACE.replace("2000,W", "18446744073709551615,W")),
        ("trace_time_backwards", TRACE.replace("2000,W", "500,W")),
        ("trace_misspelt_column", format!("{log},colection_ns\n0,W,0,8,100,done,100\n")),
        ("trace_log_unsorted", format!("{log}\n9,W,0,8,1,done\n5,W,8,8,9,done\n")),
    ] {
        let lab = experiment_on(trace, "");
        refused(name, &lab, "run experiment.toml --json result.json");
        let of_run = lab.run("run experiment.toml").stderr;
        for command in ["trace info trace.csv", "trace convert trace.csv out.csv"] {
            assert_eq!(lab.refuses(command, &[]), of_run, "{name}: {command}");
        }
    }
}

#[test]
fn traces_that_an_experiment_cannot_replay() {
    // The magic number and version of a little-endian blktrace event, whose 48 bytes then end early.
    let event = [&0x6561_7407_u32.to_le_bytes()[..], &[0; 20]].concat();
    for (name, trace, more) in [
        ("trace_empty", "timestamp_ns,op,lba,sectors\n".as_bytes(), ""),
        ("trace_empty_file", b"", ""),
        ("trace_truncated_binary", &event, "format = \"blktrace\"\n"),
        ("trace_other_format", TRACE.as_bytes(), "format = \"msr\"\n"),
        ("trace_beyond_device", TRACE.replace("2000,W,16,8", "2000,W,99999999999,8").as_bytes(), ""),
        ("trace_before_first_sector", TRACE.as_bytes(), "first_sector = 12\n"),
        ("trace_without_task_ids", TRACE.as_bytes(), "replay = \"dependent\"\n"),
    ] {
        refused(name, &experiment_on(trace, more), "run experiment.toml");
    }
    let lab = experiment_on(TRACE, "");
    fs::create_dir(lab.path("folder")).unwrap();
    refused("trace_missing", &lab, "run experiment.toml --set workload.path=nowhere.csv");
    refused("trace_directory", &lab, "run experiment.toml --set workload.path=folder");
    refused("trace_missing_info", &lab, "trace info nowhere.csv");
}

#[test]
fn texts_that_are_no_configuration() {
    refused_configs([
        ("toml_unclosed", "[host\nscheduler = \"noop\"\n".as_bytes()),
        ("toml_unquoted", b"[host]\nscheduler = noop\n"),
        ("toml_duplicate", b"[host]\nqueue_depth = 8\nqueue_depth = 9\n"),
        ("toml_not_text", b"[host]\nscheduler = \"\xff\"\n"),
        ("misspelt_key", b"[host]\nqueue_dept = 8\n"),
        ("misspelt_section", b"[hosts]\nqueue_depth = 8\n"),
        ("misspelt_policy", b"[host]\nscheduler = \"dedline\"\n"),
        ("misspelt_policy_table", b"[host.dedline]\nfifo_batch = 8\n"),
        ("key_without_section", b"scheduler = \"noop\"\n"),
        // Keys that moved to another section.
        ("placement_under_buffer", b"[buffer]\nplacement = \"round-robin\"\n"),
        ("adaptive_under_buffer", b"ftl.mapping = \"bast\"\n[buffer.adaptive]\nwidest = 4\n"),
        // Every problem is found in one pass.
        (
            "many",
            b"[host]\nschedular = \"noop\"\nqueue_depth = 0\n\n[device]\nread_time = 75\n[hots]\n[buffer]\n\
              capacity = \"1MB\"\n",
        ),
    ]);
}

#[test]
fn values_of_another_type_or_out_of_range() {
    refused_configs([
        ("bare_time", "[device]\nread_time = 75\n"),
        ("bare_time_in_quotes", "[device]\nread_time = \"75\"\n"),
        ("banana", "[buffer]\ncapacity = \"banana\"\n"),
        ("overflow_count", "[run]\nseed = 99999999999999999999\n"),
        ("overflow_size", "[buffer]\ncapacity = \"99999999TiB\"\n"),
        ("type_text_as_number", "[host]\nqueue_depth = \"8\"\n"),
        ("type_list", "[host]\nqueue_depth = [8]\n"),
        ("type_table", "[host]\nqueue_depth.x = 8\n"),
        ("type_value_as_section", "host = 8\n"),
        ("range", "[host]\nqueue_depth = 0\n"),
        ("speed_zero", "[workload]\nspeed = 0\n"),
        ("speed_infinite", "[workload]\nspeed = inf\n"),
    ]);
}

#[test]
fn hosts_and_workloads_that_cannot_be() {
    let many = "[host]\nprocessors = 64\nhardware_queues = 64\nnr_requests = 65_536\n";
    refused_configs([
        ("hardware_queues", "[host]\nprocessors = 4\nhardware_queues = 8\n"),
        ("hardware_queues_of_many_requests", many),
        ("throttling_before_blk_mq", "[host]\nwbt = \"on\"\n"),
        ("scheduler_before_blk_mq", "[host]\nscheduler = \"kyber\"\nlinux = \"2.6.32\"\n"),
        ("anatomy_without_time", "[run]\ntiming = \"counting\"\nanatomy = true\n"),
        ("kind_without_path", "[workload]\nkind = \"trace\"\n"),
        ("path_without_kind", "[workload]\npath = \"trace.csv\"\n"),
        ("footprint", "[workload.synthetic]\nfootprint_size = \"1TiB\"\n"),
        ("filebench_files", "[workload]\nkind = \"filebench\"\n[workload.filebench]\nfiles = 20\n"),
        ("first_sector_without_recording", "[workload]\nfirst_sector = 63\n"),
        ("filebench_replay", "[workload]\nkind = \"filebench\"\nreplay = \"closed\"\n"),
        ("synthesized_span", "[workload]\nkind = \"synthesized\"\n[workload.synthesized]\nspan = \"1TiB\"\n"),
        ("replay_without_times", "[workload]\nreplay = \"timestamps\"\n"),
    ]);
}

#[test]
fn drives_that_cannot_be() {
    // 16 TiB in pages of 4 KiB.
    let device = "[device]\nchannels = 16\nways = 8\ndies = 4\nplanes = 4\nblocks = 1023\npages = 2048\n";
    let large = format!("{device}page_size = \"4KiB\"\n[buffer]\ncapacity = \"0B\"\n");
    let chips = |layout: &str, chips: u32| {
        format!("[ftl]\nallocation = \"static\"\n[ftl.static]\nlayout = \"{layout}\"\nregion_chips = {chips}\n")
    };
    refused_configs([
        ("over_provisioning_zero", "[device]\nover_provisioning = 0\n"),
        ("device_too_small", "[device]\nblocks = 8\n"),
        ("threshold_too_high", "[device]\nblocks = 40\n\n[ftl]\ngc_threshold = 20\n"),
        (
            "no_room_for_log_blocks",
            "[device]\nblocks = 16\nover_provisioning = 0.07\n\n[ftl]\nmapping = \"bast\"\nbast.log_blocks = 4\n",
        ),
        ("too_many_pages", "[device]\nblocks = 1_000_000\npages = 1024\n"),
        ("map_too_large", &large),
        ("map_too_large_in_units", &format!("{large}[ftl]\nmapping_unit = \"8KiB\"\n")),
        ("map_too_large_of_log_blocks", &format!("{large}[ftl]\nmapping = \"fast\"\n")),
        ("page_size", "[device]\npage_size = \"5000B\"\n[host]\nqueue_depth = 8\n"),
        ("buffer_of_broken_pages", "[buffer]\ncapacity = \"1MB\"\n"),
        ("region_chips_that_do_not_divide", &chips("contiguous", 3)),
        ("region_chips_with_striped", &chips("striped", 2)),
    ]);
}

#[test]
fn expectations_that_mean_nothing() {
    let expectation = |more: &str| format!("[[expect]]\nclaim = \"fast\"\n{more}");
    let of_iops = |more: &str| expectation(&format!("formula = \"max(host.iops)\"\n{more}"));
    refused_configs([
        ("expect_misspelt_key", expectation("formula = \"host.iops\"\nat_lest = 1\nat_most = 2\n")),
        ("expect_without_formula", expectation("at_least = 1\n")),
        ("expect_without_bound", of_iops("")),
        ("expect_empty_range", of_iops("at_least = 2\nat_most = 1\n")),
        ("expect_text_as_bound", of_iops("at_least = \"1\"\n")),
        ("expect_bad_formula", expectation("formula = \"max(host.iops\"\nat_least = 1\n")),
        ("expect_unknown_field", expectation("formula = \"max(host.iosp)\"\nat_least = 1\n")),
        ("expect_other_experiment", expectation("formula = \"max(other:host.iops)\"\nat_least = 1\n")),
        ("expect_section", "[expect]\nclaim = \"fast\"\n".to_owned()),
    ]);
    // Of runs that there are not, or of an anatomy that none keeps.
    let vary = "[vary]\n\"host.scheduler\" = [\"noop\", \"cfq\"]\n\n";
    for (name, formula) in [
        ("expect_no_such_run", "max(host.iops{scheduler=deadline})"),
        ("expect_key_that_does_not_vary", "max(host.iops{capacity=1MiB})"),
        ("expect_several_numbers", "host.iops"),
    ] {
        let text = vary.to_owned() + &expectation(&format!("formula = \"{formula}\"\nat_least = 1\n"));
        refused_commands(&text, &[(name, "compare experiment.toml")]);
    }
    let formula = "max(host.anatomy.read.p99.parts_ns.collection)";
    let text = format!("[[expect]]\nclaim = \"x\"\nformula = \"{formula}\"\nat_most = 1\n");
    refused_commands(
        &text,
        &[("expect_without_anatomy", "compare experiment.toml --vary host.scheduler=noop,deadline")],
    );
}

#[test]
fn options_are_checked_as_the_file_is() {
    refused_commands(
        "",
        &[
            ("set_misspelt", "run experiment.toml --set host.schedular=noop"),
            ("set_without_value", "run experiment.toml --set host.scheduler"),
            ("set_bare_quantity", "run experiment.toml --set buffer.capacity=5"),
            ("set_table", "run experiment.toml --set host.deadline=5"),
            ("vary_misspelt_value", "compare experiment.toml --vary host.scheduler=noop,dedline"),
            ("vary_twice", "compare experiment.toml --vary host.queue_depth=1,2,1 --vary host.queue_depth=3"),
            ("vary_nothing", "compare experiment.toml"),
            ("vary_cross_check", "compare experiment.toml --vary device.blocks=256,8"),
            ("vary_and_set", "compare experiment.toml --vary host.queue_depth=1,2 --set host.queue_depth=3"),
        ],
    );
    let vary = "[vary]\n\"host.schedular\" = [\"noop\"]\nhost.queue_depth = 3\nhost.nr_requests = []\n";
    refused_commands(vary, &[("vary_section", "run experiment.toml")]);
    // The option that breaks a file is what is pointed at.
    let span = "[workload]\nkind = \"synthesized\"\n[workload.synthesized]\nfootprint = \"1GiB\"\nspan = \"4GiB\"\n\
                [device]\nblocks = 1024\n";
    refused_commands(
        span,
        &[
            ("option_too_few_requests", "run experiment.toml --set workload.synthesized.requests=20000"),
            ("option_over_provisioning", "run experiment.toml --set device.over_provisioning=0.1%"),
        ],
    );
}

#[test]
fn commands_that_cannot_do_what_they_are_asked_for() {
    refused_commands(
        "",
        &[
            ("config_missing", "run nowhere.toml"),
            ("config_directory", "compare folder"),
            ("output_directory", "run experiment.toml --json folder"),
            ("timeline_to_standard_output", "run experiment.toml --timeline -"),
            ("log_unknown_ending", "run experiment.toml --log log.csv.gz"),
            ("slowest_of_none", "run experiment.toml --slowest 0"),
            ("trace_of_parquet", "trace info log.parquet"),
            ("convert_unsupported", "trace convert trace.csv out.ssdsim"),
            ("convert_unknown_format", "trace convert trace.csv out.xyz"),
            ("explain_unknown", "explain dedline"),
            ("explain_odd", "explain ±\u{1b}[31m"),
            ("probe_request_size", "probe experiment.toml --request-size 1000B"),
            ("probe_bare_request_size", "probe experiment.toml --request-size 4096"),
            ("probe_huge_requests", "probe experiment.toml --request-size 1GiB"),
        ],
    );
    refused_commands(
        "[run]\nprecondition = \"none\"\ntiming = \"counting\"\n",
        &[
            ("log_without_time", "run experiment.toml --log log.csv --slowest 5"),
            ("probe_without_time", "probe experiment.toml --outstanding 64"),
        ],
    );
    refused_commands("[run]\nfill = 0.5\n", &[("probe_of_half_a_drive", "probe experiment.toml")]);
    let lab = Lab::new();
    lab.write("experiment.toml", "");
    for (arguments, word) in [
        ("run experiment.toml --timeline nowhere/timeline.csv", "nowhere/timeline.csv"),
        ("run experiment.toml --log nowhere/log.parquet", "nowhere/log.parquet"),
        ("run experiment.toml --slowest 1001", ""),
        ("run experiment.toml --slowest -1", ""),
        ("run experiment.toml --slowest ten", ""),
        ("run experiment.toml --slowest 5000000000", ""),
        ("list bananas", ""),
        ("frobnicate", ""),
        ("compare a.toml --jobs 0", ""),
        ("probe experiment.toml --reach 1.5", ""),
        ("probe experiment.toml --reach 90", ""),
        ("probe experiment.toml --seeds 0", ""),
        ("probe experiment.toml --outstanding 0", ""),
        ("probe experiment.toml --requests 1", ""),
    ] {
        lab.refuses(arguments, &[word]);
    }
    let lab = crate::commands::small();
    for kind in ["trace", "fio"] {
        let found = format!("`kind` = \"{kind}\" without a path");
        lab.refuses(&format!("run small.toml --set workload.kind={kind} --set workload.path="), &[&found]);
    }
}

#[test]
fn no_output_takes_the_place_of_an_input_or_of_another_output() {
    let lab = Lab::new();
    let trace = "timestamp_ns,op,lba,sectors\n0,W,0,8\n";
    let experiment = "[workload]\nkind = \"trace\"\npath = \"a.csv\"\n";
    let compared = format!("{experiment}[vary]\n\"host.scheduler\" = [\"noop\", \"deadline\"]\n");
    lab.write("a.csv", trace).write("a.toml", &compared);
    for arguments in [
        "run a.toml --json a.toml",
        "run a.toml --json ./a.csv",
        "run a.toml --json same --timeline same",
        "run a.toml --log a.csv",
        "run a.toml --timeline same.csv --log same.csv",
        "compare a.toml --csv a.csv",
        "compare a.toml --csv same --json same",
        "probe a.toml --json a.toml",
        "generate a.toml --out a.csv",
        "trace convert a.csv a.csv",
    ] {
        lab.refuses(arguments, &["another file to write to"]);
    }
    assert_eq!((lab.read("a.csv"), lab.read("a.toml")), (trace.to_owned(), compared));
}
