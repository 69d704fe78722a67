//! Every row and column that a command prints for people is explained: a new one fails here until the reference
//! describes it.

use crate::commands::{TRACE, small};
use crate::lab::{Answer, Lab, sets};

/// Cells of a line of a table, separated by two blanks.
fn cells(line: &str) -> Vec<String> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

fn is_figure(cell: &str) -> bool {
    cell.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

/// Names in tables: the first line of each block if it has no figures, and the first cell of every line.
fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.trim_start().starts_with("hint:")) {
        for (number, line) in block.lines().filter(|line| !line.is_empty()).enumerate() {
            let cells = cells(line);
            let is_header = number == 0 && cells.len() > 2 && cells.iter().all(|cell| !is_figure(cell));
            names.extend(cells.into_iter().take(if is_header { usize::MAX } else { 1 }));
        }
    }
    names
}

fn explained(lab: &Lab, names: &[String]) {
    let mut unique = names.to_vec();
    unique.sort();
    unique.dedup();
    let missing: Vec<_> = unique.iter().filter(|name| lab.run(&format!("explain {name}")).code != Some(0)).collect();
    assert!(missing.is_empty(), "nothing explains {missing:?}");
}

#[test]
fn the_rows_and_columns_of_a_run_are_explained() {
    let lab = small();
    let mut found = Vec::new();
    for keys in [
        "run.anatomy=true",
        "ftl.mapping=dftl ftl.hot_cold=multi-hash",
        "ftl.mapping=kast ftl.kast.log_blocks=4",
        "ftl.allocation=slap run.timing=counting",
        "device.program_failures=0.0005 ftl.wear_levelling=static",
        "workload.kind=synthesized workload.synthesized.requests=20000 workload.synthesized.footprint=4MiB \
         workload.synthesized.span=8MiB",
    ] {
        found.extend(names(&lab.succeed(&format!("run small.toml --verify{}", sets(keys))).stdout));
    }
    for name in ["mapping", "allocation", "bad blocks", "p99.9", "from p99.9", "fit"] {
        assert!(found.iter().any(|known| known == name), "{name} was not printed: {found:?}");
    }
    explained(&lab, &found);
}

#[test]
fn the_columns_of_a_comparison_and_the_rows_of_a_recording_are_explained() {
    let lab = small();
    lab.write("trace.csv", TRACE);
    let mcsplit = sets("ftl.mapping=mcsplit ftl.mcsplit.log_blocks=4");
    let table = lab.succeed(&format!("compare small.toml --vary buffer.order=page-lru,fab{mcsplit}")).stdout;
    let mut found = cells(table.lines().find(|line| line.contains("requests/s")).expect("there is a header"));
    found.extend(names(&lab.succeed("trace info trace.csv").stdout));
    assert!(found.len() > 20, "{found:?}");
    explained(&lab, &found);
}

#[test]
fn a_name_of_several_words_needs_no_quotes() {
    let lab = Lab::new();
    let quoted = Answer::of(&mut lab.command(["explain", "longest merge"])).ended(0, &[]);
    assert_eq!(lab.succeed("explain longest merge").stdout, quoted.stdout);
}
