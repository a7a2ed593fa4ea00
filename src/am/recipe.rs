//! Computes a text's fingerprint as an index does, by the index's expression or by that of the
//! generated column that it is on.

use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use super::opened::Opened;
use super::rights::check_may_read;
use crate::catalog::Schema;
use crate::catalog::members::Extension;
use crate::catalog::names::relation_name;
use crate::error::raise;
use crate::planner::{Constant, Expr};
use crate::types::any_fingerprint::AnyFp;
use crate::types::datum::Encode;
use crate::types::{Text, Width};

/// The fingerprint of a text by the recipe of an index or a partitioned index. `None` for a text
/// without features. Raises 42809 if the index's fingerprints are not made of one text. `schema` is
/// the extension's.
pub fn fingerprint_like(index: pg_sys::Oid, text: &str, schema: Schema) -> Option<AnyFp> {
    check_may_read(index);
    let opened = Opened::or_parent(index, pg_sys::AccessShareLock);
    let recipe = searched_expression(&opened).and_then(|made| recipe(made, schema));
    let Some((call, width)) = recipe else { raise_no_recipe(index) };
    let text = Text::from(text.to_owned()).encode();
    let collation = pg_sys::DEFAULT_COLLATION_OID;
    // SAFETY: a text is of variable length, and passed by reference. The copied call is of a
    // pg_simhash function, whose first argument, a text, is replaced by a text.
    let made = unsafe {
        let text = pg_sys::makeConst(pg_sys::TEXTOID, -1, collation, -1, text, false, false);
        let call: *mut pg_sys::FuncExpr = pg_sys::copyObjectImpl(call.as_ptr().cast()).cast();
        PgList::<pg_sys::Node>::from_pg((*call).args).replace_ptr(0, text.cast());
        pg_sys::evaluate_expr(call.cast(), (*call).funcresulttype, -1, pg_sys::InvalidOid)
    };
    // SAFETY: evaluate_expr returns a constant of its own.
    let made = unsafe { Expr::new(made.cast()) };
    let value = made.and_then(Expr::constant).map(Constant::datum);
    // SAFETY: the call's result is a fingerprint of this width, and not NULL.
    value.map(|value| unsafe { AnyFp::of(value, width) })
}

/// The expression of the searched column, the last key column: the index's own, or that of a
/// generated column.
fn searched_expression(opened: &Opened) -> Option<Expr> {
    let rel = opened.rel();
    let searched = rel.key_columns() - 1;
    let expression = match rel.table_column(searched) {
        0 => rel.expression(searched)?,
        // SAFETY: the table is open, and has this column. Its default is a copy.
        column => unsafe {
            if pg_sys::get_attgenerated((*opened.heap).rd_id, column) == 0 {
                return None;
            }
            let expression = pg_sys::build_column_default(opened.heap, column.into());
            pg_sys::eval_const_expressions(std::ptr::null_mut(), expression)
        },
    };
    // SAFETY: the expression is a copy that nobody else has.
    unsafe { Expr::new(expression) }
}

/// The call that makes fingerprints of a text, and their width. It may be inside casts and inside
/// functions of pg_simhash that take a fingerprint first, as `hamming_ball` does.
fn recipe(mut node: Expr, schema: Schema) -> Option<(Expr, Width)> {
    let extension = Extension::installed()?;
    loop {
        let Some(call) = node.call() else {
            node = node.of_other_type()?;
            continue;
        };
        let first = node.argument(0)?;
        let is_cast = call.funcformat != pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        let function = extension.function(call.funcid);
        if let Some(function) = &function
            && function.arguments.first() == Some(&pg_sys::TEXTOID)
            && function.result != pg_sys::INT8OID
            && let Some(width) = Width::of_type(function.result, schema)
        {
            let mut others = (1..).map_while(|place| node.argument(place));
            let are_constant = others.all(Expr::is_constant);
            return are_constant.then_some((node, width));
        }
        if function.is_none() && !is_cast {
            return None;
        }
        node = first;
    }
}

fn raise_no_recipe(index: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("index \"{}\" does not define how its fingerprints are made", relation_name(index)),
        "The index must be on an expression such as minhash128(body), or on a column that is \
         GENERATED ALWAYS AS one. Otherwise call the function that fills the column. An index on \
         texts is searched by near_duplicate.",
    )
}
