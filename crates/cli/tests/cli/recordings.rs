//! Recordings of several devices, of volumes, of other programs, and such whose completions are missing, as a user
//! meets them.

use crate::lab::{Lab, has, sets};

const TWO: &str = "timestamp_ns,op,lba,sectors,device\n0,W,0,8,3\n1000,W,0,8,5\n2000,R,0,8,5\n3000,W,4096,8,3\n";

/// Two requests of a logical volume, and the same two as they reached its disk.
const VOLUME: &str = "\
253,0 1 1 0.000000000 811 Q W 1000 + 8 [postgres]
  8,0 1 1 0.000001100 811 A W 3048 + 8 <- (253,0) 1000
  8,0 1 2 0.000001500 811 Q W 3048 + 8 [postgres]
  8,0 1 5 0.000004500 811 D W 3048 + 8 [postgres]
  8,0 1 6 0.000104500 0 C W 3048 + 8 [0]
253,0 1 2 0.000105500 0 C W 1000 + 8 [0]
253,0 1 3 0.000200000 811 Q R 5000 + 16 [postgres]
  8,0 1 7 0.000201100 811 A R 7048 + 16 <- (253,0) 5000
  8,0 1 8 0.000201500 811 Q R 7048 + 16 [postgres]
  8,0 1 9 0.000204500 811 D R 7048 + 16 [postgres]
  8,0 1 10 0.000304500 0 C R 7048 + 16 [0]
253,0 1 4 0.000305500 0 C R 5000 + 16 [0]
";

fn lab(recording: &str) -> Lab {
    let lab = Lab::new();
    lab.write("trace", recording);
    lab.write("e.toml", "[workload]\nkind = \"trace\"\npath = \"trace\"\n[device]\nblocks = 64\n");
    lab
}

/// The requests of a run with these keys.
fn requests(lab: &Lab, keys: &str) -> Option<u64> {
    lab.json(&format!("run e.toml --json -{}", sets(keys)))["host"]["requests"].as_u64()
}

#[test]
fn devices_are_never_laid_over_one_another() {
    let lab = lab(TWO);
    insta::assert_snapshot!("several_devices", lab.refuses("run e.toml", &[]));
    for (device, expected) in [("3", 2), ("5", 2), ("all", 4)] {
        assert_eq!(requests(&lab, &format!("workload.device={device}")), Some(expected), "{device}");
    }
    let all = "run e.toml --set workload.device=all";
    lab.shows(all, &["one behind the other: `3` from sector 0, `5` from sector 6144."]);
    lab.refuses("run e.toml --set workload.device=4", &["expected a device that has such: `3`, `5`"]);
    lab.refuses(&format!("{all} --set workload.first_sector=8"), &["a first sector is that of one"]);
    insta::assert_snapshot!("info_of_several_devices", lab.succeed("trace info trace").stdout);
}

#[test]
fn a_volume_and_its_disk_are_one_load_at_the_level_that_is_chosen_and_said() {
    let lab = lab(VOLUME);
    for keys in ["", "workload.device=8,0 workload.event=queue", "workload.device=8,0 workload.event=issue"] {
        assert_eq!(requests(&lab, keys), Some(2), "{keys}");
    }
    lab.shows("run e.toml", &["2 requests of `8,0` are those of a device above, handed down"]);
    insta::assert_snapshot!("info_of_a_volume", lab.succeed("trace info trace").stdout);
}

#[test]
fn missing_completions_are_counted_and_warned_of() {
    let events = |number: usize, has_completion: bool| {
        let (issued, completed) = (number * 100, number * 100 + 40);
        let issue = format!("8,0 0 1 0.{issued:09} 7 D W {} + 8 [x]\n", number * 8);
        let completion = format!("8,0 0 1 0.{completed:09} 0 C W {} + 8 [0]\n", number * 8);
        if has_completion { issue + &completion } else { issue }
    };
    let text: String = (0..400).map(|number| events(number, number % 50 > 0)).collect();
    let lab = lab(&text);
    let warned = "2.00 % of the issued requests have no latency: 8 completions are missing";
    let info = lab.run("trace info trace").ended(0, &[warned]).stdout;
    has(&info, &["of 392 issued requests, by their completions, 8 without completion"]);
    has(&lab.json("validate e.toml --json -").to_string(), &[warned]);
}

#[test]
fn columns_that_may_be_bytes_or_sectors_are_ambiguous_until_it_is_said() {
    let lab = lab("0.000000 0 1048576 4096 1\n0.125000 0 2097152 8192 0\n0.250000 0 1052672 4096 1\n");
    insta::assert_snapshot!("ambiguous_columns", lab.refuses("run e.toml", &[]));
    let result = lab.json("run e.toml --json - --set workload.size_unit=bytes --set workload.time_unit=s");
    assert_eq!(result["host"]["read_bytes"], 8192);
    lab.succeed("trace info trace --size-unit bytes");
    lab.succeed("trace info trace --format disksim");
}
