//! Reads a column's statistics as a sample of its fingerprints or balls.
//!
//! ANALYZE keeps the most common values with their frequencies, and histogram bounds: about a
//! hundred quantiles in sort order. They serve as a random sample, for fingerprints and for balls,
//! which sort by their centres. An array, with one fingerprint or ball for each lexicon, counts as
//! its first element that is not NULL.

use pgrx::pg_sys;

use super::measures::Objects;
use super::variable::{Slot, Variable};
use crate::types::layout::{Layout, Value};
use crate::types::{Code, Width};

/// A column of fingerprints or balls, and its sample.
pub struct ColumnSample {
    pub layout: Layout,
    /// The width of its values.
    pub bits: u32,
    /// Rows of the table.
    pub rows: f64,
    /// Fraction of the rows that are NULL.
    nulls: f64,
    /// The most common values, each with its share of the rows.
    common: Vec<(Value, f64)>,
    /// A sample of all other values.
    others: Vec<Value>,
    /// The mean number of rows for each distinct value.
    copies: f64,
}

/// The distance up to which a row matches. A ball reaches as far as its own radius, or less if the
/// clause allows less.
#[derive(Clone, Copy)]
pub struct Reach {
    /// The greatest distance that the clause or its constant operand allows.
    pub allowed: Option<u32>,
    /// The radius if neither the clause nor the row has one.
    pub usual: u32,
    /// Whether the radii of both rows of a pair count, not only that of the first.
    pub mutual: bool,
}

impl Reach {
    fn of(&self, row: &Value) -> u32 {
        match (row.radius, self.allowed) {
            (Some(own), Some(allowed)) => own.min(allowed),
            (own, allowed) => own.or(allowed).unwrap_or(self.usual),
        }
    }

    fn of_pair(&self, a: &Value, b: &Value) -> u32 {
        if self.mutual { self.of(a).min(self.of(b)) } else { self.of(a) }
    }
}

impl ColumnSample {
    /// What the statistics show, if the column's type is one of ours.
    pub fn of(variable: &Variable) -> Option<ColumnSample> {
        let (type_oid, modifier) = variable.type_and_modifier();
        let layout = Objects::get().layout(type_oid)?;
        let rows = variable.rows();
        let bits = layout.bits(type_oid, modifier);
        let mut sample = ColumnSample {
            layout,
            bits: bits.unwrap_or(Width::Bits64.bits()),
            rows,
            nulls: 0.0,
            common: Vec::new(),
            others: Vec::new(),
            copies: 1.0,
        };
        let Some(statistics) = variable.statistics() else { return Some(sample) };
        sample.nulls = statistics.nulls();
        let (distinct, is_default) = variable.distinct();
        if !is_default && distinct >= 1.0 {
            sample.copies = (rows / distinct).max(1.0);
        }
        if let Some(slot) = statistics.slot(pg_sys::STATISTIC_KIND_MCV, true) {
            let shares = slot.numbers().iter().map(|&share| f64::from(share));
            sample.common = values(layout, &slot).into_iter().zip(shares).collect();
        }
        if let Some(slot) = statistics.slot(pg_sys::STATISTIC_KIND_HISTOGRAM, false) {
            sample.others = values(layout, &slot);
        }
        let mut values = sample.others.iter().chain(sample.common.iter().map(|(value, _)| value));
        if let (None, Some(value)) = (bits, values.next()) {
            sample.bits = value.center.bits();
        }
        Some(sample)
    }

    /// The radii of a column of balls, each with its share of the balls. Empty for a column of
    /// fingerprints, and without statistics.
    pub fn radii(&self) -> Vec<(u32, f64)> {
        let common = self.common.iter().map(|(ball, share)| (ball.radius, *share));
        let share_of_other = self.rest() / self.others.len().max(1) as f64;
        let others = self.others.iter().map(|ball| (ball.radius, share_of_other));
        let mut radii: Vec<(u32, f64)> = Vec::new();
        for (radius, share) in common.chain(others) {
            let Some(radius) = radius else { continue };
            match radii.iter_mut().find(|(known, _)| *known == radius) {
                Some((_, shares)) => *shares += share,
                None => radii.push((radius, share)),
            }
        }
        let all: f64 = radii.iter().map(|(_, share)| share).sum();
        radii.retain(|(_, share)| *share > 0.0);
        radii.iter().map(|(radius, share)| (*radius, share / all)).collect()
    }

