//! A reader under libFuzzer: the one that FUZZ_TARGET names. With FUZZ_SEEDS it writes the reader's seeds to that
//! folder before it begins.
#![no_main]

use std::env;
use std::fs;
use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

use flashloom_fuzz::Target;
use libfuzzer_sys::fuzz_target;

fn target() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = env::var("FUZZ_TARGET").unwrap_or_default();
        let Some(target) = Target::all().find(|target| target.name() == name) else {
            let names: Vec<String> = Target::all().map(Target::name).collect();
            eprintln!("no target `{name}`; there are {}", names.join(", "));
            exit(2);
        };
        if let Ok(folder) = env::var("FUZZ_SEEDS") {
            for (number, seed) in target.seeds().iter().enumerate() {
                let path = Path::new(&folder).join(format!("seed-{number}"));
                fs::write(path, seed).expect("a seed can be written");
            }
        }
        target
    })
}

fuzz_target!(init: { target(); }, |data: &[u8]| {
    target().read(data);
});
