//! Runs our statements on a user's table with its owner's privileges, as a view would.
//!
//! A statement needs the privileges of the lender, usually the owner, on the table that it names.
//! Row-level security hides no row from it, as with foreign keys. All code that runs meanwhile
//! (triggers, checks, functions of indexes, generated columns and types) runs as the current role,
//! so it gains no privileges. It does not see that role's search path: otherwise a function there
//! could be called with rows that are hidden from the role.
//!
//! SPI does not do: it may analyse a statement again, as another role, before it runs the
//! statement.
//!
//! A statement sees the latest committed rows, at every isolation level. At REPEATABLE READ and
//! SERIALIZABLE, a row that it changes must also be visible to the transaction's own snapshot, or
//! else PostgreSQL raises 40001. PostgreSQL's foreign keys do both in the same way.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;

use pgrx::{PgList, PgSqlErrorCode, pg_guard, pg_sys};

use super::run_as::{as_role, in_search_path};
use super::sql::Parameter;
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::compat::{analyze_and_rewrite, check_as, plan_query, run_executor};
use crate::error::raise;
use crate::family::column::Column;
use crate::family::snapshot::Snapshot;
use crate::family::value::Value;
use crate::types::text::utf8_to_server;
use crate::types::tid;
use crate::types::varlena::with_packed_bytes;

/// The one table that a statement names, and what the statement depends on.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub table: pg_sys::Oid,
    /// The role whose privileges the statement needs.
    pub lender: pg_sys::Oid,
    pub schema: Schema,
    /// The operator of the statement's conditions, if that is not one of PostgreSQL's own.
    pub equality: Option<pg_sys::Oid>,
}

/// What a statement does to its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Read,
    /// `repeatable`: at the higher isolation levels, the transaction's own snapshot must show the
    /// rows.
    Change {
        repeatable: bool,
    },
}

/// A row that a statement returns. Invariant: the slot holds it.
pub struct Returned<'a>(*mut pg_sys::TupleTableSlot, PhantomData<&'a ()>);

impl<'a> Returned<'a> {
    /// The datum in a column, counted from 1, of one of these types; `None` for NULL.
    fn datum(&self, number: i32, of: &[pg_sys::Oid]) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the slot holds a row, and PostgreSQL refuses a number beyond its columns.
        let (found, value) = unsafe {
            let found = pg_sys::SPI_gettypeid((*self.0).tts_tupleDescriptor, number);
            let found = if of.contains(&found) { found } else { pg_sys::getBaseType(found) };
            (found, pg_sys::slot_getattr(self.0, number, &mut is_null))
        };
        assert!(of.contains(&found), "the type of a returned column");
        (!is_null).then_some(value)
    }

    /// The value in a column that has the type of a table's column.
    pub fn value(&self, number: i32, like: &Column) -> Option<Value<'a>> {
        // SAFETY: the datum is of the column's base type, and valid until the next row.
        self.datum(number, &[like.base]).map(|datum| unsafe { like.value(datum) })
    }

    pub fn oid(&self, number: i32) -> Option<pg_sys::Oid> {
        let oid = self.datum(number, &[pg_sys::OIDOID, pg_sys::REGCLASSOID]);
        oid.map(|oid| pg_sys::Oid::from(oid.value() as u32))
    }

    /// A packed TID.
    pub fn tid(&self, number: i32) -> Option<u64> {
        // SAFETY: the datum is a TID, and valid until the next row.
        self.datum(number, &[pg_sys::TIDOID]).map(|tid| unsafe { tid::pack(&*tid.cast_mut_ptr()) })
    }

    /// A copy of a text, in the server's encoding.
    pub fn text(&self, number: i32) -> Option<CString> {
        let text = self.datum(number, &[pg_sys::TEXTOID])?;
        // SAFETY: the datum is a text, and valid until the next row.
        let text = unsafe { with_packed_bytes(text, <[u8]>::to_vec) };
        CString::new(text).ok()
    }
}

