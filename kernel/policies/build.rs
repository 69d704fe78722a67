//! Compiles the schedulers of two kernel source trees, unmodified, against the headers in `shim/`.
//!
//! `FLASHLOOM_LINUX` names a folder with the source trees `6.1` and `6.12`; `./fetch` makes it. Of each tree the files
//! below are copied to a folder of their own, so that an `#include "blk-wbt.h"` does not find the kernel's: every
//! header that they include and that is not listed is an empty file, and `shim/kernel.h`, which is included first, has
//! what is needed of it. The objects of a version become one, in which all symbols but its table of calls are local.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

/// Versions, and whether requests have a priority beside that of their data.
const VERSIONS: [(&str, bool); 2] = [("6.1", true), ("6.12", false)];

/// What is compiled of each version, into an archive of its own.
struct Part {
    name: &'static str,
    /// The kernel's sources that are compiled as they are.
    sources: &'static [&'static str],
    /// Those that a file of the shim includes whole, and adds functions to that need a static symbol.
    included: &'static [&'static str],
    /// The files of the shim.
    shim: &'static [&'static str],
    /// Headers beside [`HEADERS`], and what is defined.
    headers: &'static [&'static str],
    defined: &'static [&'static str],
}

const PARTS: [Part; 2] = [
    Part {
        name: "linux",
        sources: &["lib/rbtree.c", "lib/sbitmap.c", "block/blk-merge.c", "block/bfq-wf2q.c", "block/bfq-cgroup.c"],
        included: &["block/mq-deadline.c", "block/kyber-iosched.c", "block/bfq-iosched.c", "block/elevator.c"],
        shim: &["deadline.c", "kyber.c", "bfq.c", "elevators.c", "policy.c"],
        headers: &[],
        defined: &[],
    },
    Part {
        name: "throttle",
        sources: &["block/blk-rq-qos.c", "block/blk-stat.c"],
        included: &["block/blk-wbt.c"],
        shim: &["throttle.c"],
        headers: &["block/blk-wbt.h", "block/blk-rq-qos.h", "block/blk-stat.h"],
        defined: &["SHIM_TASKS_SLEEP", "CONFIG_BLK_WBT"],
    },
];
/// The kernel's headers that are used: data structures, and the structures of the block layer. Those that a version
/// has not are left out.
const HEADERS: [&str; 26] = [
    "block/elevator.h",
    "block/blk.h",
    "block/blk-mq.h",
    "block/blk-mq-sched.h",
    "block/blk-mq-tag.h",
    "block/bfq-iosched.h",
    "include/linux/list.h",
    "include/linux/list_sort.h",
    "include/linux/rbtree.h",
    "include/linux/rbtree_types.h",
    "include/linux/rbtree_augmented.h",
    "include/linux/hashtable.h",
    "include/linux/hash.h",
    "include/linux/log2.h",
    "include/linux/sbitmap.h",
    "include/linux/ioprio.h",
    "include/linux/iocontext.h",
    "include/linux/bvec.h",
    "include/linux/bio.h",
    "include/linux/blk_types.h",
    "include/linux/blkdev.h",
    "include/linux/blk-mq.h",
    "include/linux/blk-integrity.h",
    "include/linux/bio-integrity.h",
    "include/linux/blk-crypto.h",
    "include/uapi/linux/ioprio.h",
];

