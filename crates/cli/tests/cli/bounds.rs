//! Comparisons with bounds: the columns, what is left blank and why, and what is asked for in vain.

use crate::commands::{small, validate};

/// A comparison of write buffers, one of which does not exist.
const BUFFERS: &str = "compare small.toml --set run.timing=counting --vary buffer.capacity=0B,64KiB \
                       --set workload.synthetic.pattern=zipf";

#[test]
fn each_row_is_put_beside_the_best_and_what_has_no_bound_says_why() {
    let bounds = "--bounds --columns buffer.hit_ratio,most_write_hits_share,waf --no-hints --quiet";
    let answer = small().succeed(&format!("{BUFFERS} {bounds}"));
    insta::assert_snapshot!("bounds", format!("{}\n{}", answer.stdout, answer.stderr));
}

#[test]
fn bounds_are_fields_of_the_result_only_where_they_are_asked_for() {
    let lab = small();
    for (bounds, has) in [("--bounds", true), ("", false)] {
        lab.succeed(&format!("{BUFFERS} {bounds} --json out.json --csv out.csv --out kept"));
        let comparison = lab.read_json("out.json");
        validate("compare.json", &comparison);
        let bound = &comparison["runs"][1]["result"]["bounds"]["buffer"];
        assert_eq!(bound["misses_over_fewest"].as_f64().is_some_and(|misses| misses >= 1.0), has, "{bound}");
        assert_eq!(lab.read("out.csv").contains("bounds.buffer.misses_over_fewest"), has);
    }
    let kept = std::fs::read_dir(lab.path("kept")).expect("it was written").count();
    assert_eq!(kept, 4, "a result with bounds is another than one without");
}

#[test]
fn a_column_of_bounds_without_bounds_is_refused() {
    let message = small().refuses(&format!("{BUFFERS} --columns waf,misses/OPT"), &[]);
    insta::assert_snapshot!("bounds_without_bounds", message);
}
