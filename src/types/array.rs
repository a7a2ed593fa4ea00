//! Reading of arrays element by element. Reading a long array can be cancelled.

use std::ffi::c_char;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::returned_array::ALIGNMENT;
use super::varlena::with_aligned_bytes;
use crate::error::raise;
use crate::memory;

/// How values of a type are passed and stored.
#[derive(Clone, Copy)]
struct Passing {
    length: i16,
    by_value: bool,
    align: c_char,
}

impl Passing {
    fn of(element: pg_sys::Oid) -> Self {
        let (mut length, mut by_value, mut align) = (0, false, 0);
        // SAFETY: a catalogue look-up in a transaction.
        unsafe {
            pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
        }
        Passing { length, by_value, align }
    }
}

/// The bytes of an array, including the varlena header. PostgreSQL's array.h defines the layout:
/// the number of dimensions, the offset of the elements if some are NULL and otherwise 0, their
/// type, the lengths of the dimensions, the lower bounds, a bitmap of the elements that are not
/// NULL if some are NULL, then the elements, those of fixed length contiguous.
struct Stored<'a>(&'a [u8]);

impl<'a> Stored<'a> {
    /// A four-byte field of the array.
    fn word(&self, at: usize) -> Option<u32> {
        self.0.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
    }

    /// Passes every element to `each`. Raises an ERROR if elements have no fixed length. `None` if
    /// the bytes are not an array.
    fn each_element(&self, each: &mut dyn FnMut(Option<pg_sys::Datum>)) -> Option<()> {
        const DIMENSIONS: usize = size_of::<pg_sys::ArrayType>();
        let (dimensions, offset) = (self.word(4)? as usize, self.word(8)? as usize);
        let passing = Passing::of(pg_sys::Oid::from(self.word(12)?));
        let length = usize::try_from(passing.length).unwrap_or(0);
        if length == 0 {
            raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, "an array of another type".into(), "")
        }
        let bitmap = DIMENSIONS.checked_add(dimensions.checked_mul(2 * size_of::<u32>())?)?;
        let count = (0..dimensions).try_fold(1usize, |count, dimension| {
            count.checked_mul(self.word(DIMENSIONS + size_of::<u32>() * dimension)? as usize)
        });
        let count = if dimensions == 0 { 0 } else { count? };
        let mut at = if offset == 0 { bitmap.next_multiple_of(ALIGNMENT) } else { offset };
        for i in 0..count {
            if i.is_multiple_of(1 << 16) {
                pgrx::check_for_interrupts!();
            }
            if offset != 0 && self.0.get(bitmap + i / 8)? >> (i % 8) & 1 == 0 {
                each(None);
                continue;
            }
            each(Some(passed(self.0.get(at..at + length)?, passing.by_value)));
            at += length;
        }
        Some(())
    }
}

/// An element of fixed length.
fn passed(bytes: &[u8], by_value: bool) -> pg_sys::Datum {
    if !by_value {
        return pg_sys::Datum::from(bytes.as_ptr());
    }
    match *bytes {
        [byte] => pg_sys::Datum::from(byte),
        [a, b] => pg_sys::Datum::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => pg_sys::Datum::from(u32::from_ne_bytes([a, b, c, d])),
        _ => pg_sys::Datum::from(bytes.first_chunk().map_or(0, |word| usize::from_ne_bytes(*word))),
    }
}

/// Passes every element of an array to `each`, in storage order; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type and not NULL. If its elements have a fixed length, that is a
/// multiple of their alignment; if not, this raises an ERROR.
pub unsafe fn for_each_element(array: pg_sys::Datum, mut each: impl FnMut(Option<pg_sys::Datum>)) {
    // SAFETY: `array` is of a variable-length type. A copy is freed after its last element was
    // read.
    let read = unsafe { with_aligned_bytes(array, |bytes| Stored(bytes).each_element(&mut each)) };
    if read.is_none() {
        raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed array".into(), "")
    }
}

/// The result of `read` for an array's first element that is not NULL.
///
/// # Safety
/// As [`for_each_element`].
pub unsafe fn first_element<T>(
    array: pg_sys::Datum,
    read: impl Fn(pg_sys::Datum) -> T,
) -> Option<T> {
    let mut first = None;
    let take = |element: Option<_>| first = first.take().or_else(|| element.map(&read));
    // SAFETY: `array` fulfils the conditions of `for_each_element`.
    unsafe { for_each_element(array, take) };
    first
}

/// All elements of an array, in storage order, and their type; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type and not NULL. Elements passed by reference point into
/// `array` or into a copy in the current memory context.
pub unsafe fn elements(array: pg_sys::Datum) -> (pg_sys::Oid, Vec<Option<pg_sys::Datum>>) {
    memory::prepare();
    // SAFETY: `array` is an array.
    let array = unsafe { pg_sys::pg_detoast_datum(array.cast_mut_ptr()) };
    let array = array.cast::<pg_sys::ArrayType>();
    // SAFETY: a detoasted array begins with this struct.
    let of = unsafe { (*array).elemtype };
    let Passing { length, by_value, align } = Passing::of(of);
    let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    let (to, flags, length) = (&raw mut values, &raw mut nulls, i32::from(length));
    // SAFETY: the elements of the array are of this type, which is passed like this.
    unsafe {
        pg_sys::deconstruct_array(array, of, length, by_value, align, to, flags, &mut count);
    }
    // SAFETY: deconstruct_array made arrays of `count` members.
    let element = |i| unsafe { (!*nulls.add(i)).then(|| *values.add(i)) };
    (of, (0..count as usize).map(element).collect())
}
