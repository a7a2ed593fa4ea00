//! Values of columns, and the rows that have them: handles that know what a datum is.

use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::pg_sys;

use super::column::Column;
use crate::types::text::with_text;
use crate::types::varlena::with_packed_bytes;
use crate::types::{Code, Width, tid};

/// A value, not NULL.
///
/// Invariant: the datum is a value of the type `base`, which has that length and passing, and it is
/// valid during `'a`. What is copied for a whole call of a trigger or a function has `'static`, and
/// nothing keeps it longer than that call.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    pub(super) datum: pg_sys::Datum,
    pub(super) base: pg_sys::Oid,
    pub(super) length: i16,
    pub(super) by_value: bool,
    pub(super) life: PhantomData<&'a ()>,
}

unsafe extern "C-unwind" {
    // utils/datum.h, which pgrx does not bind.
    fn datum_image_eq(a: pg_sys::Datum, b: pg_sys::Datum, by_value: bool, length: i32) -> bool;
    fn datumCopy(value: pg_sys::Datum, by_value: bool, length: i32) -> pg_sys::Datum;
}

impl<'a> Value<'a> {
    pub fn oid(oid: pg_sys::Oid) -> Self {
        let (datum, base, life) = (oid.into(), pg_sys::OIDOID, PhantomData);
        Value { datum, base, length: 4, by_value: true, life }
    }

    pub fn tid(tid: &'a pg_sys::ItemPointerData) -> Self {
        let (datum, base, life) =
            (pg_sys::Datum::from(&raw const *tid), pg_sys::TIDOID, PhantomData);
        Value { datum, base, length: 6, by_value: false, life }
    }

    /// A text, copied to the current memory context.
    pub fn text(text: &'a CStr) -> Self {
        // SAFETY: copies a C string.
        let datum = unsafe { pg_sys::cstring_to_text(text.as_ptr()) }.into();
        Value { datum, base: pg_sys::TEXTOID, length: -1, by_value: false, life: PhantomData }
    }

    pub fn datum(self) -> pg_sys::Datum {
        self.datum
    }

    pub fn base(self) -> pg_sys::Oid {
        self.base
    }

    /// A copy in the current memory context.
    ///
    /// # Safety
    /// That memory context lives as long as the copy is used.
    pub unsafe fn copy<'m>(self) -> Value<'m> {
        let Value { datum, base, length, by_value, .. } = self;
        // SAFETY: the value has this length and passing.
        let datum = unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| datumCopy(datum, by_value, length.into()))
        };
        Value { datum, base, length, by_value, life: PhantomData }
    }

    /// The value of a fingerprint, of a column that has this width.
    #[inline]
    pub fn code(self, width: Width) -> Code {
        assert_eq!(u32::try_from(self.length), Ok(width.bits() / 8), "a fingerprint's length");
        // SAFETY: the value has as many bytes as such a fingerprint, and any bytes are one.
        unsafe { width.code(self.datum) }
    }

    /// The result of `read` for the value's bytes, without a header. Values with the same bytes are
    /// those that [`same`] accepts.
    pub fn with_bytes<T>(self, read: impl FnOnce(&[u8]) -> T) -> T {
        if self.by_value {
            return read(&self.datum.value().to_le_bytes());
        }
        // SAFETY: the length is that of the value's type.
        unsafe {
            match usize::try_from(self.length) {
                Ok(length) => read(std::slice::from_raw_parts(self.datum.cast_mut_ptr(), length)),
                Err(_) if self.length == -1 => with_packed_bytes(self.datum, read),
                Err(_) => read(CStr::from_ptr(self.datum.cast_mut_ptr()).to_bytes()),
            }
        }
    }

    /// The result of `read` for a text.
    pub fn with_text<T>(self, read: impl FnOnce(&str) -> T) -> T {
        assert_eq!(self.length, -1, "a text's length");
        // SAFETY: a value of variable length is bytes after a header; whether they are characters
        // is checked.
        unsafe { with_text(self.datum, read) }
    }

    pub fn bytes(self) -> Vec<u8> {
        self.with_bytes(<[u8]>::to_vec)
    }

    /// A value of an integer type as one of a column of a wider one; `None` for other types.
    pub fn widened(self, to: &Column) -> Option<Self> {
        let datum = super::column::widen(self.base, to.base, self.datum)?;
        // SAFETY: `widen` has made a value of that type, which is passed by value.
        Some(unsafe { to.value(datum) })
    }
}

