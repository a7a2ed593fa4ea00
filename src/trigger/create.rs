//! `simhash_dedup_create`: creates a table's trigger, and checks all its arguments at once.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::{setup, warnings};
use crate::catalog::Schema;
use crate::catalog::names::{qualified_name, relation_name};
use crate::error::{raise, shown};
use crate::family::create::{expect_table, identifier, literals, run};
use crate::family::on::Open;

/// The name of the trigger. BEFORE triggers fire in the order of their names, so this one judges
/// the row as the others have left it.
const NAME: &CStr = c"zz_simhash_dedup";

/// Creates the trigger with these arguments, and returns its name. Raises the ERRORs and WARNINGs
/// that the first row would get otherwise.
pub fn create(table: pg_sys::Oid, arguments: &[String], schema: Schema) -> String {
    expect_table(table);
    let name = free_name(table);
    run(&format!(
        "CREATE TRIGGER {} BEFORE INSERT OR UPDATE ON {} FOR EACH ROW \
         EXECUTE FUNCTION {}.simhash_dedup({})",
        identifier(&name),
        qualified_name(table).unwrap_or_default(),
        shown(schema.quoted_name()),
        literals(arguments)
    ));
    // SAFETY: the trigger is visible after the increment.
    unsafe { pg_sys::CommandCounterIncrement() };
    Open::with(table, pg_sys::NoLock, |table| {
        let Some(on) = table.triggers().find(|on| shown(on.name()) == name) else { return };
        if let Some(same) = setup::same_trigger(on) {
            raise_repeated(table.oid(), &shown(same.name()));
        }
        warnings::forget();
        setup::take(on, schema);
    });
    name
}

fn raise_repeated(table: pg_sys::Oid, trigger: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
        format!(
            "trigger {} on table \"{}\" already has these arguments",
            identifier(trigger),
            relation_name(table)
        ),
        "Rows would be checked twice.",
    )
}

/// The name [`NAME`], with a number appended if a trigger of the table has it.
fn free_name(table: pg_sys::Oid) -> String {
    const MAX_TRIGGERS: usize = 100;
    let base = NAME.to_string_lossy().into_owned();
    let names = (2..MAX_TRIGGERS).map(|number| format!("{base}_{number}"));
    let mut names = std::iter::once(base.clone()).chain(names);
    names.find(|name| is_free(table, name)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "cannot create more than {MAX_TRIGGERS} triggers of simhash_dedup_create on a table"
            ),
            "Drop unused triggers.",
        )
    })
}

fn is_free(table: pg_sys::Oid, name: &str) -> bool {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: a catalogue look-up.
    unsafe { pg_sys::get_trigger_oid(table, name.as_ptr(), true) == pg_sys::InvalidOid }
}
