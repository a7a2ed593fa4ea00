//! A column of a table, with what is needed to read and compare its values.

use std::cmp::Ordering;
use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use super::on::Index;
use super::value::Value;
use crate::catalog::cache;
use crate::types::text::server_to_utf8;

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub table: pg_sys::Oid,
    pub number: pg_sys::AttrNumber,
    /// The declared type, which may be a domain.
    pub declared: pg_sys::Oid,
    /// The type under any domain, and its modifier, such as a length.
    pub base: pg_sys::Oid,
    pub modifier: i32,
    pub collation: pg_sys::Oid,
    pub generated: Generated,
    is_not_null: bool,
    pub length: i16,
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
    pub fn of(index: &Index) -> Option<Self> {
        let (family, input) = index.operators(0);
        // SAFETY: catalogue look-ups; an open index has the collation of its first column.
        unsafe {
            let operator = if index.method() == pg_sys::BTREE_AM_OID {
                let equal = pg_sys::BTEqualStrategyNumber as i16;
                pg_sys::get_opfamily_member(family, input, input, equal)
            } else {
                (*pg_sys::lookup_type_cache(input, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr
            };
            let function = pg_sys::get_opcode(operator);
            let collation = *(*index.raw()).rd_indcollation;
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
    pub unsafe fn holds(&self, a: Value<'_>, b: Value<'_>) -> bool {
        let (a, b) = (a.datum(), b.datum());
        // SAFETY: both are values of the index's column.
        let equal = unsafe { pg_sys::OidFunctionCall2Coll(self.function, self.collation, a, b) };
        equal.value() & 0xff != 0
    }
}

impl Column {
    /// The column of that name, in the server's encoding. `None` for a dropped column, a system
    /// column, or no column.
    pub fn named(relation: pg_sys::Oid, name: &CStr) -> Option<Self> {
        // SAFETY: a look-up by the relation and a name that ends with NUL.
        let tuple = unsafe { pg_sys::SearchSysCacheAttName(relation, name.as_ptr()) };
        if tuple.is_null() {
            return None;
        }
        // SAFETY: the tuple is valid until it is released, and its fixed part is this struct.
        let form: &pg_sys::FormData_pg_attribute =
            unsafe { &*pg_sys::heap_tuple_get_struct(tuple) };
        let mut modifier = form.atttypmod;
        // SAFETY: a catalogue look-up.
        let base = unsafe { pg_sys::getBaseTypeAndTypmod(form.atttypid, &mut modifier) };
        let column = Column {
            table: relation,
            number: form.attnum,
            declared: form.atttypid,
            base,
            modifier,
            collation: form.attcollation,
            generated: match form.attgenerated as u8 {
                0 => Generated::No,
                b's' => Generated::Stored,
                _ => Generated::Virtual,
            },
            is_not_null: form.attnotnull,
            length: form.attlen,
            by_value: form.attbyval,
        };
        // SAFETY: the tuple was found above.
        unsafe { pg_sys::ReleaseSysCache(tuple) };
        (column.number > 0).then_some(column)
    }

    /// # Safety
    /// The datum is a value of this column's type during `'a`.
    pub unsafe fn value<'a>(&self, datum: pg_sys::Datum) -> Value<'a> {
        let Column { base, length, by_value, .. } = *self;
        // SAFETY: the datum is a value of this type, which has this length and passing.
        unsafe { Value::new(datum, (base, length, by_value)) }
    }

    /// The datum of a value of this column's type.
    fn own(&self, value: Value<'_>) -> pg_sys::Datum {
        assert_eq!(value.base(), self.base, "a value of the column's type");
        value.datum()
    }

    /// The type's entry in the type cache, which lives as long as the backend.
    fn cached(&self, flags: u32) -> *mut pg_sys::TypeCacheEntry {
        // SAFETY: a look-up in the type cache.
        unsafe { pg_sys::lookup_type_cache(self.base, flags as i32) }
    }

    /// The order of two values; `Equal` for a type without an order.
    pub fn compare(&self, a: Value<'_>, b: Value<'_>) -> Ordering {
        let (a, b) = (self.own(a), self.own(b));
        let entry = self.cached(pg_sys::TYPECACHE_CMP_PROC_FINFO);
        // SAFETY: both are values of this column, and the function is that of its type.
        unsafe {
            if (*entry).cmp_proc == pg_sys::InvalidOid {
                return Ordering::Equal;
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

    /// Whether equal values have the same bytes, so that [`bytes`](Value::bytes) distinguish
    /// unequal values. B-trees ask the same support function before they deduplicate.
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
    pub fn equal(&self, a: Value<'_>, b: Value<'_>) -> bool {
        let (a, b) = (self.own(a), self.own(b));
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
    pub fn hash(&self, value: Value<'_>) -> u32 {
        let (value, entry) = (self.own(value), self.cached(pg_sys::TYPECACHE_HASH_PROC_FINFO));
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
    pub fn is(&self, a: Option<Value<'_>>, b: Option<Value<'_>>) -> bool {
        match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => self.equal(a, b),
            _ => false,
        }
    }

    /// The text form of a value, in the server's encoding, palloc'd.
    pub fn show<'a>(&self, value: Value<'_>) -> &'a CStr {
        let (mut function, mut is_varlena) = (pg_sys::InvalidOid, false);
        let value = self.own(value);
        // SAFETY: the datum is a value of the type whose output function this is.
        unsafe {
            pg_sys::getTypeOutputInfo(self.declared, &mut function, &mut is_varlena);
            CStr::from_ptr(pg_sys::OidOutputFunctionCall(function, value))
        }
    }
}

/// A name or a text form, which is in the server's encoding.
pub fn utf8(text: &CStr) -> String {
    // SAFETY: the result is copied at once.
    unsafe { server_to_utf8(text.to_bytes()) }.to_owned()
}

/// The name of a type, with its modifier.
pub fn type_name(base: pg_sys::Oid, modifier: i32) -> String {
    // SAFETY: a catalogue look-up; the name is palloc'd.
    utf8(unsafe { CStr::from_ptr(pg_sys::format_type_with_typemod(base, modifier)) })
}
