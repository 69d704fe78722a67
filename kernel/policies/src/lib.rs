//! The schedulers of Linux 6.1 and 6.12, compiled from the kernel's sources, as policies of the simulator.
//!
//! Each is what the kernel's files do; `shim/` stands for the rest of the kernel and has no rule of a scheduler. Merges
//! are the kernel's too. Parameters are the attributes in sysfs, and what an attribute does not take is refused.
#![expect(unsafe_code, reason = "the schedulers are C")]

mod calls;
mod compiled;
mod specs;
mod throttle;

pub use compiled::{Compiled, HZ, Version};
pub use specs::policies;
pub use throttle::{KernelThrottle, ThrottleSetup, ThrottleState, Throttled};

/// The versions of the packages that the schedulers were compiled from, 6.1's first.
pub const PACKAGES: &str = env!("FLASHLOOM_LINUX_VERSIONS");
