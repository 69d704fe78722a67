//! `fio`: the jobs of a fio job file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use flashloom_units::{Ns, Policy, Problem, Problems, Refusal, SECTOR_BYTES};

use super::{Context, Profile, Remark, Report, Running, Site, Unfit, Workload, pathless};
use crate::fio::{SPEC, as_recording};
use crate::{Arrivals, FioDrive, FioJobFile, FioJobs, Request, TraceInfo};

pub(super) fn policy() -> Policy<dyn Workload> {
    let policy = Policy::<dyn Workload>::new(&SPEC, |(), context| {
        let path = context.path.clone().ok_or_else(no_path)?;
        Ok(Box::new(JobFile { path, context: context.clone(), file: None }))
    });
    policy.with_profile(|(), site| {
        let missing = site.params.path.as_ref().is_none_or(String::is_empty).then(no_path);
        Ok(Profile {
            misfits: missing.into_iter().chain(of_others(site)).collect(),
            reads_path: true,
            ..Profile::default()
        })
    })
}

fn no_path() -> Refusal {
    pathless(SPEC.name, "job file")
}

/// Refuses keys of replay and length: the job file itself decides them.
fn of_others(site: &Site<'_>) -> Option<Refusal> {
    const OF_OTHERS: &[&str] = &[
        "format",
        "event",
        "sort",
        "skip_bad_lines",
        "replay",
        "queue_depth",
        "submit_time",
        "speed",
        "requests",
        "replicate",
    ];
    let name = site.asked(OF_OTHERS)?;
    let found = format!("`{name}` with `kind` = \"{}\"", SPEC.name);
    Some(Refusal::new(found, "the options of the job file alone").at([format!("workload.{name}")]))
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
        let remark = |(about, key, text)| Remark { about, key, text };
        self.checked().remarks(&self.drive()).into_iter().map(remark).collect()
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
        let file = self.checked();
        Ok(Box::new(Jobs { file, jobs: file.start(&self.drive(), &self.context.prng)? }))
    }
}

struct Jobs<'a> {
    file: &'a FioJobFile,
    jobs: FioJobs,
}

impl Arrivals for Jobs<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.jobs.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.jobs.take(now)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.jobs.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.jobs.is_over()
    }
}

impl Running for Jobs<'_> {
    fn issued(&self) -> Option<u64> {
        Some(self.jobs.issued())
    }

    fn report(&mut self) -> Result<Report, Problem> {
        Ok(Report::Fio { global_options: self.file.global_options(), jobs: self.jobs.take_reports() })
    }
}
