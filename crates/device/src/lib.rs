//! The path of one request: arrival, block layer, link, write buffer, FTL, NAND, completion.
//!
//! An [`Engine`] is a [`Drive`] under its host, stepped from outside: requests are submitted, time is advanced, what
//! completed is collected, and what was measured is an [`Outcome`]. An engine is a [`Target`], and so is whatever else
//! serves requests in time: [`Simulation`] drives one by a workload, or by several at once.

mod anatomy;
mod client;
mod drive;
mod engine;
mod event;
mod host;
mod misuse;
mod observer;
mod outcome;
mod params;
mod precondition;
mod preset;
mod queues;
mod simulation;
mod status;
mod target;
mod watchers;

pub use anatomy::{AnatomyReport, Cause, LastOperation, Parts, Served, Sums, Tail};
pub use client::{Client, Completion, Submitted};
pub use drive::{CommandId, Drive, DriveSetup, InterfaceParams, Waiter};
pub use engine::Engine;
pub use event::{DriveEvent, Event, Interest};
pub use misuse::Misuse;
pub use observer::Observer;
pub use outcome::{EndOfLife, HostReport, Outcome, Sample, SampledLatency};
pub use params::DeviceParams;
pub use precondition::{Ageing, Overwrite, Preconditioned};
pub use preset::{Figure, PRESETS, Preset, PresetParams, preset};
pub use queues::Queues;
pub use simulation::{Run, Simulation, Tenant};
pub use status::{Reason, Status};
pub use target::{Target, Terms};
pub use watchers::Watchers;
