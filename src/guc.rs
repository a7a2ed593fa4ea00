//! Settings, all named `simhash.*`.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static ENABLE_REWRITE: GucSetting<bool> = GucSetting::<bool>::new(true);

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
}

pub fn rewrite_enabled() -> bool {
    ENABLE_REWRITE.get()
}
