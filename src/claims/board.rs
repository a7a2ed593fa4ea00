//! The board: the claims of all sessions, in shared memory under one lightweight lock.
//!
//! From PostgreSQL 17 on the first session that needs the board makes it. Sessions with another
//! build of the library have none, until the server is restarted. Before 17, the whole server has
//! one if the library is in shared_preload_libraries, and otherwise none.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use pgrx::{pg_guard, pg_sys};
use simhash_core::sets::outline::Outline;
use simhash_core::sets::sketch::{Law, MOST_BANDS};

use crate::library;
use crate::types::Code;

/// The properties by which a row being inserted is compared, for one topmost parent of its table.
#[derive(Clone, Copy)]
pub struct Claim {
    pub ticket: u64,
    pub database: pg_sys::Oid,
    pub root: pg_sys::Oid,
    pub triggers: TriggerSet,
    /// A hash of the name of the compared column.
    pub column: u64,
    pub what: What,
    /// Hashes of the scope's columns, and of the row's values in them.
    pub scope: Scope,
}

/// The values by which two rows are compared.
#[allow(clippy::large_enum_variant, reason = "it stands in shared memory")]
#[derive(Clone, Copy)]
pub enum What {
    Fingerprint {
        fp: Code,
        distance: u32,
    },
    /// A text's sketch keys, of which near texts share some, and an outline that rules out most
    /// texts that are not near.
    Text(TextKeys),
}

/// A text's keys and the settings that they depend on. The first `law.bands` keys are those of the
/// bands of `law.rows` rows, cut to 32 bits.
#[derive(Clone, Copy)]
pub struct TextKeys {
    pub keys: [u32; MOST_BANDS],
    pub law: Law,
    pub similarity: f64,
    /// `None` for a long text.
    pub outline: Option<Outline>,
    /// A hash of the config that turns texts into sets.
    pub config: u64,
}

impl What {
    /// Whether the two may be near, by the settings of either row.
    fn is_near(&self, other: &What) -> bool {
        match (self, other) {
            (
                What::Fingerprint { fp, distance },
                What::Fingerprint { fp: other, distance: others },
            ) => fp.bits() == other.bits() && fp.hamming(other) <= *distance.max(others),
            (What::Text(a), What::Text(b)) => {
                // Keys with other numbers of bands or rows, or by another config, cannot be
                // compared.
                let layout = |text: &TextKeys| (text.law.bands, text.law.rows, text.config);
                if layout(a) != layout(b) {
                    return true;
                }
                let bands = a.keys[..a.law.bands].iter().zip(&b.keys);
                let least = a.similarity.min(b.similarity);
                let outlines = a.outline.as_ref().zip(b.outline.as_ref());
                bands.filter(|(a, b)| a == b).count() >= a.law.shared.min(b.law.shared)
                    && outlines.is_none_or(|(a, b)| a.may_reach(b, least))
            }
            _ => true,
        }
    }
}

/// Hashes of the trigger that claims a row, and of the set of triggers that all rows of its table
/// have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TriggerSet {
    pub own: u64,
    /// `None` if rows of the table may have different triggers.
    pub all: Option<u64>,
}

