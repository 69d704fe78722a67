//! Six policies from outside Flashloom, each in a file of its own, and the registry that holds them.
//!
//! `docs/tutorial.md` walks through them. Beside them are two workloads on one drive ([`tenants`]) and
//! an array of drives ([`raid0`]).

pub mod block_map;
pub mod ctp;
pub mod raid0;
pub mod rested;
pub mod shortest;
pub mod slc_region;
pub mod stripe;
pub mod tenants;
pub mod worn;

use flashloom::config::registry::Registry;
use flashloom::units::Refusal;

/// The built-in policies and those of this crate.
pub fn registry() -> Result<Registry, Refusal> {
    let mut registry = Registry::builtin();
    registry.schedulers.add(shortest::policy())?;
    registry.collections.add(rested::policy())?;
    registry.mappings.add(block_map::policy())?;
    registry.mappings.add(ctp::policy())?;
    registry.mappings.add(slc_region::policy())?;
    registry.reliabilities.add(worn::policy())?;
    Ok(registry)
}
