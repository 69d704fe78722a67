//! A cell: one measurement, and the experiment that repeats it.

use flashloom_device::HostReport;
use flashloom_units::{Ns, Problem, Problems, Refusal, US};

use super::combination::Footprint;
use super::figures::{Figures, Side};
use crate::config::Experiment;
use crate::figures::time;
use crate::validate::ClosedLoad;
use crate::validate::fio_output::{JobOrder, MeasuredDirection, MeasuredJob};

/// Lone random reads of which hardly any is faster are those of a disk, or of a network volume.
const DISK_READ_NS: Ns = 2_000 * US;

/// A measurement, with what was measured.
pub struct Cell {
    /// File of the measurement.
    pub input: String,
    /// Name of the job.
    pub job: String,
    /// The load in words.
    pub load: String,
    /// What was measured.
    pub recorded: Figures,
    /// The load on the drive of each combination.
    pub experiment: Experiment,
    /// What the load takes of a drive.
    pub footprint: Footprint,
    /// Reasons to doubt it.
    pub warnings: Vec<String>,
}

/// Device of a job, if its name says so.
pub fn device(job: &MeasuredJob) -> Option<&str> {
    job.filename.as_deref().filter(|name| name.starts_with("/dev/"))
}

impl Cell {
    /// A cell of a job of fio, of which an experiment simulates so many requests.
    ///
    /// # Errors
    /// A problem of the experiment, or a job that is not of a flash drive.
    pub fn closed(
        input: &str,
        job: MeasuredJob,
        load: &dyn Fn(&[String]) -> Result<Experiment, Problems>,
        requests: u64,
    ) -> Result<Self, Problems> {
        if let Some(refusal) = disk(&job) {
            return Err(refusal.in_file(input).into());
        }
        let recorded = [&job.read, &job.write].map(|of| of.as_ref().map(Side::recorded));
        let footprint = Footprint {
            outstanding_bytes: u64::from(job.outstanding).saturating_mul(job.block_bytes),
            writes: job.write.is_some(),
        };
        let name = job.name.clone();
        let closed = ClosedLoad::new(input, job);
        let mut sets = closed.sets();
        sets.push(format!("workload.synthetic.requests={requests}"));
        let experiment = load(&sets)?;
        let warnings = closed.doubts(&experiment);
        let load = closed.load();
        Ok(Self {
            input: input.to_owned(),
            job: name,
            load,
            recorded: Figures(recorded),
            experiment,
            footprint,
            warnings,
        })
    }

    /// What a run of it measured.
    pub fn simulated(&self, host: &HostReport) -> Figures {
        let both = [&host.read_latency, &host.write_latency];
        Figures(both.map(|latency| Side::simulated(latency, host.duration_ns)))
    }
}

/// Refusal of random reads one at a time that are as slow as those of a disk.
fn disk(job: &MeasuredJob) -> Option<Refusal> {
    let is_lone = job.outstanding == 1 && job.order == JobOrder::Random && job.write.is_none();
    let MeasuredDirection { percentiles, .. } = job.read.as_ref().filter(|_| is_lone)?;
    let (percent, fast_ns) = percentiles.iter().find(|(percent, _)| *percent >= 10.0).copied()?;
    if fast_ns < DISK_READ_NS {
        return None;
    }
    let found = format!(
        "of the random reads of job {:?}, one at a time, all but {percent} % took {} or longer: a disk, or a network \
         volume",
        job.name,
        time(fast_ns as f64)
    );
    Some(Refusal::new(found, "a flash drive, whose reads take a tenth of a millisecond"))
}

/// Refusal of measurements of two devices.
pub fn two_devices(cells: &[(String, Option<String>)]) -> Option<Problem> {
    let mut named = cells.iter().filter_map(|(input, device)| Some((input, device.as_ref()?)));
    let (first, one) = named.next()?;
    let (other, two) = named.find(|(_, device)| *device != one)?;
    let found = format!("a measurement of `{two}`, where {first} is one of `{one}`");
    Some(Refusal::new(found, "measurements of one drive").help("fit each drive by itself").in_file(other))
}
