//! A column of a table, with what is needed to read, copy and compare its values.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use crate::catalog::cache;
use crate::types::varlena::with_packed_bytes;

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub number: pg_sys::AttrNumber,
    /// The declared type, which may be a domain.
    pub declared: pg_sys::Oid,
    /// The type under any domain, and its modifier, such as a length.
    pub base: pg_sys::Oid,
    pub modifier: i32,
    pub collation: pg_sys::Oid,
    pub generated: Generated,
    is_not_null: bool,
    length: i16,
    by_value: bool,
}

/// A column, and its name as it is stored.
#[derive(Clone, Debug)]
pub struct Named {
    pub column: Column,
    pub name: CString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    No,
    Stored,
    Virtual,
}

/// The equality by which a unique index compares the values of a column.
#[derive(Clone, Copy, Debug)]
pub struct Equality {
    function: pg_sys::Oid,
    collation: pg_sys::Oid,
}

impl Equality {
    /// The equality of an index's first column; `None` if it has none that can be called.
    ///
    /// # Safety
    /// `index` is an open index.
    pub unsafe fn of(index: pg_sys::Relation) -> Option<Self> {
        // SAFETY: `index` is open, and so has a first column.
        unsafe {
            let input = *(*index).rd_opcintype;
            let operator = if (*(*index).rd_rel).relam == pg_sys::BTREE_AM_OID {
                let equal = pg_sys::BTEqualStrategyNumber as i16;
                pg_sys::get_opfamily_member(*(*index).rd_opfamily, input, input, equal)
            } else {
                (*pg_sys::lookup_type_cache(input, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr
            };
            let function = pg_sys::get_opcode(operator);
            let collation = *(*index).rd_indcollation;
            (function != pg_sys::InvalidOid).then_some(Equality { function, collation })
        }
    }

    /// Whether it is the column's equality, which is that of SQL's `=`.
    pub fn is_of(&self, column: &Column) -> bool {
        // SAFETY: a catalogue look-up.
        let function = unsafe { pg_sys::get_opcode(column.equality()) };
        function == self.function && column.collation == self.collation
    }

    /// # Safety
    /// Both are values of the index's column.
    pub unsafe fn holds(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> bool {
        // SAFETY: both are values of the index's column.
        let equal = unsafe { pg_sys::OidFunctionCall2Coll(self.function, self.collation, a, b) };
        equal.value() & 0xff != 0
    }
}

unsafe extern "C-unwind" {
    // utils/datum.h, which pgrx does not bind.
    fn datum_image_eq(a: pg_sys::Datum, b: pg_sys::Datum, by_value: bool, length: i32) -> bool;
    fn datumCopy(value: pg_sys::Datum, by_value: bool, length: i32) -> pg_sys::Datum;
}

impl Column {
    /// The column of that name, in the server's encoding. `None` for a dropped column, a system
    /// column, or no column.
    pub fn named(relation: pg_sys::Oid, name: &CStr) -> Option<Self> {
        // SAFETY: a syscache tuple is valid until it is released, and its fixed part is a
        // FormData_pg_attribute.
        unsafe {
            let tuple = pg_sys::SearchSysCacheAttName(relation, name.as_ptr());
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_attribute>(tuple);
            let mut modifier = (*form).atttypmod;
            let base = pg_sys::getBaseTypeAndTypmod((*form).atttypid, &mut modifier);
            let column = Column {
                number: (*form).attnum,
                declared: (*form).atttypid,
                base,
                modifier,
                collation: (*form).attcollation,
                generated: match (*form).attgenerated as u8 {
                    0 => Generated::No,
                    b's' => Generated::Stored,
                    _ => Generated::Virtual,
                },
                is_not_null: (*form).attnotnull,
                length: (*form).attlen,
                by_value: (*form).attbyval,
            };
            pg_sys::ReleaseSysCache(tuple);
            (column.number > 0).then_some(column)
        }
    }

    /// The value in a row of the column's table; `None` for NULL.
    ///
    /// # Safety
    /// `tuple` is a row with that descriptor, which has this column.
    pub unsafe fn read(
        &self,
        tuple: pg_sys::HeapTuple,
        descriptor: pg_sys::TupleDesc,
    ) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: `tuple` has that descriptor, and the descriptor has this column.
        let value = unsafe {
            pg_sys::heap_getattr(tuple, i32::from(self.number), descriptor, &mut is_null)
        };
        (!is_null).then_some(value)
    }

    /// Whether two values have the same bytes, toasted or not. Equal values may have different
    /// bytes, but values with the same bytes are equal.
    ///
    /// # Safety
    /// Both are values of this column.
    pub unsafe fn same(&self, a: Option<pg_sys::Datum>, b: Option<pg_sys::Datum>) -> bool {
        match (a, b) {
            (None, None) => true,
            // SAFETY: both are values of this column, with its length and passing.
            (Some(a), Some(b)) => unsafe {
                let (by_value, length) = (self.by_value, i32::from(self.length));
                pg_sys::ffi::pg_guard_ffi_boundary(|| datum_image_eq(a, b, by_value, length))
            },
            _ => false,
        }
    }

    /// A copy in the current memory context.
    ///
    /// # Safety
    /// The datum is a value of this column.
    pub unsafe fn copy(&self, value: pg_sys::Datum) -> pg_sys::Datum {
        let (by_value, length) = (self.by_value, i32::from(self.length));
        // SAFETY: the datum is a value of this column, with its length and passing.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| datumCopy(value, by_value, length)) }
    }

    /// The type's entry in the type cache, which lives as long as the backend.
    fn cached(&self, flags: u32) -> *mut pg_sys::TypeCacheEntry {
        // SAFETY: a look-up in the type cache.
        unsafe { pg_sys::lookup_type_cache(self.base, flags as i32) }
    }

    /// The order of two values; `Equal` for a type without an order.
    ///
    /// # Safety
    /// Both are values of this column.
    pub unsafe fn compare(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> std::cmp::Ordering {
        let entry = self.cached(pg_sys::TYPECACHE_CMP_PROC_FINFO);
        // SAFETY: both are values of this column, and the function is that of its type.
        unsafe {
            if (*entry).cmp_proc == pg_sys::InvalidOid {
                return std::cmp::Ordering::Equal;
            }
            let order =
                pg_sys::FunctionCall2Coll(&raw mut (*entry).cmp_proc_finfo, self.collation, a, b);
            (order.value() as i32).cmp(&0)
        }
    }

    /// Whether the type has an order for [`compare`](Self::compare).
    pub fn has_order(&self) -> bool {
        // SAFETY: the entry lives as long as the backend.
        unsafe { (*self.cached(pg_sys::TYPECACHE_CMP_PROC)).cmp_proc != pg_sys::InvalidOid }
    }

    /// Whether equal values have the same bytes, so that [`bytes`](Self::bytes) distinguish unequal
    /// values. B-trees ask the same support function before they deduplicate.
    pub fn equal_is_same(&self) -> bool {
        /// access/nbtree.h.
        const EQUAL_IMAGE: i16 = 4;
        // Trailing spaces do not count.
        if self.base == pg_sys::BPCHAROID {
            return false;
        }
        // SAFETY: catalogue look-ups; the support function takes the OID of a type.
        unsafe {
            let class = pg_sys::GetDefaultOpClass(self.base, pg_sys::BTREE_AM_OID);
            if class == pg_sys::InvalidOid {
                return false;
            }
            let (family, input) =
                (pg_sys::get_opclass_family(class), pg_sys::get_opclass_input_type(class));
            let function = pg_sys::get_opfamily_proc(family, input, input, EQUAL_IMAGE);
            function != pg_sys::InvalidOid
                && pg_sys::OidFunctionCall1Coll(function, self.collation, input.into()).value()
                    & 0xff
                    != 0
        }
    }

    /// Whether the column refuses NULL, by its own constraint or by a domain's.
    pub fn refuses_null(&self) -> bool {
        let (mut of, mut refuses) = (Some(self.declared), self.is_not_null);
        while let Some(domain) = of.filter(|_| !refuses) {
            let read = |row: &cache::Row<pg_sys::FormData_pg_type>| {
                (row.typnotnull, cache::valid(row.typbasetype))
            };
            // SAFETY: a look-up by OID. A type that is no domain has no base type.
            let found = unsafe { cache::row(pg_sys::SysCacheIdentifier::TYPEOID, domain, read) };
            (refuses, of) = found.unwrap_or((false, None));
        }
        refuses
    }

    /// The operator of equality: that of the type's default operator class for B-trees or hashing.
    /// `InvalidOid` for a type without one.
    pub fn equality(&self) -> pg_sys::Oid {
        // SAFETY: the entry lives as long as the backend.
        unsafe { (*self.cached(pg_sys::TYPECACHE_EQ_OPR)).eq_opr }
    }

    /// Whether two values are equal, as by SQL's `=` under the column's collation. False for a type
    /// without equality.
    ///
    /// # Safety
    /// Both are values of this column.
    pub unsafe fn equal(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> bool {
        let entry = self.cached(pg_sys::TYPECACHE_EQ_OPR_FINFO);
        // SAFETY: both are values of this column, and the function is that of its type.
        unsafe {
            if (*entry).eq_opr == pg_sys::InvalidOid {
                return false;
            }
            let equal =
                pg_sys::FunctionCall2Coll(&raw mut (*entry).eq_opr_finfo, self.collation, a, b);
            equal.value() & 0xff != 0
        }
    }

    /// A hash that equal values share; 0 for all values of a type without a hash function.
    ///
    /// # Safety
    /// The datum is a value of this column.
    pub unsafe fn hash(&self, value: pg_sys::Datum) -> u32 {
        let entry = self.cached(pg_sys::TYPECACHE_HASH_PROC_FINFO);
        // SAFETY: the datum is a value of this column, and the function is that of its type.
        unsafe {
            if (*entry).hash_proc == pg_sys::InvalidOid {
                return 0;
            }
            let hash = &raw mut (*entry).hash_proc_finfo;
            pg_sys::FunctionCall1Coll(hash, self.collation, value).value() as u32
        }
    }

    /// Whether two values are equal, or both are NULL.
    ///
    /// # Safety
    /// As [`Column::equal`].
    pub unsafe fn is(&self, a: Option<pg_sys::Datum>, b: Option<pg_sys::Datum>) -> bool {
        match (a, b) {
            (None, None) => true,
            // SAFETY: both are values of this column.
            (Some(a), Some(b)) => unsafe { self.equal(a, b) },
            _ => false,
        }
    }

    /// The bytes of a value. Values with the same bytes are those that [`same`](Self::same)
    /// accepts.
    ///
    /// # Safety
    /// The datum is a value of this column.
    pub unsafe fn bytes(&self, value: pg_sys::Datum) -> Vec<u8> {
        if self.by_value {
            return value.value().to_le_bytes().to_vec();
        }
        // SAFETY: the datum is a value of this column, and the length is that of its type.
        unsafe {
            match usize::try_from(self.length) {
                Ok(length) => std::slice::from_raw_parts(value.cast_mut_ptr(), length).to_vec(),
                Err(_) if self.length == -1 => with_packed_bytes(value, <[u8]>::to_vec),
                Err(_) => CStr::from_ptr(value.cast_mut_ptr()).to_bytes().to_vec(),
            }
        }
    }

    /// The text form of a value, in the server's encoding, palloc'd.
    ///
    /// # Safety
    /// The datum is a value of this column.
    pub unsafe fn show<'a>(&self, value: pg_sys::Datum) -> &'a CStr {
        let (mut function, mut is_varlena) = (pg_sys::InvalidOid, false);
        // SAFETY: the datum is a value of the type whose output function this is.
        unsafe {
            pg_sys::getTypeOutputInfo(self.declared, &mut function, &mut is_varlena);
            CStr::from_ptr(pg_sys::OidOutputFunctionCall(function, value))
        }
    }
}

/// Converts a value of one integer type to a wider one; `None` for other types.
pub fn widen(from: pg_sys::Oid, to: pg_sys::Oid, value: pg_sys::Datum) -> Option<pg_sys::Datum> {
    match (from, to) {
        (pg_sys::INT2OID, pg_sys::INT4OID) => Some(i32::from(value.value() as i16).into()),
        (pg_sys::INT2OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i16).into()),
        (pg_sys::INT4OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i32).into()),
        _ => None,
    }
}
