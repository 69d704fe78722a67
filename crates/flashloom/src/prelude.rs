//! Everything that the source file of a policy needs: `use flashloom::prelude::*;`.
//!
//! The traits of the slots, the contexts they are built from, flash operations, identifiers, parameters and
//! specifications.

pub use flashloom_buffer::{Order, Rate, SlotId};
pub use flashloom_ftl::mapping::{Context, Profile, Site};
pub use flashloom_ftl::{FIXED_HOMES, PAGE_MAPPING, SINGLE_CHIP, TRANSLATION_PAGES, WRITE_BUFFER};
pub use flashloom_ftl::{FtlReport, FtlSetup, Mapping, MappingExtras, PageWrite, Space};
pub use flashloom_ftl::{allocation::Allocation, collection::Collection, placement::Placement};
pub use flashloom_host::scheduler::Choice;
pub use flashloom_host::{Direction, RequestId, Requests, Scheduler, SchedulerSetup, Stage};
pub use flashloom_nand::{
    BlockId, Data, Erase, Geometry, Lbn, Lpn, Nand, NandParams, OpId, Origin, PageCondition, PageCopy, PlaneId, Ppn,
    Program, Read, Reading, Reliability, Urgency,
};
pub use flashloom_units::{
    Capability, Chosen, Component, Figure, Figures, GIB, KIB, Kind, MIB, MS, Ns, Param, ParamSet, Policy, PolicySpec,
    Prng, Refusal, S, Slot, Statistic, US, Unit, Value, Violation, choice, params, violation,
};
pub use flashloom_workload::{IO_PRIORITIES, Op, Priority, PriorityClass, Request, TASK_IDS};
