//! The SQL types: how each is passed, its text and binary form, its operators and casts.

pub mod array;
pub mod ball;
mod ball_order;
pub mod bits;
pub mod bloom;
pub mod config;
pub mod fingerprint128;
pub mod fingerprint64;
pub mod lexicons;
pub mod minhash;
pub mod text;

pub use config::ConfigText;
pub use fingerprint64::Fp64;
pub use fingerprint128::Fp128;
pub use text::Text;

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::fingerprint::parse_hex;

use crate::error::{raise, raise_invalid_text, shown};
use crate::memory;

/// Declares a type of this extension to pgrx. The catalogue in sql/ names the argument types itself,
/// so the name is only what pgrx would print.
macro_rules! sql_type {
    ($t:ty, $name:literal) => {
        // SAFETY: the name is the SQL type's; nothing is generated from it.
        unsafe impl ::pgrx::pgrx_sql_entity_graph::metadata::SqlTranslatable for $t {
            const TYPE_IDENT: &'static str = concat!("pg_simhash::", $name);
            const TYPE_ORIGIN: ::pgrx::pgrx_sql_entity_graph::metadata::TypeOrigin =
                ::pgrx::pgrx_sql_entity_graph::metadata::TypeOrigin::External;
            const ARGUMENT_SQL: Result<
                ::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef,
                ::pgrx::pgrx_sql_entity_graph::metadata::ArgumentError,
            > = Ok(::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef::literal($name));
            const RETURN_SQL: Result<
                ::pgrx::pgrx_sql_entity_graph::metadata::ReturnsRef,
                ::pgrx::pgrx_sql_entity_graph::metadata::ReturnsError,
            > = Ok(::pgrx::pgrx_sql_entity_graph::metadata::ReturnsRef::One(
                ::pgrx::pgrx_sql_entity_graph::metadata::SqlMappingRef::literal($name),
            ));
        }
    };
}

/// Lets a type that has `FromDatum` be an argument of a function.
macro_rules! by_datum_argument {
    ($t:ty) => {
        // SAFETY: the datum is read as its own SQL type, which the catalogue guarantees.
        unsafe impl<'fcx> ::pgrx::callconv::ArgAbi<'fcx> for $t {
            unsafe fn unbox_arg_unchecked(arg: ::pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: as above; the functions are STRICT, so the argument is not NULL.
                unsafe { arg.unbox_arg_using_from_datum() }.expect("a strict function's argument")
            }
            unsafe fn unbox_nullable_arg(
                arg: ::pgrx::callconv::Arg<'_, 'fcx>,
            ) -> ::pgrx::nullable::Nullable<Self> {
                // SAFETY: as above.
                unsafe { arg.unbox_arg_using_from_datum() }.into()
            }
        }
    };
}

/// Lets a type that has `FromDatum` and `IntoDatum` be an argument and a result of a function.
macro_rules! by_datum {
    ($t:ty) => {
        $crate::types::by_datum_argument!($t);
        // SAFETY: into_datum makes a datum of the type's own SQL representation.
        unsafe impl ::pgrx::callconv::BoxRet for $t {
            unsafe fn box_into<'fcx>(
                self,
                fcinfo: &mut ::pgrx::callconv::FcInfo<'fcx>,
            ) -> ::pgrx::datum::Datum<'fcx> {
                match ::pgrx::IntoDatum::into_datum(self) {
                    // SAFETY: as above.
                    Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
                    None => fcinfo.return_null(),
                }
            }
        }
    };
}
pub(crate) use {by_datum, by_datum_argument, sql_type};

/// Reads a fingerprint's text form or raises 22P02.
fn parse_fingerprint<F: Fingerprint>(type_name: &str, text: &CStr) -> F {
    let shown = shown(text);
    parse_hex(&shown).unwrap_or_else(|| {
        let digits = F::BITS / 4;
        raise_invalid_text(
            type_name,
            &shown,
            &format!("A {type_name} is written as {digits} hexadecimal digits."),
        )
    })
}

