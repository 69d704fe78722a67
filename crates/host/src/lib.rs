//! The host's block layer: merging, queue limits, accounting, and the I/O scheduler.
//!
//! [`BlockLayer`] takes the requests of a workload, and returns the next one for the device when asked. It has no clock
//! and no events of its own: the caller passes the time in, and asks again after each submission and completion and at
//! the time of [`Decision::NotBefore`]. Each I/O scheduler is one file under `scheduler`.

mod block_layer;
mod depth;
mod elevator;
mod end_index;
mod hardware_queues;
#[cfg(test)]
mod hardware_queues_tests;
mod id;
#[cfg(test)]
mod lab;
mod linux;
mod merging;
mod orders;
mod params;
mod plug;
mod queue_map;
mod requests;
pub mod scheduler;
mod sorted;
mod stats;
mod tags;
mod tasks;
mod throttle;
mod ticks;

pub use block_layer::{Admission, BlockLayer, Decision, Dispatched};
pub use id::RequestId;
pub use linux::Linux;
pub use orders::Orders;
pub use params::{AsyncLimits, HostParams, SyncWrites, Throttling, WriteCache, Writeback};
pub use queue_map::QueueMap;
pub use requests::{Class, Completed, Direction, Queued, Requests, Stage};
pub use scheduler::{Scheduler, SchedulerSetup, Serves};
pub use stats::SchedulerStats;
pub use tags::{TagSet, Tags};
pub use throttle::{Line, Throttle};
