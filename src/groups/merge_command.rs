//! Refuses a MERGE that may move rows to other partitions. PostgreSQL does not pass such rows to
//! UPDATE triggers, and fires those of DELETE and INSERT only if the MERGE has such actions.

use std::ffi::CString;
use std::sync::OnceLock;

use pgrx::{PgList, PgSqlErrorCode, pg_guard, pg_sys};

use super::setup::trigger_function;
use crate::catalog::inheritance::{all_inheritors, partition_columns};
use crate::catalog::names::relation_name;
use crate::error::raise;
use crate::family::on::{On, Open};
use crate::memory;

unsafe extern "C-unwind" {
    // executor/executor.h: pgrx's own binding would catch an ERROR of another trigger.
    fn standard_ExecutorStart(query: *mut pg_sys::QueryDesc, flags: i32);
}

/// The hook that was installed before.
static PREVIOUS: OnceLock<pg_sys::ExecutorStart_hook_type> = OnceLock::new();

/// Must be called once, from `_PG_init`.
pub fn install() {
    // SAFETY: a backend is single-threaded, and hooks are set while the library is loaded.
    unsafe {
        PREVIOUS.get_or_init(|| pg_sys::ExecutorStart_hook);
        pg_sys::ExecutorStart_hook = Some(executor_start);
    }
}

/// Called before a statement is run. An ERROR may leave this function by longjmp, because nothing
/// in it has a destructor.
unsafe extern "C-unwind" fn executor_start(query: *mut pg_sys::QueryDesc, flags: i32) {
    // SAFETY: the executor passes the query, which is started before its state is read.
    unsafe {
        match PREVIOUS.get() {
            Some(Some(previous)) => previous(query, flags),
            _ => standard_ExecutorStart(query, flags),
        }
        let is_merge = (*query).operation == pg_sys::CmdType::CMD_MERGE;
        if is_merge || !(*(*query).estate).es_auxmodifytables.is_null() {
            refuse_moves(query);
        }
    }
}

/// Raises 0A000 for a MERGE that may move rows of a table with groups.
#[pg_guard]
unsafe extern "C-unwind" fn refuse_moves(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the executor has started the query, so its state and its tables are open.
    unsafe {
        memory::prepare();
        for part in parts(query) {
            let table = Open::new((*(*part).rootResultRelInfo).ri_RelationDesc);
            if may_move(part, (*query).estate) && has_groups(table) {
                let name = relation_name(table.oid());
                raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!(
                        "cannot run a MERGE that may move rows of table \"{name}\" to other \
                         partitions"
                    ),
                    "The triggers of simhash_cluster do not see such moves. Use INSERT ... ON \
                     CONFLICT DO UPDATE, or UPDATE and INSERT, or set no column of the partition \
                     key.",
                )
            }
        }
    }
}

/// The parts of a statement that write rows.
unsafe fn parts(query: *mut pg_sys::QueryDesc) -> Vec<*mut pg_sys::ModifyTableState> {
    // SAFETY: the query is started. A node is cast to the type of its tag, and the list has only
    // ModifyTable nodes.
    unsafe {
        let list = PgList::from_pg((*(*query).estate).es_auxmodifytables);
        let mut parts: Vec<*mut pg_sys::ModifyTableState> = list.iter_ptr().collect();
        let top = (*query).planstate;
        if !top.is_null() && (*top).type_ == pg_sys::NodeTag::T_ModifyTableState {
            parts.push(top.cast());
        }
        parts
    }
}

/// Whether a part of a statement is a MERGE whose UPDATE may move rows of a partitioned table: it
/// sets a column of a partition key, or a row trigger might.
unsafe fn may_move(part: *mut pg_sys::ModifyTableState, estate: *mut pg_sys::EState) -> bool {
    // SAFETY: the part belongs to a started query, and its table is open.
    let (table, updated) = unsafe {
        let target = (*part).rootResultRelInfo;
        let updates = (*part).mt_merge_subcommands & pg_sys::MERGE_UPDATE as i32 != 0;
        if (*part).operation != pg_sys::CmdType::CMD_MERGE || !updates {
            return false;
        }
        (Open::new((*target).ri_RelationDesc), pg_sys::ExecGetUpdatedCols(target, estate))
    };
    if !table.is_partitioned() {
        return false;
    }
    let (ours, table) = (trigger_function(), table.oid());
    let is_set = |name: &CString| {
        // SAFETY: a catalogue look-up, and a set of columns of the table.
        unsafe {
            let number = i32::from(pg_sys::get_attnum(table, name.as_ptr()));
            pg_sys::bms_is_member(number - pg_sys::FirstLowInvalidHeapAttributeNumber, updated)
        }
    };
    let has_triggers = |oid: pg_sys::Oid| {
        let has_them = |table: Open<'_>| table.has_row_triggers(ours);
        Open::with(oid, pg_sys::NoLock, has_them).unwrap_or(false)
    };
    partition_columns(table).iter().any(is_set)
        || all_inheritors(table, pg_sys::AccessShareLock).into_iter().any(has_triggers)
}

/// Whether a trigger fires in this session, by session_replication_role.
fn is_fired(trigger: &pg_sys::Trigger) -> bool {
    // SAFETY: reads a setting.
    let role = unsafe { pg_sys::SessionReplicationRole };
    let is_replica = role == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32;
    match trigger.tgenabled as u8 {
        b'A' => true,
        b'O' => !is_replica,
        b'R' => is_replica,
        _ => false,
    }
}

fn has_groups(table: Open<'_>) -> bool {
    let Some(ours) = trigger_function() else { return false };
    table.triggers().any(|On { trigger, .. }| trigger.tgfoid == ours && is_fired(trigger))
}
