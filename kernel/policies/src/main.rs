//! Flashloom's command line, with the schedulers of Linux 6.1 and 6.12 added.

use std::process::ExitCode;

use flashloom_config::registry::Registry;

fn main() -> ExitCode {
    let mut registry = Registry::builtin();
    for policy in flashloom_kernel_policies::policies() {
        if let Err(refusal) = registry.schedulers.add(policy) {
            eprintln!("error: {refusal}");
            return ExitCode::FAILURE;
        }
    }
    flashloom_cli::main(registry)
}
