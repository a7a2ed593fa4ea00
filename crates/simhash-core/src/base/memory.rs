//! Memory that may be refused. The caller reports it in its own way, and the process does not end.

/// This many bytes at once were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub bytes: usize,
}

/// Makes room for `more` values, and for no others.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    let bytes = values.len().saturating_add(more).saturating_mul(size_of::<T>());
    values.try_reserve_exact(more).map_err(|_| NoMemory { bytes })
}
