//! Keeps relations in use while a function returns its rows one by one: between two rows, the
//! session may execute other statements.

use pgrx::{pg_guard, pg_sys};

use super::target::Target;
use crate::call::Call;

/// References to relations, for a function that returns rows one by one. PostgreSQL refuses to
/// truncate, rewrite or drop a relation that the session itself uses (55006).
///
/// They are released after the last row, or by the executor when it stops early. After an ERROR,
/// their resource owner releases them.
pub struct Held(*mut Holding);

/// Allocated in the query's memory context.
struct Holding {
    context: *mut pg_sys::ExprContext,
    owner: pg_sys::ResourceOwner,
    relations: *mut pg_sys::Relation,
    count: usize,
}

impl Held {
    /// Keeps the tables and indexes in use until all rows of this call have been returned.
    ///
    /// # Safety
    /// `call` is that of a function that returns a set, in its first call.
    pub unsafe fn hold(targets: &[&Target], call: &Call<'_>) -> Self {
        let opened = Target::open_each(targets);
        let all: Vec<_> = opened.iter().flat_map(|opened| [opened.heap, opened.index]).collect();
        // SAFETY: the executor gives such a call a ReturnSetInfo with an expression context, which
        // outlives the call's rows.
        let context =
            unsafe { (*(*call.as_ptr()).resultinfo.cast::<pg_sys::ReturnSetInfo>()).econtext };
        // SAFETY: the context is valid.
        let (memory, owner) =
            unsafe { ((*context).ecxt_per_query_memory, pg_sys::CurrentResourceOwner) };
        // SAFETY: the query's memory context exists.
        let allocate = |bytes| unsafe { pg_sys::MemoryContextAllocHuge(memory, bytes) };
        let relations: *mut pg_sys::Relation = allocate(size_of_val(&all[..])).cast();
        let holding: *mut Holding = allocate(size_of::<Holding>()).cast();
        // SAFETY: allocated above.
        unsafe { holding.write(Holding { context, owner, relations, count: 0 }) };
        let arg = pg_sys::Datum::from(holding);
        // SAFETY: the callback gets its own argument, which lives as long as the query.
        unsafe { pg_sys::RegisterExprContextCallback(context, Some(let_go), arg) };
        for (place, &relation) in all.iter().enumerate() {
            // SAFETY: the relation is open here. There is room for all of them.
            unsafe {
                pg_sys::RelationIncrementReferenceCount(relation);
                relations.add(place).write(relation);
                (*holding).count = place + 1;
            }
        }
        Self(holding)
    }

    /// Releases the relations, after the last row.
    pub fn let_go(self) {
        let arg = pg_sys::Datum::from(self.0);
        // SAFETY: the query is running, because it has requested a row, so its memory context
        // exists.
        unsafe { pg_sys::UnregisterExprContextCallback((*self.0).context, Some(let_go), arg) };
        // SAFETY: the executor does not call it any more.
        unsafe { let_go(arg) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn let_go(arg: pg_sys::Datum) {
    let holding: *mut Holding = arg.cast_mut_ptr();
    // SAFETY: called once, by the executor or by `Held::let_go`, while the query's memory context
    // exists.
    let Holding { owner, relations, count, .. } = unsafe { &mut *holding };
    // SAFETY: reads the session's state.
    let before = unsafe { pg_sys::CurrentResourceOwner };
    // SAFETY: the references belong to this owner, which exists as long as the query.
    unsafe { pg_sys::CurrentResourceOwner = *owner };
    while *count > 0 {
        *count -= 1;
        // SAFETY: `hold` stored so many relations, and referenced them.
        unsafe { pg_sys::RelationDecrementReferenceCount(*relations.add(*count)) };
    }
    // SAFETY: the owner from before.
    unsafe { pg_sys::CurrentResourceOwner = before };
    for allocated in [relations.cast(), holding.cast()] {
        // SAFETY: `hold` allocated both, and they are not used any more.
        unsafe { pg_sys::pfree(allocated) };
    }
}
