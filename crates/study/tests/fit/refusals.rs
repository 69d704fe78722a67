//! What cannot be fitted: it is refused with its place, or said.

use super::*;

#[test]
fn recordings_that_cannot_be_those_of_a_flash_drive_are_refused() {
    let lab = Lab::new();
    type Line = fn(u64) -> String;
    let rows: [(&str, Line, &str); 6] = [
        (",latency_ns", |at| format!("{},R,{},8,{}", at * 20_000_000, at * 64, 6_000_000 + at), "this may be a disk"),
        ("", |at| format!("{},R,{},8", at * 100_000, at * 64), "0 of 400 requests have a latency"),
        (
            ",latency_ns,device",
            |at| format!("{},R,{},8,90000,{}", at * 100_000, at * 64, at % 2),
            "requests of 2 devices",
        ),
        (",latency_ns", |at| format!("{},R,{},8,90000", at * 100_000, at * 8_000_000), "own.csv:"),
        (",latency_ns", |at| format!("{},R,{},8,17179869184", at * 100_000, at * 64), "every other latency is 17.0 s"),
        (",latency_ns", |at| format!("{},R,{},8,90000", (400 - at) * 100_000, at * 64), "the time goes back"),
    ];
    for (columns, line, found) in rows {
        let lines: String = (0..400).map(|at| line(at) + "\n").collect();
        lab.write("own.csv", format!("timestamp_ns,op,lba,sectors{columns}\n{lines}"));
        let problem = lab.refusal(&["own.csv".to_owned()], &VARIES[..1]);
        assert!(problem.contains(found) && problem.contains("own.csv"), "{found}: {problem}");
    }
}

#[test]
fn a_parameter_may_change_the_capacity() {
    let lab = Lab::new();
    let inputs = lab.measure(&[], &CELLS[..2], 4_000);
    let cells_from = |share: &str| {
        let given = sets(&[("device.over_provisioning", share)]);
        let varies = ["device.over_provisioning=0.2999..0.3"];
        let asked = Asked { sets: &given, varies: &varies, requests: 2_000, ..Asked::default() };
        let fit = lab.load_as(&inputs, &asked).unwrap_or_else(|problems| panic!("{problems}"));
        fit.run(Journal::in_memory(), &Quiet).expect("every check holds").cells
    };
    // The smaller drive that stands for it is another, so that a few reads meet elsewhere.
    for cell in ["0.05", "0.6"].into_iter().flat_map(cells_from) {
        let rate = cell.errors.iter().find(|one| one.quantity == "requests/s").expect("it was compared");
        assert!(rate.error.abs() < 0.05, "{cell:?}");
    }
}

#[test]
fn a_drive_that_dies_fits_nothing() {
    let lab = Lab::new();
    let job = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\nrw=randwrite\nbs=4k\nsize=100%\n\
               norandommap=1\nnumber_ios=4000\nstonewall=1\n[one]\niodepth=1\n[four]\niodepth=4\n";
    lab.write("writes.json", lab.run_fio(job, &[]));
    let inputs = ["writes.json".to_owned()];
    let run = |range: &str| {
        let fit = lab.load(&inputs, &[range], HoldOut::None, 1).unwrap_or_else(|problems| panic!("{problems}"));
        fit.run(Journal::in_memory(), &Quiet)
    };
    let ended = run("device.program_failures=0.3..0.5").expect_err("it dies");
    assert!(ended.to_string().contains("its life ends"), "{ended}");
    let result = run("device.program_time=100us..900us").expect("every check holds");
    assert!(result.cells.iter().all(|cell| !cell.errors.is_empty()), "{result:?}");
}

