//! Counts of what schedules did, for the last line of a run.

#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Records of the log.
    pub records: u64,
    /// Trees that were walked after a record.
    pub trees: u64,
    pub splits: u64,
    pub removals: u64,
    /// Leaves that were stored in the other form.
    pub reshaped: u64,
    /// Records that moved recent postings to the settled tree.
    pub settled: u64,
    /// Horizons logged for dead entries that were removed before vacuum removed them.
    pub reclaimed: u64,
    /// Scans that were judged.
    pub scans: u64,
    /// Scans of a standby that a replayed record ended.
    pub ended: u64,
    pub crashes: u64,
    /// Insertions and vacuums that were cancelled.
    pub cancelled: u64,
}

impl Facts {
    pub fn add(&mut self, other: &Self) {
        let Self { records, trees, splits, removals, reshaped, settled, .. } = other;
        let Self { reclaimed, ended, scans, crashes, cancelled, .. } = other;
        self.records += records;
        self.trees += trees;
        self.splits += splits;
        self.removals += removals;
        self.reshaped += reshaped;
        self.settled += settled;
        self.reclaimed += reclaimed;
        self.ended += ended;
        self.scans += scans;
        self.crashes += crashes;
        self.cancelled += cancelled;
    }
}
