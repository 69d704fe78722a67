//! Two workloads on one drive, each with its own latency: reads at random as fast as eight of them
//! at a time come back, and a log that writes one durable page after the other.
//!
//! Each is a tenant of the run, with its own arrivals, its own backlog of requests that find no
//! room, and its own report. The drive sees one stream of commands.

use std::error::Error;

use flashloom::device::{Ageing, DeviceParams, Drive, DriveSetup, Engine};
use flashloom::device::{HostReport, Simulation, Tenant};
use flashloom::units::{Ns, ParamSet, Prng};
use flashloom::workload::{Op, Pace, Replayed, Request};

/// A small drive without a write buffer, filled, which takes time from now on.
pub fn drive() -> Result<Engine, Box<dyn Error>> {
    drive_with_room(32)
}

/// One that holds so many requests at a time.
pub fn drive_with_room(requests: u32) -> Result<Engine, Box<dyn Error>> {
    let mut device = DeviceParams::defaults();
    device.nand.blocks = 64;
    let mut setup = DriveSetup::with_defaults(device.clone());
    (setup.buffer_bytes, setup.verify) = (0, true);
    let mut engine = Engine::bare(Drive::new(&setup)?, requests, 0);
    let ageing = Ageing {
        fill_pages: device.logical_pages(),
        fill_streams: true,
        overwrite: None,
    };
    engine.precondition(&ageing, &mut |_| {});
    engine.start_timing(&device.nand);
    Ok(engine)
}

/// What the reader and the log saw, with so many writes of the log; at first what all of it was.
pub fn reads_beside_a_log(writes: u64) -> Result<(HostReport, [HostReport; 2]), Box<dyn Error>> {
    let engine = drive()?;
    let (pages, mut prng) = (engine.capacity_sectors() / 16, Prng::new(1));
    let read = |_| Request::new(Op::Read, prng.below(pages) * 16, 16);
    let reads: Vec<Request> = (0..4_000).map(read).collect();
    let write = |page| Request::new(Op::Write, page * 16, 16).with_flags(Request::FUA);
    let log: Vec<Request> = (0..writes).map(write).collect();
    let mut reader = Replayed::new(&reads[..], Pace::Closed(8));
    let mut writer = Replayed::new(&log[..], Pace::Closed(1));
    let mut tenants = [
        Tenant::new(&mut reader),
        Tenant::new(&mut writer).on_queue(1),
    ];
    let mut simulation = Simulation::new(engine);
    simulation.run_together(&mut tenants, Ns::MAX, &mut [])?;
    simulation.check()?;
    Ok((
        simulation.outcome().host,
        tenants.map(|tenant| tenant.report().clone()),
    ))
}
