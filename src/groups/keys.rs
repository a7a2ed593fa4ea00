//! Keys of rows and ids of groups as numbers. Both are values of the key's type, and equal values
//! have one number.

use std::cmp::Ordering;
use std::collections::HashMap;

use pgrx::pg_sys;

use crate::family::column::Column;

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
    Equal(Sorted),
}

/// Numbers in the order of their values. Not all types with an order can be hashed.
#[derive(Default)]
struct Sorted {
    all: Vec<u32>,
    /// The latest ones, few compared with all others: what is put between them moves little.
    latest: Vec<u32>,
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

    /// The number of a value, of which a copy is kept in the current memory context if it is the
    /// first of those that are equal.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn number(&mut self, value: pg_sys::Datum) -> u32 {
        let number = self.values.len() as u32;
        // SAFETY: as this function's; all values are of that type.
        let order = |of: u32, to: pg_sys::Datum| unsafe { self.column.compare(self.value(of), to) };
        // SAFETY: as this function's.
        let (bytes, copy) = unsafe {
            let bytes = self.column.bytes(value);
            let known = match &self.numbers {
                Numbers::Same(numbers) => numbers.get(bytes.as_slice()).copied(),
                Numbers::Equal(numbers) => numbers.number(|of| order(of, value)),
            };
            if let Some(known) = known {
                return known;
            }
            (bytes, self.column.copy(value))
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
                unsafe { column.compare(values[a as usize], values[b as usize]) }
            }),
        }
        number
    }

    pub fn value(&self, number: u32) -> pg_sys::Datum {
        self.values[number as usize]
    }

    /// How two values are ordered. What sorts a million of them can be cancelled.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
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
    fn number(&self, order: impl Fn(u32) -> Ordering) -> Option<u32> {
        [&self.all, &self.latest].into_iter().find_map(|numbers| {
            numbers.binary_search_by(|&of| order(of)).ok().map(|place| numbers[place])
        })
    }

    /// Takes in the number of another value. `order`: how the values of two numbers are ordered.
    fn insert(&mut self, number: u32, order: impl Fn(u32, u32) -> Ordering) {
        if self.latest.len() > 1024.max(self.all.len() / 16) {
            self.all.append(&mut self.latest);
            // Two sorted runs, which it merges.
            self.all.sort_by(|&a, &b| order(a, b));
        }
        let place = self.latest.partition_point(|&of| order(of, number).is_lt());
        self.latest.insert(place, number);
    }
}