impl TriggerSet {
    /// Whether the claims of two rows are compared. If both rows have the same triggers, only
    /// claims of the same trigger are. Otherwise two rows could deadlock: a row keeps its first
    /// trigger's claim while it waits for the claim that another row's second trigger has
    /// published.
    fn compare(&self, other: &TriggerSet) -> bool {
        self.all.is_none() || self.all != other.all || self.own == other.own
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub columns: u64,
    pub values: u64,
}

impl Claim {
    /// Whether the two rows may be near-duplicates, by the settings of either row. Scopes of
    /// different columns count as equal.
    fn is_near(&self, other: &Claim) -> bool {
        self.database == other.database
            && self.root == other.root
            && self.triggers.compare(&other.triggers)
            && self.column == other.column
            && (self.scope.columns != other.scope.columns || self.scope == other.scope)
            && self.what.is_near(&other.what)
    }
}

/// The start of the shared memory. The claims follow it.
#[repr(C, align(16))]
struct Header {
    /// [`library::build`] of the library that made the board. It is first in every version; what
    /// follows is not the same in other builds.
    build: u64,
    /// The last ticket drawn. A ticket is never drawn twice.
    ticket: AtomicU64,
    /// The number of claims that fit, and the number of claims present.
    room: usize,
    count: usize,
    lock: pg_sys::LWLock,
}

/// Null without shared memory, or before this session has looked up the segment.
static HEADER: AtomicPtr<Header> = AtomicPtr::new(null_mut());

const NAME: &CStr = c"pg_simhash";

/// The bytes for a claim, and for the header. Every version has the same: if sessions name
/// different sizes of the segment, PostgreSQL raises an ERROR.
const PLACE: usize = 2048;
const _: () = assert!(size_of::<Claim>() <= PLACE && size_of::<Header>() <= PLACE);

/// Room for four claims per session, because nested statements and several triggers claim rows at
/// the same time. All processes of the server have the same values of these settings, and every
/// version makes this of them.
fn room() -> usize {
    // SAFETY: reads settings, which are set before libraries are loaded.
    let sessions = unsafe { pg_sys::MaxConnections + pg_sys::max_worker_processes };
    4 * usize::try_from(sessions).unwrap_or(0) + 256
}

fn bytes() -> usize {
    (1 + room()) * PLACE
}

/// Initialises an empty board.
///
/// # Safety
/// The memory has [`bytes`] bytes, and no other process uses it yet.
unsafe fn begin(header: *mut Header, tranche: i32) {
    let lock = pg_sys::LWLock::default();
    // SAFETY: the memory is large enough, and only this process uses it.
    unsafe {
        let ticket = AtomicU64::new(0);
        header.write(Header { build: library::build(), ticket, room: room(), count: 0, lock });
        pg_sys::LWLockInitialize(&raw mut (*header).lock, tranche);
    }
}

/// Before PostgreSQL 17, only libraries that the postmaster loads can request shared memory. The
/// postmaster makes the board, and backends inherit its address.
#[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
mod memory {
    use std::sync::OnceLock;

    use super::*;

    #[cfg(not(feature = "pg14"))]
    static PREVIOUS_REQUEST: OnceLock<pg_sys::shmem_request_hook_type> = OnceLock::new();
    static PREVIOUS_STARTUP: OnceLock<pg_sys::shmem_startup_hook_type> = OnceLock::new();

    pub fn install() {
        // SAFETY: a library sets hooks while it is loaded, when the process has a single thread.
        unsafe {
            if !pg_sys::process_shared_preload_libraries_in_progress {
                return;
            }
            #[cfg(feature = "pg14")]
            request_memory();
            #[cfg(not(feature = "pg14"))]
            {
                PREVIOUS_REQUEST.get_or_init(|| pg_sys::shmem_request_hook);
                pg_sys::shmem_request_hook = Some(request);
            }
            PREVIOUS_STARTUP.get_or_init(|| pg_sys::shmem_startup_hook);
            pg_sys::shmem_startup_hook = Some(startup);
        }
    }

    fn request_memory() {
        // SAFETY: called while the postmaster accepts requests for shared memory.
        unsafe {
            pg_sys::RequestAddinShmemSpace(bytes());
            pg_sys::RequestNamedLWLockTranche(NAME.as_ptr(), 1);
        }
    }

    #[cfg(not(feature = "pg14"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn request() {
        if let Some(Some(previous)) = PREVIOUS_REQUEST.get() {
            // SAFETY: calls the hook that was installed before.
            unsafe { previous() };
        }
        request_memory();
    }

    #[pg_guard]
    unsafe extern "C-unwind" fn startup() {
        // SAFETY: calls the hook that was installed before. The memory has the requested size, and
        // only the postmaster uses it at a start or a restart after a crash. Of the requested lock
        // only the tranche is used, which has a name.
        unsafe {
            if let Some(Some(previous)) = PREVIOUS_STARTUP.get() {
                previous();
            }
            let mut found = false;
            let header = pg_sys::ShmemInitStruct(NAME.as_ptr(), bytes(), &mut found).cast();
            if !found {
                let named = pg_sys::GetNamedLWLockTranche(NAME.as_ptr());
                begin(header, i32::from((*named).lock.tranche));
            }
            HEADER.store(header, Ordering::Relaxed);
        }
    }

    pub fn is_there() -> bool {
        !HEADER.load(Ordering::Relaxed).is_null()
    }
}

