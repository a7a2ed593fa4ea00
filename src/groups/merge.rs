//! Rows that MERGE moves to another partition.
//!
//! PostgreSQL puts such a row into the transition tables of DELETE and INSERT, not into those of
//! UPDATE, but fires the triggers that read them only if the MERGE has such actions. So our own are
//! fired here if nobody else does, and no other trigger. The rows that come are looked at before
//! those that went: an id that a moved row still holds would otherwise be taken for a member's of
//! the group that it has left. PostgreSQL itself fires DELETE first, so its call is told to look
//! where its rows are.

use std::cell::Cell;
use std::sync::OnceLock;

use pgrx::{PgList, pg_guard, pg_sys};

use super::own;
use super::setup::trigger_function;
use crate::memory;

unsafe extern "C-unwind" {
    // executor/executor.h: pgrx's own binding would catch an ERROR of somebody else's trigger.
    fn standard_ExecutorFinish(query: *mut pg_sys::QueryDesc);
}

/// The hook that was there before.
static PREVIOUS: OnceLock<pg_sys::ExecutorFinish_hook_type> = OnceLock::new();

thread_local! {
    /// The latest MERGE that may have moved rows and fires the triggers of DELETE itself: how deep
    /// these are, and in which subtransaction of the transaction that began then. After an ERROR
    /// it stays, but nothing is in that subtransaction any more. One inside that failed has taken
    /// the place of the one outside: then its groups may be called otherwise.
    static DELETES: Cell<(i32, pg_sys::SubTransactionId, pg_sys::TimestampTz)> =
        const { Cell::new((0, 0, 0)) };
}

/// Whether rows that this call of a trigger AFTER DELETE is told of may be in another partition.
pub fn may_have_moved() -> bool {
    DELETES.get() == deep(own::depth())
}

fn deep(depth: i32) -> (i32, pg_sys::SubTransactionId, pg_sys::TimestampTz) {
    // SAFETY: reads the transaction's state.
    unsafe {
        let began = pg_sys::GetCurrentTransactionStartTimestamp();
        (depth, pg_sys::GetCurrentSubTransactionId(), began)
    }
}

/// Must be called once, from `_PG_init`.
pub fn install() {
    // SAFETY: a backend is single-threaded, and hooks are set while a library is loaded.
    unsafe {
        PREVIOUS.get_or_init(|| pg_sys::ExecutorFinish_hook);
        pg_sys::ExecutorFinish_hook = Some(executor_finish);
    }
}

/// Called once the statement's rows are written, before its triggers AFTER run. These raise ERRORs
/// past this function: it has nothing that would have to be dropped.
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the query is the executor's, and passed on as it came.
    unsafe {
        let deletes_before = DELETES.get();
        let estate = (*query).estate;
        let is_merge = (*query).operation == pg_sys::CmdType::CMD_MERGE;
        if is_merge || !(*estate).es_auxmodifytables.is_null() {
            fire_missing(query);
        }
        match PREVIOUS.get() {
            Some(Some(previous)) => previous(query),
            _ => standard_ExecutorFinish(query),
        }
        DELETES.set(deletes_before);
    }
}

/// Has our triggers AFTER DELETE and INSERT fired for each MERGE that may have moved rows, unless
/// the statement fires them anyway.
#[pg_guard]
unsafe extern "C-unwind" fn fire_missing(query: *mut pg_sys::QueryDesc) {
    // SAFETY: as executor_finish's.
    unsafe {
        if ((*(*query).estate).es_top_eflags & pg_sys::EXEC_FLAG_SKIP_TRIGGERS as i32) != 0 {
            return;
        }
        memory::prepare();
        let parts = parts(query);
        for &part in &parts {
            if !fires(part, pg_sys::CmdType::CMD_UPDATE) || !may_move(part) {
                continue;
            }
            let table = |part: *mut pg_sys::ModifyTableState| {
                (*(*(*part).rootResultRelInfo).ri_RelationDesc).rd_id
            };
            for event in [pg_sys::CmdType::CMD_INSERT, pg_sys::CmdType::CMD_DELETE] {
                let mut others = parts.iter().filter(|&&other| table(other) == table(part));
                if !others.any(|&other| fires(other, event)) {
                    fire(part, event);
                } else if event == pg_sys::CmdType::CMD_DELETE {
                    DELETES.set(deep(own::depth() + 1));
                }
            }
        }
    }
}

/// The parts of a statement that write rows.
unsafe fn parts(query: *mut pg_sys::QueryDesc) -> Vec<*mut pg_sys::ModifyTableState> {
    // SAFETY: as executor_finish's; a node is cast to what its tag says, and the list has nodes of
    // that kind only.
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

/// Whether a part of a statement fires the triggers of an event.
unsafe fn fires(part: *mut pg_sys::ModifyTableState, event: pg_sys::CmdType::Type) -> bool {
    // SAFETY: the part is the executor's.
    let (operation, actions) = unsafe { ((*part).operation, (*part).mt_merge_subcommands) };
    let action = match event {
        pg_sys::CmdType::CMD_INSERT => pg_sys::MERGE_INSERT,
        pg_sys::CmdType::CMD_UPDATE => pg_sys::MERGE_UPDATE,
        _ => pg_sys::MERGE_DELETE,
    };
    operation == event || operation == pg_sys::CmdType::CMD_MERGE && actions & action as i32 != 0
}

/// Whether a part of a statement is a MERGE of a partitioned table with triggers that see rows.
unsafe fn may_move(part: *mut pg_sys::ModifyTableState) -> bool {
    // SAFETY: the part is the executor's, and its table open.
    unsafe {
        let target = (*part).rootResultRelInfo;
        let kind = (*(*(*target).ri_RelationDesc).rd_rel).relkind as u8;
        (*part).operation == pg_sys::CmdType::CMD_MERGE
            && kind == pg_sys::RELKIND_PARTITIONED_TABLE
            && !(*part).mt_transition_capture.is_null()
            && (*target).ri_TrigDesc.as_ref().is_some_and(|all| all.trig_update_new_table)
    }
}

/// Has our triggers of an event fired after the statement, with the rows that it has there.
unsafe fn fire(part: *mut pg_sys::ModifyTableState, event: pg_sys::CmdType::Type) {
    // SAFETY: the part is the executor's. Its target is copied with a list in which all triggers
    // but ours are of no event. Where a trigger is in that list stays as it is.
    unsafe {
        let Some(ours) = trigger_function() else { return };
        let mut target = *(*part).rootResultRelInfo;
        let mut all = *target.ri_TrigDesc;
        let list = std::slice::from_raw_parts(all.triggers, all.numtriggers.max(0) as usize);
        if list.iter().all(|trigger| trigger.tgfoid != ours) {
            return;
        }
        let mut list = list.to_vec();
        for trigger in list.iter_mut().filter(|trigger| trigger.tgfoid != ours) {
            trigger.tgtype = 0;
        }
        all.triggers = list.as_mut_ptr();
        target.ri_TrigDesc = &raw mut all;
        let (estate, capture) = ((*part).ps.state, (*part).mt_transition_capture);
        if event == pg_sys::CmdType::CMD_INSERT {
            pg_sys::ExecASInsertTriggers(estate, &raw mut target, capture);
        } else {
            pg_sys::ExecASDeleteTriggers(estate, &raw mut target, capture);
        }
    }
}
