//! Decides what becomes of a row that is written: the steps of the trigger, in order.

use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::base::bits::B256;

use super::arguments::{Action, Arguments};
use super::event::Event;
use super::generated::Expression;
use super::moves::{self, Criteria};
use super::search::{Duplicate, Query, Seen, look_at_everything, nearest};
use super::setup::{self, Setup};
use super::violation::Violation;
use crate::call::{Call, StatementId, interrupts};
use crate::catalog::Schema;
use crate::claims;
use crate::claims::board::{self, Scope, What};
use crate::family::arguments::By;
use crate::family::column::{Column, Generated, Named};
use crate::family::row::Row;
use crate::family::scan::Asked;
use crate::family::snapshot::{self, Snapshot};
use crate::family::tables::Family;
use crate::family::value::Value;
use crate::family::verify::Texts;
use crate::family::written::Changes;
use crate::memory;
use crate::types::hash::hash_of;
use crate::types::{Code, Width};

/// The outcome for the row.
#[derive(Clone, Copy)]
pub enum Verdict {
    Row(pg_sys::HeapTuple),
    NoRow,
    Violation(Violation),
}

/// Decides about the row for which the trigger fired.
pub fn judge(mut call: Call<'_>) -> Verdict {
    memory::prepare();
    let (event, schema) = (Event::of(&call), Schema::of_call(&call));
    let statement = StatementId::of_trigger(&call);
    let site = call.keep(|_: &()| true, |_| ((), Site::default()));
    let mut setup = setup::take(event.on, schema);
    let verdict =
        Judge { event: &event, setup: &mut setup, statement, site, changes: Changes::default() }
            .verdict();
    setup::give_back(event.on.trigger.tgoid, setup);
    verdict
}

/// State that the calls of one statement share.
#[derive(Default)]
struct Site {
    /// For a fingerprint that is a generated column.
    expression: Option<Expression>,
    /// Whether the statement has hashed a text, or compared one: then its model is known.
    has_hashed: bool,
    has_verified: bool,
}

/// What is still to be done for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// A claim, and a search for near rows.
    Look,
    /// Nothing: an UPDATE leaves what the row is judged by.
    Nothing,
    /// Nothing: the row moves from another partition, by an UPDATE that was judged.
    NothingMoved,
    /// A claim only: an UPDATE changes the key alone. An INSERT with the old key passes over this
    /// row as the same row ([`Query::same_row`]). Because of the claim, such an INSERT sees the
    /// UPDATE, or waits.
    ClaimOnly,
}

/// A call of the trigger. Invariant: the event is of the statement, which runs.
struct Judge<'a> {
    event: &'a Event<'a>,
    setup: &'a mut Setup,
    statement: StatementId,
    site: &'a mut Site,
    changes: Changes,
}

impl<'a> Judge<'a> {
    fn verdict(mut self) -> Verdict {
        let column = self.setup.arguments.searched.column;
        let before =
            self.event.old().map(|old| old.value(&column).map(|value| self.searched_code(value)));
        let searched = self.new_code(before);
        let needs = self.classify(before, searched);
        if claims::is_any() {
            self.go_on_with_claims(needs);
        }
        if !matches!(needs, Needs::Look | Needs::ClaimOnly) {
            return self.keep();
        }
        let found = match (searched, self.scope()) {
            (Some(searched), Some(scope)) => self.claim_and_search(searched, &scope, needs),
            _ => None,
        };
        if needs == Needs::ClaimOnly {
            return self.keep();
        }
        match (found, self.setup.arguments.action) {
            (Some(_), Action::Skip) => Verdict::NoRow,
            (Some(found), Action::Error) => {
                Verdict::Violation(Violation::new(self.event, &self.setup.arguments, &found))
            }
            (found, _) => {
                self.mark(found);
                self.keep()
            }
        }
    }

    /// A fingerprint, or in its place a hash of the text if rows are searched by texts.
    fn searched_code(&self, value: Value<'_>) -> Code {
        match self.setup.arguments.by {
            By::Distance { width, .. } => value.code(width),
            By::Similarity(_) => Code::new(value.with_bytes(|bytes| hash_of(bytes))),
        }
    }

