//! The index's storage parameters: `blocks` for fingerprints; `similarity`, `config` and `recent`
//! for texts; `words`, `config` and `recent` for passages; `fillfactor` for all.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::passages::WORDS;
use simhash_core::sets::sketch::LEAST_SIMILARITY;
use simhash_index::postings::recent_by_default;

use crate::error::{raise, with_hint};
use crate::storage::IndexRel;
use crate::types::ConfigText;

/// The parsed form that PostgreSQL keeps in `rd_options`.
#[repr(C)]
pub struct Options {
    /// The varlena header that build_reloptions writes.
    length: i32,
    /// 0 for the default of the column's width.
    pub blocks: i32,
    /// 0 for the default of the kind of index.
    pub fillfactor: i32,
    /// In kB; -1 for a size that depends on that of the index.
    recent: i32,
    /// `UNSET` if it was not given.
    similarity: f64,
    /// The offset of the config's text from the start of this struct. 0 if it was not given.
    config: i32,
    /// 0 if it was not given.
    words: i32,
}

const PARAMETERS: &CStr =
    c"An index on texts has the storage parameters similarity (0.3 to 1: 0.7 for 70 %), config and \
      recent; one on passages, words (5 to 10000), config and recent; one on fingerprints, blocks \
      (1 to 16); each, fillfactor (50 to 100).";

/// The value of `similarity` if it was not given.
const UNSET: f64 = 2.0;

/// Leaves room for a tenth more rows before the leaves of a new index split.
const DEFAULT_FILLFACTOR: i32 = 90;
/// Higher for postings: they are many, and move to settled leaves dozens at a time.
const DEFAULT_FILLFACTOR_OF_TEXTS: i32 = 95;

static KIND: AtomicU32 = AtomicU32::new(0);

/// Registers the parameters in this process. Called once, when the library is loaded.
pub fn register() {
    let strict = pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE;
    let lenient = pg_sys::ShareUpdateExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: called while the library is loaded.
    let kind = unsafe { pg_sys::add_reloption_kind() };
    let integer =
        |name: &'static CStr, text: &'static CStr, [usual, least, most]: [i32; 3], lock| {
            let (name, text) = (name.as_ptr(), text.as_ptr());
            // SAFETY: called while the library is loaded; the strings are static.
            unsafe { pg_sys::add_int_reloption(kind, name, text, usual, least, most, lock) };
        };
    let text = c"Number of blocks, and of tables: 4 for 64 bits and 8 for 128 by default.";
    integer(c"blocks", text, [0, 1, 16], strict);
    let text = c"How full, in percent, a build leaves the pages.";
    integer(c"fillfactor", text, [0, 50, 100], lenient);
    let text = c"kB of postings that are gathered before they are written where they belong.";
    integer(c"recent", text, [-1, -1, 1 << 20], lenient);
    let text = c"The least number of words of a passage that the index finds: 25 by default.";
    integer(c"words", text, [0, *WORDS.start() as i32, *WORDS.end() as i32], strict);
    let (name, text) = (c"similarity", c"The least similarity of texts that the index serves.");
    let (name, text, least) = (name.as_ptr(), text.as_ptr(), LEAST_SIMILARITY);
    // SAFETY: called while the library is loaded; the strings are static.
    unsafe { pg_sys::add_real_reloption(kind, name, text, UNSET, least, 1.0, strict) };
    let (name, text) = (c"config", c"How texts become sets of shingles: a simhash_config.");
    let (name, text, none) = (name.as_ptr(), text.as_ptr(), std::ptr::null());
    // SAFETY: called while the library is loaded; the strings are static.
    unsafe { pg_sys::add_string_reloption(kind, name, text, none, Some(check_config), strict) };
    KIND.store(kind as u32, Ordering::Relaxed);
}

/// Raises 22P02 if the text is no config.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check_config(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: PostgreSQL passes a C string, or null.
        ConfigText::checked(unsafe { CStr::from_ptr(text) }.to_bytes());
    }
}

#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amoptions(
    given: pg_sys::Datum,
    validate: bool,
) -> *mut pg_sys::bytea {
    #[allow(clippy::needless_update, reason = "PostgreSQL 18 has one more field")]
    let field = |name: &'static CStr, kind, offset: usize| pg_sys::relopt_parse_elt {
        optname: name.as_ptr(),
        opttype: kind,
        offset: offset as i32,
        ..Default::default()
    };
    use pg_sys::relopt_type::{RELOPT_TYPE_INT, RELOPT_TYPE_REAL, RELOPT_TYPE_STRING};
    let fields = [
        field(c"blocks", RELOPT_TYPE_INT, offset_of!(Options, blocks)),
        field(c"fillfactor", RELOPT_TYPE_INT, offset_of!(Options, fillfactor)),
        field(c"recent", RELOPT_TYPE_INT, offset_of!(Options, recent)),
        field(c"similarity", RELOPT_TYPE_REAL, offset_of!(Options, similarity)),
        field(c"config", RELOPT_TYPE_STRING, offset_of!(Options, config)),
        field(c"words", RELOPT_TYPE_INT, offset_of!(Options, words)),
    ];
    let kind = KIND.load(Ordering::Relaxed) as pg_sys::relopt_kind::Type;
    let (size, all, count) = (size_of::<Options>(), fields.as_ptr(), fields.len() as i32);
    // SAFETY: `fields` describes `Options`.
    let parse = || unsafe { pg_sys::build_reloptions(given, validate, kind, size, all, count) };
    with_hint(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, PARAMETERS, parse).cast()
}

