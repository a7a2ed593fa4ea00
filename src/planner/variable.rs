//! What the planner knows of an expression's values: their relation and their statistics.

use std::marker::PhantomData;

use pgrx::pg_sys;

use super::expr::Expr;
use super::handle::Rel;

/// An operand as the planner has examined it. Dropping it releases its statistics.
pub struct Variable(pg_sys::VariableStatData);

/// A row of pg_statistic, which is held for `'a`.
#[derive(Clone, Copy)]
pub struct Statistics<'a>(pg_sys::HeapTuple, PhantomData<&'a ()>);

/// Values of one kind of statistics. Dropping it frees them.
pub struct Slot(pg_sys::AttStatsSlot);

impl Variable {
    /// # Safety
    /// The planner filled the structure in, and nothing else releases its statistics.
    pub unsafe fn new(examined: pg_sys::VariableStatData) -> Variable {
        Variable(examined)
    }

    pub fn rel(&self) -> Option<Rel> {
        // SAFETY: the relation is the planner's, or null.
        unsafe { Rel::new(self.0.rel) }
    }

    /// The rows of its relation, at least 1.
    pub fn rows(&self) -> f64 {
        self.rel().map_or(1.0, |rel| rel.read().tuples.max(1.0))
    }

    pub fn expression(&self) -> Option<Expr> {
        // SAFETY: the expression is the planner's, or null.
        unsafe { Expr::new(self.0.var) }
    }

    /// Its type and its type modifier.
    pub fn type_and_modifier(&self) -> (pg_sys::Oid, i32) {
        (self.0.atttype, self.0.atttypmod)
    }

    pub fn statistics(&self) -> Option<Statistics<'_>> {
        // SAFETY: the statistics are held until the variable is dropped.
        unsafe { Statistics::new(self.0.statsTuple) }
    }

    /// The estimated number of distinct values, and whether PostgreSQL knows nothing of it.
    pub fn distinct(&self) -> (f64, bool) {
        let mut is_default = false;
        let examined = (&raw const self.0).cast_mut();
        // SAFETY: the planner filled the structure in, and get_variable_numdistinct only reads it.
        let values = unsafe { pg_sys::get_variable_numdistinct(examined, &mut is_default) };
        (values, is_default)
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        if let (false, Some(free)) = (self.0.statsTuple.is_null(), self.0.freefunc) {
            // SAFETY: the function that came with the tuple releases it, once.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| free(self.0.statsTuple)) };
        }
    }
}

impl Statistics<'_> {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `tuple` is null, or a row of pg_statistic that is held for the lifetime.
    pub unsafe fn new(tuple: pg_sys::HeapTuple) -> Option<Self> {
        (!tuple.is_null()).then_some(Statistics(tuple, PhantomData))
    }

    /// The share of rows that are NULL.
    pub fn nulls(self) -> f64 {
        // SAFETY: the row is held, and is of pg_statistic.
        unsafe {
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(self.0);
            f64::from((*form).stanullfrac)
        }
    }

    /// The statistics of a kind, if there are some. To ask for numbers of a kind that has none is
    /// an ERROR.
    pub fn slot(self, kind: u32, numbers: bool) -> Option<Slot> {
        let numbers = if numbers { pg_sys::ATTSTATSSLOT_NUMBERS } else { 0 };
        let flags = (pg_sys::ATTSTATSSLOT_VALUES | numbers) as i32;
        let any = pg_sys::InvalidOid;
        // SAFETY: the row is held. The structure is filled in if the result is true.
        unsafe {
            let mut slot = std::mem::zeroed();
            let found = pg_sys::get_attstatsslot(&mut slot, self.0, kind as i32, any, flags);
            found.then_some(Slot(slot))
        }
    }
}

impl Slot {
    /// The type of the values.
    pub fn type_oid(&self) -> pg_sys::Oid {
        self.0.valuetype
    }

    pub fn values(&self) -> &[pg_sys::Datum] {
        // SAFETY: the array has as many values, until the slot is freed.
        unsafe { slice(self.0.values, self.0.nvalues) }
    }

    pub fn numbers(&self) -> &[f32] {
        // SAFETY: the array has as many numbers, until the slot is freed.
        unsafe { slice(self.0.numbers, self.0.nnumbers) }
    }
}

/// # Safety
/// The array has `length` members for the lifetime, unless that is 0.
unsafe fn slice<'a, T>(array: *const T, length: i32) -> &'a [T] {
    let length = usize::try_from(length).unwrap_or(0);
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's array has as many members.
    unsafe { std::slice::from_raw_parts(array, length) }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: get_attstatsslot filled the structure in, and it is freed once.
        unsafe { pg_sys::free_attstatsslot(&mut self.0) };
    }
}
