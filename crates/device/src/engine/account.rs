//! Measurements of an engine, and checks that they add up.

use flashloom_host::Completed;
use flashloom_nand::Origin;
use flashloom_units::{Latency, Ns, SECTOR_BYTES, Violation, violation};
use flashloom_workload::{Op, Request};

use super::Engine;
use crate::drive::Drive;
use crate::outcome::{EndOfLife, HostReport, Outcome, Sample, SampledLatency, Unwritten};
use crate::status::Reason;

/// A drive before its workload, to tell what the workload has used up.
pub(super) struct Before {
    /// Erases of each block.
    pub(super) erases: Vec<u32>,
    /// See [`Outcome::room_before`].
    pub(super) room: u64,
    /// See [`Unwritten`].
    pub(super) unwritten_map_pages: u64,
}

impl Before {
    pub(super) fn of(drive: &Drive) -> Self {
        let (nand, unwritten_map_pages) = (drive.nand(), drive.ftl().unwritten_map_pages());
        Self { erases: nand.erase_counts().to_vec(), room: nand.free_room(), unwritten_map_pages }
    }
}

/// Latencies of the requests that completed since the last sample.
#[derive(Default)]
pub(super) struct Sampled {
    latency: Latency,
    wait_max_ns: Ns,
}

impl Sampled {
    pub(super) fn add(&mut self, now: Ns, request: &Completed) {
        self.latency.record(now - request.arrival_ns);
        self.wait_max_ns = self.wait_max_ns.max(request.dispatched_ns - request.arrival_ns);
    }

    /// Returns the latencies and starts a new sample.
    fn take(&mut self) -> Option<SampledLatency> {
        let latency = &mut self.latency;
        let sampled = (latency.count() > 0).then(|| SampledLatency {
            p50_ns: latency.percentile(50.0),
            p99_ns: latency.percentile(99.0),
            max_ns: latency.max(),
            wait_max_ns: self.wait_max_ns,
        });
        if sampled.is_some() {
            latency.clear();
            self.wait_max_ns = 0;
        }
        sampled
    }
}

impl Engine {
    /// From now on samples include latencies.
    pub(super) fn keep_samples(&mut self) {
        if self.timed {
            self.sampled.get_or_insert_default();
        }
    }

    /// Pages programmed for the host, including failed programs.
    #[inline]
    pub(crate) fn host_programs(&self) -> u64 {
        self.drive.nand().counts().programs[Origin::Host as usize]
    }

    /// The state at `time_ns`, with the latencies since the last sample. Nothing may have happened since the engine's
    /// own time.
    pub(super) fn sample(&mut self, time_ns: Ns) -> Sample {
        let latency = self.sampled.as_deref_mut().and_then(Sampled::take);
        Sample { latency, ..self.sample_at(time_ns) }
    }

    /// The state at `time_ns` without latencies. Nothing may have happened since the engine's own time.
    pub fn sample_at(&self, time_ns: Ns) -> Sample {
        let counts = self.drive.nand().counts();
        // Padding is counted when it leaves the buffer; a mapping may program it later, after merges.
        let padding = self.drive.buffer_report(self.now).map_or(0, |buffer| buffer.padding_pages);
        Sample {
            is_timed: self.timed,
            time_ns,
            latency: None,
            host_page_writes: self.drive.ftl().report().host_page_writes.saturating_sub(padding),
            completed: self.report.total_completed(),
            read_bytes: self.report.read_bytes,
            write_bytes: self.report.write_bytes,
            latency_sum_ns: self.report.latency_sum_ns(),
            outstanding: self.report.outstanding(),
            dirty_pages: self.drive.dirty_pages(),
            programs: counts.programs,
            erases: counts.erases.iter().sum(),
            free_blocks: self.drive.ftl().free_blocks(),
        }
    }

