//! Numbers the values of the scope's columns: rows with equal values there have the same number.

use std::collections::HashMap;

use super::setup::Setup;
use crate::family::value::{Value, same};

#[derive(Default)]
pub struct Scopes {
    /// The numbers with the same hashes. Equal values have the same hashes.
    numbers: HashMap<Vec<u32>, Vec<u32>>,
    values: Vec<Vec<Value<'static>>>,
    bytes: usize,
}

impl Scopes {
    /// The number of a scope. The values of a new one are copied to the current memory context.
    /// `None` if a value is NULL, because NULL equals nothing.
    pub fn number(&mut self, setup: &Setup, values: &[Option<Value<'_>>]) -> Option<u32> {
        if values.is_empty() {
            if self.values.is_empty() {
                self.values.push(Vec::new());
            }
            return Some(0);
        }
        let values = values.iter().copied().collect::<Option<Vec<_>>>()?;
        let columns = || setup.scope.iter().map(|named| &named.column);
        let hashes = columns().zip(&values).map(|(c, &value)| c.hash(value)).collect();
        let alike = self.numbers.entry(hashes).or_default();
        let is_it = |&number: &u32| {
            let known = &self.values[number as usize];
            columns()
                .zip(known)
                .zip(&values)
                .all(|((c, &a), &b)| same(Some(a), Some(b)) || c.equal(a, b))
        };
        if let Some(known) = alike.iter().copied().find(is_it) {
            return Some(known);
        }
        let number = self.values.len() as u32;
        alike.push(number);
        let bytes = values.iter().map(|value| value.with_bytes(<[u8]>::len) + 64);
        self.bytes += bytes.sum::<usize>() + 64;
        // SAFETY: the current memory context is that of the call for which scopes are numbered.
        let copies = values.into_iter().map(|value| unsafe { value.copy() });
        self.values.push(copies.collect());
        Some(number)
    }

    pub fn values(&self, number: u32) -> &[Value<'static>] {
        &self.values[number as usize]
    }

    pub fn memory(&self) -> usize {
        self.bytes
    }
}
