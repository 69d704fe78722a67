//! Keys that were given and have no effect: each is reported, and nothing is refused for it.

use crate::commands::{small, timeless};
use crate::lab::{Lab, sets};

/// The notes on standard error.
fn notes(lab: &Lab, arguments: &str) -> Vec<String> {
    let answer = lab.succeed(&format!("{arguments} --no-hints"));
    let is_note = |line: &&str| line.starts_with("note: ") && line.contains("no effect");
    answer.stderr.lines().filter(is_note).map(str::to_owned).collect()
}

#[test]
fn keys_without_effect_are_said_and_change_nothing() {
    let lab = small();
    let keys = "workload.synthesized.requests=500 workload.synthetic.hot_share=0.1";
    let said = notes(&lab, &format!("run small.toml{}", sets(keys)));
    insta::assert_snapshot!("unused_keys", said.join("\n"));
    assert_eq!(notes(&lab, "run small.toml"), [""; 0]);
    let [plain, set] = ["", keys].map(|keys| timeless(crate::commands::result(&lab, keys)));
    assert_eq!(set["host"], plain["host"]);

    lab.write("more.toml", format!("{}\n[ftl.dftl]\ncache = \"64KiB\"\n", lab.read("small.toml")));
    let said = notes(&lab, "run more.toml");
    let place = format!("note: more.toml:{}:9: ftl.dftl.cache has no effect", lab.read("more.toml").lines().count());
    assert!(said.len() == 1 && said[0].starts_with(&place), "{said:?}");
    let used = notes(&lab, "compare more.toml --vary ftl.mapping=page,dftl");
    assert_eq!(used, [""; 0], "one of the rows uses it");
}

#[test]
fn a_probe_says_it_of_the_drive_alone() {
    let keys = sets("ftl.dftl.cache=64KiB workload.synthetic.hot_share=0.1");
    let answer = small().run(&format!("probe small.toml --outstanding 2 --seeds 1 --requests 100{keys}"));
    let answer = answer.ended(0, &["ftl.dftl.cache has no effect"]);
    assert_eq!(answer.stderr.matches("no effect").count(), 1, "{}", answer.stderr);
}

#[test]
fn rows_that_are_equal_because_a_key_is_not_used_there_are_said() {
    let lab = small();
    let vary = "--vary ftl.mapping=page,bast --vary ftl.gc=greedy,fifo";
    let said = notes(&lab, &format!("compare small.toml --set ftl.bast.log_blocks=5 --skip-unfit {vary}"));
    assert!(said.len() == 1 && said[0].contains("ftl.gc has no effect in row 3: ftl.mapping is \"bast\""), "{said:?}");
    let hot = "--vary workload.synthetic.pattern=random,hot-cold --vary workload.synthetic.hot_share=0.1,0.3";
    for seeds in ["", "--seeds 2"] {
        let said = notes(&lab, &format!("compare small.toml {hot} {seeds}"));
        assert!(said.len() == 1 && said[0].contains("hot_share has no effect in rows 1, 2:"), "{said:?}");
    }
}

#[test]
fn what_a_key_is_used_with_is_explained() {
    for (key, used) in [
        (
            "workload.synthetic.hot_share",
            "It is used only with `workload.kind` = \"synthetic\" and with `workload.synthetic.pattern` = \
             \"hot-cold\".",
        ),
        ("run.fill", "It is used unless `run.precondition` is \"none\"."),
    ] {
        let page = Lab::new().succeed(&format!("explain {key}")).stdout;
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.ends_with(used), "{page}");
    }
}
