//! The handler: what PostgreSQL is told about this access method.

use std::cmp::Ordering;

use pgrx::pg_sys;

use super::kind::{Kind, code_of, key_columns};
use super::scope::ScopeType;
use super::{build, cost, insert, options, scan, vacuum, validate};
use crate::types::strategy;

/// What the access method can do and which functions do it. Lives in the current memory context.
pub fn routine() -> *mut pg_sys::IndexAmRoutine {
    // SAFETY: makes a node of the type that the tag says.
    let mut routine = unsafe {
        pgrx::PgBox::<pg_sys::IndexAmRoutine>::alloc_node(pg_sys::NodeTag::T_IndexAmRoutine)
    };
    routine.amstrategies = strategy::LAST;
    routine.amsupport = 1;
    routine.amcanorderbyop = true;
    routine.amcanmulticol = true;
    routine.amcaninclude = true;
    routine.amsearcharray = true;
    // Scans without a condition return every row, those without a fingerprint last.
    routine.amoptionalkey = true;
    routine.amsearchnulls = true;
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    {
        routine.amcanbuildparallel = true;
    }
    routine.amusemaintenanceworkmem = false;
    routine.amparallelvacuumoptions = (pg_sys::VACUUM_OPTION_PARALLEL_BULKDEL
        | pg_sys::VACUUM_OPTION_PARALLEL_COND_CLEANUP) as u8;
    routine.amkeytype = pg_sys::InvalidOid;

    routine.ambuild = Some(build::ambuild);
    routine.ambuildempty = Some(build::ambuildempty);
    routine.aminsert = Some(insert::aminsert);
    routine.ambulkdelete = Some(vacuum::ambulkdelete);
    routine.amvacuumcleanup = Some(vacuum::amvacuumcleanup);
    routine.amcanreturn = Some(amcanreturn);
    routine.amcostestimate = Some(cost::amcostestimate);
    routine.amoptions = Some(options::amoptions);
    routine.ambuildphasename = Some(build::ambuildphasename);
    routine.amvalidate = Some(validate::amvalidate);
    routine.ambeginscan = Some(scan::ambeginscan);
    routine.amrescan = Some(scan::amrescan);
    routine.amgettuple = Some(scan::amgettuple);
    routine.amgetbitmap = Some(scan::amgetbitmap);
    routine.amendscan = Some(scan::amendscan);
    routine.into_pg()
}

/// amcanreturn: the index can return a fingerprint and included columns. It cannot return a ball or
/// an array, of which it stores only the centre or the elements, nor a text, of which it stores a
/// digest.
///
/// On a standby it returns nothing. An index-only scan keeps a leaf pinned so that vacuum cannot
/// give a TID on it to another row. Replay of Generic WAL waits for no pin, and the heap page may
/// be all-visible again by the time the scan asks. A plan that needs no column at all, for a bare
/// count(*), is index-only nonetheless if nothing else is allowed: such a scan looks every row up
/// itself.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn amcanreturn(rel: pg_sys::Relation, column: i32) -> bool {
    // SAFETY: an open index of this access method that has this column; its support functions say
    // what its key columns hold.
    unsafe {
        let (column, searched) = (column as usize - 1, key_columns(rel) - 1);
        let is_stored = || match column.cmp(&searched) {
            Ordering::Less => {
                ScopeType::from_code(code_of(rel, column)).is_some_and(ScopeType::is_exact)
            }
            Ordering::Equal => !Kind::of_index(rel).is_lossy(),
            Ordering::Greater => true,
        };
        !pg_sys::RecoveryInProgress() && is_stored()
    }
}
