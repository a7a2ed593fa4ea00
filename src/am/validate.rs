//! amvalidate: whether an operator class fits this access method.

use std::ffi::CStr;

use pgrx::{PgLogLevel, PgSqlErrorCode, ereport, pg_sys};

use super::kind::Kind;
use crate::catalog::cache;
use crate::types::strategy;

/// amvalidate.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(operator_class: pg_sys::Oid) -> bool {
    let Some(class) = OperatorClass::look_up(operator_class) else {
        return false;
    };
    // Both are looked at, so that all complaints are heard.
    let operators = class.operators_are_sound();
    class.function_is_sound() && operators
}

/// What pg_opclass says.
struct OperatorClass {
    name: String,
    family: pg_sys::Oid,
    input_type: pg_sys::Oid,
}

impl OperatorClass {
    fn look_up(oid: pg_sys::Oid) -> Option<Self> {
        let cache = pg_sys::SysCacheIdentifier::CLAOID;
        // SAFETY: a look-up by OID; the name is a C string.
        unsafe {
            cache::row(cache, oid, |row: &cache::Row<pg_sys::FormData_pg_opclass>| Self {
                name: CStr::from_ptr(row.opcname.data.as_ptr()).to_string_lossy().into_owned(),
                family: row.opcfamily,
                input_type: row.opcintype,
            })
        }
    }

    fn complain(&self, what: &str) -> bool {
        ereport!(
            PgLogLevel::INFO,
            PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION,
            format!("operator class \"{}\" of access method simhash {what}", self.name)
        );
        false
    }

    /// Support function 1 takes `internal` and returns the code of a kind.
    fn function_is_sound(&self) -> bool {
        // SAFETY: catalogue look-ups, and a call of the function with the argument it is declared
        // for.
        unsafe {
            let function =
                pg_sys::get_opfamily_proc(self.family, self.input_type, self.input_type, 1);
            if function == pg_sys::InvalidOid {
                return self.complain("lacks support function 1");
            }
            if pg_sys::get_func_rettype(function) != pg_sys::INT4OID {
                return self.complain("has a support function 1 that does not return integer");
            }
            let code =
                pg_sys::OidFunctionCall1Coll(function, pg_sys::InvalidOid, pg_sys::Datum::null());
            match Kind::from_code(code.value() as u32) {
                None => self.complain(&format!("has the unknown key kind {}", code.value() as i32)),
                Some(kind) if !kind.fits(self.input_type) => {
                    self.complain("is for a type of another size than its key kind")
                }
                Some(_) => true,
            }
        }
    }

    /// Every operator has a known strategy, the input type on its left, and the purpose and result
    /// of its strategy. `~=` or `<@` is among them.
    fn operators_are_sound(&self) -> bool {
        let family = [pg_sys::Datum::from(self.family)];
        let mut searchable = false;
        // SAFETY: a look-up by the family.
        let sound = unsafe {
            cache::rows(
                pg_sys::SysCacheIdentifier::AMOPSTRATEGY,
                &family,
                |member: &pg_sys::FormData_pg_amop| {
                    let number = member.amopstrategy as u16;
                    searchable |= matches!(number, strategy::WITHIN | strategy::NEAR);
                    self.operator_is_sound(member)
                },
            )
        };
        if searchable {
            sound.into_iter().all(|sound| sound)
        } else {
            self.complain("has no operator to search by")
        }
    }

    fn operator_is_sound(&self, member: &pg_sys::FormData_pg_amop) -> bool {
        let number = member.amopstrategy as u16;
        if !(strategy::EQUAL..=strategy::LAST).contains(&number) {
            return self.complain(&format!("has an operator with the unknown strategy {number}"));
        }
        if member.amoplefttype != self.input_type {
            return self
                .complain(&format!("has an operator of strategy {number} for another type"));
        }
        let by_distance = number == strategy::DISTANCE;
        let ordering = member.amoppurpose == pg_sys::AMOP_ORDER as std::ffi::c_char;
        // SAFETY: a catalogue look-up.
        let result = unsafe { pg_sys::get_op_rettype(member.amopopr) };
        let expected = if by_distance { pg_sys::INT4OID } else { pg_sys::BOOLOID };
        if by_distance != ordering || result != expected {
            return self.complain(&format!("has an unsuitable operator of strategy {number}"));
        }
        true
    }
}
