//! Search plans: the block radius of every table for one distance, and which table emits a match.
//!
//! Invariant: the sum of r_t + 1 over the probed tables is k + 1 ([`super`] says why). Of the
//! probed tables in whose block a fingerprint is within r_t of the query, the first emits it, and
//! no other does. A sweep is the plan that probes one table with all of k.

use super::layout::{BlockLayout, MAX_BLOCKS};
use super::probe::{Limit, Probe};
use crate::base::key::Key;

/// Which tables to probe, and how far, to find every fingerprint within `distance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    layout: BlockLayout,
    distance: u32,
    /// For every table its radius + 1, or 0 if the table is not probed.
    shares: [u32; MAX_BLOCKS],
}

impl Plan {
    /// Spreads `distance` evenly over the first `tables` tables: with `distance` = tables * r + a,
    /// the first a + 1 get radius r and the others r - 1, or none where r is 0.
    ///
    /// # Panics
    /// When `tables` is not in 1 to the layout's number of blocks.
    ///
    /// ```
    /// use simhash_core::search::{BlockLayout, Plan};
    /// let cut = BlockLayout::new::<u64>(4).unwrap();
    /// let radii = |distance, tables| -> Vec<Option<u32>> {
    ///     Plan::balanced(cut, distance, tables).radii().collect()
    /// };
    /// assert_eq!(radii(10, 4), [Some(2), Some(2), Some(2), Some(1)]);
    /// assert_eq!(radii(1, 4), [Some(0), Some(0), None, None]);
    /// assert_eq!(radii(10, 1), [Some(10), None, None, None]);
    /// ```
    pub fn balanced(layout: BlockLayout, distance: u32, tables: u32) -> Self {
        assert!((1..=layout.blocks()).contains(&tables), "{tables} of {} tables", layout.blocks());
        let mut shares = [0; MAX_BLOCKS];
        for (t, share) in shares.iter_mut().enumerate().take(tables as usize) {
            *share = distance / tables + u32::from(t as u32 <= distance % tables);
        }
        Self { layout, distance, shares }
    }

    /// Spreads `distance` evenly over the given tables, as [`Plan::balanced`] does over the first.
    ///
    /// # Panics
    /// When `tables` is empty or names no table of the layout.
    pub fn balanced_over(layout: BlockLayout, distance: u32, tables: &[u32]) -> Self {
        let even = Self::balanced(layout, distance, tables.len() as u32);
        let mut shares = [0; MAX_BLOCKS];
        for (&table, &share) in tables.iter().zip(&even.shares) {
            assert!(table < layout.blocks(), "table {table} of {}", layout.blocks());
            shares[table as usize] = share;
        }
        Self { layout, distance, shares }
    }

    /// A plan with the given radii. `None` unless they cover `distance` exactly.
    pub fn with_radii(layout: BlockLayout, distance: u32, radii: &[Option<u32>]) -> Option<Self> {
        let covered: u64 = radii.iter().flatten().map(|&radius| u64::from(radius) + 1).sum();
        if radii.len() != layout.blocks() as usize || covered != u64::from(distance) + 1 {
            return None;
        }
        let mut shares = [0; MAX_BLOCKS];
        for (share, radius) in shares.iter_mut().zip(radii) {
            *share = radius.map_or(0, |radius| radius + 1);
        }
        Some(Self { layout, distance, shares })
    }

    /// The distance within which this plan finds everything.
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// The cut that the plan is for.
    pub fn layout(&self) -> BlockLayout {
        self.layout
    }

    /// The block radius of every table. `None` where the table is not probed.
    pub fn radii(&self) -> impl Iterator<Item = Option<u32>> {
        self.shares[..self.layout.blocks() as usize].iter().map(|share| share.checked_sub(1))
    }

    /// The keys of `table` that a scan must examine. They include all keys that the table emits.
    /// `None` when the plan leaves the table out.
    ///
    /// Three limits hold for the number of bits in which such a key differs from the query:
    /// - in the table's own block, at most the radius;
    /// - from that block to the last one, at most the distance less r_t' + 1 for every earlier
    ///   probed table t', because block t' differs in at least that many bits;
    /// - in the whole key, at most the distance.
    pub fn probe<F: Key>(&self, query: F, table: u32) -> Option<Probe<F>> {
        let radius = self.shares[table as usize].checked_sub(1)?;
        let missed: u32 = self.shares[..table as usize].iter().sum();
        let rest = self.distance - missed;
        let limits = [
            Limit { bits: self.layout.width(table), max: radius },
            Limit { bits: self.layout.bits() - self.layout.offset(table), max: rest },
            Limit { bits: self.layout.bits(), max: self.distance },
        ];
        Some(Probe::new(self.layout.rotate(query, table), limits))
    }

    /// Whether `table` is the one that emits a fingerprint that differs from the query by
    /// `difference` (not rotated). Exactly one table does when the difference has at most
    /// `distance` set bits.
    #[inline]
    pub fn emits<F: Key>(&self, difference: F, table: u32) -> bool {
        let within = |t: u32| self.layout.block_distance(difference, t) < self.shares[t as usize];
        within(table) && !(0..table).any(within)
    }
}
