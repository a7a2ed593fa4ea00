//! Makes calls leakproof where row-level security or a security barrier hides rows.
//!
//! `near_duplicate` is not LEAKPROOF: it raises an ERROR for some similarities and configurations,
//! which might be columns of hidden rows. `text ~= near_text` raises none, and its `near_text(...)`
//! has no column. The same holds for `shares_passage` and `text && text_passage`. So the operator
//! replaces a call if only one of its texts has columns, and its limit and config are constant. The
//! index can then serve it before the conditions that hide rows.

use pgrx::pg_sys;

use super::recipe::Call;
use crate::encoding;
use crate::guc;
use crate::planner::expr::Expr;
use crate::planner::measures::{Objects, may_execute_all};
use crate::planner::root::Root;

/// The leakproof form of a call, if it compares rows that may be hidden.
pub fn simplified(root: Root, node: Expr) -> Option<Expr> {
    if !guc::rewrite_enabled() || !encoding::converts_nothing() {
        return None;
    }
    let calls = Objects::get().text_calls(node.call()?.funcid)?;
    let call = Call::of(calls, node)?;
    call.asked()?.least?;
    let [a, b] = call.texts();
    let (of_column, column, other) = match (a.has_columns(), b.has_columns()) {
        (true, false) => (0, a, b),
        (false, true) => (1, b, a),
        _ => return None,
    };
    // SAFETY: a catalogue look-up in a transaction.
    let is_leakproof = |function| unsafe { pg_sys::get_func_leakproof(function) };
    let operator = calls.operates();
    if !is_of_hidden_rows(root, column)
        || other.is_volatile()
        || !is_leakproof(operator)
        || is_leakproof(calls.function)
        || !may_execute_all(root, &[calls.function, calls.make, operator])
    {
        return None;
    }
    Some(call.condition(root, of_column))
}

/// Whether an expression has a column of a table or a view that hides rows.
fn is_of_hidden_rows(root: Root, expression: Expr) -> bool {
    let relations = root.relations_in(expression);
    let entries = (1..).map_while(|number| root.in_range_table(number));
    let mut entries = entries.filter(|entry| relations.contains(entry.number()));
    entries.any(|entry| !entry.read().securityQuals.is_null() || entry.read().security_barrier)
}
