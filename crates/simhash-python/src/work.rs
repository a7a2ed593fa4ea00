//! Work on all cores, without Python's lock, that a signal ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What one call does. It can be cancelled, and says how far it is.
#[derive(Default)]
pub struct Work {
    is_cancelled: AtomicBool,
    /// Of a thousand.
    done: AtomicU32,
}

/// What unwinds a cancelled call.
struct Cancelled;

impl Work {
    /// Called between pieces of work. It unwinds if the call was cancelled.
    #[inline]
    pub fn check(&self) {
        if self.is_cancelled.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
    }

    /// Ends the call with an error of the system.
    pub fn fail(&self, error: std::io::Error) -> ! {
        resume_unwind(Box::new(error))
    }

    /// How much is done, of 1.
    pub fn progress(&self, share: f64) {
        self.done.store((share * 1000.0) as u32, Ordering::Relaxed);
    }
}

/// How many threads calls use. 0: as many as there are cores.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The threads, and the process that they belong to: after a fork the child has none of them.
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
    // Those of a parent process cannot be waited for here.
    if let Some((of, _, old)) = pool.replace((process, threads, made.clone()))
        && of != process
    {
        std::mem::forget(old);
    }
    Ok(made)
}

/// How often Python is asked whether there is a signal.
const LOOK: Duration = Duration::from_millis(50);

/// So many bytes of text are dealt with at once, by the thread that calls: in a millisecond or so.
pub const FEW: usize = 16 << 10;

/// Does `work`, of so many bytes of text.
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

/// Does `work` on all cores. `progress` is called with the share that is done, of 1.
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
                // Who waits is there until it has this.
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

/// Lets Python see its signals, and tells it the share of a thousand that is done.
fn tell(progress: Option<&Py<PyAny>>, share: Option<u32>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if let (Some(progress), Some(share)) = (progress, share) {
            progress.call1(py, (f64::from(share) / 1000.0,))?;
        }
        Ok(())
    })
}

/// A panic as Python sees it.
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
