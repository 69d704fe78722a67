//! The path of one request: arrival, block layer, link, write buffer, FTL, NAND, completion.
//!
//! [`Simulation`] is the one event loop of a run. It takes requests from a workload as the replay has it, lets the
//! host's scheduler choose, gives them to the [`Drive`], and collects what the run measured in an [`Outcome`].

mod drive;
mod link;
mod outcome;
mod precondition;
mod simulation;

pub use drive::{Drive, DriveSetup};
pub use outcome::{EndOfLife, Figures, HostReport, Outcome, Sample};
pub use precondition::{Ageing, Overwrite, Preconditioned};
pub use simulation::Simulation;
