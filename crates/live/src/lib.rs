//! Live drives: a simulated drive with data in it, and clients that wait for its requests.
//!
//! ```text
//! client threads -> Session -> Server (clock, locks) -> LiveDrive (requests, data) -> flashloom_device::Engine (model)
//! ```
//!
//! A [`LiveDrive`] is a bare [`Engine`](flashloom_device::Engine) whose reads return what was written. Its data lies
//! with the physical pages, as an observer of the flash operations (`contents.rs`), so that a policy which loses a page
//! loses its data. It is stepped like an engine, and knows no other clock than the model's.

mod build;
mod contents;
mod control;
#[cfg(test)]
mod control_tests;
mod drive;
mod frames;
mod image;
#[cfg(test)]
mod image_tests;
mod log;
mod picture;
#[cfg(test)]
mod picture_tests;
#[doc(hidden)]
pub mod readers;
mod server;
#[cfg(test)]
mod server_tests;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod web;
#[cfg(test)]
mod web_tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use flashloom_units::SECTOR_BYTES;

pub use build::Build;
pub use drive::{Command, Ended, LiveDrive};
pub use frames::Memory;
pub use image::{Claim, Image};
pub use server::{Counts, Fault, Pace, Server};
pub use session::{
    DEFAULT_MEMORY_BYTES, EndedSession, FAILURE, Failures, MAX_SPEED, MIN_SPEED, OPTIONS, Options, Session,
    SessionError,
};

/// Locks a value that is sound also where a thread has panicked with the lock.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