impl Access {
    /// Passes every row of a query to `sink`, in the caller's memory context.
    pub fn query(
        self,
        source: &str,
        parameters: &[Parameter],
        sink: &mut dyn FnMut(&Returned<'_>),
    ) {
        self.run(source, parameters, Does::Read, sink, &mut || ());
    }

    /// Runs a statement that changes rows. Returns how many rows it has changed.
    pub fn execute(self, source: &str, parameters: &[Parameter]) -> u64 {
        self.run(source, parameters, Does::Change { repeatable: false }, &mut |_| (), &mut || ())
    }

    /// The same for rows that, at the higher isolation levels, the transaction's own snapshot must
    /// show. Passes the returned rows to `sink`. Calls `written` when all rows are written, before
    /// the AFTER triggers.
    pub fn execute_repeatable(
        self,
        source: &str,
        parameters: &[Parameter],
        sink: &mut dyn FnMut(&Returned<'_>),
        written: &mut dyn FnMut(),
    ) -> u64 {
        self.run(source, parameters, Does::Change { repeatable: true }, sink, written)
    }

    fn run(
        self,
        source: &str,
        parameters: &[Parameter],
        does: Does,
        sink: &mut dyn FnMut(&Returned<'_>),
        written: &mut dyn FnMut(),
    ) -> u64 {
        let text = CString::new(&*utf8_to_server(source)).unwrap_or_default();
        in_search_path(self.table, self.schema, || {
            in_own_memory(|outer| {
                let snapshot = Snapshot::latest();
                let crosscheck = activate(&snapshot, does);
                let values = bound(parameters);
                let mut receiver = Receiver::new(outer, sink);
                // SAFETY: a snapshot is active. The receiver outlives the query.
                let query = unsafe {
                    pg_sys::CreateQueryDesc(
                        self.plan(&text, parameters, values),
                        text.as_ptr(),
                        pg_sys::GetActiveSnapshot(),
                        crosscheck,
                        (&raw mut receiver).cast(),
                        values,
                        std::ptr::null_mut(),
                        0,
                    )
                };
                let reads = does == Does::Read;
                let flags = if reads { pg_sys::EXEC_FLAG_SKIP_TRIGGERS } else { 0 };
                // SAFETY: PostgreSQL's own sequence of calls for a statement. `activate` has pushed
                // the snapshot.
                let count = unsafe {
                    pg_sys::ExecutorStart(query, flags as i32);
                    run_executor(query);
                    written();
                    let count = (*(*query).estate).es_processed;
                    pg_sys::ExecutorFinish(query);
                    pg_sys::ExecutorEnd(query);
                    pg_sys::FreeQueryDesc(query);
                    pg_sys::PopActiveSnapshot();
                    count
                };
                snapshot.release();
                if !reads {
                    // SAFETY: in a transaction.
                    unsafe { pg_sys::CommandCounterIncrement() };
                }
                count
            })
        })
    }

    /// Analyses the statement as the lender, who may use the schemas, and plans it as the current
    /// role. That role may have its plans printed, so the values of parameters are not part of the
    /// plan.
    ///
    /// # Safety
    /// A snapshot is active.
    unsafe fn plan(
        self,
        text: &CStr,
        parameters: &[Parameter],
        values: pg_sys::ParamListInfo,
    ) -> *mut pg_sys::PlannedStmt {
        let mut types: Vec<_> = parameters.iter().map(|parameter| parameter.of()).collect();
        // SAFETY: a snapshot is active, and the text is one statement.
        unsafe {
            let raw = pg_sys::pg_parse_query(text.as_ptr());
            let raw = PgList::<pg_sys::RawStmt>::from_pg(raw).get_ptr(0);
            let Some(raw) = raw else { self.refuse() };
            let written = (*(*raw).stmt).type_;
            let queries = as_role(self.lender, || analyze_and_rewrite(raw, text, &mut types));
            let queries = PgList::<pg_sys::Query>::from_pg(queries);
            // Rules would make other queries of it, but a table with groups has none.
            let [query] = queries.iter_ptr().collect::<Vec<_>>()[..] else { self.refuse() };
            if (*query).commandType != command(written) {
                self.refuse()
            }
            self.lend(query);
            plan_query(query, text, values)
        }
    }

    /// Makes a query need the lender's privileges. Raises an ERROR unless it names only the table.
    ///
    /// # Safety
    /// The query has been analysed, and not yet planned.
    unsafe fn lend(self, query: *mut pg_sys::Query) {
        // SAFETY: the query has been analysed, and each node is cast to the type of its tag.
        unsafe {
            if (*query).hasSubLinks || !(*query).cteList.is_null() {
                self.refuse()
            }
            for entry in PgList::<pg_sys::RangeTblEntry>::from_pg((*query).rtable).iter_ptr() {
                match (*entry).rtekind {
                    // The schema or the table may have been renamed since its name was looked up.
                    pg_sys::RTEKind::RTE_RELATION if (*entry).relid != self.table => self.renamed(),
                    pg_sys::RTEKind::RTE_SUBQUERY => self.lend((*entry).subquery),
                    _ => {}
                }
            }
            let operator = operator((*(*query).jointree).quals);
            if self.equality.is_some() && operator.is_some() && operator != self.equality {
                self.renamed()
            }
            check_as(query, self.lender);
        }
    }

    fn renamed(self) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!(
                "table \"{}\", its schema or one of its operators was renamed concurrently",
                relation_name(self.table)
            ),
            "Try again.",
        )
    }

    fn refuse(self) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("table \"{}\" has rules for UPDATE", relation_name(self.table)),
            "simhash_cluster assigns group ids by UPDATE: use triggers instead of rules.",
        )
    }
}

/// Makes a snapshot the active one, until it is popped or the transaction aborts. Returns the
/// snapshot that must also show the rows that the statement changes, or null.
fn activate(snapshot: &Snapshot, does: Does) -> pg_sys::Snapshot {
    // SAFETY: the snapshot is registered; the others are PostgreSQL's own.
    unsafe {
        let Does::Change { repeatable } = does else {
            pg_sys::PushActiveSnapshot(snapshot.raw());
            return std::ptr::null_mut();
        };
        pg_sys::PushCopiedSnapshot(snapshot.raw());
        pg_sys::UpdateActiveSnapshotCommandId();
        match repeatable && pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 {
            true => pg_sys::GetTransactionSnapshot(),
            false => std::ptr::null_mut(),
        }
    }
}

