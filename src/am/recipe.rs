//! Computes a text's fingerprint as an index does, by the index's expression or by that of the
//! generated column that it is on.

use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use super::opened::Opened;
use super::rights::check_may_read;
use crate::catalog::Schema;
use crate::catalog::members::Extension;
use crate::catalog::names::relation_name;
use crate::error::raise;
use crate::types::any_fingerprint::AnyFp;
use crate::types::datum::Encode;
use crate::types::{Text, Width};

/// The fingerprint of a text by the recipe of an index or a partitioned index. `None` for a text
/// without features. Raises 42809 if the index's fingerprints are not made of one text. `schema` is
/// the extension's.
pub fn fingerprint_like(index: pg_sys::Oid, text: &str, schema: Schema) -> Option<AnyFp> {
    check_may_read(index);
    let opened = Opened::or_parent(index, pg_sys::AccessShareLock);
    // SAFETY: the index is open. The call that is evaluated is of a pg_simhash function; its first
    // argument, a text, is replaced by a text.
    unsafe {
        let expression = searched_expression(&opened);
        let Some((call, width)) = recipe(expression, schema) else { raise_no_recipe(index) };
        let call: *mut pg_sys::FuncExpr = pg_sys::copyObjectImpl(call.cast()).cast();
        let text = Text::from(text.to_owned()).encode();
        let text = pg_sys::makeConst(
            pg_sys::TEXTOID,
            -1,
            pg_sys::DEFAULT_COLLATION_OID,
            -1,
            text,
            false,
            false,
        );
        PgList::<pg_sys::Node>::from_pg((*call).args).replace_ptr(0, text.cast());
        let made =
            pg_sys::evaluate_expr(call.cast(), (*call).funcresulttype, -1, pg_sys::InvalidOid);
        let made = made.cast::<pg_sys::Const>();
        (!(*made).constisnull).then(|| AnyFp::of((*made).constvalue, width))
    }
}

/// The expression of the searched column, the last key column: the index's own, or that of a
/// generated column. Null if it has none.
unsafe fn searched_expression(opened: &Opened) -> *mut pg_sys::Node {
    // SAFETY: the index and its table are open; `indkey` has a number for each column.
    unsafe {
        let form = &*(*opened.index).rd_index;
        let columns = form.indkey.values.as_slice(form.indnkeyatts as usize);
        let Some((&searched, before)) = columns.split_last() else { return std::ptr::null_mut() };
        if searched == 0 {
            let place = before.iter().filter(|&&column| column == 0).count();
            let expressions = pg_sys::RelationGetIndexExpressions(opened.index);
            let expressions = PgList::<pg_sys::Node>::from_pg(expressions);
            return expressions.get_ptr(place).unwrap_or(std::ptr::null_mut());
        }
        if pg_sys::get_attgenerated((*opened.heap).rd_id, searched) == 0 {
            return std::ptr::null_mut();
        }
        let expression = pg_sys::build_column_default(opened.heap, searched.into());
        pg_sys::eval_const_expressions(std::ptr::null_mut(), expression)
    }
}

/// The call that makes fingerprints of a text, and their width. It may be inside casts and inside
/// functions of pg_simhash that take a fingerprint first, as `hamming_ball` does.
unsafe fn recipe(
    mut node: *mut pg_sys::Node,
    schema: Schema,
) -> Option<(*mut pg_sys::FuncExpr, Width)> {
    let extension = Extension::installed()?;
    // SAFETY: the node is cast only to the type that its tag names.
    unsafe {
        while !node.is_null() {
            node = match (*node).type_ {
                pg_sys::NodeTag::T_RelabelType => (*node.cast::<pg_sys::RelabelType>()).arg.cast(),
                pg_sys::NodeTag::T_CoerceToDomain => {
                    (*node.cast::<pg_sys::CoerceToDomain>()).arg.cast()
                }
                pg_sys::NodeTag::T_FuncExpr => {
                    let call = node.cast::<pg_sys::FuncExpr>();
                    let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
                    let first = arguments.get_ptr(0)?;
                    let is_cast = (*call).funcformat != pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
                    let function = extension.function((*call).funcid);
                    if let Some(function) = &function
                        && function.arguments.first() == Some(&pg_sys::TEXTOID)
                        && function.result != pg_sys::INT8OID
                        && let Some(width) = Width::of_type(function.result, schema)
                    {
                        let constant = |node| pgrx::is_a(node, pg_sys::NodeTag::T_Const);
                        let constants = arguments.iter_ptr().skip(1).all(constant);
                        return constants.then_some((call, width));
                    }
                    if function.is_none() && !is_cast {
                        return None;
                    }
                    first
                }
                _ => return None,
            };
        }
    }
    None
}

fn raise_no_recipe(index: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("index \"{}\" does not say how fingerprints are made", relation_name(index)),
        "It must be on an expression such as minhash128(body), or on a column that is GENERATED \
         ALWAYS AS one. Else call the function that fills the column. \
         An index on texts is searched by near_duplicate.",
    )
}
