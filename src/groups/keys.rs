//! Keys of rows and ids of groups as numbers. Both are values of the key's type, and a value has
//! one number.

use std::cmp::Ordering;
use std::collections::HashMap;

use pgrx::pg_sys;

use crate::trigger::column::Column;

/// No value, where a number may be missing.
pub const NONE: u32 = u32::MAX;

pub struct Keys {
    column: Column,
    numbers: HashMap<Box<[u8]>, u32>,
    values: Vec<pg_sys::Datum>,
    /// What the bytes of keys and values take, about.
    bytes: usize,
}

/// What a slot of the hash table, a boxed slice and its allocation take.
const EACH: usize = 64;

impl Keys {
    pub fn new(column: Column) -> Self {
        Keys { column, numbers: HashMap::new(), values: Vec::new(), bytes: 0 }
    }

    /// The number of a value, of which a copy is kept in the current memory context.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn number(&mut self, value: pg_sys::Datum) -> u32 {
        // SAFETY: as this function's.
        let (bytes, copy) = unsafe {
            let bytes = self.column.bytes(value);
            if let Some(&number) = self.numbers.get(bytes.as_slice()) {
                return number;
            }
            (bytes, self.column.copy(value))
        };
        let number = self.values.len() as u32;
        self.bytes += EACH + 2 * bytes.len();
        self.values.push(copy);
        self.numbers.insert(bytes.into(), number);
        number
    }

    pub fn value(&self, number: u32) -> pg_sys::Datum {
        self.values[number as usize]
    }

    /// How two values are ordered.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        // SAFETY: both are values of the key's type.
        unsafe { self.column.compare(self.value(a), self.value(b)) }
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.values.capacity() * size_of::<pg_sys::Datum>()
    }
}
