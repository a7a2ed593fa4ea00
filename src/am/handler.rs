//! The handler: describes this access method to PostgreSQL.

use std::cmp::Ordering;

use pgrx::pg_sys;

use super::kind::{Kind, code_of};
use super::scope::ScopeType;
use super::{build, cost, insert, options, scan, vacuum, validate};
use crate::storage::IndexRel;
use crate::types::strategy;

/// The access method's properties and functions, allocated in the current memory context.
pub fn routine() -> *mut pg_sys::IndexAmRoutine {
    // SAFETY: allocates a node of the type that the tag names.
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

/// amcanreturn: the index can return a fingerprint and included columns. It stores only the centre
/// of a ball, the elements of an array and a digest of a text, so it cannot return these.
///
/// On a standby it is false. An index-only scan keeps a leaf pinned so that vacuum cannot give a
/// TID on it to another row. Replay of Generic WAL waits for no pin, and the heap page may be
/// all-visible again when the scan checks it. A plan that needs no column at all, for a bare
/// count(*), may be index-only all the same: such a scan looks every row up itself.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn amcanreturn(rel: pg_sys::Relation, column: i32) -> bool {
    // SAFETY: PostgreSQL passes an index of this access method, open during this call.
    let rel = unsafe { IndexRel::new(rel) };
    let (column, searched) = (column as usize - 1, rel.key_columns() - 1);
    let is_stored = || match column.cmp(&searched) {
        Ordering::Less => {
            ScopeType::from_code(code_of(rel, column)).is_some_and(ScopeType::is_exact)
        }
        Ordering::Equal => !Kind::of_rel(rel).is_lossy(),
        Ordering::Greater => true,
    };
    // SAFETY: reads the server's recovery state.
    !unsafe { pg_sys::RecoveryInProgress() } && is_stored()
}
