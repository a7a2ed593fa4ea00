//! Whether rows that a statement writes may have been seen, or missed, before its own turn: by
//! another part of the statement, or by a statement inside it. The family's lock keeps other
//! sessions out.

use std::cell::RefCell;
use std::collections::HashMap;

use pgrx::pg_sys;

use super::own::{self, Column, column};
use super::setup::Setup;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    Insert,
    /// Of a partitioned table.
    Update,
}

/// One that has begun. It ends in the same subtransaction, or never.
struct Begun {
    subtransaction: pg_sys::SubTransactionId,
    /// How many triggers deep.
    depth: i32,
    /// How often somebody had looked.
    taken: u64,
    /// Whether a statement inside has looked since.
    seen: bool,
}

#[derive(Default)]
struct Looks {
    /// When the transaction began that all this is about.
    transaction: pg_sys::TimestampTz,
    /// How often somebody has looked.
    taken: HashMap<Column, u64>,
    /// Parts of statements that are under way, one inside the other, the outermost first.
    begun: HashMap<(Column, What), Vec<Begun>>,
}

thread_local! {
    static LOOKS: RefCell<Looks> = RefCell::default();
}

/// Rows that groups consist of have changed, or groups are found, by the ids that rows hold.
pub fn look(setup: &Setup) {
    look_from(setup, own::depth());
}

/// As [`look`], by a function that somebody's statement calls. In a row's trigger of a statement
/// that is under way, it is inside that one, though no trigger of ours was fired for it.
pub fn look_by_call(setup: &Setup) {
    look_from(setup, own::depth() + 1);
}

fn look_from(setup: &Setup, depth: i32) {
    own::changed(setup, &[]);
    LOOKS.with_borrow_mut(|looks| {
        *looks.taken.entry(column(setup)).or_default() += 1;
        for part in looks.begun.entry((column(setup), What::Update)).or_default() {
            part.seen |= part.depth < depth;
        }
    });
}

/// Part of a statement begins.
pub fn begin(setup: &Setup, what: What) {
    LOOKS.with_borrow_mut(|looks| {
        let taken = looks.taken(setup);
        // SAFETY: reads the transaction's state.
        let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
        let begun = Begun { subtransaction, depth: own::depth(), taken, seen: false };
        looks.under_way(setup, what).push(begun);
    });
}

/// Part of a statement ends, the latest that has begun. Returns whether anybody has looked since
/// the first of the statement's parts began: what is too early is never wrong. Of an UPDATE only
/// statements inside count. A foreign key's cascade ends less deep than it began, after all that
/// was inside it. A part of which no beginning is known counts as seen.
pub fn end(setup: &Setup, what: What) -> bool {
    let depth = own::depth();
    LOOKS.with_borrow_mut(|looks| {
        let taken = looks.taken(setup);
        let under_way = looks.under_way(setup, what);
        let mut parts = under_way.iter().filter(|part| part.depth >= depth).peekable();
        let seen = match what {
            _ if parts.peek().is_none() => true,
            What::Insert => parts.any(|part| part.taken != taken),
            What::Update => parts.any(|part| part.seen),
        };
        if under_way.last().is_some_and(|part| part.depth >= depth) {
            under_way.pop();
        }
        seen
    })
}

impl Looks {
    fn taken(&self, setup: &Setup) -> u64 {
        self.taken.get(&column(setup)).copied().unwrap_or_default()
    }

    fn under_way(&mut self, setup: &Setup, what: What) -> &mut Vec<Begun> {
        // SAFETY: reads the transaction's state.
        let transaction = unsafe { pg_sys::GetCurrentTransactionStartTimestamp() };
        if self.transaction != transaction {
            self.transaction = transaction;
            self.begun.clear();
        }
        let parts = self.begun.entry((column(setup), what)).or_default();
        // SAFETY: as above.
        parts.retain(|part| unsafe { pg_sys::SubTransactionIsActive(part.subtransaction) });
        parts
    }
}
