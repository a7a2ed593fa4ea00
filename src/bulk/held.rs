//! Keeps relations in use while a function returns its rows one by one: between two rows, the
//! session may execute other statements.

use pgrx::{pg_guard, pg_sys};

use super::target::Target;

/// References to relations, for a function that returns rows one by one. PostgreSQL refuses to
/// truncate, rewrite or drop a relation that the session itself uses (55006).
///
/// They are released after the last row, or by the executor when it stops early. After an ERROR,
/// their resource owner releases them.
#[derive(Clone, Copy)]
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
    /// `fcinfo` is that of a function that returns a set, in its first call.
    pub unsafe fn hold(targets: &[&Target], fcinfo: pg_sys::FunctionCallInfo) -> Self {
        let opened = Target::open_each(targets);
        // SAFETY: the executor gives such a call a ReturnSetInfo with an expression context, which
        // outlives the call's rows. The relations are open here, and referenced afterwards.
        unsafe {
            let context = (*(*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>()).econtext;
            let memory = (*context).ecxt_per_query_memory;
            let allocate = |bytes| pg_sys::MemoryContextAllocHuge(memory, bytes);
            let relations: *mut pg_sys::Relation =
                allocate(2 * opened.len() * size_of::<pg_sys::Relation>()).cast();
            let holding: *mut Holding = allocate(size_of::<Holding>()).cast();
            let owner = pg_sys::CurrentResourceOwner;
            holding.write(Holding { context, owner, relations, count: 0 });
            pg_sys::RegisterExprContextCallback(
                context,
                Some(let_go),
                pg_sys::Datum::from(holding),
            );
            for relation in opened.iter().flat_map(|opened| [opened.heap, opened.index]) {
                pg_sys::RelationIncrementReferenceCount(relation);
                relations.add((*holding).count).write(relation);
                (*holding).count += 1;
            }
            Self(holding)
        }
    }

    /// Releases the relations, after the last row.
    pub fn let_go(self) {
        // SAFETY: the query is running, because it has requested a row, so its memory context
        // exists.
        unsafe {
            let arg = pg_sys::Datum::from(self.0);
            pg_sys::UnregisterExprContextCallback((*self.0).context, Some(let_go), arg);
            let_go(arg);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn let_go(arg: pg_sys::Datum) {
    let holding: *mut Holding = arg.cast_mut_ptr();
    // SAFETY: called once, by the executor or by `Held::let_go`, while the query's memory context
    // exists. The references belong to `owner`.
    unsafe {
        let before = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = (*holding).owner;
        while (*holding).count > 0 {
            (*holding).count -= 1;
            pg_sys::RelationDecrementReferenceCount(*(*holding).relations.add((*holding).count));
        }
        pg_sys::CurrentResourceOwner = before;
        pg_sys::pfree((*holding).relations.cast());
        pg_sys::pfree(holding.cast());
    }
}
