//! A result that is complete before its first row is returned. All but the last rows wait in a
//! temporary file.

use simhash_core::base::spill::Spill;

use super::file::File;

/// Rows of `N` numbers each, which are returned in the order in which they were added.
#[derive(Default)]
pub struct Spool<const N: usize> {
    file: File,
    written: u64,
    read: u64,
    /// The last rows, which are not in the file.
    last: Vec<u64>,
    /// Numbers read and not yet returned, in reverse order.
    next: Vec<u64>,
}

/// How many rows are written and read at a time.
const TOGETHER: usize = 1 << 13;

impl<const N: usize> Spool<N> {
    pub fn of(rows: impl Iterator<Item = [u64; N]>) -> Self {
        let mut spool = Self::default();
        for row in rows {
            if spool.last.len() == N * TOGETHER {
                let bytes: Vec<u8> = spool.last.drain(..).flat_map(u64::to_ne_bytes).collect();
                spool.file.append(&bytes);
                spool.written += bytes.len() as u64;
            }
            spool.last.extend(row);
        }
        spool
    }

    /// Reads the next rows. False if there are none.
    fn read_on(&mut self) -> bool {
        if self.read < self.written {
            let mut bytes = vec![0; N * TOGETHER * size_of::<u64>()];
            self.file.read(self.read, &mut bytes);
            self.read += bytes.len() as u64;
            self.next.extend(bytes.as_chunks().0.iter().rev().copied().map(u64::from_ne_bytes));
        } else {
            self.next.extend(self.last.drain(..).rev());
        }
        !self.next.is_empty()
    }
}

impl<const N: usize> Iterator for Spool<N> {
    type Item = [u64; N];

    fn next(&mut self) -> Option<[u64; N]> {
        if self.next.is_empty() && !self.read_on() {
            return None;
        }
        let mut row = [0; N];
        for number in &mut row {
            *number = self.next.pop()?;
        }
        Some(row)
    }
}
