//! Compiles the decision core of the kernel module for userspace.

fn main() {
    let userspace = ["kernel_services.c", "xarray.c", "core_check.c"].map(|name| format!("../userspace/{name}"));
    let sources: Vec<_> =
        ["../pardispatch_core.c", "binding.c"].into_iter().map(str::to_owned).chain(userspace).collect();
    cc::Build::new()
        .files(&sources)
        .includes(["..", "../userspace"])
        .std("gnu11")
        .extra_warnings(true)
        .flag("-Wno-sign-compare")
        .warnings_into_errors(true)
        .compile("pardispatch_core");
    for watched in sources.iter().map(String::as_str).chain(["../pardispatch_core.h", "../userspace"]) {
        println!("cargo::rerun-if-changed={watched}");
    }
}
