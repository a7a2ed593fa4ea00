//! Runs work on all cores, without Python's lock. A signal ends it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The state of one call, which can be cancelled and reports its progress.
#[derive(Default)]
pub struct Work {
    is_cancelled: AtomicBool,
    /// The share that is done, in thousandths.
    done: AtomicU32,
}

/// The payload with which a cancelled call unwinds.
struct Cancelled;

impl Work {
    /// Called between pieces of work. Unwinds if the call was cancelled.
    #[inline]
    pub fn check(&self) {
        if self.is_cancelled.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
    }

    /// Ends the call with an I/O error.
    pub fn fail(&self, error: std::io::Error) -> ! {
        resume_unwind(Box::new(error))
    }

    /// Records the share that is done, 0 to 1.
    pub fn progress(&self, share: f64) {
        self.done.store((share * 1000.0) as u32, Ordering::Relaxed);
    }
}

/// How many threads calls use. 0: as many as there are cores.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The process that made the threads, their number, and the threads. After a fork the child has
/// none of them.
static POOL: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

pub fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

pub fn threads() -> usize {
    let asked = THREADS.load(Ordering::Relaxed);
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let (process, threads) = (std::process::id(), threads());
    let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((of, with, pool)) = &*pool
        && (*of, *with) == (process, threads)
    {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("pg_simhash-{number}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("no threads can be started: {error}")))?;
    let made = Arc::new(made);
    // A wait for the threads of a parent process would never end.
    if let Some((of, _, old)) = pool.replace((process, threads, made.clone()))
        && of != process
    {
        std::mem::forget(old);
    }
    Ok(made)
}

/// The interval between checks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// The most bytes of text that the calling thread processes itself, in about a millisecond.
pub const FEW: usize = 16 << 10;

/// Does `work` on `bytes` bytes of text.
pub fn run<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&Work) -> T + Send,
) -> PyResult<T> {
    if bytes <= FEW {
        let done = catch_unwind(AssertUnwindSafe(|| work(&Work::default())));
        return done.map_err(error_of);
    }
    run_long(py, None, work)
}

/// Does `work` on all cores. Calls `progress` with the share that is done, 0 to 1.
pub fn run_long<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Work) -> T + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let progress = progress.map(|progress| progress.clone().unbind());
    py.detach(|| {
        let state = &Work::default();
        std::thread::scope(|scope| {
            let (ready, wait) = channel();
            scope.spawn(move || {
                let done = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(state))));
                // The receiver lives until it has received this.
                _ = ready.send(done);
            });
            let (mut failed, mut told) = (None, u32::MAX);
            let done = loop {
                match wait.recv_timeout(LOOK) {
                    Ok(done) => break done,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("a thread ended before its work"));
                    }
                    Err(RecvTimeoutError::Timeout) if failed.is_none() => {
                        let share = state.done.load(Ordering::Relaxed);
                        let news = (share != told).then_some(share);
                        told = share;
                        if let Err(error) = tell(progress.as_ref(), news) {
                            state.is_cancelled.store(true, Ordering::Relaxed);
                            failed = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            };
            match (failed, done) {
                (Some(error), _) => Err(error),
                (None, Ok(done)) => Ok(done),
                (None, Err(panic)) => Err(error_of(panic)),
            }
        })
    })
}

/// Has Python check for signals, and reports the share that is done, in thousandths.
fn tell(progress: Option<&Py<PyAny>>, share: Option<u32>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if let (Some(progress), Some(share)) = (progress, share) {
            progress.call1(py, (f64::from(share) / 1000.0,))?;
        }
        Ok(())
    })
}

/// The Python exception for a panic's payload.
fn error_of(panic: Box<dyn Any + Send>) -> PyErr {
    let panic = match panic.downcast::<std::io::Error>() {
        Ok(error) => return PyErr::from(*error),
        Err(panic) => panic,
    };
    let message = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&message| message.to_owned()))
        .unwrap_or_else(|| "the call was cancelled".into());
    if message.contains("capacity overflow") {
        return PyMemoryError::new_err(message);
    }
    PyRuntimeError::new_err(format!("a fault of pg_simhash, please report it: {message}"))
}
