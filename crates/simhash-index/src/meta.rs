//! The meta page: what the index is, written once when it is created.

use crate::damage::Damage;
use crate::key::{MOST_BANDS, MOST_PAYLOAD, MOST_SCOPE, POSTING_KEY, ROWS, Shape};
use crate::page::{HEADER, MOST_KEY};
use crate::store::{Lock, Store};

/// The number of the meta page.
pub const META_PAGE: u32 = 0;
/// The most bits of a fingerprint.
const MOST_BITS: u32 = 8 * MOST_KEY as u32;
/// The most columns of a scope.
pub const SCOPE_COLUMNS: usize = 3;

/// "SHM1".
const MAGIC: u32 = 0x5348_4d31;
/// Raised when the format changes. Older versions stay readable: version 1 has neither scopes nor
/// payloads, version 2 no postings, version 3 no forms of leaves but the oldest.
const VERSION: u32 = 4;
const FIELDS: usize = 18;
const NOTE_LENGTH: usize = 16;
/// Where the note begins.
const NOTE: usize = HEADER + 4 * FIELDS;
/// The most bytes of a note.
pub const MOST_NOTE: usize = 4096;

/// What is fixed for the life of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// What the fingerprint's column holds, in a code of the access method's that means nothing
    /// here.
    pub kind: u32,
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// The number of blocks of a key, and so of block tables.
    pub blocks: u32,
    /// Bytes of a row's scope, and of its payload.
    pub scope: u32,
    pub payload: u32,
    /// What the columns of the scope hold, in codes as `kind` is. 0 for none.
    pub scope_kinds: [u32; SCOPE_COLUMNS],
    /// How many postings a text has, and from how many components each was made. 0 for an index of
    /// block tables. For passages: 1, and the least number of their words.
    pub bands: u32,
    pub rows: u32,
    /// The bits of the least similarity that the postings serve, an f64. For passages: 0.
    pub similarity: u64,
}

/// Which type of keys an index has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Neither scope nor payload: fingerprints of up to 64, 128 and 256 bits.
    Plain64,
    Plain128,
    Plain256,
    /// 64 bits and a scope of up to 16 bytes: a tenant's number or uuid. Shorter keys are compared
    /// faster.
    Brief64,
    /// Postings, without scope and payload; with a scope of up to 16 bytes; with any.
    Postings,
    BriefPostings,
    ScopedPostings,
    /// A scope of up to 24 bytes.
    Scoped64,
    Scoped128,
    Scoped256,
    /// Anything else.
    Wide,
}

/// The most bytes of a scope that is brief.
const BRIEF_SCOPE: u32 = 16;
/// The most bytes of a scope that is not wide.
const NARROW_SCOPE: u32 = 24;

impl Meta {
    pub fn family(&self) -> Family {
        let is_plain = self.scope == 0 && self.payload == 0;
        if self.is_of_postings() {
            return match self.scope {
                _ if is_plain => Family::Postings,
                ..=BRIEF_SCOPE => Family::BriefPostings,
                _ => Family::ScopedPostings,
            };
        }
        match self.bits {
            ..=64 if is_plain => Family::Plain64,
            ..=128 if is_plain => Family::Plain128,
            ..=256 if is_plain => Family::Plain256,
            ..=64 if self.scope <= BRIEF_SCOPE => Family::Brief64,
            ..=64 if self.scope <= NARROW_SCOPE => Family::Scoped64,
            ..=128 if self.scope <= NARROW_SCOPE => Family::Scoped128,
            ..=256 if self.scope <= NARROW_SCOPE => Family::Scoped256,
            _ => Family::Wide,
        }
    }

    /// Whether the index holds postings, and no block tables.
    pub fn is_of_postings(&self) -> bool {
        self.bands > 0
    }

    /// Whether these are postings of passages.
    pub fn is_of_passages(&self) -> bool {
        self.is_of_postings() && self.similarity == 0
    }

    /// How many bytes the parts of an entry have on a page.
    pub fn shape(&self) -> Shape {
        let key = match self.family() {
            Family::Postings | Family::BriefPostings | Family::ScopedPostings => POSTING_KEY,
            Family::Plain64 | Family::Brief64 | Family::Scoped64 => 8,
            Family::Plain128 | Family::Scoped128 => 16,
            Family::Plain256 | Family::Scoped256 => 32,
            Family::Wide => 8 * self.bits.div_ceil(64) as usize,
        };
        Shape { key, scope: self.scope as usize, payload: self.payload as usize }
    }

