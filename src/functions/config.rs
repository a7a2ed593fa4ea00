//! Input functions of the type `simhash_config`. Output is PostgreSQL's own for text.

use std::ffi::CStr;

use pgrx::{Internal, pg_extern};

use crate::types::ConfigText;
use crate::types::message::Message;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_config_in(text: &CStr) -> ConfigText<'static> {
    ConfigText::checked(text.to_bytes())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_config_recv(buffer: Internal) -> ConfigText<'static> {
    ConfigText::checked(Message::of_argument(buffer).text())
}