    /// The row, with its changes.
    fn keep(self) -> Verdict {
        Verdict::Row(self.event.changed(self.changes))
    }

    /// What the new row is searched by. `before`: what the old row was searched by, for an UPDATE.
    fn new_code(&mut self, before: Option<Option<Code>>) -> Option<Code> {
        let Arguments { by, searched, body, .. } = &self.setup.arguments;
        let (event, column, body) = (self.event, searched.column, *body);
        let By::Distance { width, .. } = *by else {
            return event.value(&column).map(|text| self.searched_code(text));
        };
        if column.generated == Generated::Stored {
            let statement = self.statement;
            // SAFETY: the event is of the statement, and the column is a generated one of its
            // table.
            let make = || unsafe { Expression::of(statement, event, &column) };
            let expression = self.site.expression.get_or_insert_with(make);
            return match before {
                Some(code) if !expression.input_changed(event) => code,
                // SAFETY: the expression was made for this call site, so for this table.
                _ => unsafe { expression.evaluate(event) }.map(|value| value.code(width)),
            };
        }
        let given = event.value(&column).map(|value| value.code(width));
        let Some(body) = body else { return given };
        if given.is_some() && (event.old().is_none() || event.keeps(&body)) {
            return given;
        }
        let has_hashed = std::mem::replace(&mut self.site.has_hashed, true);
        let code = event.value(&body).and_then(|text| self.hash(width, text, !has_hashed));
        if code != given {
            let value = |code| width.fingerprint_datum(code);
            // SAFETY: the column has fingerprints of that width.
            let value = code.map(|code| unsafe { column.value(value(code)) });
            self.changes.set(&column, value);
        }
        code
    }

    fn hash(&mut self, width: Width, text: Value<'_>, statement_begins: bool) -> Option<Code> {
        let hasher = self.setup.hasher(width, statement_begins);
        let interrupts = &mut interrupts();
        text.with_text(|text| match width {
            Width::Bits64 => hasher.fingerprint::<u64>(text, interrupts).map(Code::new),
            Width::Bits128 => hasher.fingerprint::<u128>(text, interrupts).map(Code::new),
            Width::Bits256 => hasher.fingerprint::<B256>(text, interrupts).map(Code::new),
        })
    }

