//! Rows of the system caches.

use pgrx::pg_sys;

/// An OID unless it is `InvalidOid`.
pub fn valid(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    (oid != pg_sys::InvalidOid).then_some(oid)
}

/// A pinned row of a system cache. `F` is the struct of the catalogue's fixed columns.
pub struct Row<F> {
    cache: i32,
    tuple: pg_sys::HeapTuple,
    form: *const F,
}

impl<F> std::ops::Deref for Row<F> {
    type Target = F;

    fn deref(&self) -> &F {
        // SAFETY: the row is pinned, and belongs to `F`'s catalogue, as the caller of `row`
        // guarantees.
        unsafe { &*self.form }
    }
}

impl<F> Row<F> {
    /// A column beyond the fixed ones; `None` for NULL. The datum is valid while the row is pinned.
    pub fn column(&self, number: u32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the row is pinned, and the column belongs to its catalogue.
        let value =
            unsafe { pg_sys::SysCacheGetAttr(self.cache, self.tuple, number as _, &mut is_null) };
        (!is_null).then_some(value)
    }
}

/// The result of `read` for the row with that key; `None` if there is no row. The row is released
/// afterwards.
///
/// # Safety
/// A transaction is in progress. The cache has one key, of the datum's type, and `F` is its
/// catalogue's struct.
pub unsafe fn row<F, T>(
    cache: pg_sys::SysCacheIdentifier::Type,
    key: impl Into<pg_sys::Datum>,
    read: impl FnOnce(&Row<F>) -> T,
) -> Option<T> {
    let cache = cache as i32;
    // SAFETY: the cache has one key of this type; the tuple is valid until it is released.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, key.into());
        if tuple.is_null() {
            return None;
        }
        let found = read(&Row { cache, tuple, form: pg_sys::heap_tuple_get_struct(tuple) });
        pg_sys::ReleaseSysCache(tuple);
        Some(found)
    }
}

/// The results of `read` for all rows whose first keys are these.
///
/// # Safety
/// A transaction is in progress. The cache has at least as many keys, of these types, and `F` is
/// its catalogue's struct.
pub unsafe fn rows<F, T>(
    cache: pg_sys::SysCacheIdentifier::Type,
    keys: &[pg_sys::Datum],
    read: impl FnMut(&F) -> T,
) -> Vec<T> {
    let key = |place: usize| keys.get(place).copied().unwrap_or(pg_sys::Datum::null());
    // SAFETY: the cache has keys of these types; the list's tuples are valid until it is released.
    unsafe {
        let list =
            pg_sys::SearchSysCacheList(cache as i32, keys.len() as i32, key(0), key(1), key(2));
        let members = (*list).members.as_slice((*list).n_members.max(0) as usize);
        let forms = members
            .iter()
            .map(|&member| &*pg_sys::heap_tuple_get_struct::<F>(&raw mut (*member).tuple));
        let found = forms.map(read).collect();
        pg_sys::ReleaseCatCacheList(list);
        found
    }
}

/// The OID of the row with these keys.
///
/// # Safety
/// A transaction is in progress. The cache has keys of exactly these types, and `column` is
/// the number of its catalogue's OID column.
pub unsafe fn oid(
    cache: pg_sys::SysCacheIdentifier::Type,
    column: u32,
    keys: &[pg_sys::Datum],
) -> Option<pg_sys::Oid> {
    let key = |place: usize| keys.get(place).copied().unwrap_or(pg_sys::Datum::null());
    // SAFETY: the cache has these keys and this column of OIDs.
    valid(unsafe {
        pg_sys::GetSysCacheOid(cache as i32, column as _, key(0), key(1), key(2), key(3))
    })
}
