//! Settings, all named `simhash.*`.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static ENABLE_REWRITE: GucSetting<bool> = GucSetting::<bool>::new(true);

/// In kilobytes.
static WORK_MEM: GucSetting<i32> = GucSetting::<i32>::new(1 << 20);

/// Must be called once, from `_PG_init`.
pub fn define() {
    GucRegistry::define_bool_guc(
        c"simhash.enable_rewrite",
        c"Lets hamming(x, y) <= k use a simhash index.",
        c"The condition is rewritten to x <@ hamming_ball(y, k) while the query is planned.",
        &ENABLE_REWRITE,
        GucContext::Userset,
        GucFlags::EXPLAIN,
    );
    GucRegistry::define_int_guc(
        c"simhash.work_mem",
        c"Memory for one deduplication or one training of a model.",
        c"dedup_texts and simhash_clusters stop with an error that says what to do; \
          simhash_train writes to temporary files.",
        &WORK_MEM,
        16 << 10,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
}

pub fn rewrite_enabled() -> bool {
    ENABLE_REWRITE.get()
}

/// In bytes.
pub fn work_mem() -> usize {
    usize::try_from(WORK_MEM.get()).unwrap_or(0) << 10
}
