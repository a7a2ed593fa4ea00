//! What happens when memory is refused: an ERROR 53200, and the session goes on.
//!
//! When an allocation fails in Rust, in whichever crate, [`allocation_failed`] is called and
//! unwinds to pgrx's guard. When one fails in PostgreSQL, PostgreSQL raises its own error. To make,
//! copy and send either error takes memory, and there is none. So a reserve is held, and it is
//! freed when an error begins.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgSqlErrorCode, function_name, pg_sys};

/// Where memory is short, a memory context still begins blocks of up to 1 MB. The reserve is enough
/// for one in the context that the error is copied to, one in the context that it is reported from,
/// and what Rust needs beside them. It is never written to, so it takes addresses and no pages.
const RESERVE: Layout = match Layout::from_size_align(4 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a valid layout"),
};

/// Null once the reserve was freed.
static HELD: AtomicPtr<u8> = AtomicPtr::new(null_mut());

thread_local! {
    static RAISING: Cell<bool> = const { Cell::new(false) };
}

/// Must be called once, from `_PG_init`.
pub fn install() {
    simhash_oom::set_hook(allocation_failed);
    // pgrx's panic hook notes the place and, with RUST_BACKTRACE=1, the stack, which allocates and
    // takes locks. Errors that know their place need neither.
    let pgrx_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().is::<&str>() || info.payload().is::<String>() {
            release();
            pgrx_hook(info);
        }
    }));
    // SAFETY: once in a process; the callbacks are of this library, which is never unloaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ended), null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_changed), null_mut());
    }
    listen();
    take();
}

/// Makes sure of the reserve, or raises 53200. Called wherever PostgreSQL enters the library with a
/// user's data.
#[inline]
pub fn prepare() {
    if HELD.load(Ordering::Relaxed).is_null() {
        prepare_again();
    }
}

#[cold]
fn prepare_again() {
    listen();
    if !take() {
        raise(RESERVE.size());
    }
}

fn take() -> bool {
    if HELD.load(Ordering::Relaxed).is_null() {
        // SAFETY: the layout has a size.
        HELD.store(unsafe { alloc(RESERVE) }, Ordering::Relaxed);
    }
    !HELD.load(Ordering::Relaxed).is_null()
}

fn release() {
    let held = HELD.swap(null_mut(), Ordering::Relaxed);
    if !held.is_null() {
        // SAFETY: allocated with this layout, and nobody else frees it.
        unsafe { dealloc(held, RESERVE) };
    }
}

/// Raises 53200 for a request of `bytes` bytes.
fn raise(bytes: usize) -> ! {
    RAISING.set(true);
    let report =
        ErrorReport::new(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory", function_name!());
    let payload = Box::new(report.set_detail(format!("Failed on request of size {bytes}.")));
    RAISING.set(false);
    std::panic::resume_unwind(payload)
}

/// The standard library's hook for an allocation that fails. Returning ends the process.
fn allocation_failed(layout: Layout) {
    release();
    // A second failure on the way out, of the error itself or in a destructor, which must not
    // unwind, has no remedy.
    if !RAISING.get() && !std::thread::panicking() {
        raise(layout.size());
    }
}

// pgrx does not bind it. It is called from a callback of errfinish, where nothing may be caught or
// raised.
unsafe extern "C-unwind" {
    fn geterrcode() -> c_int;
}

static mut LISTENER: pg_sys::ErrorContextCallback = pg_sys::ErrorContextCallback {
    previous: null_mut(),
    callback: Some(error_begins),
    arg: null_mut(),
};

/// Puts [`LISTENER`] at the bottom of PostgreSQL's stack of error context callbacks, if it is not
/// there. What is above it pops down to it. It leaves the stack only when PostgreSQL returns to the
/// main loop, or to a stack that was saved before.
fn listen() {
    // SAFETY: called where the stack is PostgreSQL's present one, all of whose members are alive;
    // the listener is static.
    unsafe {
        let listener = &raw mut LISTENER;
        let mut last = &raw mut pg_sys::error_context_stack;
        while !(*last).is_null() {
            if *last == listener {
                return;
            }
            last = &raw mut (**last).previous;
        }
        *last = listener;
    }
}

/// Runs in errfinish, before the error is thrown. Next, pgrx copies the error, in whatever memory
/// there is. An error while it copies is thrown to the same place, and so on until PostgreSQL's
/// stack of errors overflows, which is a PANIC.
unsafe extern "C-unwind" fn error_begins(_argument: *mut c_void) {
    const SUCCESS: c_int = 0;
    const WARNING: c_int = 1 << 6;
    const NO_DATA: c_int = 2 << 6;
    // SAFETY: an error is being made. The class is two characters of six bits each.
    let class = unsafe { geterrcode() } & 0xfff;
    if !matches!(class, SUCCESS | WARNING | NO_DATA) {
        release();
    }
}

unsafe extern "C-unwind" fn transaction_ended(
    _event: pg_sys::XactEvent::Type,
    _argument: *mut c_void,
) {
    listen();
    take();
}

unsafe extern "C-unwind" fn subtransaction_changed(
    _event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    listen();
    take();
}
