//! Threads that call policies.

use std::{io, thread};

use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::Raised;

/// Does the work of a thread of a run. Where it may call policies, Python is told of the thread once, and not anew for
/// each call, which takes several times as long as the call itself.
pub(crate) fn run<T: Send>(raised: &Raised, work: impl FnOnce() -> T + Send) -> T {
    if raised.has_policies() { Python::attach(|py| py.detach(work)) } else { work() }
}

/// A pool of threads that may call policies; as many as there are processors if `threads` is 0.
pub(crate) fn pool(raised: &Raised, threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    let raised = raised.clone();
    let spawn = move |builder: ThreadBuilder| -> io::Result<()> {
        let raised = raised.clone();
        thread::Builder::new().name("flashloom".to_owned()).spawn(move || run(&raised, || builder.run()))?;
        Ok(())
    };
    ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build()
}
