//! The functions that SQL calls: they convert arguments, and return what the other modules compute.
//!
//! Each file has the functions of one type or one purpose. The SQL script in `sql/` names them by
//! their C symbols, which pgrx derives from the Rust names (`<name>_wrapper`).

mod any_fingerprint;
mod ball;
mod bit_ball;
mod blocks;
mod bloom_aggregate;
mod bloom_filter;
mod bulk;
mod compared;
mod config;
mod dedup_texts;
mod distance;
mod edit_similarity;
mod evaluate;
mod explain;
mod fingerprint;
mod fingerprint_types;
mod groups;
mod handler;
mod hashers;
mod incomparable;
mod inspect;
mod ksentence;
mod lexicons;
mod minhash;
mod minhash_aggregate;
mod minhash_gin;
mod minhash_signature;
mod models;
mod near_duplicate;
mod near_text;
mod numbers;
mod order;
mod own_features;
mod parts;
mod passages;
mod planner;
mod shingles;
mod suggest;
mod text_passage;
mod train;
mod trigger;
mod tsvector;
mod values;
mod whole_passages;
mod words;
