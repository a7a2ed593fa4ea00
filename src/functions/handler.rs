//! The functions by which PostgreSQL knows the access method: its handler, and what the operator
//! classes say of their columns.

use pgrx::{Internal, pg_extern, pg_sys};

use crate::am::handler::routine;
use crate::am::kind::Kind;

/// `simhash_handler(internal) -> index_am_handler`.
#[pg_extern(sql = false)]
fn simhash_handler() -> Internal {
    Internal::from(Some(pg_sys::Datum::from(routine())))
}

macro_rules! support_functions {
    ($($name:ident => $kind:expr),+) => {
        $(
            /// Support function 1 of an operator class: the kind of its column.
            #[pg_extern(sql = false, immutable, parallel_safe)]
            fn $name() -> i32 {
                $kind as i32
            }
        )+
    };
}
support_functions!(
    simhash_kind_64 => Kind::Narrow,
    simhash_kind_128 => Kind::Wide,
    simhash_kind_ball64 => Kind::NarrowBall,
    simhash_kind_ball128 => Kind::WideBall,
    simhash_kind_lexicons => Kind::Lexicons,
    simhash_kind_256 => 6,
    simhash_kind_ball256 => 7
);
