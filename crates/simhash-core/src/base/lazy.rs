//! A value that is computed on first use.

use std::ops::Deref;
use std::sync::OnceLock;

/// Like the standard library's `LazyLock`, except if the computation unwinds, for example because
/// an allocation fails. Then the next use tries again, whereas a `LazyLock` stays poisoned.
pub(crate) struct Lazy<T> {
    value: OnceLock<T>,
    compute: fn() -> T,
}

impl<T> Lazy<T> {
    pub(crate) const fn new(compute: fn() -> T) -> Self {
        Lazy { value: OnceLock::new(), compute }
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.get_or_init(self.compute)
    }
}
