//! What is read of a row, wherever it comes from.

use pgrx::pg_sys;

use super::setup::Setup;
use crate::family::column::{Generated, Named};
use crate::family::scan::value;

/// Where a row is: which of the family's tables, and its packed TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    pub member: u32,
    pub tid: u64,
}

/// What is known of a row. Values live as long as what they were read from.
pub struct RowValues {
    pub key: Option<pg_sys::Datum>,
    pub cluster: Option<pg_sys::Datum>,
    pub searched: Option<pg_sys::Datum>,
    pub scope: Vec<Option<pg_sys::Datum>>,
    /// If texts are compared, and only of a transition table's rows.
    pub text: Option<pg_sys::Datum>,
    /// Where it is. Unknown of a transition table's rows.
    pub at: Option<At>,
}

impl RowValues {
    /// # Safety
    /// The slot holds a row of the trigger's table.
    pub unsafe fn of(slot: *mut pg_sys::TupleTableSlot, setup: &Setup) -> Self {
        // SAFETY: as this function's.
        unsafe {
            RowValues {
                key: value(slot, &setup.key.column),
                cluster: value(slot, &setup.cluster.column),
                searched: value(slot, &setup.searched.column),
                scope: setup.scope.iter().map(|named| value(slot, &named.column)).collect(),
                text: setup.text().and_then(|column| value(slot, column)),
                at: None,
            }
        }
    }

    /// Whether the row has a group as the other has: key, fingerprint, scope and text are the same.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn decides_as(&self, other: &Self, setup: &Setup) -> bool {
        // SAFETY: as this function's.
        unsafe {
            setup.key.column.same(self.key, other.key)
                && setup.searched.column.same(self.searched, other.searched)
                && setup
                    .scope
                    .iter()
                    .zip(self.scope.iter().zip(&other.scope))
                    .all(|(named, (&own, &theirs))| named.column.same(own, theirs))
                && setup.text().is_none_or(|column| column.same(self.text, other.text))
        }
    }

    /// Whether a new row may have what its transition table lacks. PostgreSQL keeps a row there as
    /// it was before it was given to its partition, if that has other columns than its parent, and
    /// then generated columns are NULL.
    pub fn may_be_incomplete(&self, setup: &Setup) -> bool {
        let lacks = |named: &Named, value: Option<pg_sys::Datum>| {
            named.column.generated == Generated::Stored && value.is_none()
        };
        let mut scope = setup.scope.iter().zip(&self.scope);
        setup.is_partitioned
            && (lacks(&setup.searched, self.searched)
                || scope.any(|(named, &value)| lacks(named, value)))
    }
}
