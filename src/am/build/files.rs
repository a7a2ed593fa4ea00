//! Temporary files of a build, of this process alone or for all of its processes.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::compat;
use crate::error::raise;

/// A set of files that the processes of a build share.
#[derive(Clone, Copy)]
pub struct FileSet(*mut pg_sys::SharedFileSet);

impl FileSet {
    /// # Safety
    /// This process is attached to the set while a copy of the result is used.
    pub unsafe fn new(set: *mut pg_sys::SharedFileSet) -> Self {
        Self(set)
    }
}

/// An open temporary file. It is closed by [`TempFile::close`]; after an ERROR, by the abort.
pub struct TempFile(*mut pg_sys::BufFile);

impl TempFile {
    /// Creates a file of this process alone.
    pub fn private() -> Self {
        // SAFETY: the current resource owner owns the file and removes it when released.
        Self(unsafe { pg_sys::BufFileCreateTemp(false) })
    }

    /// Creates a file that another process can open by its name once this process has closed it.
    pub fn create(set: FileSet, name: &CStr) -> Self {
        // SAFETY: this process is attached to the set.
        Self(unsafe { compat::create_shared_file(set.0, name) })
    }

    /// Opens a file that another process created and closed.
    pub fn open(set: FileSet, name: &CStr) -> Self {
        // SAFETY: this process is attached to the set.
        Self(unsafe { compat::open_shared_file(set.0, name) })
    }

    /// Appends bytes.
    pub fn write(&self, bytes: &[u8]) {
        // SAFETY: the file is open. It only reads the bytes.
        unsafe { pg_sys::BufFileWrite(self.0, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
    }

    /// Reads as many bytes as there are, at most as many as `bytes` has, and returns their number.
    pub fn read(&self, bytes: &mut [u8]) -> usize {
        // SAFETY: the file is open, and `bytes` has room for that many.
        unsafe { pg_sys::BufFileRead(self.0, bytes.as_mut_ptr().cast(), bytes.len()) }
    }

    /// Fills `bytes` from the offset `at`.
    pub fn read_at(&self, at: u64, bytes: &mut [u8]) {
        // SAFETY: the file is open.
        let is_there = unsafe { compat::seek_temporary_file(self.0, at) };
        if !is_there || self.read(bytes) != bytes.len() {
            raise(
                PgSqlErrorCode::ERRCODE_IO_ERROR,
                format!("could not read {} bytes at {at} of a temporary file", bytes.len()),
                "",
            );
        }
    }

    /// Flushes and closes the file; a private file is then removed.
    pub fn close(self) {
        // SAFETY: the file is open, and `self` was the only user.
        unsafe { pg_sys::BufFileClose(self.0) };
    }
}
