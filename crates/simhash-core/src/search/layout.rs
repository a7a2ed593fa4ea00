//! How a fingerprint is cut into blocks, and the rotation that makes each block lead its table.

use crate::base::key::Key;

/// The most blocks a fingerprint can be cut into.
pub const MAX_BLOCKS: usize = 16;

/// A cut of `bits` bits into blocks of nearly equal width. Block 0 is the most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    bits: u32,
    blocks: u32,
}

impl BlockLayout {
    /// The cut of fingerprints of type `F` into `blocks` blocks. `None` unless there are 1 to 16.
    ///
    /// ```
    /// use simhash_core::search::BlockLayout;
    /// let cut = BlockLayout::new::<u64>(5).unwrap();
    /// assert_eq!((0..5).map(|t| cut.width(t)).collect::<Vec<_>>(), [13, 13, 13, 13, 12]);
    /// assert_eq!(cut.rotate(0x1122_3344_5566_7788u64, 0), 0x1122_3344_5566_7788);
    /// ```
    pub fn new<F: Key>(blocks: u32) -> Option<Self> {
        Self::of_bits(F::BITS, blocks)
    }

    /// The cut of fingerprints of `bits` bits. They occupy the most significant bits of a type that
    /// may be wider, and its other bits are clear. `None` unless there are 1 to 16 blocks, none of
    /// them empty.
    ///
    /// ```
    /// use simhash_core::search::BlockLayout;
    /// let cut = BlockLayout::of_bits(12, 3).unwrap();
    /// assert_eq!(cut.rotate(0xabc0_0000_0000_0000u64, 1), 0xbca0_0000_0000_0000);
    /// assert_eq!(cut.restore(0xbca0_0000_0000_0000u64, 1), 0xabc0_0000_0000_0000);
    /// ```
    pub fn of_bits(bits: u32, blocks: u32) -> Option<Self> {
        let possible = (1..=MAX_BLOCKS as u32).contains(&blocks) && blocks <= bits;
        possible.then_some(Self { bits, blocks })
    }

    /// The number of blocks, and so of tables: m in the literature.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The width of a fingerprint in bits: f in the literature.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The width of block `table` in bits. The first `bits % blocks` blocks are one bit wider.
    #[inline]
    pub fn width(&self, table: u32) -> u32 {
        self.bits / self.blocks + u32::from(table < self.bits % self.blocks)
    }

    /// The number of bits before block `table`.
    #[inline]
    pub fn offset(&self, table: u32) -> u32 {
        table * (self.bits / self.blocks) + table.min(self.bits % self.blocks)
    }

    /// The key of `fingerprint` in `table`: rotated so that block `table` leads.
    #[inline]
    pub fn rotate<F: Key>(&self, fingerprint: F, table: u32) -> F {
        self.turn(fingerprint, self.offset(table))
    }

    /// The fingerprint whose key in `table` is `key`.
    #[inline]
    pub fn restore<F: Key>(&self, key: F, table: u32) -> F {
        self.turn(key, self.bits - self.offset(table))
    }

    /// Rotates the leading `self.bits` bits to the left by `by`, which is at most `self.bits`.
    #[inline]
    fn turn<F: Key>(&self, bits: F, by: u32) -> F {
        if self.bits == F::BITS {
            bits.rotate_left(by % F::BITS)
        } else {
            ((bits << by) | (bits >> (self.bits - by))) & F::leading_mask(self.bits)
        }
    }

    /// The number of set bits of `difference` (not rotated) in block `table`.
    #[inline]
    pub fn block_distance<F: Key>(&self, difference: F, table: u32) -> u32 {
        let leading = difference << self.offset(table);
        (leading & F::leading_mask(self.width(table))).count_ones()
    }

    /// Block `table` of `fingerprint` as a number.
    pub fn block<F: Key>(&self, fingerprint: F, table: u32) -> F {
        (fingerprint << self.offset(table)) >> (F::BITS - self.width(table))
    }
}