/// Whether two values have the same bytes, toasted or not, or both are NULL. Equal values may have
/// different bytes, but values with the same bytes are equal.
pub fn same(a: Option<Value<'_>>, b: Option<Value<'_>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Value { datum, base, length, by_value, .. }), Some(b)) if base == b.base => {
            let same = || {
                // SAFETY: both are values of one type, with this length and passing.
                unsafe { datum_image_eq(datum, b.datum, by_value, length.into()) }
            };
            // SAFETY: calls a function of PostgreSQL.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(same) }
        }
        _ => false,
    }
}

/// A row of a table.
///
/// Invariant: during `'a` its slot or tuple holds a row of `table`, whose columns stay.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: pg_sys::Oid,
    place: Place,
    life: PhantomData<&'a ()>,
}

#[derive(Clone, Copy)]
enum Place {
    Slot(*mut pg_sys::TupleTableSlot),
    Tuple(pg_sys::HeapTuple, pg_sys::TupleDesc),
}

impl<'a> Row<'a> {
    /// # Safety
    /// The slot holds a row of the table during `'a`, and the table's columns stay.
    pub unsafe fn in_slot(table: pg_sys::Oid, slot: *mut pg_sys::TupleTableSlot) -> Self {
        Row { table, place: Place::Slot(slot), life: PhantomData }
    }

    /// # Safety
    /// The tuple is a row of the relation, which is open during `'a`.
    pub unsafe fn of_tuple(tuple: pg_sys::HeapTuple, relation: pg_sys::Relation) -> Self {
        // SAFETY: the relation is open.
        let (table, descriptor) = unsafe { ((*relation).rd_id, (*relation).rd_att) };
        Row { table, place: Place::Tuple(tuple, descriptor), life: PhantomData }
    }

    /// The value of a column of this table; `None` for NULL.
    #[inline]
    pub fn value(self, column: &Column) -> Option<Value<'a>> {
        assert_eq!(self.table, column.table, "a column of the row's table");
        let (number, mut is_null) = (i32::from(column.number), true);
        // SAFETY: the row has this column, with the column's type.
        unsafe {
            let value = match self.place {
                Place::Slot(slot) => pg_sys::slot_getattr(slot, number, &mut is_null),
                Place::Tuple(tuple, descriptor) => {
                    pg_sys::heap_getattr(tuple, number, descriptor, &mut is_null)
                }
            };
            (!is_null).then(|| column.value(value))
        }
    }

    /// The packed TID.
    pub fn tid(self) -> u64 {
        // SAFETY: both have the TID of the row.
        unsafe {
            match self.place {
                Place::Slot(slot) => tid::pack(&(*slot).tts_tid),
                Place::Tuple(tuple, _) => tid::pack(&(*tuple).t_self),
            }
        }
    }

    /// The command that wrote a row of this transaction; 0 for a row of another one, and for a row
    /// that was not read from a table.
    ///
    /// The system column cmin does not do. If the row was also deleted, say by a subtransaction
    /// that was rolled back, it is a combo command ID, which stands for two commands.
    pub fn command(self) -> pg_sys::CommandId {
        let Place::Slot(slot) = self.place else { return 0 };
        let (mut is_null, mut is_copy) = (true, false);
        // SAFETY: the slot holds a row. A heap row lies in a buffer that the slot has pinned.
        unsafe {
            let written = pg_sys::MinTransactionIdAttributeNumber;
            let writer = pg_sys::slot_getsysattr(slot, written, &mut is_null);
            let writer = pg_sys::TransactionId::from(writer.value() as u32);
            if !pg_sys::TransactionIdIsCurrentTransactionId(writer) {
                return 0;
            }
            if (*slot).tts_ops != &raw const pg_sys::TTSOpsBufferHeapTuple {
                let command = pg_sys::MinCommandIdAttributeNumber;
                return pg_sys::slot_getsysattr(slot, command, &mut is_null).value() as u32;
            }
            let row = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut is_copy);
            pg_sys::HeapTupleHeaderGetCmin((*row).t_data)
        }
    }
}
