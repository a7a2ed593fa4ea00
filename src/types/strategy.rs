//! The strategy numbers of the operator classes of the access method `simhash`, as the SQL
//! catalogue in `sql/` declares them.

/// `=`
pub const EQUAL: u16 = 1;
/// `<@`
pub const WITHIN: u16 = 2;
/// `~=`
pub const NEAR: u16 = 3;
/// `<~>`, in ORDER BY
pub const DISTANCE: u16 = 4;
pub const LAST: u16 = DISTANCE;