    /// Measurements so far, or until the end of the drive's life if that ended the run.
    pub fn outcome(&self) -> Outcome {
        if let Some(outcome) = self.outcome_at_cut() {
            return outcome;
        }
        let buffer = self.drive.buffer_report(self.now);
        let padding = buffer.map_or(0, |buffer| buffer.padding_pages);
        let aged_pages = self.preconditioned.map_or(0, |aged| aged.pages);
        let (slc_erases, slc_erased_before) = self.drive.nand().erase_counts_of_other_cells();
        Outcome {
            host: self.report.clone(),
            scheduler: self.host.stats().clone(),
            figures: self.host.figures().and(self.drive.figures()),
            buffer,
            read_cache: self.drive.read_cache_report(),
            stall_ns: buffer.map_or(0, |buffer| buffer.stall_ns),
            drained_pages: self.drained_pages(),
            ftl: self.drive.ftl().report(),
            counts: *self.drive.nand().counts(),
            reads: self.drive.nand().read_counts(),
            utilization: self.drive.nand().utilization(),
            erase_counts: self.drive.nand().erase_counts().to_vec(),
            erased_before: self.before.erases.clone(),
            slc_erase_counts: slc_erases.to_vec(),
            slc_erased_before: slc_erased_before.to_vec(),
            slc_pages: self.drive.nand().other_pages(),
            room_before: self.before.room,
            room: self.drive.nand().free_room(),
            valid_pages: self.drive.ftl().valid_pages(),
            unwritten: Unwritten {
                buffered_pages: self.drive.dirty_pages(),
                map_pages_before: self.before.unwritten_map_pages,
                map_pages: self.drive.ftl().unwritten_map_pages(),
            },
            unmapped_read_sectors: self.drive.unmapped_read_sectors(),
            sectors_checked: self.looking.verifier.as_ref().map(|verifier| verifier.oracle.sectors_checked()),
            anatomy: self.looking.anatomy.as_ref().map(|anatomy| Box::new(anatomy.report())),
            preconditioned: self.preconditioned,
            filled: self.filled,
            end_of_life: self.ended_ns.map(|time_ns| EndOfLife {
                time_ns,
                host_page_writes: aged_pages + self.drive.ftl().report().host_page_writes - padding,
                unserved_requests: self.report.total_failed() - self.report.failed[Reason::Unreadable.at()],
                unwritten_pages: self.drive.unwritten_pages(),
            }),
        }
    }

    /// Checks that all counters add up: requests, merges, operations by origin, valid pages; in a verified run also
    /// that FTL and array agree about every block and page. Call when the engine is idle.
    ///
    /// # Errors
    /// The first counter that does not add up, with its values.
    pub fn check(&self) -> Result<(), Violation> {
        let (generated, completed, failed) =
            (self.report.generated, self.report.total_completed(), self.report.total_failed());
        if generated != completed + failed {
            return Err(violation!(
                "host: {generated} requests generated, but {completed} completed and {failed} failed"
            ));
        }
        self.host.check()?;
        self.splits.check()?;
        self.drive.check()?;
        if let Some(verifier) = &self.looking.verifier {
            verifier.check()?;
            // A step that could not be ended leaves pages where they are.
            if !self.is_worn_out() {
                self.drive.flash.check_whole()?;
            }
        }
        self.looking.anatomy.as_ref().map_or(Ok(()), |anatomy| anatomy.check())?;
        let counts = self.drive.nand().counts();
        let report = self.drive.ftl().report();
        let passed = |all: &[u64], failed: &[u64]| all.iter().sum::<u64>() - failed.iter().sum::<u64>();
        let host = passed(&counts.programs[..1], &counts.failed_programs[..1]);
        let others = passed(&counts.programs[1..], &counts.failed_programs[1..]);
        let erases = passed(&counts.erases, &counts.failed_erases);
        let accounted = (report.host_programs(), report.other_programs(), report.block_erases);
        if (host, others, erases) != accounted {
            return Err(violation!(
                "NAND: {host} host programs, {others} others and {erases} erases that passed, but the FTL counts {}, \
                 {} and {}",
                accounted.0,
                accounted.1,
                accounted.2
            ));
        }
        Ok(())
    }
}

impl HostReport {
    #[inline(never)] // So that what is around it is inlined where it is called from.
    pub(super) fn add(&mut self, now: Ns, request: &Completed) {
        let Completed { op, flags, sectors, arrival_ns, dispatched_ns, .. } = *request;
        self.count(now, op, flags, sectors, now - arrival_ns);
        self.device_latency.record(now - dispatched_ns);
    }

    /// Counts a completed request that only its host knows about.
    pub(crate) fn served(&mut self, now: Ns, request: &Request) {
        let Request { op, flags, sectors, arrival_ns, .. } = *request;
        self.count(now, op, flags, sectors, now - arrival_ns);
    }

    #[inline(always)] // Its own call would cost every request of an engine.
    fn count(&mut self, now: Ns, op: Op, flags: u8, sectors: u32, latency_ns: Ns) {
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        self.completed[op as usize] += 1;
        let latency = match op {
            Op::Read => {
                self.read_bytes += bytes;
                &mut self.read_latency
            }
            Op::Write => {
                self.write_bytes += bytes;
                if flags & (Request::FUA | Request::PREFLUSH) != 0 {
                    self.add_durable(flags, latency_ns);
                }
                &mut self.write_latency
            }
            Op::Discard => &mut self.discard_latency,
            Op::Flush => &mut self.flush_latency,
        };
        latency.record(latency_ns);
        self.duration_ns = now;
    }

    /// Counts a write with flags, which few have.
    #[cold]
    fn add_durable(&mut self, flags: u8, latency_ns: Ns) {
        if flags & Request::FUA != 0 {
            self.fua_latency.record(latency_ns);
        }
        if flags & Request::PREFLUSH != 0 {
            self.preflush_latency.record(latency_ns);
        }
    }

    pub(crate) fn fail(&mut self, now: Ns, reason: Reason) {
        self.failed[reason.at()] += 1;
        self.duration_ns = now;
    }
}