/// From PostgreSQL 17 on, the first session that needs the board makes it, in a segment that lasts
/// until the server stops or restarts after a crash.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
mod memory {
    use std::ffi::c_void;
    use std::sync::OnceLock;

    use super::*;
    use crate::compat;

    /// Whether this build made the segment, once this session has looked it up.
    static IS_OURS: OnceLock<bool> = OnceLock::new();

    pub fn install() {}

    #[cfg(not(feature = "pg19"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn begins(memory: *mut c_void) {
        // SAFETY: PostgreSQL passes the new segment, and holds a lock until it is initialised.
        unsafe { begin(memory.cast(), compat::new_tranche(NAME)) };
    }

    #[cfg(feature = "pg19")]
    #[pg_guard]
    unsafe extern "C-unwind" fn begins(memory: *mut c_void, _argument: *mut c_void) {
        // SAFETY: PostgreSQL passes the new segment, and holds a lock until it is initialised.
        unsafe { begin(memory.cast(), compat::new_tranche(NAME)) };
    }

    pub fn is_there() -> bool {
        *IS_OURS.get_or_init(|| {
            // SAFETY: a transaction is in progress. The segment stays mapped until the process
            // exits, and starts with the number of the build.
            unsafe {
                let segment = compat::named_segment(NAME, bytes(), begins);
                let is_ours = *segment.cast::<u64>() == library::build();
                if is_ours {
                    let header = segment.cast::<Header>();
                    compat::name_tranche((*header).lock.tranche, NAME);
                    HEADER.store(header, Ordering::Relaxed);
                } else {
                    pgrx::log!(
                        "pg_simhash was installed anew since the server started: writers of \
                         tables with the trigger simhash_dedup wait for each other until the \
                         server is restarted"
                    );
                }
                is_ours
            }
        })
    }
}

/// Requests shared memory, in versions where that must happen while the library is loaded.
pub use memory::install;
/// Whether there is a board, by which all sessions see each other's claims. To be called before any
/// other function of this module.
pub use memory::is_there;

/// Draws a ticket that no other claim has had or will have.
pub fn draw() -> u64 {
    // SAFETY: there is a board, whose memory lasts as long as the server.
    unsafe { (*HEADER.load(Ordering::Relaxed)).ticket.fetch_add(1, Ordering::Relaxed) + 1 }
}

/// Calls `with` with the claims and their number while no other process can read or change them.
/// `with` must not raise an ERROR.
fn locked<T>(with: impl FnOnce(&mut [std::mem::MaybeUninit<Claim>], &mut usize) -> T) -> T {
    let header = HEADER.load(Ordering::Relaxed);
    // SAFETY: there is a board. Only this function accesses its claims, and it holds the lock.
    unsafe {
        let lock = &raw mut (*header).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
        let claims = std::slice::from_raw_parts_mut(header.add(1).cast(), (*header).room);
        let result = with(claims, &mut (*header).count);
        pg_sys::LWLockRelease(lock);
        result
    }
}

/// The outcome of publishing claims.
pub enum Published {
    Yes,
    /// No claim was published, because the claim with this ticket is near.
    Near(u64),
    /// No claim was published, because the board is full.
    Full,
}

/// Publishes claims unless another claim is near one of them. Claims for whose ticket `ignored`
/// returns true are disregarded.
pub fn publish(own: &[Claim], ignored: impl Fn(u64) -> bool) -> Published {
    locked(|claims, count| {
        for other in &claims[..*count] {
            // SAFETY: the first `count` claims are initialised.
            let other = unsafe { other.assume_init_ref() };
            if own.iter().any(|own| own.is_near(other)) && !ignored(other.ticket) {
                return Published::Near(other.ticket);
            }
        }
        if claims.len() - *count < own.len() {
            return Published::Full;
        }
        for claim in own {
            claims[*count].write(*claim);
            *count += 1;
        }
        Published::Yes
    })
}

/// Removes the claims of a ticket from the board, if there are any.
pub fn remove(ticket: u64) {
    locked(|claims, count| {
        let mut at = 0;
        while at < *count {
            // SAFETY: the first `count` claims are initialised.
            if unsafe { claims[at].assume_init_ref() }.ticket == ticket {
                *count -= 1;
                claims.swap(at, *count);
            } else {
                at += 1;
            }
        }
    });
}
