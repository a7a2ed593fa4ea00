//! Reports the progress of a deduplication or a suggestion, for the view simhash_progress.
//!
//! A backend's status entry has a command's code and some numbers. Each of PostgreSQL's own
//! progress views reads the entries with its command. Our code is known to none of them. PostgreSQL
//! ends the report when the (sub)transaction aborts.

use pgrx::pg_sys;
use simhash_core::search::Plan;

use crate::catalog::rights::has_rights_of;
use crate::compat;

/// The code of our command in status entries: "SH".
const COMMAND: pg_sys::ProgressCommandType::Type = 0x5348;

/// The numbers of a status entry.
mod number {
    pub const COMMAND: usize = 0;
    pub const INDEX: usize = 1;
    pub const PHASE: usize = 2;
    pub const BLOCK_TABLES_TOTAL: usize = 3;
    pub const BLOCK_TABLES_DONE: usize = 4;
    pub const ROWS_TOTAL: usize = 5;
    pub const ROWS_READ: usize = 6;
    /// In ten-thousandths.
    pub const COMPARED: usize = 7;
    pub const PAIRS: usize = 8;
}

/// A function that reports its progress. A status entry has it as a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Pairs,
    Clusters,
    Suggest,
    Duplicates,
    Passages,
}

impl Command {
    const ALL: [Self; 5] =
        [Self::Pairs, Self::Clusters, Self::Suggest, Self::Duplicates, Self::Passages];

    fn name(self) -> &'static str {
        match self {
            Self::Pairs => "simhash_pairs",
            Self::Clusters => "simhash_clusters",
            Self::Suggest => "simhash_suggest",
            Self::Duplicates => "simhash_duplicates",
            Self::Passages => "simhash_passages",
        }
    }

    /// The name of the command with that number, or nothing.
    fn name_of(number: i64) -> &'static str {
        Self::ALL.into_iter().find(|&command| command as i64 == number).map_or("", Self::name)
    }
}

/// The phase of a command. PostgreSQL begins a report with zeros, so in the first phase.
#[derive(Clone, Copy)]
enum Phase {
    Initializing,
    Reading,
    Comparing,
    LookingUp,
    MakingClusters,
    Searching,
}

impl Phase {
    const ALL: [Self; 6] = [
        Self::Initializing,
        Self::Reading,
        Self::Comparing,
        Self::LookingUp,
        Self::MakingClusters,
        Self::Searching,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Reading => "reading rows",
            Self::Comparing => "comparing rows",
            Self::LookingUp => "looking up rows",
            Self::MakingClusters => "making clusters",
            Self::Searching => "searching neighbours",
        }
    }

    /// The name of the phase with that number, or nothing.
    fn name_of(number: i64) -> &'static str {
        Self::ALL.into_iter().find(|&phase| phase as i64 == number).map_or("", Self::name)
    }
}

/// A report in progress; ends when dropped.
pub struct Progress(());

impl Progress {
    pub fn start(
        command: Command,
        heap: pg_sys::Oid,
        index: pg_sys::Oid,
        block_tables: usize,
        rows: usize,
    ) -> Self {
        // SAFETY: writes to this backend's status entry, as everywhere below.
        unsafe { pg_sys::pgstat_progress_start_command(COMMAND, heap) };
        set(number::COMMAND, command as i64);
        set(number::INDEX, i64::from(index.to_u32()));
        set(number::BLOCK_TABLES_TOTAL, block_tables as i64);
        set(number::ROWS_TOTAL, rows as i64);
        Self(())
    }
}

impl Progress {
    /// Reports how many rows there are.
    pub fn expect_rows(&self, rows: usize) {
        set(number::ROWS_TOTAL, rows as i64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: writes to this backend's status entry.
            unsafe { pg_sys::pgstat_progress_end_command() };
        }
    }
}

fn set(number: usize, value: i64) {
    // SAFETY: writes to this backend's status entry.
    unsafe { pg_sys::pgstat_progress_update_param(number as i32, value) };
}

fn set_phase(phase: Phase) {
    set(number::PHASE, phase as i64);
}

