//! How far runs are, on standard error: a bar if the build has one and standard error is a terminal, and lines.

#[cfg(feature = "progress")]
mod bar;
#[cfg(not(feature = "progress"))]
mod lines;

#[cfg(feature = "progress")]
pub use bar::Bar;
#[cfg(not(feature = "progress"))]
pub use lines::Bar;
