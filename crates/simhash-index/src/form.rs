//! How the rows of a leaf are stored: what all of them have in common is not stored with each.
//!
//! - A leaf is *uniform* if all of its rows have the scope of its lower bound, which is stored once
//!   then. So the rows of a large scope take no more room than rows without a scope.
//! - A TID has 3, 4 or 6 bytes. In 3 bytes, the offset takes as many bits as the greatest offset on
//!   the leaf needs, and the number of the heap page takes the others.
//! - The most significant bytes of a fingerprint are *cut* if they are those of the lower bound.
//!   Their place holds the most significant bytes of the TID, so keys keep their width, and scans
//!   compare them under a mask.
//!
//! A leaf has one form. A row that does not fit into it changes the form, or is put on another
//! leaf.

use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::base::simd::popcount::is_maskable;

use crate::key::{Bytes, Entry, Row, Shape, TreeKey};

/// The most bytes of a key that are cut.
pub const MOST_CUT: u8 = 2;
/// The most bits of an offset on a heap page, where a TID is not stored whole: a page of 32 kB has
/// at most 1,169 rows.
const MOST_OFFSET_BITS: u8 = 11;

/// How the TIDs of a leaf are stored: as a number of some bytes, with the offset in its least
/// significant bits and the number of the heap page in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tids {
    bytes: u8,
    offset_bits: u8,
}

impl Tids {
    /// Any TID.
    pub const WHOLE: Self = Self { bytes: 6, offset_bits: 16 };
    /// TIDs of heaps of 16 GB.
    pub const SHORT: Self = Self { bytes: 4, offset_bits: MOST_OFFSET_BITS };

    /// TIDs of three bytes, with this many bits for the offset.
    pub const fn brief(offset_bits: u8) -> Self {
        Self { bytes: 3, offset_bits }
    }

    /// The shortest TIDs that can store all pages and offsets up to these.
    fn least(page: u64, offset: u64) -> Self {
        let needed = (u64::BITS - offset.leading_zeros()).max(1);
        let brief = Self::brief(needed.min(u32::from(MOST_OFFSET_BITS)) as u8);
        let most = page << 16 | offset;
        [brief, Self::SHORT].into_iter().find(|tids| tids.take(most)).unwrap_or(Self::WHOLE)
    }

    /// How many bytes a TID has.
    pub const fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Whether this TID can be stored in this way.
    #[inline]
    pub const fn take(self, tid: u64) -> bool {
        tid & 0xffff < 1 << self.offset_bits
            && tid >> 16 < 1 << (8 * self.bytes as u32 - self.offset_bits as u32)
    }

    /// The number that is stored.
    #[inline]
    pub const fn pack(self, tid: u64) -> u64 {
        (tid >> 16) << self.offset_bits | tid & 0xffff
    }

    #[inline]
    pub const fn unpack(self, packed: u64) -> u64 {
        (packed >> self.offset_bits) << 16 | packed & ((1 << self.offset_bits) - 1)
    }
}

/// How the rows of a leaf are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Without their scopes: each has that of the lower bound.
    pub uniform: bool,
    pub tids: Tids,
    /// How many bytes of a fingerprint are those of the lower bound, and not stored.
    pub cut: u8,
}

// The bits of a page's flags that say the form of a leaf.
const UNIFORM: u16 = 2;
const SHORT: u16 = 4;
const OFFSET_SHIFT: u32 = 4;
const OFFSET_MASK: u16 = 0xf;
const CUT_SHIFT: u32 = 8;
const CUT_MASK: u16 = 3;

impl Form {
    /// Each row with its scope, and everything else whole.
    pub const MIXED: Self = Self { uniform: false, tids: Tids::WHOLE, cut: 0 };
    /// Rows without their scopes.
    pub const UNIFORM: Self = Self { uniform: true, ..Self::MIXED };

    /// The form of the fewest bytes that a leaf of this shape can have.
    pub const fn densest(shape: &Shape) -> Self {
        let cut = if shape.is_of_postings() { 0 } else { MOST_CUT };
        Self { uniform: true, tids: Tids::brief(1), cut }
    }

