//! Numbers the keys of rows and the ids of groups. Both are values of the key's type, and equal
//! values have the same number.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::num::NonZero;

use pgrx::pg_sys;

use crate::family::column::Column;
use crate::family::value::Value;

/// The number of a value of the key's type: the key of a row, or the id of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(NonZero<u32>);

impl Key {
    pub fn new(index: usize) -> Self {
        // `simhash.work_mem` never allows so many rows that this overflows.
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
    /// The memory that keys and values take, approximately.
    bytes: usize,
}

enum Numbers {
    /// For a type whose equal values have the same bytes.
    Same(HashMap<Box<[u8]>, Key>),
    /// For any other type, such as numeric: 1.0 = 1.00.
    Equal(Sorted),
}

/// Numbers in the order of their values, because not all ordered types can be hashed.
#[derive(Default)]
struct Sorted {
    all: Vec<Key>,
    /// The latest ones: far fewer than `all`, so that an insertion moves little.
    latest: Vec<Key>,
}

/// The memory for an entry of the hash table, a boxed slice and its allocation.
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
    pub fn known(&self, value: Value<'_>) -> Option<Key> {
        match &self.numbers {
            Numbers::Same(numbers) => value.with_bytes(|bytes| numbers.get(bytes).copied()),
            Numbers::Equal(numbers) => {
                numbers.number(|of| self.column.compare(self.value(of), value))
            }
        }
    }

    /// The number of a value. If no equal value has one yet, the value is copied to the current
    /// memory context.
    pub fn key(&mut self, value: Value<'_>) -> Key {
        let number = Key::new(self.values.len());
        if let Some(known) = self.known(value) {
            return known;
        }
        // SAFETY: the current memory context is that of the call for which the keys are numbered.
        let (bytes, copy) = (value.bytes(), unsafe { value.copy() }.datum());
        self.bytes += EACH + 2 * bytes.len();
        self.values.push(copy);
        let (column, values) = (self.column, &self.values);
        // SAFETY: the datum is a copy of a value of the key's type.
        let value = |key: Key| unsafe { column.value(values[key.index()]) };
        match &mut self.numbers {
            Numbers::Same(numbers) => {
                numbers.insert(bytes.into(), number);
            }
            Numbers::Equal(numbers) => numbers.insert(number, |a, b| {
                pgrx::check_for_interrupts!();
                column.compare(value(a), value(b))
            }),
        }
        number
    }

    pub fn value(&self, key: Key) -> Value<'static> {
        // SAFETY: the datum is a copy of a value of the key's type.
        unsafe { self.column.value(self.values[key.index()]) }
    }

    /// The order of two values. A sort of a million of them can be cancelled.
    pub fn compare(&self, a: Key, b: Key) -> Ordering {
        pgrx::check_for_interrupts!();
        self.column.compare(self.value(a), self.value(b))
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.values.capacity() * size_of::<pg_sys::Datum>()
    }
}

impl Sorted {
    /// The number of a value, if it has one. `order` compares the value of a number with it.
    fn number(&self, order: impl Fn(Key) -> Ordering) -> Option<Key> {
        [&self.all, &self.latest].into_iter().find_map(|numbers| {
            numbers.binary_search_by(|&of| order(of)).ok().map(|at| numbers[at])
        })
    }

    /// Inserts the number of a new value. `order` compares the values of two numbers.
    fn insert(&mut self, number: Key, order: impl Fn(Key, Key) -> Ordering) {
        if self.latest.len() > 1024.max(self.all.len() / 16) {
            self.all.append(&mut self.latest);
            // The sort merges two sorted runs.
            self.all.sort_by(|&a, &b| order(a, b));
        }
        let at = self.latest.partition_point(|&of| order(of, number).is_lt());
        self.latest.insert(at, number);
    }
}
