//! Reading of arrays element by element. Reading a long array can be cancelled.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::returned_array::ALIGNMENT;
use crate::error::raise;
use crate::memory;

/// Passes every element of an array to `each`, in storage order; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type and not NULL. If its elements have a fixed length, that is a
/// multiple of their alignment; if not, this raises an ERROR.
pub unsafe fn for_each_element(array: pg_sys::Datum, mut each: impl FnMut(Option<pg_sys::Datum>)) {
    memory::prepare();
    // SAFETY: PostgreSQL's array.h defines the layout: dimensions and lower bounds, a bitmap of the
    // elements that are not NULL if some are NULL, then the elements, of fixed length, contiguous.
    // A detoasted copy is freed after its last element was read.
    unsafe {
        let stored = array.cast_mut_ptr::<pg_sys::varlena>();
        let detoasted = pg_sys::pg_detoast_datum(stored);
        let start = detoasted.cast::<u8>();
        let pg_sys::ArrayType { ndim, dataoffset, elemtype, .. } =
            *detoasted.cast::<pg_sys::ArrayType>();
        let (mut length, mut by_value, mut align) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(elemtype, &mut length, &mut by_value, &mut align);
        let length = usize::try_from(length).unwrap_or(0);
        if length == 0 {
            raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, "an array of another type".into(), "")
        }
        let dimensions = start.add(size_of::<pg_sys::ArrayType>());
        let count = pg_sys::ArrayGetNItems(ndim, dimensions.cast()) as usize;
        let bitmap = dimensions.add(2 * size_of::<i32>() * ndim as usize);
        let mut element = if dataoffset == 0 {
            start.add((bitmap.offset_from(start) as usize).next_multiple_of(ALIGNMENT))
        } else {
            start.add(dataoffset as usize)
        };
        for i in 0..count {
            if i.is_multiple_of(1 << 16) {
                pgrx::check_for_interrupts!();
            }
            if dataoffset != 0 && *bitmap.add(i / 8) >> (i % 8) & 1 == 0 {
                each(None);
                continue;
            }
            each(Some(match length {
                _ if !by_value => pg_sys::Datum::from(element),
                1 => pg_sys::Datum::from(*element),
                2 => pg_sys::Datum::from(element.cast::<u16>().read_unaligned()),
                4 => pg_sys::Datum::from(element.cast::<u32>().read_unaligned()),
                _ => pg_sys::Datum::from(element.cast::<usize>().read_unaligned()),
            }));
            element = element.add(length);
        }
        if detoasted != stored {
            pg_sys::pfree(detoasted.cast());
        }
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
    // SAFETY: `array` fulfils the conditions of `for_each_element`.
    unsafe {
        for_each_element(array, |element| first = first.take().or_else(|| element.map(&read)));
    }
    first
}

/// All elements of an array, in storage order, and their type; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type and not NULL. Elements passed by reference point into
/// `array` or into a copy in the current memory context.
pub unsafe fn elements(array: pg_sys::Datum) -> (pg_sys::Oid, Vec<Option<pg_sys::Datum>>) {
    memory::prepare();
    // SAFETY: `array` is an array. deconstruct_array sets `values` and `nulls` to arrays of `count`
    // members.
    unsafe {
        let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let element_type = (*array).elemtype;
        let (mut length, mut by_value, mut align) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut align);
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            array,
            element_type,
            i32::from(length),
            by_value,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        let element = |i| (!*nulls.add(i)).then(|| *values.add(i));
        (element_type, (0..count as usize).map(element).collect())
    }
}
