//! `fio`: the jobs of a fio job file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use flashloom_units::{Policy, Problem, Problems, Refusal, SECTOR_BYTES};

use super::{Context, Profile, Remark, Report, Running, Unfit, Workload, of_others, pathless};
use crate::fio::{SPEC, as_recording};
use crate::{FioDrive, FioJobFile, FioJobs, TraceInfo};

pub(super) fn policy() -> Policy<dyn Workload> {
    let policy = Policy::<dyn Workload>::new(&SPEC, |(), context| {
        let path = context.path.clone().ok_or_else(no_path)?;
        Ok(Box::new(JobFile { path, context: context.clone(), file: None }))
    });
    policy.with_profile(|(), site| {
        let missing = site.params.path.as_ref().is_none_or(String::is_empty).then(no_path);
        // The job file itself decides on replay and length.
        let decided = "format event sort skip_bad_lines replay queue_depth submit_time speed requests replicate";
        let misfit = of_others(&SPEC, site, decided, "the options of the job file alone".to_owned());
        let misfits = missing.into_iter().chain(misfit).collect();
        Ok(Profile { misfits, reads_path: true, ..Profile::default() })
    })
}

fn no_path() -> Refusal {
    pathless(SPEC.name, "job file")
}

/// Job files that runs have read, by their path: runs of one file share it.
#[derive(Clone, Debug, Default)]
pub struct JobFiles(Arc<Mutex<BTreeMap<String, Arc<FioJobFile>>>>);

impl JobFiles {
    fn read(&self, path: &str) -> Result<Arc<FioJobFile>, Problems> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(path) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(FioJobFile::read(path)?);
        files.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

struct JobFile {
    path: String,
    context: Context,
    /// The job file; present once it was read.
    file: Option<Arc<FioJobFile>>,
}

impl JobFile {
    fn drive(&self) -> FioDrive {
        FioDrive {
            capacity_bytes: self.context.capacity_sectors * SECTOR_BYTES,
            is_timed: self.context.is_timed,
            addresses: self.context.params.addresses,
        }
    }

    fn checked(&self) -> &FioJobFile {
        self.file.as_ref().expect("a job file is read before it runs")
    }
}

impl Workload for JobFile {
    fn read(&mut self, _scanned: Option<&Arc<TraceInfo>>) -> Result<(), Unfit> {
        let mut file = self.context.job_files.read(&self.path)?;
        if let Some(device) = &self.context.params.device {
            file = Arc::new(file.on_device(device)?);
        }
        file.check(&self.drive())?;
        self.file = Some(file);
        Ok(())
    }

    fn expected_requests(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.expected_requests())
    }

    fn memory_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.memory_bytes())
    }

    fn has_task_ids(&self) -> bool {
        true
    }

    fn has_priorities(&self) -> bool {
        self.checked().has_priorities()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.checked().remarks(&self.drive())
    }

    fn reports_fio(&self) -> bool {
        true
    }

    fn undrawn(&self) -> Option<Refusal> {
        let file = self.file.as_ref().filter(|file| !file.draws())?;
        let refusal = Refusal::new("a job file that draws nothing", "a job that draws, and no `randseed`");
        let otherwise = "leave --seeds out, or give a job random requests, or run.precondition = \"steady\" for drives \
                         that differ";
        let help = match file.only_iolog() {
            Some(iolog) => as_recording(iolog, ", of which each seed draws a replicate"),
            None => otherwise.to_owned(),
        };
        Some(refusal.at(["workload.path"]).help(help))
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        Ok(Box::new(self.checked().start(&self.drive(), &self.context.prng)?))
    }
}

impl Running for FioJobs {
    fn issued(&self) -> Option<u64> {
        Some(self.issued)
    }

    fn report(&mut self) -> Result<Report, Problem> {
        let global_options = std::mem::take(&mut self.global_options);
        Ok(Report::Fio { global_options, jobs: std::mem::take(&mut self.reports) })
    }
}
