//! Memory that may be refused: the caller says so in its own way, instead of the process ending.

/// So many bytes at once are not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub bytes: usize,
}

/// Makes room for exactly so many values more, where there is less.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    let bytes = values.len().saturating_add(more).saturating_mul(size_of::<T>());
    values.try_reserve_exact(more).map_err(|_| NoMemory { bytes })
}
