//! A value that is computed when it is first asked for.

use std::ops::Deref;
use std::sync::OnceLock;

/// As the standard library's `LazyLock`, except where a computation unwinds, because memory is
/// refused for example. Here it is tried again when the value is next asked for. A `LazyLock` would
/// refuse to give the value ever after.
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