    /// The values of the scope's columns. `None` if one is NULL: it equals nothing, so the row has
    /// no duplicates.
    fn scope(&self) -> Option<Vec<Value<'a>>> {
        let columns = self.setup.arguments.scope.iter();
        columns.map(|scope| self.event.value(&scope.column)).collect()
    }

    /// Whether an UPDATE leaves the rest of what the row is judged by: its scope, and its text if
    /// texts are compared. The caller compares what the row is searched by.
    fn leaves(&self, old: Row<'_>) -> bool {
        let (event, arguments) = (self.event, &self.setup.arguments);
        let are_equal = |column: &Column| {
            let both = old.value(column).zip(event.value(column));
            both.is_some_and(|(before, after)| column.equal(before, after))
        };
        let mut scope = arguments.scope.iter().map(|scope| &scope.column);
        scope.all(|column| event.keeps(column) || are_equal(column))
            && arguments.text.as_ref().is_none_or(|text| event.keeps(&text.column))
    }

    /// Whether an UPDATE leaves the key by which a row counts as the same row.
    fn keeps_key(&self) -> bool {
        let key = self.setup.arguments.key.as_ref().filter(|key| !key.unique.is_empty());
        key.is_none_or(|key| self.event.keeps(&key.column))
    }

    /// The values that the row is judged by.
    fn criteria(&self, searched: Option<Code>) -> Criteria {
        let bytes = |column: &Column| self.event.value(column).map(Value::bytes);
        let arguments = &self.setup.arguments;
        let scope = arguments.scope.iter().map(|scope| &scope.column);
        let text = arguments.text.iter().map(|text| &text.column);
        Criteria { searched, values: scope.chain(text).map(bytes).collect() }
    }

    /// Ends claims of earlier rows. If the row moves to another partition, its claim continues
    /// there.
    fn go_on_with_claims(&mut self, needs: Needs) {
        let statement = self.statement;
        let (trigger, table) = (self.trigger_id(), self.event.table());
        if needs != Needs::NothingMoved {
            return claims::begin_row(statement, trigger, table);
        }
        if let Some(member) = self.setup.current_family().indexed(table) {
            let column = (table, member.searched.number);
            claims::row_moves(statement, trigger, column, &member.indexes);
        }
    }

    /// Finds out what the row needs. An UPDATE of a partition's row is noted: if it moves the row
    /// to another partition, the INSERT there fires the trigger again.
    fn classify(&self, before: Option<Option<Code>>, searched: Option<Code>) -> Needs {
        let event = self.event;
        let (table, trigger) = (event.table(), self.trigger_id());
        let root = self.setup.family.roots.first().copied().unwrap_or(table);
        let statement = self.statement;
        let criteria = || self.criteria(searched);
        let Some((place, old)) = event.old_place().zip(event.old()) else {
            let has_moved = event.is_partition()
                // SAFETY: the statement is running, and this is a trigger of its INSERT.
                && unsafe { moves::is_second_half(statement, root, trigger, table, criteria) };
            return if has_moved { Needs::NothingMoved } else { Needs::Look };
        };
        if event.is_partition() {
            // SAFETY: the statement is running.
            unsafe { moves::note_update(statement, root, trigger, place, criteria()) };
        }
        if before != Some(searched) || !self.leaves(old) {
            Needs::Look
        } else if self.keeps_key() {
            Needs::Nothing
        } else {
            Needs::ClaimOnly
        }
    }

    /// Identifies a trigger within a statement. The copies in partitions have the same name.
    fn trigger_id(&self) -> u64 {
        hash_of(self.event.on.name())
    }

    /// Searches for a near row, if the row needs that. Before, the row gets a claim, unless the
    /// family's lock excludes other writers.
    fn claim_and_search(
        &mut self,
        searched: Code,
        scope: &[Value<'_>],
        needs: Needs,
    ) -> Option<Duplicate> {
        let (family, alone) = self.locked_family();
        let (event, trigger) = (self.event, self.trigger_id());
        let has_verified = std::mem::replace(&mut self.site.has_verified, true);
        let statement = self.statement;
        let text = self.setup.arguments.text.as_ref().map(|text| text.column);
        // Nothing is similar to NULL.
        let own = match text {
            Some(column) => Some(event.value(&column)?),
            None => None,
        };
        let near_text = own.zip(self.setup.arguments.by.similar());
        let near_text = near_text.map(|(own, similar)| Asked::near(similar, own));
        let triggers = self.setup.triggers;
        let (arguments, texts) = self.setup.arguments_and_texts(own, !has_verified)?;
        let window = arguments.window.as_ref();
        let unique = arguments.key.as_ref().filter(|_| event.old().is_none());
        let own_key = unique.and_then(|key| event.value(&key.column));
        let query = Query {
            searched,
            by: &arguments.by,
            near_text,
            scope,
            updated: event.old_place(),
            key: arguments.key.as_ref(),
            same_row: own_key.map(|key| (event.table(), key)),
            since: window.map(|window| window.before(event.value(&window.column.column))),
            any: matches!(arguments.action, Action::Skip | Action::Flag(_)),
        };
        let member = family.indexed(event.table()).filter(|_| !alone);
        let row = member.map(|member| claims::Incoming {
            statement,
            trigger,
            table: member.table,
            indexes: &member.indexes,
            roots: &family.roots,
            triggers,
            column: hash_of(&arguments.searched.name),
            what: what(&arguments.by, searched, texts.as_ref()),
            scope: scope_of(&arguments.scope, scope),
            attribute: member.searched.number,
            is_vague: arguments.verification.is_some() || window.is_some(),
            value: match arguments.by {
                By::Distance { width, .. } => claims::Value::Fingerprint(width, searched),
                By::Similarity(_) => claims::Value::Text(searched.fingerprint::<u64>()),
            },
        });
        if needs == Needs::ClaimOnly {
            // SAFETY: the row's trigger calls this, in its statement.
            row.as_ref().map(|row| unsafe { claims::claim(row, || ()) });
            return None;
        }
        let stays = matches!(arguments.action, Action::Link { .. } | Action::Flag(_));
        find(&family, &query, texts, row.as_ref(), stays)
    }

    /// The family, with its locks held and its relations locked against changes, and whether the
    /// lock excludes all other writers.
    fn locked_family(&mut self) -> (Rc<Family>, bool) {
        loop {
            let known = self.setup.current_family();
            let alone = !board::is_there() || self.setup.needs_lock_alone(self.event.on);
            known.lock(alone);
            known.lock_relations();
            // Parents and children may have changed during the wait for locks.
            let family = self.setup.current_family();
            if Rc::ptr_eq(&known, &family) {
                return (family, alone);
            }
        }
    }

    /// Sets the link and the flag.
    fn mark(&mut self, found: Option<Duplicate>) {
        let arguments = &self.setup.arguments;
        if let Some(flag) = arguments.action.flag() {
            let is_found = pg_sys::Datum::from(found.is_some());
            // SAFETY: a flag is a boolean.
            self.changes.set(&flag, Some(unsafe { flag.value(is_found) }));
        }
        if let Some(link) = arguments.action.link() {
            let value = found.and_then(|found| found.key);
            let value = value.map(|value| value.widened(link.base).unwrap_or(value));
            self.changes.set(&link, value);
        }
    }
}

