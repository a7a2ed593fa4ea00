//! Rows of the system caches.

use pgrx::pg_sys;

/// An OID unless it is `InvalidOid`.
pub fn valid(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    (oid != pg_sys::InvalidOid).then_some(oid)
}

/// A row of a system cache, while it is held. `F` is the struct of the catalogue's fixed columns.
pub struct Row<F> {
    cache: i32,
    tuple: pg_sys::HeapTuple,
    form: *const F,
}

impl<F> std::ops::Deref for Row<F> {
    type Target = F;

    fn deref(&self) -> &F {
        // SAFETY: the row is held, and is one of `F`'s catalogue: the promise of those who made it.
        unsafe { &*self.form }
    }
}

impl<F> Row<F> {
    /// A column beyond the fixed ones, `None` for NULL. It is valid while the row is held.
    pub fn column(&self, number: u32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the row is held; the column is its catalogue's.
        let value =
            unsafe { pg_sys::SysCacheGetAttr(self.cache, self.tuple, number as _, &mut is_null) };
        (!is_null).then_some(value)
    }
}

/// What `read` makes of the row with that key, `None` if there is no row. The row is released
/// after.
///
/// # Safety
/// In a transaction. The cache has one key, of the datum's type, and `F` is its catalogue's struct.
pub unsafe fn row<F, T>(
    cache: pg_sys::SysCacheIdentifier::Type,
    key: impl Into<pg_sys::Datum>,
    read: impl FnOnce(&Row<F>) -> T,
) -> Option<T> {
    let cache = cache as i32;
    // SAFETY: as this function's; a tuple is valid until it is released.
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

/// What `read` makes of each row whose first keys are these.
///
/// # Safety
/// In a transaction. The cache has as many keys or more, of these types, and `F` is its catalogue's
/// struct.
pub unsafe fn rows<F, T>(
    cache: pg_sys::SysCacheIdentifier::Type,
    keys: &[pg_sys::Datum],
    read: impl FnMut(&F) -> T,
) -> Vec<T> {
    let key = |place: usize| keys.get(place).copied().unwrap_or(pg_sys::Datum::null());
    // SAFETY: as this function's; a list of tuples is valid until it is released.
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
/// In a transaction. The cache has as many keys, of these types, and `column` is its catalogue's
/// column of OIDs.
pub unsafe fn oid(
    cache: pg_sys::SysCacheIdentifier::Type,
    column: u32,
    keys: &[pg_sys::Datum],
) -> Option<pg_sys::Oid> {
    let key = |place: usize| keys.get(place).copied().unwrap_or(pg_sys::Datum::null());
    // SAFETY: as this function's.
    valid(unsafe {
        pg_sys::GetSysCacheOid(cache as i32, column as _, key(0), key(1), key(2), key(3))
    })
}
