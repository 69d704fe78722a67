//! Five policies from outside Flashloom, each in a file of its own, and the registry that holds them.
//!
//! `docs/tutorial.md` walks through them.

pub mod block_map;
pub mod ctp;
pub mod rested;
pub mod shortest;
pub mod slc_region;

use flashloom::experiment::registry::Registry;
use flashloom::units::Refusal;

/// The built-in policies and those of this crate.
pub fn registry() -> Result<Registry, Refusal> {
    let mut registry = Registry::builtin();
    registry.schedulers.add(shortest::policy())?;
    registry.collections.add(rested::policy())?;
    registry.mappings.add(block_map::policy())?;
    registry.mappings.add(ctp::policy())?;
    registry.mappings.add(slc_region::policy())?;
    Ok(registry)
}