    /// The image of the meta page, of `bytes` bytes, with a note of the caller's.
    ///
    /// # Panics
    /// When the note is longer than [`MOST_NOTE`], or than there is room.
    pub fn to_page(self, bytes: usize, note: &[u8]) -> Vec<u8> {
        assert!(note.len() <= MOST_NOTE, "a note of {} bytes", note.len());
        let mut page = vec![0; bytes];
        let size = bytes as u16;
        let lower = (NOTE + note.len()) as u16;
        for (at, value) in [(12, lower), (14, size), (16, size), (18, size | 4)] {
            page[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        let Self { kind, bits, blocks, scope, payload, scope_kinds: [a, b, c], .. } = self;
        let Self { bands, rows, similarity, .. } = self;
        let (low, high) = (similarity as u32, (similarity >> 32) as u32);
        let length = note.len() as u32;
        let fields: [u32; FIELDS] = [
            MAGIC, VERSION, kind, bits, blocks, 0, scope, payload, a, b, c, 0, bands, rows, low,
            high, length, 0,
        ];
        page[NOTE..NOTE + note.len()].copy_from_slice(note);
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

    /// The note on the meta page.
    pub fn read_note<S: Store>(store: &S) -> Vec<u8> {
        let page = store.read(META_PAGE);
        Self::parse_note(page.bytes()).unwrap_or_else(|damage| store.damaged(META_PAGE, &damage))
    }

    fn parse_note(page: &[u8]) -> Result<Vec<u8>, Damage> {
        let field = HEADER + 4 * NOTE_LENGTH;
        let mut length = [0; 4];
        length.copy_from_slice(&page[field..field + 4]);
        let length = u32::from_ne_bytes(length) as usize;
        match page.get(NOTE..NOTE + length.min(MOST_NOTE + 1)) {
            Some(note) if note.len() <= MOST_NOTE => Ok(note.to_vec()),
            _ => Err(Damage::Other("its note is too long")),
        }
    }

    pub(crate) fn parse(page: &[u8]) -> Result<Self, Damage> {
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
        let mut meta = Self { kind: field(2), bits: field(3), blocks: field(4), ..Self::default() };
        match field(1) {
            1 => {}
            version @ 2..=VERSION => {
                (meta.scope, meta.payload) = (field(6), field(7));
                meta.scope_kinds = std::array::from_fn(|i| field(8 + i));
                if version > 2 {
                    (meta.bands, meta.rows) = (field(12), field(13));
                    meta.similarity = u64::from(field(14)) | u64::from(field(15)) << 32;
                }
            }
            version => return Err(Damage::Version(version)),
        }
        if !(1..=MOST_BITS).contains(&meta.bits) || !(1..=16).contains(&meta.blocks) {
            return Err(Damage::Other("its number of bits or blocks is invalid"));
        }
        if meta.scope > MOST_SCOPE as u32 || meta.payload > MOST_PAYLOAD as u32 {
            return Err(Damage::Other("its scope or payload is invalid"));
        }
        let (has_tables, keys) =
            (meta.blocks == u32::from(ROWS), meta.bits == 8 * POSTING_KEY as u32);
        if meta.is_of_postings() && !(meta.bands <= MOST_BANDS && has_tables && keys) {
            return Err(Damage::Other("its parameters of postings are invalid"));
        }
        Ok(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A meta page as version 0.1.0 wrote it.
    fn old_page(bits: u32, blocks: u32) -> Vec<u8> {
        let mut page = vec![0; 8192];
        let header = [48u16, 8192, 8192, 0x2004].map(u16::to_ne_bytes).concat();
        page[12..20].copy_from_slice(&header);
        let fields = [0x5348_4d31, 1, 3, bits, blocks, 0].map(u32::to_ne_bytes).concat();
        page[24..48].copy_from_slice(&fields);
        page
    }

    #[test]
    fn a_meta_page_of_version_1_is_read_as_before() {
        for (bits, family) in [(64, Family::Plain64), (128, Family::Plain128)] {
            let meta = Meta::parse(&old_page(bits, 5)).expect("it is sound");
            assert_eq!(meta, Meta { kind: 3, bits, blocks: 5, ..Meta::default() });
            assert_eq!(meta.family(), family);
            let key = bits as usize / 8;
            assert_eq!(meta.shape(), Shape { key, scope: 0, payload: 0 });
        }
    }

    #[test]
    fn a_meta_page_is_read_as_it_was_written() {
        let sizes = [(64, 0, 0), (40, 5, 0), (100, 0, 9), (256, 24, 40), (300, 0, 0), (64, 56, 0)];
        for (bits, scope, payload) in sizes {
            let scope_kinds = [7, 0, 9];
            let meta =
                Meta { kind: 1, bits, blocks: 4, scope, payload, scope_kinds, ..Meta::default() };
            assert_eq!(Meta::parse(&meta.to_page(8192, &[])), Ok(meta));
        }
    }

    /// The meta data of an index of postings.
    fn of_postings(scope: u32, payload: u32) -> Meta {
        let similarity = 0.8f64.to_bits();
        let meta = Meta { kind: 4, bits: 32, blocks: 2, scope, payload, ..Meta::default() };
        Meta { bands: 20, rows: 5, similarity, ..meta }
    }

    #[test]
    fn a_meta_page_of_postings_is_read_as_it_was_written() {
        let families = [
            ((0, 0), Family::Postings),
            ((0, 1), Family::BriefPostings),
            ((16, 40), Family::BriefPostings),
            ((17, 0), Family::ScopedPostings),
            ((56, 40), Family::ScopedPostings),
        ];
        for ((scope, payload), family) in families {
            let meta = of_postings(scope, payload);
            assert_eq!(Meta::parse(&meta.to_page(8192, b"note")), Ok(meta));
            assert_eq!((meta.family(), meta.is_of_postings()), (family, true));
            assert_eq!(
                meta.shape(),
                Shape { key: 4, scope: scope as usize, payload: payload as usize }
            );
            assert!(meta.shape().is_of_postings());
        }
        let refused = [
            Meta { bands: MOST_BANDS + 1, ..of_postings(0, 0) },
            Meta { bits: 64, ..of_postings(0, 0) },
            Meta { blocks: 3, ..of_postings(0, 0) },
            Meta { scope: 57, ..of_postings(0, 0) },
        ];
        for meta in refused {
            assert!(Meta::parse(&meta.to_page(8192, &[])).is_err(), "{meta:?}");
        }
        // An older version of the format knew no postings.
        let mut page = of_postings(0, 0).to_page(8192, &[]);
        page[HEADER + 4..HEADER + 8].copy_from_slice(&2u32.to_ne_bytes());
        assert!(Meta::parse(&page).is_ok_and(|meta| !meta.is_of_postings()));
        page[HEADER + 4..HEADER + 8].copy_from_slice(&(VERSION + 1).to_ne_bytes());
        assert!(Meta::parse(&page).is_err());
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let meta = of_postings(0, 0);
        for length in [0, 1, 77, MOST_NOTE] {
            let note: Vec<u8> = (0..length).map(|i| i as u8 ^ 0x5a).collect();
            let page = meta.to_page(8192, &note);
            assert_eq!(Meta::parse_note(&page), Ok(note));
            let lower = usize::from(u16::from_ne_bytes([page[12], page[13]]));
            assert_eq!(lower, NOTE + length);
        }
        assert_eq!(Meta::parse_note(&old_page(64, 4)), Ok(Vec::new()));
    }

    #[test]
    fn a_note_of_an_impossible_length_is_refused() {
        let mut page = of_postings(0, 0).to_page(8192, b"note");
        let mut with_length = |length: u32, bytes: usize| {
            let field = HEADER + 4 * NOTE_LENGTH;
            page[field..field + 4].copy_from_slice(&length.to_ne_bytes());
            Meta::parse_note(&page[..bytes])
        };
        for length in [MOST_NOTE as u32 + 1, 8192, i32::MAX as u32, u32::MAX] {
            assert!(with_length(length, 8192).is_err(), "{length}");
        }
        assert!(with_length(MOST_NOTE as u32, 1024).is_err());
        assert_eq!(with_length(1024 - NOTE as u32, 1024).map(|note| note.len()), Ok(1024 - NOTE));
    }

    #[test]
    fn an_impossible_meta_page_is_refused() {
        let possible =
            Meta { kind: 1, bits: 64, blocks: 4, scope: 56, payload: 40, ..Meta::default() };
        let refused = [
            Meta { bits: 0, ..possible },
            Meta { bits: 1025, ..possible },
            Meta { blocks: 0, ..possible },
            Meta { blocks: 17, ..possible },
            Meta { scope: 57, ..possible },
            Meta { payload: 41, ..possible },
        ];
        assert!(Meta::parse(&possible.to_page(8192, &[])).is_ok());
        for meta in refused {
            assert!(Meta::parse(&meta.to_page(8192, &[])).is_err(), "{meta:?}");
        }
        assert_eq!(Meta::parse(&[0; 8192]), Err(Damage::Empty));
    }

    #[test]
    fn the_family_is_the_narrowest_that_fits() {
        let family =
            |bits, scope, payload| Meta { bits, scope, payload, ..Meta::default() }.family();
        assert_eq!(family(40, 0, 0), Family::Plain64);
        assert_eq!(family(65, 0, 0), Family::Plain128);
        assert_eq!(family(200, 0, 0), Family::Plain256);
        assert_eq!(family(64, 0, 1), Family::Brief64);
        assert_eq!(family(64, 16, 0), Family::Brief64);
        assert_eq!(family(64, 17, 0), Family::Scoped64);
        assert_eq!(family(128, 24, 0), Family::Scoped128);
        assert_eq!(family(129, 1, 0), Family::Scoped256);
        assert_eq!(family(64, 25, 0), Family::Wide);
        assert_eq!(family(257, 0, 0), Family::Wide);
    }
}
