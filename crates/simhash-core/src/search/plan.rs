//! Search plans: the block radius of every table for one distance, and who emits a match.
//!
//! Invariant: the radii r_t >= -1 satisfy sum(r_t + 1) = k + 1. So every fingerprint within k of the
//! query is within r_t in block t for some t; the first such t emits it, and no other does. A radius
//! of -1 leaves a table out; a sweep is the plan that gives all of k to one table.

use super::ball::{Ball, Limit};
use super::key::Key;
use super::layout::{BlockLayout, MAX_BLOCKS};

/// Which tables to probe, and how far, to find every fingerprint within `distance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    layout: BlockLayout,
    distance: u32,
    radii: [i32; MAX_BLOCKS],
}

impl Plan {
    /// Spreads `distance` evenly over the first `tables` tables: with `distance` = tables * r + a,
    /// the first a + 1 get radius r and the others r - 1.
    ///
    /// # Panics
    /// When `tables` is not in 1 to the layout's number of blocks.
    ///
    /// ```
    /// use simhash_core::search::{BlockLayout, Plan};
    /// let cut = BlockLayout::new::<u64>(4).unwrap();
    /// assert_eq!(Plan::balanced(cut, 10, 4).radii(), [2, 2, 2, 1]);
    /// assert_eq!(Plan::balanced(cut, 1, 4).radii(), [0, 0, -1, -1]);
    /// assert_eq!(Plan::balanced(cut, 10, 1).radii(), [10, -1, -1, -1]);
    /// ```
    pub fn balanced(layout: BlockLayout, distance: u32, tables: u32) -> Self {
        assert!((1..=layout.blocks()).contains(&tables), "{tables} of {} tables", layout.blocks());
        let mut radii = [-1; MAX_BLOCKS];
        for (t, radius) in radii.iter_mut().enumerate().take(tables as usize) {
            let extra = u32::from(t as u32 <= distance % tables);
            *radius = (distance / tables + extra) as i32 - 1;
        }
        Self { layout, distance, radii }
    }

    /// Spreads `distance` evenly over the given tables, as [`Plan::balanced`] does over the first.
    ///
    /// # Panics
    /// When `tables` is empty or names no table of the layout.
    pub fn balanced_over(layout: BlockLayout, distance: u32, tables: &[u32]) -> Self {
        let even = Self::balanced(layout, distance, tables.len() as u32);
        let mut radii = [-1; MAX_BLOCKS];
        for (&table, &radius) in tables.iter().zip(&even.radii) {
            assert!(table < layout.blocks(), "table {table} of {}", layout.blocks());
            radii[table as usize] = radius;
        }
        Self { layout, distance, radii }
    }

    /// A plan with the given radii; `None` unless they cover `distance` exactly.
    pub fn with_radii(layout: BlockLayout, distance: u32, radii: &[i32]) -> Option<Self> {
        if radii.len() != layout.blocks() as usize || radii.iter().any(|&r| r < -1) {
            return None;
        }
        let covered: i64 = radii.iter().map(|&r| i64::from(r) + 1).sum();
        if covered != i64::from(distance) + 1 {
            return None;
        }
        let mut all = [-1; MAX_BLOCKS];
        all[..radii.len()].copy_from_slice(radii);
        Some(Self { layout, distance, radii: all })
    }

    /// The distance within which this plan finds everything.
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// The cut that the plan is for.
    pub fn layout(&self) -> BlockLayout {
        self.layout
    }

    /// The block radius of every table; -1 where the table is not probed.
    pub fn radii(&self) -> &[i32] {
        &self.radii[..self.layout.blocks() as usize]
    }

    /// What `table` has to find: the keys that only this table emits lie in it. `None` when the
    /// plan leaves the table out.
    ///
    /// Three limits hold for such a key, read from its leading bit on: the table's own block; the
    /// blocks up to the last, since each earlier table t' was missed by at least r_t' + 1 bits of
    /// its own; the whole key.
    pub fn ball<F: Key>(&self, query: F, table: u32) -> Option<Ball<F>> {
        let radius = u32::try_from(self.radii[table as usize]).ok()?;
        let missed: i32 = self.radii[..table as usize].iter().map(|r| r + 1).sum();
        let rest = self.distance - missed as u32;
        let limits = [
            Limit { bits: self.layout.width(table), max: radius },
            Limit { bits: F::BITS - self.layout.offset(table), max: rest },
            Limit { bits: F::BITS, max: self.distance },
        ];
        Some(Ball::new(self.layout.rotate(query, table), limits))
    }

    /// Whether `table` is the one that emits a fingerprint that differs from the query by
    /// `difference` (not rotated). Exactly one table does when the difference has at most
    /// `distance` set bits.
    #[inline]
    pub fn emits<F: Key>(&self, difference: F, table: u32) -> bool {
        let within = |t: u32| self.layout.block_distance(difference, t) as i32 <= self.radii[t as usize];
        within(table) && !(0..table).any(within)
    }
}
