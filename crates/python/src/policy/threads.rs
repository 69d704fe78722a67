//! Threads that call policies.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::Raised;

/// Does the work of a thread of a run. Where it may call policies, Python is told of the thread once, and not anew for
/// each call, which takes several times as long as the call itself; and the thread is told to whoever has to end it.
pub(crate) fn run<T: Send>(raised: &Raised, work: impl FnOnce() -> T + Send) -> T {
    if !raised.has_policies() {
        return work();
    }
    Python::attach(|py| {
        let caller = py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract::<u64>());
        let caller = caller.ok();
        raised.add_caller(caller);
        let answer = py.detach(work);
        raised.remove_caller(caller);
        answer
    })
}

/// Threads that may call policies. They have ended when it is dropped: none comes back to an interpreter that is gone.
pub(crate) struct Pool {
    threads: Option<ThreadPool>,
    handles: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Pool {
    /// As many threads as there are processors if `threads` is 0.
    pub(crate) fn new(raised: &Raised, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let handles = Arc::new(Mutex::new(Vec::new()));
        let (raised, of_pool) = (raised.clone(), Arc::clone(&handles));
        let spawn = move |builder: ThreadBuilder| {
            let raised = raised.clone();
            let thread = thread::Builder::new().name("flashloom".to_owned());
            let handle = thread.spawn(move || run(&raised, || builder.run()))?;
            of_pool.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
            Ok(())
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build()?;
        Ok(Self { threads: Some(pool), handles })
    }

    /// Does work in one of the threads, which shares it with the others.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.threads {
            Some(threads) => threads.install(work),
            None => work(),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.threads = None;
        let handles = std::mem::take(&mut *self.handles.lock().unwrap_or_else(PoisonError::into_inner));
        for handle in handles {
            // A panic of a thread was handed to whoever waited for its work.
            let _ = handle.join();
        }
    }
}
