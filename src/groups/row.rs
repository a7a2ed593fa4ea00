//! The values that are read of a row, from whatever source.

use super::setup::Setup;
use crate::family::column::{Generated, Named};
use crate::family::row::Row;
use crate::family::value::{Value, same};

/// A row's place: the number of its table among the family's members, and its packed TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    pub member: u32,
    pub tid: u64,
}

/// The values of a row.
pub struct RowValues<'a> {
    pub key: Option<Value<'a>>,
    pub cluster: Option<Value<'a>>,
    pub searched: Option<Value<'a>>,
    pub scope: Vec<Option<Value<'a>>>,
    /// The text to compare, if texts are compared. Only rows of a transition table have it here.
    pub text: Option<Value<'a>>,
    /// The row's place; unknown for a row of a transition table.
    pub at: Option<At>,
}

impl<'a> RowValues<'a> {
    /// The values of a row of the trigger's table.
    pub fn of(row: Row<'a>, setup: &Setup) -> Self {
        RowValues {
            key: row.value(&setup.key.column),
            cluster: row.value(&setup.cluster.column),
            searched: row.value(&setup.searched.column),
            scope: setup.scope.iter().map(|named| row.value(&named.column)).collect(),
            text: setup.text().and_then(|column| row.value(column)),
            at: None,
        }
    }

    /// Whether both rows have the same key, fingerprint or text, scope and compared text, so that
    /// the group is the same.
    pub fn decides_as(&self, other: &RowValues<'_>) -> bool {
        same(self.key, other.key)
            && same(self.searched, other.searched)
            && self.scope.iter().zip(&other.scope).all(|(&own, &theirs)| same(own, theirs))
            && same(self.text, other.text)
    }

    /// Whether a generated column may be NULL here although the stored row has a value. PostgreSQL
    /// keeps a row in the transition table as it was before routing, if its partition has other
    /// columns than the parent.
    pub fn may_be_incomplete(&self, setup: &Setup) -> bool {
        let lacks = |named: &Named, value: Option<Value<'_>>| {
            named.column.generated == Generated::Stored && value.is_none()
        };
        let mut scope = setup.scope.iter().zip(&self.scope);
        setup.is_partitioned
            && (lacks(&setup.searched, self.searched)
                || scope.any(|(named, &value)| lacks(named, value)))
    }
}
