//! What can be wrong with a page read from disk.

use std::fmt;

/// A page that cannot be what its place in the index says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// All zeroes where a page was expected.
    Empty,
    /// The special area does not carry this index's mark.
    Magic(u32),
    /// Header fields that do not fit each other or the page.
    Header { lower: u16, upper: u16, special: u16 },
    /// A page of another table or level than its place says.
    Place { table: u8, level: u8 },
    /// A right link or a downlink that leads backwards or nowhere.
    Link(u32),
    /// A key outside its page's bounds, or out of order.
    Order(usize),
    /// A meta page of a format that this version does not know.
    Version(u32),
    /// Anything else.
    Other(&'static str),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Empty => write!(f, "it is all zeroes"),
            Damage::Magic(found) => write!(f, "its mark is {found:08x}"),
            Damage::Header { lower, upper, special } => {
                write!(
                    f,
                    "its header is inconsistent (lower {lower}, upper {upper}, special {special})"
                )
            }
            Damage::Place { table, level } => {
                write!(f, "its header names table {table}, level {level}")
            }
            Damage::Link(number) => write!(f, "its link to block {number} is invalid"),
            Damage::Order(index) => write!(f, "entry {index} is out of order or out of bounds"),
            Damage::Version(version) => write!(f, "its format is of version {version}"),
            Damage::Other(what) => write!(f, "{what}"),
        }
    }
}
