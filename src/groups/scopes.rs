//! The values of the scope's columns as numbers: rows with the same bytes in them have one number.

use std::collections::HashMap;

use pgrx::pg_sys;

use super::setup::Setup;

#[derive(Default)]
pub struct Scopes {
    numbers: HashMap<Vec<Vec<u8>>, u32>,
    values: Vec<Vec<pg_sys::Datum>>,
    bytes: usize,
}

impl Scopes {
    /// The number of a scope, of whose values copies are kept in the current memory context. None
    /// if one is NULL: nothing is equal to it.
    ///
    /// # Safety
    /// The values are of the scope's columns.
    pub unsafe fn number(
        &mut self,
        setup: &Setup,
        values: &[Option<pg_sys::Datum>],
    ) -> Option<u32> {
        if values.is_empty() {
            if self.values.is_empty() {
                self.values.push(Vec::new());
            }
            return Some(0);
        }
        let values = values.iter().copied().collect::<Option<Vec<_>>>()?;
        let columns = setup.scope.iter().map(|named| &named.column);
        // SAFETY: as this function's.
        let bytes: Vec<_> =
            columns.clone().zip(&values).map(|(c, &value)| unsafe { c.bytes(value) }).collect();
        if let Some(&number) = self.numbers.get(&bytes) {
            return Some(number);
        }
        let number = self.values.len() as u32;
        self.bytes += bytes.iter().map(|bytes| 2 * bytes.len() + 64).sum::<usize>() + 64;
        // SAFETY: as this function's.
        self.values.push(columns.zip(values).map(|(c, value)| unsafe { c.copy(value) }).collect());
        self.numbers.insert(bytes, number);
        Some(number)
    }

    pub fn values(&self, number: u32) -> &[pg_sys::Datum] {
        &self.values[number as usize]
    }

    pub fn memory(&self) -> usize {
        self.bytes
    }
}
