//! A laboratory for the whole flash storage stack: I/O scheduler, write buffer, FTL and NAND in one checked simulator.
//!
//! Describe a stack, run it, read the result:
//!
//! ```
//! use flashloom::config::{Catalog, Experiment, Source};
//! use flashloom::run::{Prepared, Quiet};
//!
//! const EXPERIMENT: &str = r#"
//!     workload.synthetic = { requests = 2000, read_share = 0.3 }
//!     device.preset = "mlc-16g"
//!     device.blocks = 64
//!     ftl.gc = "greedy"
//! "#;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let source = Source::text("example.toml", EXPERIMENT);
//!     let vary = ["host.scheduler=noop,deadline,pardispatcher".to_owned()];
//!     let experiment = Experiment::from_source(&Catalog::builtin(), source, &[], Some(&vary))?;
//!     let comparison = Prepared::new(&experiment)?.compare(false, &Quiet)?;
//!     for run in &comparison.runs {
//!         println!("{}: {:.0} requests/s", run.vary["host.scheduler"], run.result.host.iops.unwrap_or(0.0));
//!     }
//!     Ok(())
//! }
//! ```
//!
//! To add a policy of your own, write a type that implements the trait of its slot, and a specification, and add both
//! to a [`Registry`]. It is then configured, explained, checked and reported like a
//! built-in one: the crate `examples/policies` of the repository adds a scheduler, a collection policy and three
//! mappings, and `docs/tutorial.md` walks through it.
//!
//! The modules, along the path of a request:
//!
//! - [`workload`]: the origin of requests: recordings, generators, fio jobs, Filebench personalities.
//! - [`host`]: the block layer and its I/O schedulers.
//! - [`buffer`]: the controller's write buffer: replacement policy and eviction batch size.
//! - [`ftl`]: mapping, allocation, garbage collection, placement.
//! - [`nand`]: the flash array: geometry, timing, failures, and the operations in it.
//! - [`verify`]: checkers that follow every flash command and every sector, independent of the code they check.
//! - [`device`]: the drive, and the whole stack over time: [`Engine`](device::Engine) is stepped from outside.
//! - [`figures`]: what is measured: results, their schema, formulas over them.
//! - [`config`]: what is asked for: the registry of policies, and configurations checked key by key.
//! - [`run`]: ageing, one run or many, logs and timelines.
//! - [`explain`]: help on every name.
//! - [`report`]: results as tables and hints for people.
//! - `study`: validations, fits, probes, and the reproduction of published figures (feature `study`).
//! - `export`: pages, data sets of sweeps, logs as Parquet, traces for Perfetto (feature `export`).
//! - [`units`]: the shared vocabulary: time, sizes, identifiers, parameters, policies, errors that point at their
//!   place.

pub mod prelude;

/// Git revision of the sources of this build, with `-dirty-` and a hash of the changes if they were changed since;
/// `unknown` outside a repository.
/// A program sets [`Registry::revision`](config::registry::Registry::revision) to it, or to its own.
pub const REVISION: &str = env!("FLASHLOOM_REVISION");

/// A registry with the outputs of everything that is built in, and with the revision of this build unless it states its
/// own.
pub fn of_this_build(mut registry: Registry) -> Registry {
    if registry.revision == UNKNOWN_REVISION {
        registry.revision = REVISION;
    }
    registry.sources = REVISION;
    #[cfg(feature = "study")]
    registry.outputs.extend(study::OUTPUTS);
    registry
}

use config::registry::{Registry, UNKNOWN_REVISION};

pub use flashloom_buffer as buffer;
pub use flashloom_config as config;
pub use flashloom_device as device;
pub use flashloom_explain as explain;
#[cfg(feature = "export")]
pub use flashloom_export as export;
pub use flashloom_figures as figures;
pub use flashloom_ftl as ftl;
pub use flashloom_host as host;
pub use flashloom_nand as nand;
pub use flashloom_report as report;
pub use flashloom_run as run;
#[cfg(feature = "study")]
pub use flashloom_study as study;
pub use flashloom_units as units;
pub use flashloom_verify as verify;
pub use flashloom_workload as workload;
