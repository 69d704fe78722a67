//! A cell: what was measured once, and how it is named.

use flashloom_figures::number::time;
use flashloom_units::{Ns, Problem, Refusal, US};

use super::figures::Figures;
use crate::validate::fio_output::{JobOrder, MeasuredDirection, MeasuredJob};

/// Lone random reads of which hardly any is faster are those of a disk, or of a network volume.
const DISK_READ_NS: Ns = 2_000 * US;

/// A measurement: a job of fio, a slice of a recording, or a stretch of a curve.
pub struct Cell {
    /// File of the measurement.
    pub input: String,
    /// Name of the job, of the slice or of the stretch.
    pub job: String,
    /// The load in words.
    pub words: String,
    /// What was measured.
    pub recorded: Figures,
    /// Mean rate of the whole fill that a stretch is part of.
    pub null_rate: Option<f64>,
    /// Index of the load that it is part of.
    pub load: usize,
    /// Index among the cells of that load.
    pub part: usize,
}

/// Device of a job, if its name says so.
pub fn device(job: &MeasuredJob) -> Option<&str> {
    job.filename.as_deref().filter(|name| name.starts_with("/dev/"))
}

/// Refusal of random reads one at a time that are as slow as those of a disk.
pub fn disk(job: &MeasuredJob) -> Option<Refusal> {
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
