//! The functions that define the access method: its handler, and the support functions of its
//! operator classes.

use pgrx::{Internal, pg_extern, pg_sys};

use crate::am::handler::routine;
use crate::am::kind::Kind;
use crate::am::scope::ScopeType;

/// `simhash_handler(internal) -> index_am_handler`.
#[pg_extern(sql = false)]
fn simhash_handler() -> Internal {
    Internal::from(Some(pg_sys::Datum::from(routine())))
}

macro_rules! support_functions {
    ($($name:ident => $code:expr),+) => {
        $(
            /// Support function 1 of an operator class: the kind of values in its column.
            #[pg_extern(sql = false, immutable, parallel_safe)]
            fn $name() -> i32 {
                $code as i32
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
    simhash_kind_256 => Kind::Long,
    simhash_kind_ball256 => Kind::LongBall,
    simhash_kind_bit => Kind::Bits,
    simhash_kind_near_text => Kind::NearTexts,
    simhash_kind_passages => Kind::Passages,
    simhash_scope_bool => ScopeType::Bool,
    simhash_scope_int2 => ScopeType::Int2,
    simhash_scope_int4 => ScopeType::Int4,
    simhash_scope_int8 => ScopeType::Int8,
    simhash_scope_oid => ScopeType::Oid,
    simhash_scope_uuid => ScopeType::Uuid,
    simhash_scope_text => ScopeType::Text,
    simhash_scope_bytea => ScopeType::Bytea,
    simhash_scope_date => ScopeType::Date,
    simhash_scope_timestamp => ScopeType::Timestamp,
    simhash_scope_timestamptz => ScopeType::Timestamptz,
    simhash_scope_enum => ScopeType::Enum
);