pub fn reading() {
    set_phase(Phase::Reading);
}

pub fn read(rows: usize) {
    have_read(rows);
    comparing();
}

/// Reports how many rows were read so far.
pub fn have_read(rows: usize) {
    set(number::ROWS_READ, rows as i64);
}

pub fn comparing() {
    set_phase(Phase::Comparing);
}

pub fn looking_up() {
    set_phase(Phase::LookingUp);
}

pub fn finishing() {
    set_phase(Phase::MakingClusters);
}

pub fn searching() {
    set(number::BLOCK_TABLES_DONE, 1);
    set_phase(Phase::Searching);
}

/// Reports the share of texts that have been compared, from 0 to 1.
pub fn compared(share: f64) {
    set(number::COMPARED, (share * 10_000.0) as i64);
}

/// Reports how many pairs were found.
pub fn found(pairs: u64) {
    set(number::PAIRS, pairs as i64);
}

/// Reports the share of searches that are done, from 0 to 1, and the neighbours found.
pub fn searched(share: f64, found: u64) {
    set(number::COMPARED, (share * 10_000.0) as i64);
    set(number::PAIRS, found as i64);
}

/// Reports a join's block table, the share done of what is in memory, and the pairs found.
pub fn advance(plan: &Plan, block_table: u32, share: f64, pairs: usize) {
    let done = plan.radii().take(block_table as usize).flatten().count();
    set(number::BLOCK_TABLES_DONE, done as i64);
    set(number::COMPARED, (share * 10_000.0) as i64);
    set(number::PAIRS, pairs as i64);
}

/// One session's report. The numbers are None for a caller who may not see them.
pub struct Report {
    pub pid: i32,
    pub database: pg_sys::Oid,
    pub numbers: Option<Numbers>,
}

pub struct Numbers {
    pub heap: pg_sys::Oid,
    pub index: pg_sys::Oid,
    pub command: &'static str,
    pub phase: &'static str,
    pub block_tables_total: i64,
    pub block_tables_done: i64,
    pub rows_total: i64,
    pub rows_read: i64,
    pub compared: f64,
    pub pairs: i64,
}

/// The reports of all sessions.
pub fn reports() -> Vec<Report> {
    // SAFETY: the entries are a private copy, which is made once in a transaction.
    let entries = unsafe { 1..=pg_sys::pgstat_fetch_stat_numbackends() };
    entries.filter_map(report).collect()
}

fn report(entry: i32) -> Option<Report> {
    // SAFETY: a private copy, made once in a transaction; an entry is null if there is none.
    let status = unsafe { compat::backend_status(entry).as_ref()? };
    if status.st_procpid == 0 || status.st_progress_command != COMMAND {
        return None;
    }
    let value = |number: usize| status.st_progress_param[number];
    let numbers = may_see(status.st_userid).then(|| Numbers {
        heap: status.st_progress_command_target,
        index: pg_sys::Oid::from(value(number::INDEX) as u32),
        command: Command::name_of(value(number::COMMAND)),
        phase: Phase::name_of(value(number::PHASE)),
        block_tables_total: value(number::BLOCK_TABLES_TOTAL),
        block_tables_done: value(number::BLOCK_TABLES_DONE),
        rows_total: value(number::ROWS_TOTAL),
        rows_read: value(number::ROWS_READ),
        compared: value(number::COMPARED) as f64 / 100.0,
        pairs: value(number::PAIRS),
    });
    Some(Report { pid: status.st_procpid, database: status.st_databaseid, numbers })
}

/// Whether the caller may see a role's sessions: as in pg_stat_activity, the caller's own roles,
/// and all with pg_read_all_stats.
fn may_see(role: pg_sys::Oid) -> bool {
    /// The OID of pg_read_all_stats, the same in every version.
    const READ_ALL_STATS: u32 = 3375;
    // SAFETY: reads this backend's current user.
    let user = unsafe { pg_sys::GetUserId() };
    has_rights_of(user, role) || has_rights_of(user, pg_sys::Oid::from(READ_ALL_STATS))
}
