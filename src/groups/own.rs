//! Our own updates, recognised: they fire the trigger again, as anybody's would. And what
//! statements inside them, of the user's triggers, do to groups meanwhile.

use std::cell::RefCell;

use pgrx::{direct_function_call, pg_sys};

use super::setup::Setup;

/// A column of ids: its table and its number.
pub type Column = (pg_sys::Oid, pg_sys::AttrNumber);

struct Update {
    column: Column,
    /// How many triggers deep.
    depth: i32,
    /// Lives until the update is over.
    context: pg_sys::MemoryContext,
    meanwhile: Meanwhile,
}

/// What statements inside an update of ids have done.
#[derive(Default)]
pub struct Meanwhile {
    /// Whether they have changed rows or groups.
    pub any: bool,
    /// Whether they have before all rows were told: they saw ids that were others in the end.
    pub early: bool,
    /// What the groups that they looked at were called, before and after.
    pub ids: Vec<pg_sys::Datum>,
}

thread_local! {
    /// The outermost first.
    static TELLING: RefCell<Vec<Update>> = const { RefCell::new(Vec::new()) };
}

/// An update of ids. It ends when this is dropped, also by an ERROR.
pub struct Telling(());

impl Telling {
    pub fn begin(setup: &Setup) -> Self {
        // SAFETY: the current memory context.
        let context = unsafe { pg_sys::CurrentMemoryContext };
        let (column, depth) = (column(setup), depth());
        let update = Update { column, depth, context, meanwhile: Meanwhile::default() };
        TELLING.with_borrow_mut(|all| all.push(update));
        Telling(())
    }

    /// A row has been told.
    pub fn row(&self) {
        TELLING.with_borrow_mut(|all| {
            if let Some(Update { meanwhile, .. }) = all.last_mut() {
                meanwhile.early |= meanwhile.any;
            }
        });
    }

    pub fn end(self) -> Meanwhile {
        let last =
            |all: &mut Vec<Update>| all.last_mut().map(|it| std::mem::take(&mut it.meanwhile));
        TELLING.with_borrow_mut(last).unwrap_or_default()
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        TELLING.with_borrow_mut(|all| all.pop());
    }
}

/// Whether the statement that fired this call of the trigger is an update of ours. One of a user's
/// trigger that our update fires is one trigger deeper.
pub fn is_telling(setup: &Setup) -> bool {
    let is_it = |update: &Update| update.column == column(setup) && update.depth == depth() - 1;
    TELLING.with_borrow(|all| all.iter().any(is_it))
}

/// Whether this happens inside an update of these ids.
pub fn is_inside(setup: &Setup) -> bool {
    TELLING.with_borrow(|all| all.iter().any(|update| update.column == column(setup)))
}

/// Tells the updates of these ids that this happens inside of about a change, and about the ids
/// that it has seen or told.
pub fn changed(setup: &Setup, ids: &[pg_sys::Datum]) {
    TELLING.with_borrow_mut(|all| {
        for update in all.iter_mut().filter(|update| update.column == column(setup)) {
            update.meanwhile.any = true;
            // SAFETY: the ids are of the key's type; the update's context lives as long as it.
            unsafe {
                let own = pg_sys::MemoryContextSwitchTo(update.context);
                let copies = ids.iter().map(|&id| setup.key.column.copy(id));
                update.meanwhile.ids.extend(copies);
                pg_sys::MemoryContextSwitchTo(own);
            }
        }
    });
}

pub fn column(setup: &Setup) -> Column {
    (setup.table, setup.cluster.column.number)
}

/// How many triggers deep this call is.
pub fn depth() -> i32 {
    // SAFETY: a function without arguments.
    unsafe { direct_function_call::<i32>(pg_sys::pg_trigger_depth, &[]) }.unwrap_or(0)
}
