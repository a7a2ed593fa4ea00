//! Makes calls leakproof where row-level security or a security barrier hides rows.
//!
//! `near_duplicate` is not LEAKPROOF: it raises an ERROR for some similarities and configurations,
//! which might be columns of hidden rows. `text ~= near_text` raises none, and its `near_text(...)`
//! has no column. The same holds for `shares_passage` and `text && text_passage`. So the operator
//! replaces a call if only one of its texts has columns, and its limit and config are constant. The
//! index can then serve it before the conditions that hide rows.

use pgrx::{PgList, pg_sys};

use super::recipe::Call;
use crate::encoding;
use crate::guc;
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::nodes::{call, operator_clause};

/// The leakproof form of a call, if it compares rows that may be hidden.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn simplified(
    request: *mut pg_sys::SupportRequestSimplify,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner filled the request in, and the call is checked before its arguments are
    // read.
    unsafe {
        let root = (*request).root;
        if root.is_null() || !guc::rewrite_enabled() || !encoding::converts_nothing() {
            return None;
        }
        let calls = Objects::get().text_calls((*(*request).fcall).funcid)?;
        let asked_of = Call::of(&calls, (*request).fcall.cast())?;
        let asked = asked_of.asked()?;
        asked.least?;
        let [a, b] = asked_of.texts;
        let (column, other) = match (pg_sys::contain_var_clause(a), pg_sys::contain_var_clause(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let operator = pg_sys::get_opcode(calls.on_text);
        if !is_of_hidden_rows(root, column)
            || pg_sys::contain_volatile_functions(other)
            || !pg_sys::get_func_leakproof(operator)
            || pg_sys::get_func_leakproof(calls.function)
            || !may_execute_all(root, &[calls.function, calls.make, operator])
        {
            return None;
        }
        let made = call(calls.make, calls.value, &[other, asked_of.least, asked_of.config]);
        let made = pg_sys::eval_const_expressions(root, made);
        Some(operator_clause(calls.on_text, column, made, asked_of.collation))
    }
}

/// Whether an expression has a column of a table or a view that hides rows.
unsafe fn is_of_hidden_rows(root: *mut pg_sys::PlannerInfo, node: *mut pg_sys::Node) -> bool {
    // SAFETY: the range table has an entry for each index in an expression of the query.
    unsafe {
        let range_table = PgList::<pg_sys::RangeTblEntry>::from_pg((*(*root).parse).rtable);
        let numbers = pg_sys::pull_varnos(root, node);
        range_table.iter_ptr().zip(1..).any(|(entry, number)| {
            pg_sys::bms_is_member(number, numbers)
                && (!(*entry).securityQuals.is_null() || (*entry).security_barrier)
        })
    }
}
