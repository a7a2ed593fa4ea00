//! A temporary file of PostgreSQL's, for what memory does not hold; it counts towards
//! temp_file_limit.

use pgrx::pg_sys;
use simhash_core::base::spill::Spill;

use crate::models::spill::TempFile;

/// A temporary file, made when it is first written to and deleted when dropped.
#[derive(Default)]
pub struct File(TempFile);

impl Spill for File {
    fn append(&mut self, bytes: &[u8]) {
        self.0.append(bytes);
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // The abort of a (sub)transaction deletes the file itself, perhaps before this.
        // SAFETY: reads the session's state.
        if !std::thread::panicking() && unsafe { pg_sys::IsTransactionState() } {
            std::mem::take(&mut self.0).close();
        }
    }
}