#[test]
fn what_cannot_be_fitted_is_refused_with_its_place() {
    let lab = Lab::new();
    let inputs = lab.measure(&[], &CELLS[..2], 2_000);
    let refused = |varies: &[&str], found: &str, place: &str| {
        let problem = lab.refusal(&inputs, varies);
        assert!(problem.contains(found) && problem.contains(place), "{varies:?}: {problem}");
    };
    refused(&["device.raed_time=1us..9us"], "unknown key `raed_time`", "did you mean `read_time`?");
    refused(&["fit.device.ways=1,2"], "unknown section `fit`", "the key alone: `device.ways`");
    refused(&["device.read_time=9us..1us"], "the empty range from 9us to 1us", "--vary:1:18");
    refused(&["device.read_time=9us..9us"], "the empty range from 9us to 9us", "--vary:1:18");
    refused(&["device.read_time=9us,10us"], "`9us,10us` is not a range", "FROM..TO");
    refused(&["device.read_time=9us..10"], "`10` has no unit", "--vary:1:23");
    refused(&["device.page_size=4KiB..16KiB"], "expected a size with a unit", "--vary:1:18");
    refused(&["device.ways=1,99999"], "`99999` is out of range", "--vary:1:15");
    refused(&["workload.queue_depth=1,2"], "`workload.queue_depth` as a parameter", "--vary:1:1");
    refused(&["device.ways=1..20", "device.channels=1..20"], "400 combinations", "at most 256");
    refused(&["device.ways=1", "device.ways=2"], "`device.ways` is varied twice", "--vary:1:1");
    refused(&["buffer.capacity=1MiB..8MiB"], "`MiB..8MiB` is not a unit", "--vary:1:17");
    lab.load(&inputs, &["device.page_size=4KiB,8KiB"], HoldOut::Second, 1)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let problem = lab.refusal(&[inputs[1].clone(), inputs[0].clone(), inputs[1].clone()], &VARIES[..1]);
    assert!(problem.contains("\"job\" is the same measurement as \"job\" of "), "{problem}");
    let text = fs::read_to_string(lab.path(&inputs[0])).expect("it was written");
    let mut many: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let mut job = many["jobs"][0].clone();
    job["job options"]["stonewall"] = "1".into();
    many["jobs"] = vec![job; 1_025].into();
    lab.write("many.json", many.to_string());
    let problem = lab.refusal(&["many.json".to_owned()], &VARIES[..1]);
    assert!(problem.contains("more than 1024 measurements") && problem.contains("many.json"), "{problem}");
    assert!(lab.refusal(&inputs[..1], &VARIES[..1]).contains("1 cell, of which some are to be held out"));
    let problem = lab.refusal(&["start.toml".to_owned()], &VARIES);
    assert!(problem.contains("start.toml") && problem.contains("format"), "{problem}");
    lab.write("fill.csv", "written_bytes,bytes_per_second\n2000000000,4e9\n");
    assert!(lab.refusal(&["fill.csv".to_owned()], &VARIES).contains("a first stretch of"));
    assert!(lab.refusal(&["missing.json".to_owned()], &VARIES).contains("missing.json"));

    let changed = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(lab.path(&inputs[1])).expect("it was written");
        assert!(text.contains(from), "{from} is in {text}");
        lab.write(name, text.replace(from, to));
        lab.refusal(&[inputs[0].clone(), name.to_owned()], &VARIES[..1])
    };
    let problem = changed("other.json", "/dev/nvme0n1", "/dev/sda");
    assert!(problem.contains("a measurement of `/dev/sda`") && problem.contains("other.json"), "{problem}");
    let problem = changed("empty.json", "\"total_ios\":2000", "\"total_ios\":0");
    assert!(problem.contains("no reads"), "{problem}");
    let problem = changed("broken.json", "\"50.000000\":", "\"50.000000\":17179869184, \"50.5\":17179869184, \"x\":");
    assert!(problem.contains("broken.json"), "{problem}");
    let problem = changed("polled.json", "\"percentile\":{", "\"percentile\":{\"0.500000\":17179869184,");
    assert!(problem.contains("percentiles in ascending order") && problem.contains("polled.json"), "{problem}");

    // What would be varied by a comparison is no parameter, and no option takes it away but by a value.
    lab.write("start.toml", format!("[vary]\n\"device.ways\" = [1, 2]\nhost.queue_depth = [1, 8]\n{DRIVE}"));
    let problem = lab.refusal(&inputs, &VARIES[..1]);
    for place in ["`device.ways` in [vary] of the start of a fit", "start.toml:2:1", "start.toml:3:6", "are in [fit]"] {
        assert!(problem.contains(place), "{place}: {problem}");
    }
    let given = sets(&[("device.ways", "2"), ("host.queue_depth", "8")]);
    let asked = Asked { sets: &given, varies: &VARIES[..1], ..Asked::default() };
    lab.load_as(&inputs, &asked).unwrap_or_else(|problems| panic!("{problems}"));

    // The ranges of an experiment have places, too.
    for (written, found) in [
        ("\"device.read_time\" = [\"9us\"]", "1 values for `device.read_time`"),
        ("\"device.read_time\" = [\"9us\", \"4us\"]", "the empty range from 9us to 4us"),
        ("\"device.read_tim\" = [\"9us\", \"40us\"]", "unknown key `read_tim`"),
        ("device.ways = []", "an empty list"),
    ] {
        lab.write("start.toml", format!("[fit]\n{written}\n{DRIVE}"));
        let problem = lab.refusal(&inputs, &[]);
        assert!(problem.contains(found) && problem.contains("start.toml:2:"), "{written}: {problem}");
    }
    lab.write("start.toml", format!("[fit]\ndevice.ways = [1, 2]\n\"device.ways\" = [1, 4]\n{DRIVE}"));
    let problem = lab.refusal(&inputs, &[]);
    assert!(
        problem.contains("`device.ways` is listed twice in [fit]") && problem.contains("start.toml:3:"),
        "{problem}"
    );
}

