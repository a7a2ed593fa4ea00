//! The values that are read of a row, from whatever source.

use pgrx::pg_sys;

use super::setup::Setup;
use crate::family::column::{Generated, Named};
use crate::family::scan::value;

/// A row's place: the number of its table among the family's members, and its packed TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    pub member: u32,
    pub tid: u64,
}

/// The values of a row. They live as long as the slot or tuple that they were read from.
pub struct RowValues {
    pub key: Option<pg_sys::Datum>,
    pub cluster: Option<pg_sys::Datum>,
    pub searched: Option<pg_sys::Datum>,
    pub scope: Vec<Option<pg_sys::Datum>>,
    /// The text to compare, if texts are compared. Only rows of a transition table have it here.
    pub text: Option<pg_sys::Datum>,
    /// The row's place; unknown for a row of a transition table.
    pub at: Option<At>,
}

impl RowValues {
    /// # Safety
    /// The slot holds a row of the trigger's table.
    pub unsafe fn of(slot: *mut pg_sys::TupleTableSlot, setup: &Setup) -> Self {
        // SAFETY: the slot holds a row of the trigger's table, whose columns these are.
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

    /// Whether both rows have the same key, fingerprint or text, scope and compared text, so that
    /// the group is the same.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn decides_as(&self, other: &Self, setup: &Setup) -> bool {
        // SAFETY: both rows' values are of the columns with which they are compared.
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

    /// Whether a generated column may be NULL here although the stored row has a value. PostgreSQL
    /// keeps a row in the transition table as it was before routing, if its partition has other
    /// columns than the parent.
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