/// Searches for a row near the new one. A `row`, if given, is claimed before each search. The claim
/// outlives this call if the row will be stored: if no near row was found, or if `stays` is true.
fn find(
    family: &Family,
    query: &Query<'_>,
    mut texts: Option<Texts<'_>>,
    row: Option<&claims::Incoming<'_>>,
    stays: bool,
) -> Option<Duplicate> {
    loop {
        let completions = row.map(|_| snapshot::completions());
        let ticket = row.map(|row| {
            let mut texts = texts.as_mut().filter(|texts| texts.are_kept());
            // Before a wait: compares texts already now, because their sketches are kept.
            let prepare = || {
                if let Some(texts) = texts.take() {
                    look_at_everything(family, query, Some(texts));
                }
            };
            // SAFETY: the row's trigger calls this, in its statement.
            unsafe { claims::claim(row, prepare) }
        });
        let seen = ticket.map(|_| look_at_everything(family, query, texts.as_mut()));
        if let (Some(ticket), Some(Seen::Busy(busy))) = (ticket, &seen) {
            claims::withdraw(ticket);
            busy.wait();
            continue;
        }
        // No transaction has ended since, so no near row was committed after the dirty search
        // began.
        if matches!(seen, Some(Seen::None)) && completions == Some(snapshot::completions()) {
            return None;
        }
        let snapshot = Snapshot::latest();
        let found = nearest(family, query, texts.as_mut(), &snapshot);
        snapshot.release();
        let Some(ticket) = ticket else { return found };
        // The row that the dirty search saw is gone, and it may have kept the search from
        // others in progress.
        let again = found.is_none() && matches!(seen, Some(Seen::Row));
        if again || found.is_some() && !stays {
            claims::withdraw(ticket);
        }
        if !again {
            return found;
        }
    }
}

/// What the claim of a row is compared by.
fn what(by: &By, searched: Code, texts: Option<&Texts<'_>>) -> What {
    match by {
        By::Distance { distance, .. } => What::Fingerprint { fp: searched, distance: *distance },
        By::Similarity(similar) => match texts.and_then(|t| t.keys(hash_of(&*similar.config))) {
            Some(keys) => What::Text(keys),
            // Near to everything.
            None => What::Fingerprint { fp: searched, distance: searched.bits() },
        },
    }
}

/// The hashes of a scope. Equal values have equal hashes.
fn scope_of(columns: &[Named], values: &[Value<'_>]) -> Scope {
    let names: Vec<_> = columns.iter().map(|named| &named.name).collect();
    let hash = |(named, &value): (&Named, &Value<'_>)| named.column.hash(value);
    let values: Vec<_> = columns.iter().zip(values).map(hash).collect();
    Scope { columns: hash_of(names), values: hash_of(values) }
}
