//! The index's storage parameters: `blocks` and `fillfactor`.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use pgrx::pg_sys;

/// The parsed form that PostgreSQL keeps in `rd_options`.
#[repr(C)]
pub struct Options {
    /// The varlena header that build_reloptions writes.
    length: i32,
    /// 0: the default of the column's width.
    pub blocks: i32,
    pub fillfactor: i32,
}

/// Leaves room for a tenth more rows before the leaves of a fresh index split.
const DEFAULT_FILLFACTOR: i32 = 90;

static KIND: AtomicU32 = AtomicU32::new(0);

/// Makes the parameters known to this process. Called once, when the library is loaded.
pub fn register() {
    // SAFETY: at load time; the strings are static.
    unsafe {
        let kind = pg_sys::add_reloption_kind();
        let lock = pg_sys::AccessExclusiveLock as pg_sys::LOCKMODE;
        pg_sys::add_int_reloption(
            kind,
            c"blocks".as_ptr(),
            c"Number of blocks, and of tables: 4 for 64 bits and 8 for 128 by default.".as_ptr(),
            0,
            0,
            16,
            lock,
        );
        pg_sys::add_int_reloption(
            kind,
            c"fillfactor".as_ptr(),
            c"How full, in percent, a build leaves the pages.".as_ptr(),
            DEFAULT_FILLFACTOR,
            50,
            100,
            pg_sys::ShareUpdateExclusiveLock as pg_sys::LOCKMODE,
        );
        KIND.store(kind as u32, Ordering::Relaxed);
    }
}

/// amoptions.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amoptions(
    given: pg_sys::Datum,
    validate: bool,
) -> *mut pg_sys::bytea {
    #[allow(clippy::needless_update, reason = "PostgreSQL 18 has one more field")]
    let field = |name: &'static std::ffi::CStr, offset: usize| pg_sys::relopt_parse_elt {
        optname: name.as_ptr(),
        opttype: pg_sys::relopt_type::RELOPT_TYPE_INT,
        offset: offset as i32,
        ..Default::default()
    };
    let fields = [
        field(c"blocks", offset_of!(Options, blocks)),
        field(c"fillfactor", offset_of!(Options, fillfactor)),
    ];
    // SAFETY: the table describes `Options`.
    unsafe {
        pg_sys::build_reloptions(
            given,
            validate,
            KIND.load(Ordering::Relaxed) as pg_sys::relopt_kind::Type,
            size_of::<Options>(),
            fields.as_ptr(),
            fields.len() as i32,
        )
        .cast()
    }
}

impl Options {
    /// The parameters of an index: `None` when none was given.
    ///
    /// # Safety
    /// `rel` is an open index of this access method.
    unsafe fn of<'a>(rel: pg_sys::Relation) -> Option<&'a Self> {
        // SAFETY: rd_options is null or what amoptions made.
        unsafe { (*rel).rd_options.cast::<Self>().as_ref() }
    }

    /// The number of blocks to build with.
    ///
    /// # Safety
    /// `rel` is an open index of this access method.
    pub unsafe fn blocks(rel: pg_sys::Relation, default: u32) -> u32 {
        // SAFETY: as this function's.
        let given = unsafe { Self::of(rel) }.map_or(0, |options| options.blocks);
        if given > 0 { given as u32 } else { default }
    }

    /// The share of a page that a build fills.
    ///
    /// # Safety
    /// `rel` is an open index of this access method.
    pub unsafe fn fillfactor(rel: pg_sys::Relation) -> usize {
        // SAFETY: as this function's.
        unsafe { Self::of(rel) }.map_or(DEFAULT_FILLFACTOR, |options| options.fillfactor) as usize
    }
}