#[test]
fn reads_of_a_disk_are_refused() {
    let lab = Lab::new();
    let inputs = lab.measure(&sets(&[("device.read_time", "6ms")]), &CELLS[..2], 2_000);
    let problem = lab.refusal(&inputs, &VARIES[..1]);
    assert!(problem.contains("a disk, or a network volume") && problem.contains("4k-1.json"), "{problem}");
}

#[test]
fn a_preset_in_a_file_that_is_none_is_refused_with_its_place() {
    let lab = Lab::new();
    let refused = |preset: &str, found: &str, place: &str| {
        lab.write("mine.toml", preset);
        lab.write("use.toml", "[device]\npreset = \"./mine.toml\"\n");
        let used = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
        let problem = used.expect_err("it is refused").to_string();
        assert!(problem.contains(found) && problem.contains(place), "{preset}: {problem}");
    };
    refused("[device]\nchanels = 2\n", "unknown key `chanels`", "mine.toml:2:1");
    refused("[device]\nread_time = 2\n", "`2` has no unit", "mine.toml:2:13");
    refused("[device]\npreset = \"mlc-16g\"\n", "a preset in the file of a preset", "mine.toml:2:10");
    refused("[run]\nseed = 2\n", "`run.seed` in the file of a drive", "mine.toml:2:8");
    refused("[vary]\n\"device.ways\" = [1, 2]\n", "a list of an experiment in the file of a drive", "mine.toml:2:1");
    refused("[fit]\n\"device.ways\" = [1, 2]\n", "a list of an experiment in the file of a drive", "mine.toml:2:1");
    // What contradicts itself in the file of the preset is told there, and what an experiment changes of it is not.
    refused("[device]\nblocks = 3\n", "the device is too small", "mine.toml:2:10");
    refused("[ftl]\nhot_cold = \"multi-hash\"\nslc_cache = \"static\"\n", "an SLC cache", "mine.toml:");
    lab.write("mine.toml", "[device]\nblocks = 64\n");
    for (written, options, place) in [
        ("blocks = 3\n", vec![], "use.toml:3:10"),
        ("", vec!["device.blocks=3".to_owned()], "--set:1:15"),
        ("", vec!["device.over_provisioning=0.001".to_owned()], "--set:1:26"),
    ] {
        lab.write("use.toml", format!("[device]\npreset = \"./mine.toml\"\n{written}"));
        let used = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &options);
        let problem = used.expect_err("it is refused").to_string();
        assert!(problem.contains("too small") && problem.contains(place), "{written}{options:?}: {problem}");
    }
    lab.write("mine.toml", "[device]\nblocks = 3\n");
    lab.write("use.toml", "[device]\nblocks = 256\n");
    let used = [format!("device.preset={:?}", lab.text("mine.toml"))];
    assert!(Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &used).is_ok());
    lab.write("use.toml", "[run]\nseed = 2\n");
    let used = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &used);
    assert!(used.expect_err("it is refused").to_string().contains("mine.toml:2:10"));
    lab.write("use.toml", "[device]\npreset = \"./mine.toml\"\n");
    fs::remove_file(lab.path("mine.toml")).expect("it was written");
    let missing = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
    let problem = missing.expect_err("it is refused").to_string();
    assert!(problem.contains("mine.toml") && problem.contains("use.toml:2:10"), "{problem}");
    let misspelt = ["device.preset=nvme-tlc-512".to_owned()];
    let used = Experiment::load_run(&Catalog::builtin(), &lab.text("start.toml"), &misspelt);
    assert!(used.expect_err("it is refused").to_string().contains("did you mean `nvme-tlc-512g`?"));
}
