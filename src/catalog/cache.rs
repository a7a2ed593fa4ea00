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
    // SAFETY: the cache has one key of this type.
    let tuple = unsafe { pg_sys::SearchSysCache1(cache, key.into()) };
    if tuple.is_null() {
        return None;
    }
    // SAFETY: the row is of `F`'s catalogue, and valid until it is released.
    let form = unsafe { pg_sys::heap_tuple_get_struct(tuple) };
    let found = read(&Row { cache, tuple, form });
    // SAFETY: the row was pinned above, and is used no more.
    unsafe { pg_sys::ReleaseSysCache(tuple) };
    Some(found)
}

/// A catalogue's struct of fixed columns, whose rows a cache finds by OID.
///
/// # Safety
/// The cache has one key, an OID, and its rows begin with this struct.
pub unsafe trait ByOid {
    const CACHE: pg_sys::SysCacheIdentifier::Type;
}

// SAFETY: this cache of pg_class has one key, the OID.
unsafe impl ByOid for pg_sys::FormData_pg_class {
    const CACHE: pg_sys::SysCacheIdentifier::Type = pg_sys::SysCacheIdentifier::RELOID;
}

// SAFETY: this cache of pg_proc has one key, the OID.
unsafe impl ByOid for pg_sys::FormData_pg_proc {
    const CACHE: pg_sys::SysCacheIdentifier::Type = pg_sys::SysCacheIdentifier::PROCOID;
}

/// The result of `read` for the row with that OID, as [`row`] returns it.
pub fn by_oid<F: ByOid, T>(oid: pg_sys::Oid, read: impl FnOnce(&Row<F>) -> T) -> Option<T> {
    // SAFETY: the cache has one key, an OID, and rows of `F`; catalogues are read in transactions.
    unsafe { row(F::CACHE, oid, read) }
}

/// The keys of a look-up. Those beyond the ones that are given do not count.
fn padded<const N: usize>(keys: &[pg_sys::Datum]) -> [pg_sys::Datum; N] {
    std::array::from_fn(|place| keys.get(place).copied().unwrap_or(pg_sys::Datum::null()))
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
    let (count, [a, b, c]) = (keys.len() as i32, padded(keys));
    // SAFETY: the cache has keys of these types.
    let list = unsafe { pg_sys::SearchSysCacheList(cache as i32, count, a, b, c) };
    // SAFETY: the list has so many members until it is released.
    let members = unsafe { (*list).members.as_slice((*list).n_members.max(0) as usize) };
    let form = |&member: &*mut pg_sys::CatCTup| {
        // SAFETY: a member's row is of `F`'s catalogue, and valid until the list is released.
        unsafe { &*pg_sys::heap_tuple_get_struct::<F>(&raw mut (*member).tuple) }
    };
    let found = members.iter().map(form).map(read).collect();
    // SAFETY: the list was made above, and is used no more.
    unsafe { pg_sys::ReleaseCatCacheList(list) };
    found
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
    let [a, b, c, d] = padded(keys);
    // SAFETY: the cache has these keys and this column of OIDs.
    valid(unsafe { pg_sys::GetSysCacheOid(cache as i32, column as _, a, b, c, d) })
}