fn main() {
    println!("cargo::rerun-if-env-changed=FLASHLOOM_LINUX");
    println!("cargo::rerun-if-changed=shim");
    let Some(trees) = env::var_os("FLASHLOOM_LINUX").map(PathBuf::from) else {
        fail("FLASHLOOM_LINUX has to name a folder with the source trees 6.1 and 6.12; kernel/policies/fetch makes it");
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (version, has_priority) in VERSIONS {
        let tree = trees.join(version);
        println!("cargo::rerun-if-changed={}", tree.display());
        for part in &PARTS {
            let here = out.join(part.name).join(version);
            let _ = fs::remove_dir_all(&here);
            part.copy(&tree, &here);
            part.make_empty_headers(&here);
            part.compile(version, has_priority, &here, &out);
        }
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    println!(
        "cargo::rustc-env=FLASHLOOM_LINUX_VERSIONS={}",
        VERSIONS.map(|(version, _)| point_release(&trees.join(version))).join(" ")
    );
}

fn fail(what: &str) -> ! {
    eprintln!("error: {what}");
    exit(1);
}

/// The version that the tree says it is of; `fetch` writes that of the package into it.
fn point_release(tree: &Path) -> String {
    let path = tree.join("package-version");
    fs::read_to_string(&path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

impl Part {
    /// The kernel's files that it takes.
    fn files(&self) -> impl Iterator<Item = &'static str> {
        let lists = [self.sources, self.included, self.headers, &HEADERS];
        lists.into_iter().flatten().copied()
    }

    fn copy(&self, tree: &Path, here: &Path) {
        for name in self.files() {
            let (from, to) = (tree.join(name), here.join(name));
            fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made in OUT_DIR");
            let is_header = name.ends_with(".h");
            match fs::copy(&from, &to) {
                Ok(_) => {}
                Err(error) if is_header && error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => fail(&format!("{}: {error}", from.display())),
            }
        }
    }

    /// Every header that the copied files include and that is not among them.
    fn make_empty_headers(&self, here: &Path) {
        let mut wanted = BTreeSet::new();
        for name in self.files() {
            let Ok(text) = fs::read_to_string(here.join(name)) else { continue };
            for line in text.lines() {
                let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
                let Some(rest) = rest.trim_start().strip_prefix("include") else { continue };
                let header = rest.trim_start().split(['<', '>', '"']).nth(1);
                wanted.extend(header.map(str::to_owned));
            }
        }
        for header in wanted {
            if !here.join("include").join(&header).exists() && !here.join("block").join(&header).exists() {
                let path = here.join("empty").join(&header);
                fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made in OUT_DIR");
                fs::write(path, "").expect("a file can be written in OUT_DIR");
            }
        }
    }

    fn compile(&self, version: &str, has_priority: bool, here: &Path, out: &Path) {
        let calls = format!("{}_{}", self.name, version.replace('.', "_"));
        let mut build = cc::Build::new();
        build
            .files(self.sources.iter().map(|name| here.join(name)))
            .files(self.shim.iter().map(|name| Path::new("shim").join(name)))
            .includes([Path::new("shim"), &here.join("include"), &here.join("empty"), &here.join("block")])
            .flag("-include")
            .flag("shim/kernel.h")
            .std("gnu11")
            // The kernel is compiled so.
            .flag("-fno-strict-aliasing")
            .flag("-fwrapv")
            .flag("-fno-delete-null-pointer-checks")
            .warnings(false)
            .flag("-Wno-all")
            .flag("-Werror=implicit-function-declaration")
            .flag("-Werror=int-conversion")
            .flag("-Werror=incompatible-pointer-types")
            .define("SHIM_CALLS", calls.as_str())
            .out_dir(here.join("objects"))
            .cargo_metadata(false);
        if has_priority {
            build.define("SHIM_REQUESTS_HAVE_A_PRIORITY", None);
        }
        for name in self.defined {
            build.define(name, None);
        }
        let objects = build.compile_intermediates();
        let whole = here.join("whole.o");
        run(Command::new("ld").args(["-r", "--gc-sections", "-u", &calls, "-o"]).arg(&whole).args(&objects));
        run(Command::new("objcopy").arg(format!("--keep-global-symbol={calls}")).arg(&whole));
        let archive = out.join(format!("lib{calls}.a"));
        let _ = fs::remove_file(&archive);
        run(Command::new("ar").arg("rcs").arg(&archive).arg(&whole));
        println!("cargo::rustc-link-lib=static={calls}");
    }
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{command:?}: {status}")),
        Err(error) => fail(&format!("{command:?}: {error}")),
    }
}
