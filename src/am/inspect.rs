//! simhash_index_info and simhash_index_check.
