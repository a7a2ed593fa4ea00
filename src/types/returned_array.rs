//! One-dimensional arrays as function results. Building a long one can be cancelled.

use pgrx::pg_sys;

use super::datum::{Encode, result, sql_type};
use super::varlena::{LARGEST_VALUE, palloc_varlena, raise_too_large};
use crate::call::Call;
use crate::encoding;

/// The elements of an array begin at a multiple of this, PostgreSQL's greatest alignment.
pub const ALIGNMENT: usize = 8;

/// A one-dimensional array as a function result.
pub struct ReturnedArray(pg_sys::Datum);

sql_type!(ReturnedArray, "anyarray");
result!(ReturnedArray);

impl ReturnedArray {
    /// An array of the function's declared result type, whose elements have `N` bytes each.
    pub fn new<const N: usize>(
        values: impl ExactSizeIterator<Item = Option<[u8; N]>>,
        call: &Call<'_>,
    ) -> Self {
        let count = values.len();
        let (mut elements, mut bitmap) =
            (Vec::with_capacity(count * N), vec![0u8; count.div_ceil(8)]);
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
        let function = call.function().map_or(pg_sys::InvalidOid, |function| function.fn_oid);
        // SAFETY: the function exists in the catalogue.
        let element = unsafe { pg_sys::get_element_type(pg_sys::get_func_rettype(function)) };
        ReturnedArray(if count == 0 {
            empty(element)
        } else if has_null {
            let offset = (HEADER + bitmap.len()).next_multiple_of(ALIGNMENT);
            bitmap.resize(offset - HEADER, 0);
            let header = header(offset, element, count);
            palloc_varlena(&[header.as_flattened(), &bitmap, &elements])
        } else {
            let header = header(0, element, count);
            palloc_varlena(&[header.as_flattened(), &elements])
        })
    }
}

impl Encode for ReturnedArray {
    fn encode(self) -> pg_sys::Datum {
        self.0
    }
}

/// The fields of an array after its size: one dimension, the elements' offset if some are NULL,
/// their type, their number, and the lower bound.
fn header(offset: usize, element: pg_sys::Oid, count: usize) -> [[u8; 4]; 5] {
    [1, offset as u32, element.to_u32(), count as u32, 1].map(u32::to_ne_bytes)
}

/// A one-dimensional `text[]` as a function result, built element by element.
pub struct TextArray {
    /// The elements in the array's layout, each aligned.
    elements: Vec<u8>,
    count: usize,
}

sql_type!(TextArray, "text[]");
result!(TextArray);

impl TextArray {
    pub fn new() -> Self {
        TextArray { elements: Vec::new(), count: 0 }
    }

    /// Adds an element. Raises 54000 if no array could hold it.
    pub fn push(&mut self, text: &str) {
        self.push_bytes(&encoding::to_server(text));
    }

    /// As [`TextArray::push`], for display: a character that the database's encoding lacks is
    /// escaped.
    pub fn push_shown(&mut self, text: &str) {
        self.push_bytes(&encoding::to_server_shown(text));
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        const ALIGNMENT: usize = 4;
        let size = pg_sys::VARHDRSZ + bytes.len();
        if self.elements.len() + size > LARGEST_VALUE - HEADER {
            raise_too_large("the elements of this array are too long in total")
        }
        let start = self.elements.len();
        self.elements.extend_from_slice(&[0; pg_sys::VARHDRSZ]);
        self.elements.extend_from_slice(bytes);
        let header = self.elements[start..].as_mut_ptr().cast();
        // SAFETY: the vector has a four-byte header at `start`, which may be unaligned.
        unsafe { pgrx::varlena::set_varsize_4b(header, size as i32) };
        self.elements.resize(self.elements.len().next_multiple_of(ALIGNMENT), 0);
        self.count += 1;
    }
}

/// The bytes before the elements of a one-dimensional array without NULL: the ArrayType, then
/// length and lower bound.
const HEADER: usize = size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>();

impl Encode for TextArray {
    fn encode(self) -> pg_sys::Datum {
        if self.count == 0 {
            return empty(pg_sys::TEXTOID);
        }
        let header = header(0, pg_sys::TEXTOID, self.count);
        palloc_varlena(&[header.as_flattened(), &self.elements])
    }
}

fn empty(element: pg_sys::Oid) -> pg_sys::Datum {
    // SAFETY: construct_empty_array returns a palloc'd array.
    pg_sys::Datum::from(unsafe { pg_sys::construct_empty_array(element) })
}
