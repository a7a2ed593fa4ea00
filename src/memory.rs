//! Turns a failed allocation into an ERROR 53200, after which the session continues.
//!
//! If an allocation fails in Rust, in any crate, [`allocation_failed`] unwinds to pgrx's guard. If
//! one fails in PostgreSQL, PostgreSQL raises its own error. Building, copying and sending either
//! error takes memory when none is left. A reserve is therefore held, and freed when an error
//! begins.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgSqlErrorCode, function_name, pg_sys};

/// When memory is short, a memory context still allocates blocks of up to 1 MB. The reserve covers
/// one block in the context that the error is copied to, one in the context that it is reported
/// from, and the allocations of Rust. The reserve is never written to, so it takes address space
/// but no pages.
const RESERVE: Layout = match Layout::from_size_align(4 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a valid layout"),
};

/// Null after the reserve has been freed.
static HELD: AtomicPtr<u8> = AtomicPtr::new(null_mut());

thread_local! {
    static RAISING: Cell<bool> = const { Cell::new(false) };
}

/// Must be called once, from `_PG_init`.
pub fn install() {
    simhash_oom::set_hook(allocation_failed);
    // pgrx's panic hook records the location and, with RUST_BACKTRACE=1, the stack, which allocates
    // and takes locks. Errors that carry their location need neither.
    let pgrx_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().is::<&str>() || info.payload().is::<String>() {
            release();
            pgrx_hook(info);
        }
    }));
    // SAFETY: runs once per process; the callbacks belong to this library, which is never unloaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ended), null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_changed), null_mut());
    }
    listen();
    take();
}

/// Ensures that the reserve is held, or raises 53200. Every entry point that receives a user's data
/// calls it.
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
        // SAFETY: the layout's size is not zero.
        HELD.store(unsafe { alloc(RESERVE) }, Ordering::Relaxed);
    }
    !HELD.load(Ordering::Relaxed).is_null()
}

fn release() {
    let held = HELD.swap(null_mut(), Ordering::Relaxed);
    if !held.is_null() {
        // SAFETY: `take` allocated it with this layout, and the swap leaves this call its only
        // owner.
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

/// The standard library's hook for a failed allocation. If it returns, the process aborts.
fn allocation_failed(layout: Layout) {
    release();
    // There is no remedy for a second failure, be it while building the error or in a destructor
    // during unwinding.
    if !RAISING.get() && !std::thread::panicking() {
        raise(layout.size());
    }
}

// pgrx does not bind it. Called from a callback of errfinish, where nothing may be raised or
// caught.
unsafe extern "C-unwind" {
    fn geterrcode() -> c_int;
}

static mut LISTENER: pg_sys::ErrorContextCallback = pg_sys::ErrorContextCallback {
    previous: null_mut(),
    callback: Some(error_begins),
    arg: null_mut(),
};

/// Puts [`LISTENER`] at the bottom of PostgreSQL's stack of error context callbacks unless it is
/// there. Callbacks above it are popped without removing it. It leaves the stack only when
/// PostgreSQL returns to the main loop or restores an earlier stack.
fn listen() {
    // SAFETY: called only where `error_context_stack` is current, so all its members are alive. The
    // listener is static.
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

/// Runs in errfinish, before the error is thrown. Next, pgrx copies the error into whatever memory
/// is left. If that fails, the new error is thrown to the same handler, and this repeats until
/// PostgreSQL's stack of errors overflows, which is a PANIC.
unsafe extern "C-unwind" fn error_begins(_argument: *mut c_void) {
    const SUCCESS: c_int = 0;
    const WARNING: c_int = 1 << 6;
    const NO_DATA: c_int = 2 << 6;
    // SAFETY: errfinish is running, so there is an error. A class is two characters of six bits
    // each.
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
