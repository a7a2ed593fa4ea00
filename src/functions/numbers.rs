//! `simhash_numbers`: the numbers of a text, as they are compared.

use pgrx::pg_extern;
use simhash_core::sets::numbers::list;

use crate::call::interrupts;
use crate::types::returned_array::TextArray;
use crate::types::varlena::{LARGEST_VALUE, raise_too_large};
use crate::types::{ConfigText, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_numbers(body: Text<'_>, config: ConfigText<'_>) -> TextArray {
    let numbers = list(body.as_str(), &config.config(), LARGEST_VALUE, &mut interrupts())
        .unwrap_or_else(|| raise_too_large("the numbers of this text are too long in total"));
    let mut array = TextArray::new();
    numbers.iter().for_each(|number| array.push_shown(number));
    array
}
