//! A column's statistics, read as a sample of its fingerprints.
//!
//! ANALYZE keeps the most common values with their frequencies, and histogram bounds: about a
//! hundred quantiles in sorting order, which for fingerprints is as good as a random sample. An
//! array of fingerprints, one a lexicon, is taken for its first.

use pgrx::pg_sys;
use simhash_core::Fingerprint;

use super::catalog::{Catalog, Layout, Width};
use crate::types::array::for_each_element;

/// What is known of a column of fingerprints, 64-bit ones in the low half.
pub struct Sample {
    pub bits: u32,
    /// Of a column of balls nothing but its size is known.
    pub layout: Layout,
    /// Rows of the table.
    pub rows: f64,
    /// Fraction of the rows that are NULL.
    nulls: f64,
    /// Most common values with their share of the rows.
    common: Vec<(u128, f64)>,
    /// Of all other values, a sample.
    others: Vec<u128>,
    /// Rows for each distinct value, on average.
    copies: f64,
}

impl Sample {
    /// # Safety
    /// `variable` was filled in by the planner and has not been released.
    pub unsafe fn of(variable: *mut pg_sys::VariableStatData) -> Option<Sample> {
        // SAFETY: as this function's; statistics are read only if there are some and they are of a
        // type of ours.
        unsafe {
            let layout = Catalog::get().layout((*variable).atttype)?;
            let rows = if (*variable).rel.is_null() { 1.0 } else { (*(*variable).rel).tuples.max(1.0) };
            let mut sample = Sample {
                bits: match layout {
                    Layout::Fingerprint(width) | Layout::Ball(width) => width.bits() as u32,
                },
                layout,
                rows,
                nulls: 0.0,
                common: Vec::new(),
                others: Vec::new(),
                copies: 1.0,
            };
            if (*variable).statsTuple.is_null() {
                return Some(sample);
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>((*variable).statsTuple);
            sample.nulls = f64::from((*form).stanullfrac);
            let mut is_default = false;
            let distinct = pg_sys::get_variable_numdistinct(variable, &mut is_default);
            if !is_default && distinct >= 1.0 {
                sample.copies = (rows / distinct).max(1.0);
            }
            let common = sample.slot(variable, pg_sys::STATISTIC_KIND_MCV, pg_sys::ATTSTATSSLOT_NUMBERS);
            sample.common = common.values.into_iter().zip(common.numbers).collect();
            sample.others = sample.slot(variable, pg_sys::STATISTIC_KIND_HISTOGRAM, 0).values;
            Some(sample)
        }
    }

    /// Empty for a column of balls, and for statistics of another type than the column's.
    unsafe fn slot(&self, variable: *mut pg_sys::VariableStatData, kind: u32, extra: u32) -> Slot {
        // SAFETY: the slot's arrays are valid until it is freed, and are copied before.
        unsafe {
            let mut slot: pg_sys::AttStatsSlot = std::mem::zeroed();
            let flags = (pg_sys::ATTSTATSSLOT_VALUES | extra) as i32;
            let tuple = (*variable).statsTuple;
            if !pg_sys::get_attstatsslot(&mut slot, tuple, kind as i32, pg_sys::InvalidOid, flags) {
                return Slot { values: Vec::new(), numbers: Vec::new() };
            }
            let readable = matches!(self.layout, Layout::Fingerprint(_))
                && Catalog::get().layout(slot.valuetype) == Some(self.layout);
            let count = if readable { slot.nvalues as usize } else { 0 };
            let values = (0..count).map(|i| self.fingerprint(*slot.values.add(i))).collect();
            let numbers = (0..slot.nnumbers as usize).map(|i| f64::from(*slot.numbers.add(i))).collect();
            pg_sys::free_attstatsslot(&mut slot);
            Slot { values, numbers }
        }
    }

    /// A value of the column, or one of the same layout.
    ///
    /// # Safety
    /// `datum` is laid out as the column's, which is of fingerprints.
    pub unsafe fn fingerprint(&self, datum: pg_sys::Datum) -> u128 {
        // SAFETY: as this function's; elements of an array are laid out as the single type.
        unsafe {
            if self.layout != Layout::Fingerprint(Width::Lexicons) {
                return fingerprint_bits(datum, self.bits);
            }
            let first = first_element(datum, |element| fingerprint_bits(element, self.bits));
            first.unwrap_or(0)
        }
    }

    /// The share of rows within `radius` of `center`.
    pub fn share_within(&self, center: u128, radius: u32) -> f64 {
        let near = |fp: u128| center.hamming(fp) <= radius;
        let common: f64 = self.common.iter().filter(|(fp, _)| near(*fp)).map(|(_, share)| share).sum();
        let others =
            self.others.iter().filter(|&&fp| near(fp)).count() as f64 / self.others.len().max(1) as f64;
        self.blend(common, others, radius)
    }

    /// The share of pairs of rows within `radius` of each other: what an unknown centre meets.
    pub fn share_of_pairs(&self, radius: u32) -> f64 {
        let common: f64 = self
            .common
            .iter()
            .flat_map(|a| self.common.iter().map(move |b| (a, b)))
            .filter(|(a, b)| a.0.hamming(b.0) <= radius)
            .map(|(a, b)| a.1 * b.1)
            .sum();
        let n = self.others.len();
        let near = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .filter(|&(i, j)| self.others[i].hamming(self.others[j]) <= radius)
            .count() as f64;
        self.blend(common, near / ((n * n.saturating_sub(1)) as f64 / 2.0).max(1.0), radius)
    }

    /// Joins what was counted to the model for what a sample of a hundred cannot show: independent
    /// random bits, and the copies of one value.
    fn blend(&self, common: f64, others: f64, radius: u32) -> f64 {
        let rest = (1.0 - self.nulls - self.common.iter().map(|(_, share)| share).sum::<f64>()).max(0.0);
        let unseen = random_share(self.bits, radius) + self.copies / self.rows;
        (common + rest * others.max(unseen)).clamp(0.0, 1.0)
    }
}

struct Slot {
    values: Vec<u128>,
    numbers: Vec<f64>,
}

/// What `read` makes of an array's first element that is not NULL.
///
/// # Safety
/// `array` is a datum of an array type.
pub unsafe fn first_element<T>(array: pg_sys::Datum, read: impl Fn(pg_sys::Datum) -> T) -> Option<T> {
    let mut first = None;
    // SAFETY: as this function's.
    unsafe { for_each_element(array, |element| first = first.take().or_else(|| element.map(&read))) };
    first
}

/// A fingerprint or bigint datum's bits.
///
/// # Safety
/// `datum` is of a type of `bits` bits: by value for 64, a pointer to 16 bytes for 128.
pub unsafe fn fingerprint_bits(datum: pg_sys::Datum, bits: u32) -> u128 {
    if bits == 64 {
        return datum.value() as u64 as u128;
    }
    // SAFETY: as this function's.
    u128::from_be_bytes(unsafe { std::ptr::read_unaligned(datum.cast_mut_ptr::<[u8; 16]>()) })
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
