//! Keys of rows and ids of groups as numbers. Both are values of the key's type, and equal values
//! have one number.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use pgrx::pg_sys;

use crate::trigger::column::Column;

/// No value, where a number may be missing.
pub const NONE: u32 = u32::MAX;

pub struct Keys {
    column: Column,
    numbers: Numbers,
    values: Vec<pg_sys::Datum>,
    /// What the bytes of keys and values take, about.
    bytes: usize,
}

enum Numbers {
    /// Of a type whose equal values are the same bytes.
    Same(HashMap<Box<[u8]>, u32>),
    /// Of any other, such as numeric: 1.0 = 1.00.
    Equal(BTreeMap<Key, u32>),
}

/// A value in the order of its type.
struct Key {
    column: Column,
    value: pg_sys::Datum,
}

/// What a place in either table, a boxed slice and its allocation take.
const EACH: usize = 64;

impl Keys {
    pub fn new(column: Column) -> Self {
        let numbers = if column.equal_is_same() {
            Numbers::Same(HashMap::new())
        } else {
            Numbers::Equal(BTreeMap::new())
        };
        Keys { column, numbers, values: Vec::new(), bytes: 0 }
    }

    /// The number of a value, of which a copy is kept in the current memory context if it is the
    /// first of those that are equal.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn number(&mut self, value: pg_sys::Datum) -> u32 {
        let column = self.column;
        let number = self.values.len() as u32;
        // SAFETY: as this function's.
        let (bytes, copy) = unsafe {
            let bytes = column.bytes(value);
            let known = match &self.numbers {
                Numbers::Same(numbers) => numbers.get(bytes.as_slice()),
                Numbers::Equal(numbers) => numbers.get(&Key { column, value }),
            };
            if let Some(&number) = known {
                return number;
            }
            (bytes, column.copy(value))
        };
        self.bytes += EACH + 2 * bytes.len();
        self.values.push(copy);
        match &mut self.numbers {
            Numbers::Same(numbers) => numbers.insert(bytes.into(), number),
            Numbers::Equal(numbers) => numbers.insert(Key { column, value: copy }, number),
        };
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

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // SAFETY: both are values of the key's type (the promise of `number`).
        unsafe { self.column.compare(self.value, other.value) }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}
