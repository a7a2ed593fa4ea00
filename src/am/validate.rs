//! amvalidate: checks whether an operator class fits this access method.

use std::ffi::CStr;

use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

use super::kind::Kind;
use super::scope::ScopeType;
use crate::catalog::cache::{self, valid};
use crate::types::strategy;

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(operator_class: pg_sys::Oid) -> bool {
    let Some(class) = OperatorClass::look_up(operator_class) else {
        return false;
    };
    // Check both, so that every complaint is reported.
    let held = class.held();
    let operators = class.operators_are_sound(held);
    held.is_some() && operators
}

/// What a column of an operator class holds.
#[derive(Clone, Copy)]
enum Held {
    /// Values searched by distance.
    Hamming(Kind),
    /// Values compared by equality.
    Scope(ScopeType),
}

impl Held {
    fn from_code(code: u32) -> Option<Self> {
        Kind::from_code(code).map(Held::Hamming).or(ScopeType::from_code(code).map(Held::Scope))
    }

    fn fits(self, type_oid: pg_sys::Oid) -> bool {
        match self {
            Held::Hamming(kind) => kind.fits(type_oid),
            Held::Scope(scope) => scope.fits(type_oid),
        }
    }
}

/// A row of pg_opclass.
struct OperatorClass {
    name: String,
    family: pg_sys::Oid,
    input_type: pg_sys::Oid,
}

impl OperatorClass {
    fn look_up(oid: pg_sys::Oid) -> Option<Self> {
        let read = |row: &cache::Row<pg_sys::FormData_pg_opclass>| {
            // SAFETY: the name is a C string.
            let name = unsafe { CStr::from_ptr(row.opcname.data.as_ptr()) };
            let name = name.to_string_lossy().into_owned();
            Self { name, family: row.opcfamily, input_type: row.opcintype }
        };
        // SAFETY: a catalogue look-up in a transaction; the cache's rows are of pg_opclass.
        unsafe { cache::row(pg_sys::SysCacheIdentifier::CLAOID, oid, read) }
    }

    fn complain(&self, what: &str) -> bool {
        ereport!(
            PgLogLevel::INFO,
            PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION,
            format!("operator class \"{}\" of access method simhash {what}", self.name)
        );
        false
    }

    /// What the columns hold, by the code that support function 1 returns. The input type has to
    /// have the layout for it.
    fn held(&self) -> Option<Held> {
        let complain = |what: &str| {
            self.complain(what);
            None
        };
        // SAFETY: a catalogue look-up in a transaction.
        let function =
            unsafe { pg_sys::get_opfamily_proc(self.family, self.input_type, self.input_type, 1) };
        let Some(function) = valid(function) else {
            return complain("lacks support function 1");
        };
        // SAFETY: a catalogue look-up in a transaction.
        if unsafe { pg_sys::get_func_rettype(function) } != pg_sys::INT4OID {
            return complain("has a support function 1 that does not return integer");
        }
        let code = call(function);
        match Held::from_code(code) {
            None => complain(&format!("has the unknown key kind {}", code as i32)),
            Some(held) if !held.fits(self.input_type) => {
                complain("is for a type whose size does not match its key kind")
            }
            held => held,
        }
    }

    /// Whether every operator has a known strategy, operands that fit what the columns hold, and
    /// the purpose and result of its strategy. One of them has to be usable in a search: `~=`,
    /// `<@`, or the `=` of columns compared by equality.
    fn operators_are_sound(&self, held: Option<Held>) -> bool {
        let family = [pg_sys::Datum::from(self.family)];
        let mut searchable = false;
        let mut is_sound = |member: &pg_sys::FormData_pg_amop| {
            let number = member.amopstrategy as u16;
            searchable |= match held {
                // `held` has reported this already.
                None => true,
                Some(Held::Scope(_)) => {
                    number == strategy::EQUAL
                        && member.amoplefttype == self.input_type
                        && member.amoprighttype == self.input_type
                }
                Some(Held::Hamming(_)) => matches!(number, strategy::WITHIN | strategy::NEAR),
            };
            self.operator_is_sound(held, member)
        };
        let cache = pg_sys::SysCacheIdentifier::AMOPSTRATEGY;
        // SAFETY: a catalogue look-up in a transaction; the cache's rows are of pg_amop.
        let sound = unsafe { cache::rows(cache, &family, &mut is_sound) };
        if searchable {
            sound.into_iter().all(|sound| sound)
        } else {
            self.complain("lacks a search operator")
        }
    }

    fn operator_is_sound(&self, held: Option<Held>, member: &pg_sys::FormData_pg_amop) -> bool {
        let number = member.amopstrategy as u16;
        if !(strategy::EQUAL..=strategy::LAST).contains(&number) {
            return self.complain(&format!("has an operator with the unknown strategy {number}"));
        }
        match held {
            // In the last key column, a text is searched by nearness.
            Some(Held::Scope(ScopeType::Text))
                if number == strategy::NEAR && member.amoplefttype == self.input_type => {}
            Some(Held::Scope(_)) if number != strategy::EQUAL => {
                return self.complain(&format!(
                    "has an operator of strategy {number}, but is for columns compared by equality"
                ));
            }
            Some(Held::Scope(_)) if self.are_compared(member) => {}
            Some(Held::Hamming(_)) | None if member.amoplefttype == self.input_type => {}
            _ => {
                return self
                    .complain(&format!("has an operator of strategy {number} for another type"));
            }
        }
        let by_distance = number == strategy::DISTANCE;
        let ordering = member.amoppurpose == pg_sys::AMOP_ORDER as std::ffi::c_char;
        // SAFETY: a catalogue look-up in a transaction.
        let result = unsafe { pg_sys::get_op_rettype(member.amopopr) };
        let expected = if by_distance { pg_sys::INT4OID } else { pg_sys::BOOLOID };
        if by_distance != ordering || result != expected {
            return self.complain(&format!("has an unsuitable operator of strategy {number}"));
        }
        true
    }

    /// Whether the operands of `=` are of one type, or both are integer types of PostgreSQL, and
    /// the family has support function 1 for each.
    fn are_compared(&self, member: &pg_sys::FormData_pg_amop) -> bool {
        let (left, right) = (member.amoplefttype, member.amoprighttype);
        let scope = |type_oid| {
            // SAFETY: a catalogue look-up in a transaction.
            let function = unsafe { pg_sys::get_opfamily_proc(self.family, type_oid, type_oid, 1) };
            valid(function).and_then(|function| ScopeType::from_code(call(function)))
        };
        let is_integer = |type_oid| {
            ScopeType::of_integers(type_oid).is_some_and(|integer| scope(type_oid) == Some(integer))
        };
        if left == right { scope(left).is_some() } else { is_integer(left) && is_integer(right) }
    }
}

/// The code that a support function 1 returns. It is called with one null argument; what it is
/// declared for is not checked.
fn call(function: pg_sys::Oid) -> u32 {
    // SAFETY: pg_simhash's functions take `internal` and ignore it; only a superuser can create a
    // class with another one.
    let call = |none| unsafe { pg_sys::OidFunctionCall1Coll(function, pg_sys::InvalidOid, none) };
    call(pg_sys::Datum::null()).value() as u32
}
