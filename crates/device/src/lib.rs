//! The path of a request: arrival, block layer, link, write buffer, FTL, NAND, completion.
//!
//! An [`Engine`] is a [`Drive`] under its host, stepped by its caller: submit requests, advance time, collect
//! completions, and read the measurements as an [`Outcome`]. An engine is a [`Target`], as is anything else that serves
//! requests in simulated time. A [`Simulation`] drives a target with one workload or several.

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

pub use anatomy::{Anatomy, AnatomyReport, Cause, LastOperation, Parts, Served, Sums, Tail};
pub use client::{Client, Completion, Submitted};
pub use drive::{
    Arbitration, CommandId, Drive, DriveSetup, FrontParams, InterfaceParams, ReadCacheParams, ReadCacheReport,
    SpentFlash, Waiter,
};
pub use engine::Engine;
pub use event::{DriveEvent, Event, Interest};
pub use misuse::Misuse;
pub use observer::Observer;
pub use outcome::{EndOfLife, HostReport, Outcome, Sample, SampledLatency, Unwritten};
pub use params::DeviceParams;
pub use precondition::{Ageing, Filled, Overwrite, Preconditioned};
pub use preset::{Figure, FitError, Load, PRESETS, PerSecond, Preset, PresetParams, PublishedRate, preset};
pub use queues::Queues;
pub use simulation::{Run, Simulation, Tenant};
pub use status::{Reason, Status};
pub use target::{Target, Terms};
pub use watchers::Watchers;
