//! Switches to another role, or to other settings, for the time of a closure. After an ERROR, the
//! abort of the (sub)transaction restores both.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use crate::call::with_settings;
use crate::catalog::Schema;

/// Switches to another role for work that runs no user-defined code. Row-level security that the
/// role forces on itself does not apply.
pub fn as_role<T>(role: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    with_context(role, pg_sys::SECURITY_NOFORCE_RLS, run)
}

/// Runs work that includes code of the table's owner as that owner, for another role. Such work
/// must leave nothing that runs later, with the caller's privileges: PostgreSQL refuses deferred
/// triggers, cursors WITH HOLD and the like in a security-restricted operation.
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
    // SAFETY: the role and the context are restored below, or when the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(role, context | also);
        let result = run();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs work that includes code of the table's owner. Names are looked up in pg_catalog, the
/// table's schema and the extension's, whatever the caller's search path is. Settings made inside
/// end with the work.
pub fn in_search_path<T>(table: pg_sys::Oid, extension: Schema, run: impl FnOnce() -> T) -> T {
    // SAFETY: the schema's name is null or a palloc'd string.
    let schema = unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        (!schema.is_null()).then(|| CStr::from_ptr(pg_sys::quote_identifier(schema)))
    };
    let mut path = vec![c"pg_catalog"];
    for name in schema.into_iter().chain([extension.quoted_name()]) {
        // PostgreSQL replaces this name by the session user's even where it is quoted.
        if name != c"\"$user\"" && name != c"pg_temp" && !path.contains(&name) {
            path.push(name);
        }
    }
    path.push(c"pg_temp");
    let path: Vec<_> = path.into_iter().map(CStr::to_bytes).collect();
    let path = CString::new(path.join(&b", "[..])).unwrap_or_default();
    with_settings(&[(c"search_path", &path)], run)
}

/// Runs work in which the text form of a value is complete, and the same in every session, as
/// pg_dump writes it.
pub fn exactly<T>(run: impl FnOnce() -> T) -> T {
    let settings = [
        (c"datestyle", c"ISO"),
        (c"intervalstyle", c"postgres"),
        (c"extra_float_digits", c"3"),
        (c"bytea_output", c"hex"),
        (c"lc_monetary", c"C"),
        // Names of objects get their schema.
        (c"search_path", c"pg_catalog"),
    ];
    with_settings(&settings, run)
}
