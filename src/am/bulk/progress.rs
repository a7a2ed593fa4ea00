//! What other sessions see of a deduplication or a suggestion in progress: the view simhash_progress.
//!
//! A backend's status entry has a command and some numbers that PostgreSQL's own progress views read, each
//! those of its own command. Ours has a number that none of them knows. PostgreSQL ends it when the
//! (sub)transaction aborts.

use pgrx::pg_sys;
use simhash_core::search::Plan;

use crate::compat;

/// The number of our command in status entries: "SH".
const COMMAND: pg_sys::ProgressCommandType::Type = 0x5348;

/// The numbers of a status entry.
mod number {
    pub const COMMAND: usize = 0;
    pub const INDEX: usize = 1;
    pub const PHASE: usize = 2;
    pub const TABLES_TOTAL: usize = 3;
    pub const TABLES_DONE: usize = 4;
    pub const ROWS_TOTAL: usize = 5;
    pub const ROWS_READ: usize = 6;
    /// Of 10,000.
    pub const COMPARED: usize = 7;
    pub const PAIRS: usize = 8;
}

const COMMANDS: [&str; 3] = ["simhash_pairs", "simhash_clusters", "simhash_suggest"];
const PHASES: [&str; 6] = [
    "initializing",
    "reading rows",
    "comparing rows",
    "looking up rows",
    "making clusters",
    "searching neighbours",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Pairs = 0,
    Clusters = 1,
    Suggest = 2,
}

/// A report in progress; ends when dropped.
pub struct Progress(());

impl Progress {
    pub fn start(
        command: Command,
        table: pg_sys::Oid,
        index: pg_sys::Oid,
        tables: usize,
        rows: usize,
    ) -> Self {
        // SAFETY: writes to this backend's status entry, as everywhere below.
        unsafe { pg_sys::pgstat_progress_start_command(COMMAND, table) };
        set(number::COMMAND, command as i64);
        set(number::INDEX, i64::from(index.to_u32()));
        set(number::TABLES_TOTAL, tables as i64);
        set(number::ROWS_TOTAL, rows as i64);
        Self(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: as above.
            unsafe { pg_sys::pgstat_progress_end_command() };
        }
    }
}

fn set(number: usize, value: i64) {
    // SAFETY: as above.
    unsafe { pg_sys::pgstat_progress_update_param(number as i32, value) };
}

pub fn reading() {
    set(number::PHASE, 1);
}

pub fn read(rows: usize) {
    have_read(rows);
    comparing();
}

/// How many rows were read so far.
pub fn have_read(rows: usize) {
    set(number::ROWS_READ, rows as i64);
}

pub fn comparing() {
    set(number::PHASE, 2);
}

pub fn looking_up() {
    set(number::PHASE, 3);
}

pub fn finishing() {
    set(number::PHASE, 4);
}

pub fn searching() {
    set(number::TABLES_DONE, 1);
    set(number::PHASE, 5);
}

/// How far the searches have come: their share of 0 to 1, and the neighbours found.
pub fn searched(share: f64, found: u64) {
    set(number::COMPARED, (share * 10_000.0) as i64);
    set(number::PAIRS, found as i64);
}

/// How far the join has come: the table, the share of what is in memory, and the pairs found.
pub fn advance(plan: &Plan, table: u32, share: f64, pairs: usize) {
    let done = plan.radii().iter().take(table as usize).filter(|&&radius| radius >= 0).count();
    set(number::TABLES_DONE, done as i64);
    set(number::COMPARED, (share * 10_000.0) as i64);
    set(number::PAIRS, pairs as i64);
}

/// What one session reports; the numbers are None for those who may not see them.
pub struct Report {
    pub pid: i32,
    pub database: pg_sys::Oid,
    pub numbers: Option<Numbers>,
}

pub struct Numbers {
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
    pub command: &'static str,
    pub phase: &'static str,
    pub tables_total: i64,
    pub tables_done: i64,
    pub rows_total: i64,
    pub rows_read: i64,
    pub compared: f64,
    pub pairs: i64,
}

/// What every session reports at present.
pub fn reports() -> Vec<Report> {
    // SAFETY: the entries are a private copy, made once a transaction.
    let entries = unsafe { 1..=pg_sys::pgstat_fetch_stat_numbackends() };
    entries.filter_map(report).collect()
}

fn report(entry: i32) -> Option<Report> {
    // SAFETY: as above; an entry is null if there is none.
    let status = unsafe { compat::backend_status(entry).as_ref()? };
    if status.st_procpid == 0 || status.st_progress_command != COMMAND {
        return None;
    }
    let value = |number: usize| status.st_progress_param[number];
    let named = |names: &[&'static str], number: usize| {
        usize::try_from(value(number)).ok().and_then(|i| names.get(i).copied()).unwrap_or("")
    };
    let numbers = may_see(status.st_userid).then(|| Numbers {
        table: status.st_progress_command_target,
        index: pg_sys::Oid::from(value(number::INDEX) as u32),
        command: named(&COMMANDS, number::COMMAND),
        phase: named(&PHASES, number::PHASE),
        tables_total: value(number::TABLES_TOTAL),
        tables_done: value(number::TABLES_DONE),
        rows_total: value(number::ROWS_TOTAL),
        rows_read: value(number::ROWS_READ),
        compared: value(number::COMPARED) as f64 / 100.0,
        pairs: value(number::PAIRS),
    });
    Some(Report { pid: status.st_procpid, database: status.st_databaseid, numbers })
}

/// As pg_stat_activity: a role's own sessions, or all with pg_read_all_stats.
fn may_see(role: pg_sys::Oid) -> bool {
    /// The OID of pg_read_all_stats, the same in every version.
    const READ_ALL_STATS: u32 = 3375;
    // SAFETY: catalogue look-ups.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::has_privs_of_role(user, role)
            || pg_sys::has_privs_of_role(user, pg_sys::Oid::from(READ_ALL_STATS))
    }
}