    /// The form that a page's flags encode. `None` if they encode none.
    #[inline]
    pub const fn of_flags(flags: u16) -> Option<Self> {
        let offset_bits = (flags >> OFFSET_SHIFT & OFFSET_MASK) as u8;
        let tids = match (flags & SHORT != 0, offset_bits) {
            (false, 0) => Tids::WHOLE,
            (true, 0) => Tids::SHORT,
            (false, 1..=MOST_OFFSET_BITS) => Tids::brief(offset_bits),
            _ => return None,
        };
        let cut = (flags >> CUT_SHIFT & CUT_MASK) as u8;
        let known = UNIFORM | SHORT | OFFSET_MASK << OFFSET_SHIFT | CUT_MASK << CUT_SHIFT;
        if cut > MOST_CUT || flags & !known != 0 {
            return None;
        }
        Some(Self { uniform: flags & UNIFORM != 0, tids, cut })
    }

    #[inline]
    pub const fn flags(self) -> u16 {
        let uniform = if self.uniform { UNIFORM } else { 0 };
        let tids = match self.tids.bytes {
            3 => (self.tids.offset_bits as u16) << OFFSET_SHIFT,
            4 => SHORT,
            _ => 0,
        };
        uniform | tids | (self.cut as u16) << CUT_SHIFT
    }

    /// How many bytes of a TID are in the row's slot. The others are in the place of what is cut.
    pub const fn tid_in_slot(self) -> usize {
        self.tids.bytes() - self.cut as usize
    }

    /// Bits of a fingerprint that are not stored, from the most significant on.
    #[inline]
    pub const fn cut_bits(self) -> u32 {
        8 * self.cut as u32
    }

    /// The bits of a fingerprint's most significant word that are not stored.
    #[inline]
    pub const fn cut_mask(self) -> u64 {
        !(u64::MAX >> self.cut_bits())
    }
}

/// Whether leaves of this shape can cut their keys: only keys that are stored whole, and in which
/// scans can mask bits.
pub const fn may_cut<K: TreeKey>(shape: &Shape) -> bool {
    shape.key == K::Fingerprint::BYTES && is_maskable(shape.key)
}

/// What some rows have in common with the lower bound of their leaf. That decides their form.
pub struct Common<K: TreeKey> {
    low: Entry<K>,
    is_empty: bool,
    uniform: bool,
    /// The bits in which any of the fingerprints differs from that of the lower bound.
    differing: K::Fingerprint,
    /// The greatest number of a heap page, and the greatest offset on one.
    page: u64,
    offset: u64,
}

impl<K: TreeKey> Clone for Common<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: TreeKey> Copy for Common<K> {}

impl<K: TreeKey> Common<K> {
    /// For no row yet.
    pub fn new(low: Entry<K>) -> Self {
        let differing = K::Fingerprint::ZERO;
        Self { low, is_empty: true, uniform: true, differing, page: 0, offset: 0 }
    }

    pub fn of_rows(low: Entry<K>, rows: &[Row<K>]) -> Self {
        let mut common = Self::new(low);
        rows.iter().for_each(|row| common.add(&row.entry));
        common
    }

    #[inline]
    pub fn add(&mut self, entry: &Entry<K>) {
        self.is_empty = false;
        self.uniform &= entry.key.scope() == self.low.key.scope();
        self.differing = self.differing | (entry.key.fingerprint() ^ self.low.key.fingerprint());
        self.page = self.page.max(entry.tid >> 16);
        self.offset = self.offset.max(entry.tid & 0xffff);
    }

    /// With one more row.
    #[inline]
    pub fn with(mut self, entry: &Entry<K>) -> Self {
        self.add(entry);
        self
    }

