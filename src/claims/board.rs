//! The claims of all sessions, in shared memory under one lightweight lock.
//!
//! From PostgreSQL 17 on there is a board. Before, there is one if the library is in
//! shared_preload_libraries: for the whole server or for nobody.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use pgrx::{pg_guard, pg_sys};
use simhash_core::sets::outline::Outline;
use simhash_core::sets::sketch::{Law, MOST_BANDS};

use crate::types::Code;

/// What a row on its way into a table is compared by, below one topmost parent of the table.
#[derive(Clone, Copy)]
pub struct Claim {
    pub ticket: u64,
    pub database: pg_sys::Oid,
    pub root: pg_sys::Oid,
    pub triggers: TriggerSet,
    /// A hash of the column that rows are compared by, by name.
    pub column: u64,
    pub what: What,
    /// Hashes of the scope: of its columns, and of the row's values in them.
    pub scope: Scope,
}

/// What two rows are compared by.
#[allow(clippy::large_enum_variant, reason = "it stands in shared memory")]
#[derive(Clone, Copy)]
pub enum What {
    Fingerprint {
        fp: Code,
        distance: u32,
    },
    /// The keys of a text's sketch, of which near texts have some in common, and what tells that
    /// most others are not near.
    Text(TextKeys),
}

/// The first `law.bands` are keys of bands of `law.rows` rows, cut to 32 bits.
#[derive(Clone, Copy)]
pub struct TextKeys {
    pub keys: [u32; MOST_BANDS],
    pub law: Law,
    pub similarity: f64,
    /// `None` of a long text.
    pub outline: Option<Outline>,
    /// A hash of the config by which texts become sets.
    pub config: u64,
}

