//! Binary messages, as receive functions read and send functions return them.

use pgrx::{Internal, pg_sys};
use simhash_core::Fingerprint;

use crate::call::pointer;
use crate::memory;

/// The message passed to a receive function.
pub struct Message(pg_sys::StringInfo);

impl Message {
    pub fn of_argument(argument: Internal) -> Self {
        memory::prepare();
        Message(pointer(argument))
    }

    /// The next `N` bytes. A short message raises PostgreSQL's own protocol error.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // SAFETY: the buffer is the StringInfo that PostgreSQL passes to a receive function;
        // pq_copymsgbytes checks that N bytes are left.
        unsafe { pg_sys::pq_copymsgbytes(self.0, bytes.as_mut_ptr().cast(), N as i32) };
        bytes
    }

    /// The next fingerprint, in network order.
    pub fn fingerprint<F: Fingerprint>(&self) -> F {
        F::from_be_bytes(self.take(F::BITS as usize / 8))
    }

    /// The remaining bytes.
    pub fn rest<'a>(&self) -> &'a [u8] {
        self.take(self.left() as usize)
    }

    /// The next `count` bytes. A short message raises PostgreSQL's own protocol error.
    fn take<'a>(&self, count: usize) -> &'a [u8] {
        // SAFETY: the buffer is PostgreSQL's StringInfo.
        let bytes = unsafe { pg_sys::pq_getmsgbytes(self.0, count as i32) };
        // SAFETY: pq_getmsgbytes has checked that so many bytes are left.
        unsafe { std::slice::from_raw_parts(bytes.cast(), count) }
    }

    /// The remaining bytes, a text in the client's encoding, converted to the server's.
    pub fn text<'a>(&self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the buffer is PostgreSQL's StringInfo.
        let text = unsafe { pg_sys::pq_getmsgtext(self.0, self.left(), &mut length) };
        // SAFETY: pq_getmsgtext returns a palloc'd text of that length.
        unsafe { std::slice::from_raw_parts(text.cast(), length as usize) }
    }

    fn left(&self) -> i32 {
        // SAFETY: the buffer is PostgreSQL's StringInfo.
        unsafe { (*self.0).len - (*self.0).cursor }
    }
}

/// The bytes of a fingerprint, most significant first.
pub fn in_network_order<F: Fingerprint>(fp: F) -> Vec<u8> {
    let mut bytes = vec![0; F::BITS as usize / 8];
    fp.to_be_bytes(&mut bytes);
    bytes
}