    /// The form with the fewest bytes.
    pub fn form(&self, shape: &Shape) -> Form {
        // A leaf without rows was made for the row that is its lower bound.
        let tids = if self.is_empty {
            Tids::least(self.low.tid >> 16, self.low.tid & 0xffff)
        } else {
            Tids::least(self.page, self.offset)
        };
        let cut = if may_cut::<K>(shape) {
            (self.differing.leading_zeros() / 8).min(u32::from(MOST_CUT)) as u8
        } else {
            0
        };
        let uniform = self.uniform && !self.is_empty && K::Scope::BYTES > 0;
        Form { uniform, tids, cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tids_are_stored_in_the_fewest_bytes() {
        for (page, offset, bytes, bits) in [
            (0, 0, 3, 1),
            (0, 1, 3, 1),
            ((1 << 23) - 1, 1, 3, 1),
            (1 << 23, 1, 6, 16),
            ((1 << 16) - 1, 255, 3, 8),
            ((1 << 16) - 1, 256, 4, 11),
            ((1 << 15) - 1, 291, 3, 9),
            ((1 << 13) - 1, 1169, 3, 11),
            ((1 << 21) - 1, 2047, 4, 11),
            (1 << 21, 1, 3, 1),
            (1 << 21, 255, 6, 16),
            (0, 2048, 6, 16),
            (u64::from(u32::MAX), 0xffff, 6, 16),
        ] {
            let tids = Tids::least(page, offset);
            assert_eq!((tids.bytes, tids.offset_bits), (bytes, bits), "({page}, {offset})");
            assert!(tids.take(page << 16 | offset));
        }
    }

    #[test]
    fn a_tid_is_the_same_when_it_is_unpacked() {
        let all = [Tids::WHOLE, Tids::SHORT].into_iter().chain((1..=11).map(Tids::brief));
        for tids in all {
            let pages = 1u64 << (8 * u32::from(tids.bytes) - u32::from(tids.offset_bits));
            let offsets = 1u64 << tids.offset_bits;
            for page in [0, 1, pages / 3, pages - 1] {
                for offset in [0, 1, offsets / 3, offsets - 1] {
                    let tid = page << 16 | offset;
                    assert!(tids.take(tid));
                    assert!(tids.pack(tid) < 1 << (8 * tids.bytes()));
                    assert_eq!(tids.unpack(tids.pack(tid)), tid);
                }
            }
            assert!(tids.bytes == 6 || !tids.take(pages << 16) && !tids.take(offsets));
        }
    }

    #[test]
    fn a_form_is_the_same_when_it_is_read_from_flags() {
        let all = [Tids::WHOLE, Tids::SHORT].into_iter().chain((1..=11).map(Tids::brief));
        for tids in all {
            for uniform in [false, true] {
                for cut in 0..=MOST_CUT {
                    let form = Form { uniform, tids, cut };
                    assert_eq!(Form::of_flags(form.flags()), Some(form));
                }
            }
        }
        // The flags of versions 0.1.0 and 0.2.0.
        assert_eq!([Form::MIXED, Form::UNIFORM].map(Form::flags), [0, 2]);
        assert_eq!(Form { tids: Tids::SHORT, ..Form::UNIFORM }.flags(), 6);
        for impossible in [0x1, 0x8 | 0x10, 0x14, 0xc0, 0x300, 0x400, 0x8000] {
            assert_eq!(Form::of_flags(impossible), None, "{impossible:x}");
        }
    }

    #[test]
    fn the_form_is_what_all_rows_have_in_common() {
        let low = Entry { key: 0x1122_3344_0000_0000u64, tid: 1 };
        let shape = Shape::plain::<u64>();
        let form = |entries: &[(u64, u64)]| {
            let common = entries
                .iter()
                .fold(Common::new(low), |common, &(key, tid)| common.with(&Entry { key, tid }));
            let Form { uniform, tids, cut } = common.form(&shape);
            assert!(!uniform, "there are no scopes");
            (tids, cut)
        };
        assert_eq!(form(&[]), (Tids::brief(1), 2));
        assert_eq!(form(&[(0x1122_ffff_0000_0000, 7 << 16 | 9)]), (Tids::brief(4), 2));
        let one_byte = [(0x1122_ffff_0000_0000, 1), (0x11ff_ffff_0000_0000, 200)];
        assert_eq!(form(&one_byte), (Tids::brief(8), 1));
        let none = [(0x1122_ffff_0000_0000, 1 << 16), (0x1222_3344_0000_0000, 1 << 40 | 1)];
        assert_eq!(form(&none), (Tids::WHOLE, 0));
        // Of a wide key, the most significant bytes count as well.
        let low = Entry { key: 0x1122u128 << 112, tid: 1 };
        let common = Common::new(low).with(&Entry { key: 0x11ffu128 << 112 | 5, tid: 1 });
        assert_eq!(common.form(&Shape::plain::<u128>()).cut, 1);
    }
}
