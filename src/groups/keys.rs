//! Keys of rows and ids of groups by numbers. Both are values of the key's type, and equal values
//! have one number.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::num::NonZero;

use pgrx::pg_sys;

use crate::family::column::Column;

/// A value of the key's type: the key of a row, or the id of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(NonZero<u32>);

impl Key {
    pub fn new(index: usize) -> Self {
        // Memory for as many rows is never allowed.
        Key(NonZero::new(index as u32 + 1).unwrap_or(NonZero::<u32>::MAX))
    }

    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

pub struct Keys {
    column: Column,
    numbers: Numbers,
    values: Vec<pg_sys::Datum>,
    /// What the bytes of keys and values take, about.
    bytes: usize,
}

enum Numbers {
    /// Of a type whose equal values are the same bytes.
    Same(HashMap<Box<[u8]>, Key>),
    /// Of any other, such as numeric: 1.0 = 1.00.
    Equal(Sorted),
}

/// Numbers in the order of their values. Not all types with an order can be hashed.
#[derive(Default)]
struct Sorted {
    all: Vec<Key>,
    /// The latest ones, few compared with all others: what is put between them moves little.
    latest: Vec<Key>,
}

/// What a place in a hash table, a boxed slice and its allocation take.
const EACH: usize = 64;

impl Keys {
    pub fn new(column: Column) -> Self {
        let numbers = if column.equal_is_same() {
            Numbers::Same(HashMap::new())
        } else {
            Numbers::Equal(Sorted::default())
        };
        Keys { column, numbers, values: Vec::new(), bytes: 0 }
    }

    /// The number of a value, if it has one.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn known(&self, value: pg_sys::Datum) -> Option<Key> {
        // SAFETY: as this function's; all values are of that type.
        unsafe {
            match &self.numbers {
                Numbers::Same(numbers) => numbers.get(self.column.bytes(value).as_slice()).copied(),
                Numbers::Equal(numbers) => {
                    numbers.number(|of| self.column.compare(self.value(of), value))
                }
            }
        }
    }

    /// The number of a value, of which a copy is kept in the current memory context if it is the
    /// first of those that are equal.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn key(&mut self, value: pg_sys::Datum) -> Key {
        let number = Key::new(self.values.len());
        // SAFETY: as this function's.
        let (bytes, copy) = unsafe {
            if let Some(known) = self.known(value) {
                return known;
            }
            (self.column.bytes(value), self.column.copy(value))
        };
        self.bytes += EACH + 2 * bytes.len();
        self.values.push(copy);
        let (column, values) = (self.column, &self.values);
        match &mut self.numbers {
            Numbers::Same(numbers) => {
                numbers.insert(bytes.into(), number);
            }
            Numbers::Equal(numbers) => numbers.insert(number, |a, b| {
                pgrx::check_for_interrupts!();
                // SAFETY: as this function's.
                unsafe { column.compare(values[a.index()], values[b.index()]) }
            }),
        }
        number
    }

    pub fn value(&self, key: Key) -> pg_sys::Datum {
        self.values[key.index()]
    }

    /// How two values are ordered. What sorts a million of them can be cancelled.
    pub fn compare(&self, a: Key, b: Key) -> Ordering {
        pgrx::check_for_interrupts!();
        // SAFETY: both are values of the key's type.
        unsafe { self.column.compare(self.value(a), self.value(b)) }
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.values.capacity() * size_of::<pg_sys::Datum>()
    }
}

impl Sorted {
    /// The number of a value. `order`: how the value of a number is ordered to it.
    fn number(&self, order: impl Fn(Key) -> Ordering) -> Option<Key> {
        [&self.all, &self.latest].into_iter().find_map(|numbers| {
            numbers.binary_search_by(|&of| order(of)).ok().map(|at| numbers[at])
        })
    }

    /// Takes in the number of another value. `order`: how the values of two numbers are ordered.
    fn insert(&mut self, number: Key, order: impl Fn(Key, Key) -> Ordering) {
        if self.latest.len() > 1024.max(self.all.len() / 16) {
            self.all.append(&mut self.latest);
            // Two sorted runs, which it merges.
            self.all.sort_by(|&a, &b| order(a, b));
        }
        let at = self.latest.partition_point(|&of| order(of, number).is_lt());
        self.latest.insert(at, number);
    }
}