/// Copies `bytes` into the current memory context and returns the pointer as a datum.
fn palloc_bytes(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: palloc returns at least `len` writable bytes or raises an error.
    unsafe {
        let place = pg_sys::palloc(bytes.len()) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        pg_sys::Datum::from(place)
    }
}

/// The bytes that PostgreSQL allows a value.
pub const LARGEST_VALUE: usize = 0x3fff_ffff;

pub fn raise_too_large(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        message.into(),
        &format!("A value has {LARGEST_VALUE} bytes at most."),
    )
}

/// What is copied between two checks for interrupts.
pub const STRETCH: usize = 16 << 20;

/// A variable-length datum of `parts` one after the other, in the current memory context.
fn palloc_varlena(parts: &[&[u8]]) -> pg_sys::Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    let start = palloc_value(size);
    // SAFETY: `size` fits the header; the allocation holds the header and all parts.
    unsafe {
        pgrx::varlena::set_varsize_4b(start.cast(), size as i32);
        copy_to(start.add(pg_sys::VARHDRSZ), parts);
    }
    pg_sys::Datum::from(start)
}

/// What an output function returns: a palloc'd cstring.
struct Output(pg_sys::Datum);

sql_type!(Output, "cstring");

impl Output {
    /// `text` must have no NUL.
    fn new(text: &[u8]) -> Self {
        let start = palloc_value(text.len() + 1);
        // SAFETY: the allocation holds the text and its end.
        unsafe { copy_to(start, &[text, &[0]]) };
        Output(pg_sys::Datum::from(start))
    }
}

// SAFETY: the datum is a cstring in the memory context of the call.
unsafe impl pgrx::callconv::BoxRet for Output {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut pgrx::callconv::FcInfo<'fcx>) -> pgrx::datum::Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

/// Room for a value, or ERROR 54000 where PostgreSQL allows none so large.
fn palloc_value(size: usize) -> *mut u8 {
    if size > LARGEST_VALUE {
        raise_too_large(&format!("a result of {size} bytes is too large"))
    }
    // SAFETY: the size is within what palloc gives; it raises an error where there is no memory.
    unsafe { pg_sys::palloc(size) }.cast()
}

/// Copies `parts` one after the other, with checks for interrupts.
///
/// # Safety
/// All of them fit at `place`.
unsafe fn copy_to(mut place: *mut u8, parts: &[&[u8]]) {
    for part in parts.iter().flat_map(|part| part.chunks(STRETCH)) {
        pgrx::check_for_interrupts!();
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(part.as_ptr(), place, part.len());
            place = place.add(part.len());
        }
    }
}

/// The bytes of a variable-length value, without its header; detoasted if need be.
///
/// # Safety
/// `datum` must be one of a variable-length type; the bytes live as long as it or the current memory context.
unsafe fn varlena_bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    memory::prepare();
    // SAFETY: as above; a packed header is one or four bytes, and varsize_any_exhdr reads either.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(varlena).cast::<u8>(),
            pgrx::varlena::varsize_any_exhdr(varlena),
        )
    }
}

/// What is left of a binary message.
fn receive_rest<'a>(buffer: pg_sys::StringInfo) -> &'a [u8] {
    // SAFETY: as in receive; pq_getmsgbytes returns that many bytes of the buffer.
    unsafe {
        let left = (*buffer).len - (*buffer).cursor;
        std::slice::from_raw_parts(pg_sys::pq_getmsgbytes(buffer, left).cast(), left as usize)
    }
}

/// The message buffer that a binary input function was given.
fn message_buffer(argument: pgrx::Internal) -> pg_sys::StringInfo {
    memory::prepare();
    argument.unwrap().map_or(std::ptr::null_mut(), |datum| datum.cast_mut_ptr())
}

/// Reads `N` bytes of a binary message; a short message raises PostgreSQL's own protocol error.
fn receive<const N: usize>(buffer: pg_sys::StringInfo) -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the buffer is the StringInfo PostgreSQL passes to a receive function; pq_copymsgbytes
    // checks that N bytes are left.
    unsafe { pg_sys::pq_copymsgbytes(buffer, bytes.as_mut_ptr().cast(), N as i32) };
    bytes
}
