//! Counts of tests that passed and failed.

/// How many tests passed and failed. An exploration is one test, and so is the search for a fault.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    pub passed: u64,
    pub failed: u64,
}

impl Score {
    pub fn of(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    pub fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}
