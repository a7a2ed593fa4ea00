//! Turns `ORDER BY hamming(x, y)` into the operator by which an index returns rows in order.

use pgrx::pg_sys;

use super::distance::Distance;
use super::expr::Expr;
use super::handle::members;
use super::index::is_indexed;
use super::root::Root;

/// Replaces a query's first sort expression with the operator, if it is a distance from an indexed
/// expression. It must be called before the planner builds the sort order, and after the planner
/// has processed the target list.
pub fn by_operators(root: Root) {
    let Some(first) = first_of_order(root) else { return };
    // SAFETY: the planner's list of TargetEntries. The operator has the type of the distance.
    unsafe {
        for target in members::<pg_sys::TargetEntry>(root.read().processed_tlist) {
            let target = target.as_ptr();
            if (*target).ressortgroupref == first {
                let expression = Expr::new((*target).expr.cast());
                let operator = expression.and_then(|expression| by_operator(root, expression));
                (*target).expr = operator.map_or((*target).expr, |made| made.as_ptr().cast());
            }
        }
    }
}

/// The number of the first sort expression. `None` if copies of the expression elsewhere in the
/// query must stay equal to it.
fn first_of_order(root: Root) -> Option<pg_sys::Index> {
    // SAFETY: the planner's state has its query, whose order is a list of SortGroupClauses.
    unsafe {
        let parse = &*root.read().parse;
        if !parse.groupClause.is_null()
            || !parse.distinctClause.is_null()
            || !parse.setOperations.is_null()
            || parse.hasAggs
            || parse.hasWindowFuncs
        {
            return None;
        }
        let sorted = members::<pg_sys::SortGroupClause>(parse.sortClause);
        sorted.first().map(|first| first.read().tleSortGroupRef)
    }
}

/// The operator for a distance that an index serves.
fn by_operator(root: Root, expression: Expr) -> Option<Expr> {
    expression.call()?;
    let distance = Distance::of(expression)?;
    let measure = distance.measure();
    let operator = distance.ordered()?;
    let is_served =
        [distance.x(), distance.y()].into_iter().any(|side| is_indexed(root, side, measure));
    (is_served && measure.may_use(root, &[measure.hamming])).then_some(operator)
}