/// Runs a closure in a memory context of its own. The context is deleted at the end, or when the
/// transaction aborts. The argument of the closure is the caller's context.
fn in_own_memory<T>(run: impl FnOnce(pg_sys::MemoryContext) -> T) -> T {
    let [least, first, most] = [
        pg_sys::ALLOCSET_DEFAULT_MINSIZE,
        pg_sys::ALLOCSET_DEFAULT_INITSIZE,
        pg_sys::ALLOCSET_DEFAULT_MAXSIZE,
    ];
    let (least, first, most) = (least as usize, first as usize, most as usize);
    let name = c"statement of simhash_cluster".as_ptr();
    // SAFETY: the context is deleted after the closure has returned, when nothing uses it.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        let own = pg_sys::AllocSetContextCreateInternal(outer, name, least, first, most);
        pg_sys::MemoryContextSwitchTo(own);
        let result = run(outer);
        pg_sys::MemoryContextSwitchTo(outer);
        pg_sys::MemoryContextDelete(own);
        result
    }
}

/// The operator of a condition: `None` without a condition, `InvalidOid` for a condition that is
/// not ours.
///
/// # Safety
/// The condition is null, or has been analysed.
unsafe fn operator(condition: *mut pg_sys::Node) -> Option<pg_sys::Oid> {
    // SAFETY: the condition is null or a node, which is cast to the type of its tag.
    unsafe {
        match condition.as_ref()?.type_ {
            pg_sys::NodeTag::T_OpExpr => Some((*condition.cast::<pg_sys::OpExpr>()).opno),
            _ => Some(pg_sys::InvalidOid),
        }
    }
}

fn command(written: pg_sys::NodeTag) -> pg_sys::CmdType::Type {
    match written {
        pg_sys::NodeTag::T_SelectStmt => pg_sys::CmdType::CMD_SELECT,
        pg_sys::NodeTag::T_UpdateStmt => pg_sys::CmdType::CMD_UPDATE,
        pg_sys::NodeTag::T_InsertStmt => pg_sys::CmdType::CMD_INSERT,
        pg_sys::NodeTag::T_DeleteStmt => pg_sys::CmdType::CMD_DELETE,
        _ => pg_sys::CmdType::CMD_UNKNOWN,
    }
}

/// The values of parameters, as the executor expects them. The planner uses them for estimates, but
/// does not put them into the plan, because they are not marked as constants. The `paramFetch` hook
/// keeps PostgreSQL from printing them with the plan (auto_explain, from 16 on).
fn bound(parameters: &[Parameter]) -> pg_sys::ParamListInfo {
    // SAFETY: `makeParamList` has allocated as many parameters.
    unsafe {
        let list = pg_sys::makeParamList(parameters.len() as i32);
        (*list).paramFetch = Some(fetch);
        let all = (*list).params.as_mut_slice(parameters.len());
        for (parameter, given) in all.iter_mut().zip(parameters) {
            *parameter = given.external();
        }
        list
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn fetch(
    list: pg_sys::ParamListInfo,
    number: i32,
    _speculative: bool,
    _workspace: *mut pg_sys::ParamExternData,
) -> *mut pg_sys::ParamExternData {
    // SAFETY: PostgreSQL asks only for parameters of the list, counted from 1.
    unsafe { (*list).params.as_mut_ptr().add(number as usize - 1) }
}

/// Receives a statement's rows from the executor.
#[repr(C)]
struct Receiver<'a> {
    /// The first field, because the executor has a pointer to a DestReceiver.
    base: pg_sys::DestReceiver,
    context: pg_sys::MemoryContext,
    sink: &'a mut dyn FnMut(&Returned<'_>),
}

impl<'a> Receiver<'a> {
    fn new(context: pg_sys::MemoryContext, sink: &'a mut dyn FnMut(&Returned<'_>)) -> Self {
        let base = pg_sys::DestReceiver {
            receiveSlot: Some(receive),
            rStartup: Some(start),
            rShutdown: Some(end),
            rDestroy: Some(end),
            mydest: pg_sys::CommandDest::DestNone,
        };
        Receiver { base, context, sink }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    this: *mut pg_sys::DestReceiver,
) -> bool {
    pgrx::check_for_interrupts!();
    // SAFETY: the executor passes the receiver of `run`, and a slot with a row.
    unsafe {
        let receiver = &mut *this.cast::<Receiver<'_>>();
        let own = pg_sys::MemoryContextSwitchTo(receiver.context);
        (receiver.sink)(&Returned(slot, PhantomData));
        pg_sys::MemoryContextSwitchTo(own);
    }
    true
}

#[pg_guard]
unsafe extern "C-unwind" fn start(
    _this: *mut pg_sys::DestReceiver,
    _operation: i32,
    _columns: pg_sys::TupleDesc,
) {
}

#[pg_guard]
unsafe extern "C-unwind" fn end(_this: *mut pg_sys::DestReceiver) {}