impl What {
    /// Whether the two may be near by either one's arguments.
    fn is_near(&self, other: &What) -> bool {
        match (self, other) {
            (
                What::Fingerprint { fp, distance },
                What::Fingerprint { fp: other, distance: others },
            ) => fp.bits() == other.bits() && fp.hamming(other) <= *distance.max(others),
            (What::Text(a), What::Text(b)) => {
                // Keys of another number of bands, of other rows or of another config tell nothing.
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

/// Which trigger claims a row, and which ones all rows of its table have: hashes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TriggerSet {
    pub own: u64,
    /// `None` if some rows may have other triggers than others.
    pub all: Option<u64>,
}

impl TriggerSet {
    /// Whether the claims of two rows are compared. Where both have the same triggers, those of one
    /// and the same are, and no others: a row holds the claims of its first trigger while it waits
    /// for that of another row's second.
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
    /// Whether the two rows may be near-duplicates by either one's arguments. Scopes of different
    /// columns are not told apart.
    fn is_near(&self, other: &Claim) -> bool {
        self.database == other.database
            && self.root == other.root
            && self.triggers.compare(&other.triggers)
            && self.column == other.column
            && (self.scope.columns != other.scope.columns || self.scope == other.scope)
            && self.what.is_near(&other.what)
    }
}

/// What stands at the start of the shared memory. The claims follow it.
#[repr(C, align(16))]
struct Header {
    /// The last ticket that was drawn. Tickets are never drawn twice.
    ticket: AtomicU64,
    /// How many claims there is room for, and how many there are.
    room: usize,
    count: usize,
    lock: pg_sys::LWLock,
}

/// Null without shared memory, or before this session has asked for it.
static HEADER: AtomicPtr<Header> = AtomicPtr::new(null_mut());

const NAME: &CStr = c"pg_simhash";

/// Four rows on their way for each session: one for each statement inside another, and trigger.
/// These settings are those of the whole server.
fn room() -> usize {
    // SAFETY: reads settings, which are there when libraries are loaded.
    let sessions = unsafe { pg_sys::MaxConnections + pg_sys::max_worker_processes };
    4 * usize::try_from(sessions).unwrap_or(0) + 256
}

fn bytes() -> usize {
    size_of::<Header>() + room() * size_of::<Claim>()
}

/// Makes an empty board.
///
/// # Safety
/// The memory is as long as [`bytes`] says, and nobody else knows it.
unsafe fn begin(header: *mut Header, tranche: i32) {
    let lock = pg_sys::LWLock::default();
    // SAFETY: as this function's.
    unsafe {
        header.write(Header { ticket: AtomicU64::new(0), room: room(), count: 0, lock });
        pg_sys::LWLockInitialize(&raw mut (*header).lock, tranche);
    }
}

/// Before PostgreSQL 17 there is shared memory only for libraries that the postmaster loads, which
/// asks for it then: it makes the board, and backends inherit where that is.
#[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
mod memory {
    use std::sync::OnceLock;

    use super::*;

    #[cfg(not(feature = "pg14"))]
    static PREVIOUS_REQUEST: OnceLock<pg_sys::shmem_request_hook_type> = OnceLock::new();
    static PREVIOUS_STARTUP: OnceLock<pg_sys::shmem_startup_hook_type> = OnceLock::new();

    pub fn install() {
        // SAFETY: hooks are set while a library is loaded, in the only thread.
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
        // SAFETY: called when memory may be asked for.
        unsafe {
            pg_sys::RequestAddinShmemSpace(bytes());
            pg_sys::RequestNamedLWLockTranche(NAME.as_ptr(), 1);
        }
    }

    #[cfg(not(feature = "pg14"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn request() {
        if let Some(Some(previous)) = PREVIOUS_REQUEST.get() {
            // SAFETY: the hook that was there before.
            unsafe { previous() };
        }
        request_memory();
    }

    #[pg_guard]
    unsafe extern "C-unwind" fn startup() {
        // SAFETY: the hook that was there before. The memory is as long as was asked for, and
        // nobody else knows it while the postmaster starts, or starts again after a crash. The lock
        // that was asked for is not used, but for its tranche, which has a name.
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

/// From PostgreSQL 17 on the first session that asks makes the board, in a segment that lasts until
/// the server stops, or starts again after a crash.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
mod memory {
    use std::ffi::c_void;

    use super::*;
    use crate::compat;

    pub fn install() {}

    #[cfg(not(feature = "pg19"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn begins(memory: *mut c_void) {
        // SAFETY: the memory of the segment, under a lock of PostgreSQL's.
        unsafe { begin(memory.cast(), compat::new_tranche(NAME)) };
    }

    #[cfg(feature = "pg19")]
    #[pg_guard]
    unsafe extern "C-unwind" fn begins(memory: *mut c_void, _argument: *mut c_void) {
        // SAFETY: as above.
        unsafe { begin(memory.cast(), compat::new_tranche(NAME)) };
    }

    pub fn is_there() -> bool {
        if HEADER.load(Ordering::Relaxed).is_null() {
            // SAFETY: in a transaction. The segment is mapped as long as this process lives.
            unsafe {
                let segment = compat::named_segment(NAME, bytes(), begins);
                let header = segment.cast::<Header>();
                compat::name_tranche((*header).lock.tranche, NAME);
                HEADER.store(header, Ordering::Relaxed);
            }
        }
        true
    }
}

/// Asks for memory, where that has to be done when the library is loaded.
pub use memory::install;
/// Whether sessions can see each other's claims: all of them, or none. To be asked before anything
/// else is.
pub use memory::is_there;

/// A ticket that nobody else has, or will have.
pub fn draw() -> u64 {
    // SAFETY: there is a board, and its memory lasts as long as the server.
    unsafe { (*HEADER.load(Ordering::Relaxed)).ticket.fetch_add(1, Ordering::Relaxed) + 1 }
}

/// Calls `with` with the claims and their number, while nobody else sees or changes them. It must
/// not raise an ERROR.
fn locked<T>(with: impl FnOnce(&mut [std::mem::MaybeUninit<Claim>], &mut usize) -> T) -> T {
    let header = HEADER.load(Ordering::Relaxed);
    // SAFETY: there is a board. Its claims are only reached here, under the lock.
    unsafe {
        let lock = &raw mut (*header).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
        let claims = std::slice::from_raw_parts_mut(header.add(1).cast(), (*header).room);
        let result = with(claims, &mut (*header).count);
        pg_sys::LWLockRelease(lock);
        result
    }
}

/// What became of claims that were to be published.
pub enum Published {
    Yes,
    /// None of them is, because this one of another row is near.
    Near(u64),
    /// None of them is, because there is no room.
    Full,
}

/// Publishes claims, unless another one is near one of them. Those of the tickets for which
/// `ignored` says so are no obstacle.
pub fn publish(own: &[Claim], ignored: impl Fn(u64) -> bool) -> Published {
    locked(|claims, count| {
        for other in &claims[..*count] {
            // SAFETY: the first `count` claims are there.
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

/// Takes the claims of a ticket from the board, if they are there.
pub fn remove(ticket: u64) {
    locked(|claims, count| {
        let mut at = 0;
        while at < *count {
            // SAFETY: the first `count` claims are there.
            if unsafe { claims[at].assume_init_ref() }.ticket == ticket {
                *count -= 1;
                claims.swap(at, *count);
            } else {
                at += 1;
            }
        }
    });
}