impl Options {
    /// The parameters of an index; `None` if none was given.
    fn of(rel: &IndexRel) -> Option<&Self> {
        // SAFETY: `rel` is an open index of this access method, so rd_options is null or what
        // amoptions returned.
        unsafe { (*rel.as_ptr()).rd_options.cast::<Self>().as_ref() }
    }

    /// The number of blocks to build with.
    pub fn blocks(rel: IndexRel, default: u32) -> u32 {
        let given = Self::of(&rel).map_or(0, |options| options.blocks);
        if given > 0 { given as u32 } else { default }
    }

    /// How full a build leaves the pages, in percent.
    pub fn fillfactor(rel: IndexRel, is_of_texts: bool) -> usize {
        let given = Self::of(&rel).map_or(0, |options| options.fillfactor);
        let default = if is_of_texts { DEFAULT_FILLFACTOR_OF_TEXTS } else { DEFAULT_FILLFACTOR };
        (if given > 0 { given } else { default }) as usize
    }

    /// How many leaves the recent tree may have.
    pub fn most_recent(rel: IndexRel) -> u32 {
        let given = Self::of(&rel).map_or(-1, |options| options.recent);
        match u32::try_from(given) {
            Ok(kilobytes) => kilobytes.div_ceil(pg_sys::BLCKSZ / 1024),
            Err(_) => recent_by_default(rel.pages()),
        }
    }

    /// The parameters `similarity` and `config`, where they were given.
    pub fn of_texts(rel: IndexRel) -> (Option<f64>, Option<String>) {
        let Some(options) = Self::of(&rel) else { return (None, None) };
        let similarity = (options.similarity != UNSET).then_some(options.similarity);
        let start = usize::try_from(options.config).ok().filter(|&start| start > 0);
        let config = start.map(|start| {
            // SAFETY: build_reloptions puts the C string behind the struct, at this offset.
            let text =
                unsafe { CStr::from_ptr(std::ptr::from_ref(options).cast::<c_char>().add(start)) };
            ConfigText::checked(text.to_bytes()).as_str().to_owned()
        });
        (similarity, config)
    }

    /// Raises 22023 if an index has `similarity` or `config`, which it cannot use.
    pub fn expect_none_of_texts(rel: IndexRel) {
        let Some(options) = Self::of(&rel) else { return };
        let given = [(options.similarity != UNSET, "similarity"), (options.config > 0, "config")];
        if let Some((_, name)) = given.iter().find(|(is_given, _)| *is_given) {
            raise_useless(
                rel,
                name,
                "The parameter is for an index on texts. near_text(body, 0.8) has its own, and \
                 fingerprints are compared by distance.",
            );
        }
    }

    /// The parameter `words`, if it was given.
    pub fn words(rel: IndexRel) -> Option<usize> {
        let given = Self::of(&rel).map_or(0, |options| options.words);
        usize::try_from(given).ok().filter(|&words| words > 0)
    }

    /// Raises 22023 if an index that is not of passages has `words`.
    pub fn expect_no_words(rel: IndexRel) {
        if Self::words(rel).is_some() {
            raise_useless(
                rel,
                "words",
                "The parameter is for an index on passages: USING simhash (body text_passage_ops).",
            );
        }
    }

    /// Raises 22023 if an index of passages has `similarity`.
    pub fn expect_no_similarity(rel: IndexRel) {
        if Self::of_texts(rel).0.is_some() {
            raise_useless(
                rel,
                "similarity",
                "An index on passages has the parameter words, the least number of words of a \
                 passage.",
            );
        }
    }

    /// Raises 22023 if an index of texts has `blocks`.
    pub fn expect_no_blocks(rel: IndexRel) {
        if Self::blocks(rel, 0) > 0 {
            raise_useless(rel, "blocks", "Only an index on fingerprints has blocks.");
        }
    }
}

fn raise_useless(rel: IndexRel, parameter: &str, hint: &str) -> ! {
    let hint = format!("{hint} To remove it: ALTER INDEX ... RESET ({parameter}).");
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("index \"{}\" cannot have the storage parameter \"{parameter}\"", rel.name()),
        &hint,
    )
}
