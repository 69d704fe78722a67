//! What of an engine is saved, and the two ways of loading it: the whole stack as it is in the middle of its work, or what
//! ageing made of the flash beneath any host and write buffer.

use flashloom_units::{StateError, load_state, save_state};

use super::{Engine, Handed};
use crate::outcome::HostReport;
use crate::precondition::Preconditioned;

flashloom_units::state! {
    Engine {
        nested host, drive, report, handed;
        value now, plugged, scheduler_wakes_ns, idle, preconditioned, has_stopped, ended_ns;
        fixed timed, idle_delay_ns, stops;
    }
}

flashloom_units::state! { Handed { value completions, cookies; } }

flashloom_units::state! {
    HostReport {
        value generated, completed, failed, read_bytes, write_bytes, duration_ns;
        nested read_latency, write_latency, other_latency, device_latency;
    }
}

/// States: an engine that is restored goes on exactly as the one that was saved.
impl Engine {
    /// The whole state: requests, buffer, flash, and what was measured so far.
    ///
    /// # Errors
    /// A policy that cannot be saved.
    pub fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        save_state(self)
    }

    /// Takes over a state that was saved from an engine of the same configuration, in time if this one is.
    ///
    /// # Errors
    /// A state that does not fit, with the field that does not. The engine is then to be dropped.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        load_state(self, state)
    }

    /// What [`Self::precondition`] made of the flash: the array and the FTL. It goes under any host and write buffer.
    ///
    /// # Errors
    /// A policy of the FTL that cannot be saved.
    pub fn save_aged(&self) -> Result<Vec<u8>, StateError> {
        debug_assert!(!self.timed, "an aged drive is saved before it takes time");
        self.drive.save_flash()
    }

    /// Takes over what ageing made of a drive of the same device, FTL and checks, in place of [`Self::precondition`].
    ///
    /// # Errors
    /// A state that does not fit, with the field that does not. The engine is then to be dropped.
    pub fn load_aged(&mut self, state: &[u8], aged: Preconditioned) -> Result<(), StateError> {
        debug_assert!(!self.timed, "an aged drive is loaded before it takes time");
        self.drive.load_flash(state)?;
        self.preconditioned = Some(aged);
        self.follow_life();
        Ok(())
    }
}
