//! Fallible allocation: the caller reports a failure in its own way, and the process goes on.

/// An allocation of this many bytes failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub bytes: usize,
}

/// Reserves room for exactly `more` further values.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    let bytes = values.len().saturating_add(more).saturating_mul(size_of::<T>());
    values.try_reserve_exact(more).map_err(|_| NoMemory { bytes })
}
