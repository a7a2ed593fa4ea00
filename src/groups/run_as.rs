//! As whom something runs, and with which settings. An ERROR restores all when its (sub)transaction
//! aborts.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use crate::call::with_settings;
use crate::catalog::Schema;

/// Runs something of which no part is anybody's code as another role, past the row-level security
/// that this role forces on itself.
pub fn as_role<T>(role: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    with_context(role, pg_sys::SECURITY_NOFORCE_RLS, run)
}

/// Runs something that code of a table's owner takes part in as that owner, for somebody else.
/// Nothing may be left for later, for it would run with the caller's rights: PostgreSQL refuses
/// deferred triggers, cursors WITH HOLD and their like in such an operation.
pub fn restricted<T>(
    owner: pg_sys::Oid,
    table: pg_sys::Oid,
    schema: Schema,
    run: impl FnOnce() -> T,
) -> T {
    with_context(owner, pg_sys::SECURITY_RESTRICTED_OPERATION, || {
        in_search_path(table, schema, run)
    })
}

fn with_context<T>(role: pg_sys::Oid, also: u32, run: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let also = (pg_sys::SECURITY_LOCAL_USERID_CHANGE | also) as i32;
    // SAFETY: what is taken is given back, or the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(role, context | also);
        let result = run();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs something that code of a table's owner takes part in. It finds names in PostgreSQL's
/// schema, those of the table and of the extension, whoever calls it from where. Settings that are
/// made inside end with it.
pub fn in_search_path<T>(table: pg_sys::Oid, extension: Schema, run: impl FnOnce() -> T) -> T {
    // SAFETY: names are palloc'd.
    let schema = unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        (!schema.is_null()).then(|| CStr::from_ptr(pg_sys::quote_identifier(schema)))
    };
    let mut path = vec![c"pg_catalog"];
    for name in schema.into_iter().chain([extension.quoted_name()]) {
        // Also between quotes PostgreSQL takes this name for that of the session's user.
        if name != c"\"$user\"" && name != c"pg_temp" && !path.contains(&name) {
            path.push(name);
        }
    }
    path.push(c"pg_temp");
    let path: Vec<_> = path.into_iter().map(CStr::to_bytes).collect();
    let path = CString::new(path.join(&b", "[..])).unwrap_or_default();
    with_settings(&[(c"search_path", &path)], run)
}

/// Runs something in which the text form of a value is the same for every session, and says all of
/// it, as pg_dump has it.
pub fn exactly<T>(run: impl FnOnce() -> T) -> T {
    let settings = [
        (c"datestyle", c"ISO"),
        (c"intervalstyle", c"postgres"),
        (c"extra_float_digits", c"3"),
        (c"bytea_output", c"hex"),
        (c"lc_monetary", c"C"),
        // Of what has a name, with its schema.
        (c"search_path", c"pg_catalog"),
    ];
    with_settings(&settings, run)
}
