//! Temporary storage for training that exceeds its memory: a temporary file of PostgreSQL, which
//! counts towards temp_file_limit and is deleted with the query.

use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_sys};
use simhash_core::base::spill::Spill;

use crate::error::raise;

/// A temporary file, created at the first write.
#[derive(Default)]
pub struct TempFile(Option<*mut pg_sys::BufFile>);

impl TempFile {
    /// Deletes the file. A file that is not closed is deleted when the transaction ends.
    pub fn close(self) {
        if let Some(file) = self.0 {
            // SAFETY: the file is open.
            unsafe { pg_sys::BufFileClose(file) };
        }
    }
}

impl Spill for TempFile {
    fn append(&mut self, bytes: &[u8]) {
        pgrx::check_for_interrupts!();
        let file = *self.0.get_or_insert_with(|| {
            let mut context = PgMemoryContexts::TopTransactionContext;
            // SAFETY: the file and its struct live until the transaction ends.
            unsafe { context.switch_to(|_| pg_sys::BufFileCreateTemp(false)) }
        });
        // SAFETY: the file is open, and the bytes are only read.
        unsafe { pg_sys::BufFileWrite(file, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) {
        const FROM_START: i32 = 0;
        let Some(file) = self.0 else { return };
        pgrx::check_for_interrupts!();
        let (to, length) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the file is open.
        let is_there = unsafe { pg_sys::BufFileSeek(file, 0, offset as i64, FROM_START) } == 0;
        // SAFETY: the file is open, and at most `length` bytes are read into `bytes`.
        let read = || unsafe { pg_sys::BufFileRead(file, to, length) };
        if is_there.then(read).unwrap_or(0) != length {
            raise(
                PgSqlErrorCode::ERRCODE_IO_ERROR,
                "could not read back a temporary file".into(),
                "",
            )
        }
    }
}
