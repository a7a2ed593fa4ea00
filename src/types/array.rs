//! Arrays: read element by element, and returned from functions. A long one can be cancelled.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::text::utf8_to_server;
use super::{LARGEST_VALUE, palloc_varlena, raise_too_large, sql_type};
use crate::error::raise;
use crate::memory;

/// Hands every element of an array to `each`, in storage order; `None` for NULL.
///
/// # Safety
/// `array` is a datum of an array type, not NULL; its elements are of a fixed length that is a multiple of their
/// alignment, or it raises an ERROR.
pub unsafe fn for_each_element(array: pg_sys::Datum, mut each: impl FnMut(Option<pg_sys::Datum>)) {
    memory::prepare();
    // SAFETY: laid out as PostgreSQL's array.h says: dimensions and lower bounds, a bitmap of those that are not NULL if there is
    // one, then the elements, of a fixed length, one after the other; the detoasted array is freed after the last was handed out.
    unsafe {
        let stored = array.cast_mut_ptr::<pg_sys::varlena>();
        let detoasted = pg_sys::pg_detoast_datum(stored);
        let start = detoasted.cast::<u8>();
        let pg_sys::ArrayType { ndim, dataoffset, elemtype, .. } = *detoasted.cast::<pg_sys::ArrayType>();
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

/// PostgreSQL's greatest, of an array's elements as a whole.
const ALIGNMENT: usize = 8;

/// A one-dimensional array that a function returns.
pub struct ReturnedArray(pg_sys::Datum);

sql_type!(ReturnedArray, "anyarray");

impl ReturnedArray {
    /// The array type is the one that the function is declared to return, its elements are of `N` bytes.
    pub fn new<const N: usize>(
        values: impl ExactSizeIterator<Item = Option<[u8; N]>>,
        fcinfo: pg_sys::FunctionCallInfo,
    ) -> Self {
        let count = values.len();
        let (mut elements, mut bitmap) = (Vec::with_capacity(count * N), vec![0u8; count.div_ceil(8)]);
        for (i, value) in values.enumerate() {
            if i.is_multiple_of(1 << 16) {
                pgrx::check_for_interrupts!();
            }
            if let Some(value) = value {
                bitmap[i / 8] |= 1 << (i % 8);
                elements.extend_from_slice(&value);
            }
        }
        let has_null = elements.len() < count * N;
        // SAFETY: PostgreSQL passes a valid call; construct_empty_array returns an array.
        unsafe {
            let element = pg_sys::get_element_type(pg_sys::get_func_rettype((*(*fcinfo).flinfo).fn_oid));
            if count == 0 {
                return ReturnedArray(pg_sys::Datum::from(pg_sys::construct_empty_array(element)));
            }
            if has_null {
                let offset = (HEADER + bitmap.len()).next_multiple_of(ALIGNMENT);
                bitmap.resize(offset - HEADER, 0);
                let header = header(offset, element, count);
                ReturnedArray(palloc_varlena(&[header.as_flattened(), &bitmap, &elements]))
            } else {
                let header = header(0, element, count);
                ReturnedArray(palloc_varlena(&[header.as_flattened(), &elements]))
            }
        }
    }
}

/// What an array begins with after its size: one dimension, where the elements begin if some are NULL, their type, their number,
/// the lower bound.
fn header(offset: usize, element: pg_sys::Oid, count: usize) -> [[u8; 4]; 5] {
    [1, offset as u32, element.to_u32(), count as u32, 1].map(u32::to_ne_bytes)
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
            let header = header(0, pg_sys::TEXTOID, self.count);
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
