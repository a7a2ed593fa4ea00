//! Arrays: read element by element, and returned from functions. A long one can be cancelled.

use pgrx::pg_sys;

use super::text::utf8_to_server;
use super::{LARGEST_VALUE, palloc_varlena, raise_too_large, sql_type};
use crate::memory;

/// Hands every element of an array to `each`, in storage order; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type, not NULL.
pub unsafe fn for_each_element(array: pg_sys::Datum, mut each: impl FnMut(Option<pg_sys::Datum>)) {
    memory::prepare();
    // SAFETY: the element type's layout is the catalogue's; elements point into the detoasted array,
    // which is freed after the last was handed out.
    unsafe {
        let stored = array.cast_mut_ptr::<pg_sys::varlena>();
        let detoasted = pg_sys::pg_detoast_datum(stored);
        let element = (*detoasted.cast::<pg_sys::ArrayType>()).elemtype;
        let (mut length, mut by_value, mut align) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            detoasted.cast(),
            element,
            length.into(),
            by_value,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        for i in 0..count as usize {
            each((!*nulls.add(i)).then(|| *values.add(i)));
        }
        pg_sys::pfree(values.cast());
        pg_sys::pfree(nulls.cast());
        if detoasted != stored {
            pg_sys::pfree(detoasted.cast());
        }
    }
}

/// A one-dimensional array that a function returns.
pub struct ReturnedArray(pg_sys::Datum);

sql_type!(ReturnedArray, "anyarray");

impl ReturnedArray {
    /// The array type is the one that the function is declared to return.
    pub fn new(values: &[Option<pg_sys::Datum>], fcinfo: pg_sys::FunctionCallInfo) -> Self {
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        let mut values: Vec<pg_sys::Datum> =
            values.iter().map(|value| value.unwrap_or(pg_sys::Datum::null())).collect();
        let (mut dimension, mut lower_bound) = (values.len() as i32, 1);
        // SAFETY: PostgreSQL passes a valid call; the element's layout is the catalogue's.
        unsafe {
            let element = pg_sys::get_element_type(pg_sys::get_func_rettype((*(*fcinfo).flinfo).fn_oid));
            let (mut length, mut by_value, mut align) = (0, false, 0);
            pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
            let array = pg_sys::construct_md_array(
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
                1,
                &mut dimension,
                &mut lower_bound,
                element,
                length.into(),
                by_value,
                align,
            );
            ReturnedArray(pg_sys::Datum::from(array))
        }
    }
}

/// A one-dimensional `text[]` that a function returns, put together as its elements come.
pub struct TextArray {
    /// The elements as the array has them, each aligned.
    elements: Vec<u8>,
    count: usize,
}

sql_type!(TextArray, "text[]");

impl TextArray {
    pub fn new() -> Self {
        TextArray { elements: Vec::new(), count: 0 }
    }

    /// Adds an element, or raises 54000 when no array could hold it.
    pub fn push(&mut self, text: &str) {
        const ALIGNMENT: usize = 4;
        let bytes = utf8_to_server(text);
        let size = pg_sys::VARHDRSZ + bytes.len();
        if self.elements.len() + size > LARGEST_VALUE - HEADER {
            raise_too_large("the elements of this array are too long together")
        }
        let start = self.elements.len();
        self.elements.extend_from_slice(&[0; pg_sys::VARHDRSZ]);
        self.elements.extend_from_slice(&bytes);
        // SAFETY: four bytes of a header, which may stand anywhere.
        unsafe { pgrx::varlena::set_varsize_4b(self.elements[start..].as_mut_ptr().cast(), size as i32) };
        self.elements.resize(self.elements.len().next_multiple_of(ALIGNMENT), 0);
        self.count += 1;
    }
}

/// Of an array of one dimension without NULL: size and dimensions, then length and lower bound.
const HEADER: usize = size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>();

// SAFETY: the datum is an array laid out as PostgreSQL's array.h says.
unsafe impl pgrx::callconv::BoxRet for TextArray {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut pgrx::callconv::FcInfo<'fcx>) -> pgrx::datum::Datum<'fcx> {
        // SAFETY: construct_empty_array and palloc_varlena return what they say; the header is plain integers.
        unsafe {
            if self.count == 0 {
                let empty = pg_sys::construct_empty_array(pg_sys::TEXTOID);
                return fcinfo.return_raw_datum(pg_sys::Datum::from(empty));
            }
            // Dimensions, no NULL, the element's type, the length, the lower bound.
            let header = [1, 0, pg_sys::TEXTOID.to_u32(), self.count as u32, 1].map(u32::to_ne_bytes);
            fcinfo.return_raw_datum(palloc_varlena(&[header.as_flattened(), &self.elements]))
        }
    }
}

// SAFETY: the datum is the array that the function returns.
unsafe impl pgrx::callconv::BoxRet for ReturnedArray {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut pgrx::callconv::FcInfo<'fcx>) -> pgrx::datum::Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}
