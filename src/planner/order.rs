//! Turns `ORDER BY hamming(x, y)` into the operator by which an index returns rows in order.

use pgrx::{PgList, pg_sys};

use super::index::is_indexed;
use super::nodes::operation;
use super::pattern::distance_of;

/// Replaces a query's first sort expression with the operator, if it is a distance from an indexed
/// expression. It must be called before the planner builds the sort order.
///
/// # Safety
/// `root` is the planner's state. Its arrays of relations are set up, and its target list is
/// processed.
pub unsafe fn by_operators(root: *mut pg_sys::PlannerInfo) {
    // SAFETY: `root` is set up as the caller promises. The lists have the nodes that PostgreSQL
    // documents.
    unsafe {
        let parse = (*root).parse;
        // With these, copies of the sort expression elsewhere in the query must stay equal to it.
        if !(*parse).groupClause.is_null()
            || !(*parse).distinctClause.is_null()
            || !(*parse).setOperations.is_null()
            || (*parse).hasAggs
            || (*parse).hasWindowFuncs
        {
            return;
        }
        let sorted = PgList::<pg_sys::SortGroupClause>::from_pg((*parse).sortClause);
        let Some(first) = sorted.get_ptr(0) else { return };
        let targets = PgList::<pg_sys::TargetEntry>::from_pg((*root).processed_tlist);
        for target in targets.iter_ptr() {
            let expression = (*target).expr.cast::<pg_sys::Node>();
            if (*target).ressortgroupref != (*first).tleSortGroupRef
                || !pgrx::is_a(expression, pg_sys::NodeTag::T_FuncExpr)
            {
                continue;
            }
            let Some((measure, x, y)) = distance_of(expression) else { continue };
            let Some(order) = measure.order else { continue };
            let is_served = is_indexed(root, x, &measure) || is_indexed(root, y, &measure);
            if is_served && measure.may_use(root, &[measure.hamming]) {
                let none = pg_sys::InvalidOid;
                (*target).expr = operation(order, pg_sys::INT4OID, [x, y], none).cast();
            }
        }
    }
}