    /// The share of rows within `reach` of `center`.
    pub fn share_within(&self, center: &Code, reach: Reach) -> f64 {
        let near = |row: &Value| center.hamming(&row.center) <= reach.of(row);
        let common: f64 =
            self.common.iter().filter(|(row, _)| near(row)).map(|(_, share)| share).sum();
        let others = self.others.iter().filter(|row| near(row)).count() as f64
            / self.others.len().max(1) as f64;
        self.blend(common, others, reach)
    }

    /// The share of pairs of rows within `reach` of each other: the estimate for an unknown centre.
    pub fn share_of_pairs(&self, reach: Reach) -> f64 {
        let near = |a: &Value, b: &Value| a.center.hamming(&b.center) <= reach.of_pair(a, b);
        let common: f64 = self
            .common
            .iter()
            .flat_map(|a| self.common.iter().map(move |b| (a, b)))
            .filter(|((a, _), (b, _))| near(a, b))
            .map(|((_, a), (_, b))| a * b)
            .sum();
        let n = self.others.len();
        let others = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .filter(|&(i, j)| near(&self.others[i], &self.others[j]))
            .count() as f64;
        self.blend(common, others / ((n * n.saturating_sub(1)) as f64 / 2.0).max(1.0), reach)
    }

    /// Combines the counted shares with a model of what a sample of a hundred cannot show:
    /// independent random bits, and the copies of one value.
    fn blend(&self, common: f64, others: f64, reach: Reach) -> f64 {
        let unseen = self.random_share(reach) + self.copies / self.rows;
        (common + self.rest() * others.max(unseen)).clamp(0.0, 1.0)
    }

    /// The share of rows whose values are neither NULL nor among the most common.
    fn rest(&self) -> f64 {
        (1.0 - self.nulls - self.common.iter().map(|(_, share)| share).sum::<f64>()).max(0.0)
    }

    /// The share of rows within `reach` of a centre if all bits were independent and random.
    fn random_share(&self, reach: Reach) -> f64 {
        let bits = self.bits;
        if !self.layout.is_of_balls() || self.others.is_empty() {
            return random_share(bits, reach.allowed.unwrap_or(reach.usual));
        }
        let shares = self.others.iter().map(|row| random_share(bits, reach.of(row)));
        shares.sum::<f64>() / self.others.len() as f64
    }
}

/// The values of a slot. Empty if they are of another layout.
fn values(layout: Layout, slot: &Slot) -> Vec<Value> {
    if Objects::get().layout(slot.type_oid()) != Some(layout) {
        return Vec::new();
    }
    // SAFETY: the values are of a type with this layout.
    slot.values().iter().map(|&value| unsafe { layout.read(value) }).collect()
}

/// The share of all fingerprints within `radius` of one: sum over i <= radius of C(bits, i) /
/// 2^bits.
fn random_share(bits: u32, radius: u32) -> f64 {
    let mut term = (-f64::from(bits)).exp2();
    let mut sum = 0.0;
    for i in 0..=radius.min(bits) {
        sum += term;
        term *= f64::from(bits - i) / f64::from(i + 1);
    }
    sum.min(1.0)
}

/// The estimated number of distinct values of an expression in all rows of its table.
///
/// # Safety
/// `root` is the planner's state, and the expression is of its query.
pub unsafe fn number_of_values(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
) -> f64 {
    // SAFETY: an expression of the planner's query. The structure is filled in.
    let variable = unsafe {
        let mut examined = std::mem::zeroed();
        pg_sys::examine_variable(root, expression, 0, &mut examined);
        Variable::new(examined)
    };
    variable.distinct().0.max(1.0)
}
