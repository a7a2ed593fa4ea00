//! The meta page: what the index is, written once when it is created.

use crate::damage::Damage;
use crate::page::HEADER;
use crate::store::{Lock, Store};

/// The number of the meta page.
pub const META_PAGE: u32 = 0;

/// "SHM1".
const MAGIC: u32 = 0x5348_4d31;
/// Raised when the format changes. Older versions stay readable.
const VERSION: u32 = 1;
const LENGTH: usize = 24;

/// What is fixed for the life of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What the column holds, in a code of the access method's that means nothing here.
    pub kind: u32,
    /// The width of the keys in bits.
    pub bits: u32,
    /// The number of blocks of a key, and so of block tables.
    pub blocks: u32,
}

impl Meta {
    /// The image of the meta page, of `bytes` bytes.
    pub fn to_page(self, bytes: usize) -> Vec<u8> {
        let mut page = vec![0; bytes];
        let size = bytes as u16;
        let header = [(12, (HEADER + LENGTH) as u16), (14, size), (16, size), (18, size | 4)];
        for (at, value) in header {
            page[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        let fields = [MAGIC, VERSION, self.kind, self.bits, self.blocks, 0];
        for (i, field) in fields.iter().enumerate() {
            page[HEADER + i * 4..][..4].copy_from_slice(&field.to_ne_bytes());
        }
        page
    }

    /// Reads the meta page. Raises an ERROR if it is not one.
    pub fn read<S: Store>(store: &S) -> Self {
        if store.pages() == 0 {
            store.damaged(META_PAGE, &Damage::Other("the file is empty"));
        }
        let page = store.read(META_PAGE);
        Self::parse(page.bytes()).unwrap_or_else(|damage| store.damaged(META_PAGE, &damage))
    }

    fn parse(page: &[u8]) -> Result<Self, Damage> {
        let field = |i: usize| {
            let at = HEADER + i * 4;
            u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
        };
        if field(0) != MAGIC {
            return Err(if page.iter().all(|&b| b == 0) {
                Damage::Empty
            } else {
                Damage::Magic(field(0))
            });
        }
        if field(1) != VERSION {
            return Err(Damage::Other("its format is of another version of pg_simhash"));
        }
        let meta = Self { kind: field(2), bits: field(3), blocks: field(4) };
        if !matches!(meta.bits, 64 | 128) || !(1..=16).contains(&meta.blocks) {
            return Err(Damage::Other("its number of bits or blocks is impossible"));
        }
        Ok(meta)
    }
}
