//! Keeps the tables and indexes of `simhash_pairs` as they are while a query takes its rows one by
//! one: between two of them the query's session may do anything, and nothing is open.

use pgrx::{pg_guard, pg_sys};

use super::target::Target;

/// Relations that are in use by a function that returns rows one by one. PostgreSQL refuses to
/// truncate, rewrite or drop what is in use by the session itself (55006).
///
/// They are let go when all rows have been returned, or by the executor when it ends early. After
/// an error nobody does so: PostgreSQL lets go of what its resource owner holds.
#[derive(Clone, Copy)]
pub struct Held(*mut Holding);

/// Allocated in the memory of the query.
struct Holding {
    context: *mut pg_sys::ExprContext,
    owner: pg_sys::ResourceOwner,
    relations: *mut pg_sys::Relation,
    count: usize,
}

impl Held {
    /// Holds the tables and indexes until the rows of this call have been returned.
    ///
    /// # Safety
    /// `fcinfo` is that of a function that returns a set, in its first call.
    pub unsafe fn hold(targets: &[&Target], fcinfo: pg_sys::FunctionCallInfo) -> Self {
        let opened = Target::open_each(targets);
        // SAFETY: the executor gives such a call a ReturnSetInfo with an expression context, which
        // outlives the call's rows. The relations are open here, and held afterwards.
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

    /// After the last row.
    pub fn let_go(self) {
        // SAFETY: a row was asked for, so the query goes on, and its memory is there.
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
    // SAFETY: called once, by the executor or in its place, while the query's memory is there. What
    // is held belongs to the owner.
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
