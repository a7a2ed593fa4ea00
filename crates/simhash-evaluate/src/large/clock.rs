//! Measures how long one thread has worked, whatever else the machine does.

use std::fs;
use std::time::Instant;

/// A clock that starts when it is made.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    worked: Option<u64>,
}

impl Clock {
    pub fn start() -> Self {
        Clock { start: Instant::now(), worked: worked() }
    }

    /// Seconds for which this thread was on a processor since then, or of elapsed time if Linux
    /// does not report that.
    pub fn seconds(&self) -> f64 {
        match (self.worked, worked()) {
            (Some(before), Some(now)) => (now - before) as f64 * 1e-9,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds for which this thread was on a processor.
fn worked() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}
