//! Compiles the decision core of the kernel module for userspace.

fn main() {
    let sources = ["../pardispatch_core.c", "../userspace/kernel_services.c", "../userspace/core_check.c", "binding.c"];
    cc::Build::new()
        .files(sources)
        .includes(["..", "../userspace"])
        .std("gnu11")
        .extra_warnings(true)
        .flag("-Wno-sign-compare")
        .warnings_into_errors(true)
        .compile("pardispatch_core");
    for watched in sources.into_iter().chain(["../pardispatch_core.h", "../userspace"]) {
        println!("cargo::rerun-if-changed={watched}");
    }
}
