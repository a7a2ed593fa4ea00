//! Refuses calls whose operands cannot be compared, with an ERROR that says what to write. The SQL
//! script declares functions of `simhash_incomparable` for them, and implicit casts to that type.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::expr::Expr;
use super::measures::Objects;
use super::request::Request;
use crate::error::{raise, shown};
use crate::types::layout::Layout;

/// The kind of an operand, as far as hints depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// A fingerprint, with its number of bits.
    Fingerprint(u32),
    Text,
    /// A bigint or a narrower one.
    Integer,
    Numeric,
    Bytes,
    Bits,
    /// A quoted literal: the parser made it a constant of the type simhash_incomparable.
    Literal,
    /// JSON, for example.
    Other,
}

/// Raises 42883, as PostgreSQL does for a function that does not exist, if the request is to
/// simplify a call.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn refuse(request: *mut pg_sys::Node) {
    // SAFETY: the planner's request, which nothing else uses meanwhile.
    let request = unsafe { Request::of(request) };
    let Some(Request::Simplify { call, .. }) = request else { return };
    let (Some(function), Some(operands)) = (call.executes(), call.arguments()) else { return };
    let Some(operands) = operands.first::<2>() else { return };
    // SAFETY: a catalogue look-up in a transaction, which returns a palloc'd name or null.
    let name = unsafe {
        let name = pg_sys::get_func_name(function);
        if name.is_null() {
            return;
        }
        shown(CStr::from_ptr(name))
    };
    let types = operands.map(type_before_cast);
    let operands = types.map(operand);
    let shown_type = |i: usize| match operands[i] {
        Operand::Literal => "a quoted literal".into(),
        _ => type_name(types[i]),
    };
    let (left, right) = (shown_type(0), shown_type(1));
    let [a, b] = operands;
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
        format!("{name} cannot compare {left} and {right}"),
        &if &*name == "hamming" { of_hamming(a, b) } else { of_texts(&name, a, b) },
    )
}

fn type_name(oid: pg_sys::Oid) -> String {
    // SAFETY: format_type_be returns a palloc'd name.
    unsafe { shown(CStr::from_ptr(pg_sys::format_type_be(oid))).into_owned() }
}

/// The type of an operand before the implicit cast.
fn type_before_cast(operand: Expr) -> pg_sys::Oid {
    let Some(call) = operand.call() else { return operand.type_oid() };
    let is_cast = call.funcformat == pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
    let given = operand.arguments().and_then(|given| given.get(0)).filter(|_| is_cast);
    given.map_or(call.funcresulttype, Expr::type_oid)
}

fn operand(oid: pg_sys::Oid) -> Operand {
    // SAFETY: a catalogue look-up in a transaction.
    match unsafe { pg_sys::getBaseType(oid) } {
        pg_sys::TEXTOID | pg_sys::VARCHAROID => Operand::Text,
        pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => Operand::Integer,
        pg_sys::NUMERICOID => Operand::Numeric,
        pg_sys::BYTEAOID => Operand::Bytes,
        pg_sys::BITOID => Operand::Bits,
        base => match Objects::get().layout(base) {
            Some(Layout::Fingerprint(width)) => Operand::Fingerprint(width.bits()),
            _ if base.to_u32() >= pg_sys::FirstNormalObjectId => Operand::Literal,
            _ => Operand::Other,
        },
    }
}

/// What to write in place of `hamming(a, b)`.
fn of_hamming(a: Operand, b: Operand) -> String {
    use Operand::*;
    match (a, b) {
        (Fingerprint(a), Fingerprint(b)) => format!(
            "Compare fingerprints of one width: make both with the same function, such as \
             minhash{a} or minhash{b}."
        ),
        (Fingerprint(bits), other) | (other, Fingerprint(bits)) => match other {
            Text => format!(
                "Make the fingerprint of the text as those of the column were made, for example \
                 with minhash{bits}(...) or simhash_like('index', ...). Cast hexadecimal digits: \
                 ...::fingerprint{bits}."
            ),
            Integer | Numeric if bits > 64 => {
                format!(
                    "Cast the number, which must not be negative: \
                     (...)::numeric::fingerprint{bits}."
                )
            }
            Integer => {
                "Cast the number: (...)::fingerprint64. If it is an indexed column, cast the \
                 fingerprint: (...)::bigint."
                    .into()
            }
            Numeric => format!("Cast the number: (...)::fingerprint{bits}."),
            Bytes | Bits => format!("Cast the other operand: (...)::fingerprint{bits}."),
            _ => format!("Compare it with a fingerprint{bits}."),
        },
        (Integer, Text | Bytes) | (Text | Bytes, Integer) => {
            "Cast the digits or bytes of a hash of 64 bits to the bigint with the same bits: \
             (...)::fingerprint64::bigint."
                .into()
        }
        (Integer, Numeric) | (Numeric, Integer) => {
            "Cast a hash of 64 bits that exceeds the range of bigint to the bigint with the same \
             bits: (...)::fingerprint64::bigint."
                .into()
        }
        (Integer, Bits) | (Bits, Integer) => {
            "Cast the operand that is not the indexed column: a bit string of 64 bits as \
             (...)::bigint, an integer as (...)::bigint::bit(64)."
                .into()
        }
        (Bits, Bits | Literal) | (Literal, Bits) => {
            "For bit strings use hamming(a, b) or a <^> b.".into()
        }
        (Text | Bytes | Numeric, Text | Bytes | Numeric) => {
            "Cast both operands to fingerprints of one width: ...::fingerprint64, \
             ...::fingerprint128 or ...::fingerprint256."
                .into()
        }
        _ => "Compare fingerprints of one width, two bigints, or two bit strings of one length."
            .into(),
    }
}

/// What to write in place of a function of two texts.
fn of_texts(name: &str, a: Operand, b: Operand) -> String {
    let bits = [a, b].into_iter().find_map(|operand| match operand {
        Operand::Fingerprint(bits) => Some(bits),
        _ => None,
    });
    match bits {
        Some(bits) => format!(
            "{name} compares texts: name the column of the text. For a column fp of fingerprints \
             use hamming(fp, simhash_like('index', 'a text')) <= simhash_reach(0.7, {bits})."
        ),
        None if a == Operand::Other || b == Operand::Other => {
            format!(
                "{name} compares texts: name a field of the JSON, j->>'field', or cast it: j::text."
            )
        }
        None => format!(
            "{name} compares texts: cast other operands, (...)::text. Hashes are compared by \
             hamming(a, b)."
        ),
    }
}
