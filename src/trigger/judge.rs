//! What becomes of a row that comes in: the steps of the trigger, in order.

use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::bits::B256;

use super::arguments::{Action, RowKey};
use super::changes::Changes;
use super::event::Event;
use super::generated::Expression;
use super::moves::{self, Criteria};
use super::search::{Duplicate, Query, Seen, look, nearest};
use super::violation::Violation;
use super::watch::{self, Watch};
use crate::call::{StatementId, interrupts, keep};
use crate::catalog::Schema;
use crate::claims::board::{self, Scope, What};
use crate::claims::{self, Value};
use crate::family::arguments::By;
use crate::family::column::{Column, Generated, Named, widen};
use crate::family::tables::Family;
use crate::family::verify::Texts;
use crate::family::{lock, snapshot};
use crate::memory;
use crate::types::datum::{Decode, Encode};
use crate::types::hash::hash_of;
use crate::types::{Code, NearText, Text, Width};

/// What becomes of the row.
#[derive(Clone, Copy)]
pub enum Verdict {
    Row(pg_sys::HeapTuple),
    NoRow,
    Violation(Violation),
}

/// What becomes of the row for which the trigger fired.
///
/// # Safety
/// PostgreSQL passes the call.
pub unsafe fn judge(fcinfo: pg_sys::FunctionCallInfo) -> Verdict {
    // SAFETY: as this function's; the trigger's data live as long as the call.
    unsafe {
        memory::prepare();
        let event = Event::of(fcinfo);
        let schema = Schema::of_call(fcinfo);
        let mut watch = watch::take(event.relation, event.trigger, schema);
        let verdict =
            Judge { event: &event, watch: &mut watch, fcinfo, changes: Changes::default() }
                .verdict();
        watch::give_back(event.trigger.tgoid, watch);
        verdict
    }
}

/// What a statement's calls of the trigger share.
#[derive(Default)]
struct Site {
    /// Of a fingerprint that is a generated column.
    expression: Option<Expression>,
    /// Whether a text was hashed, or compared, in this statement: then its model is known.
    has_hashed: bool,
    has_verified: bool,
}

/// # Safety
/// PostgreSQL passes the call.
unsafe fn site<'a>(fcinfo: pg_sys::FunctionCallInfo) -> &'a mut Site {
    keep(fcinfo, |_: &()| true, || ((), Site::default()))
}

/// Whether a row needs no search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    No,
    /// An update leaves what it is judged by.
    AsItWas,
    /// It comes from another partition, by an update that was judged.
    AsItMoves,
    /// The same row, by another key from now on. Rows that have taken it for themselves, by the key
    /// that it had, must be there before, or see it.
    Renamed,
}

struct Judge<'a> {
    event: &'a Event<'a>,
    watch: &'a mut Watch,
    fcinfo: pg_sys::FunctionCallInfo,
    changes: Changes,
}

impl Judge<'_> {
    unsafe fn verdict(mut self) -> Verdict {
        // SAFETY: as judge's.
        unsafe {
            let fp_column = self.watch.arguments.fp.column;
            let before = self
                .event
                .old
                .map(|old| self.event.read(old, &fp_column).map(|datum| self.code(datum)));
            let fp = self.fingerprint(before);
            let settled = self.settled(before, fp);
            if claims::is_any() {
                self.go_on_with_claims(settled);
            }
            if !matches!(settled, Settled::No | Settled::Renamed) {
                return self.keep();
            }
            let found = match (fp, self.scope()) {
                (Some(fp), Some(scope)) => self.search(fp, &scope, settled == Settled::No),
                _ => None,
            };
            if settled == Settled::Renamed {
                return self.keep();
            }
            match (found, self.watch.arguments.action) {
                (Some(_), Action::Skip) => Verdict::NoRow,
                (Some(found), Action::Error) => {
                    Verdict::Violation(Violation::new(self.event, &self.watch.arguments, &found))
                }
                (found, _) => {
                    self.mark(found);
                    self.keep()
                }
            }
        }
    }

    /// A fingerprint; or in its place a hash of the text, if rows are searched by it.
    ///
    /// # Safety
    /// It is a value of the column that is searched.
    unsafe fn code(&self, datum: pg_sys::Datum) -> Code {
        // SAFETY: as this function's.
        unsafe {
            match self.watch.arguments.by {
                By::Distance { width, .. } => width.code(datum),
                By::Similarity(_) => match Value::of_text(datum) {
                    Value::Text(hash) => Code::new(hash),
                    Value::Fingerprint(_, code) => code,
                },
            }
        }
    }

    unsafe fn keep(self) -> Verdict {
        // SAFETY: the changes are to columns of the trigger's table.
        Verdict::Row(unsafe { self.changes.apply(self.event.new, (*self.event.relation).rd_att) })
    }

    /// The fingerprint that the row will have. `before`: the one it had, of an update.
    unsafe fn fingerprint(&mut self, before: Option<Option<Code>>) -> Option<Code> {
        // SAFETY: as judge's.
        unsafe {
            let arguments = &self.watch.arguments;
            let (event, column) = (self.event, arguments.fp.column);
            let By::Distance { width, .. } = arguments.by else {
                return event.read(event.new, &column).map(|text| self.code(text));
            };
            if column.generated == Generated::Stored {
                let make = || Expression::of(self.fcinfo, event, &column);
                let expression = site(self.fcinfo).expression.get_or_insert_with(make);
                return match before {
                    Some(fp) if !expression.input_changed(event) => fp,
                    _ => expression.evaluate(event).map(|datum| width.code(datum)),
                };
            }
            let given = event.read(event.new, &column).map(|datum| width.code(datum));
            let Some(body) = arguments.body else { return given };
            let body_changed = event.old.is_some_and(|old| {
                !body.same(event.read(old, &body), event.read(event.new, &body))
            });
            if given.is_some() && !body_changed {
                return given;
            }
            let has_hashed = std::mem::replace(&mut site(self.fcinfo).has_hashed, true);
            let text = event.read(event.new, &body);
            let fp = text.and_then(|text| self.hash(width, text, !has_hashed));
            if fp != given {
                self.changes.set(&column, fp.map(|fp| width.fingerprint_datum(fp)));
            }
            fp
        }
    }

    unsafe fn hash(
        &mut self,
        width: Width,
        text: pg_sys::Datum,
        statement_begins: bool,
    ) -> Option<Code> {
        // SAFETY: the body's column has the representation of text.
        let text = unsafe { Text::decode(text) };
        let hasher = self.watch.hasher(width, statement_begins);
        let (text, interrupts) = (text.as_str(), &mut interrupts());
        match width {
            Width::Bits64 => hasher.fingerprint::<u64>(text, interrupts).map(Code::new),
            Width::Bits128 => hasher.fingerprint::<u128>(text, interrupts).map(Code::new),
            Width::Bits256 => hasher.fingerprint::<B256>(text, interrupts).map(Code::new),
        }
    }

    /// The values of the scope's columns. `None` if one is NULL: nothing is equal to it, so that
    /// the row has no duplicates.
    unsafe fn scope(&self) -> Option<Vec<pg_sys::Datum>> {
        let columns = self.watch.arguments.scope.iter();
        // SAFETY: as judge's.
        columns.map(|scope| unsafe { self.event.read(self.event.new, &scope.column) }).collect()
    }

    /// Whether an update leaves the row in the scope that it was in.
    unsafe fn stays_in_scope(&self, old: pg_sys::HeapTuple) -> bool {
        // SAFETY: as judge's.
        let stays = |column: &Column| unsafe {
            let (before, after) =
                (self.event.read(old, column), self.event.read(self.event.new, column));
            column.same(before, after)
                || before.zip(after).is_some_and(|(before, after)| column.equal(before, after))
        };
        self.watch.arguments.scope.iter().all(|scope| stays(&scope.column))
    }

    /// Whether an update leaves the text as it was, or texts are not compared.
    unsafe fn keeps_text(&self, old: pg_sys::HeapTuple) -> bool {
        // SAFETY: as judge's.
        let keeps = |text: &Column| unsafe {
            text.same(self.event.read(old, text), self.event.read(self.event.new, text))
        };
        self.watch.arguments.text.as_ref().is_none_or(|text| keeps(&text.column))
    }

    /// Whether an update leaves the key by which rows are taken for the same.
    unsafe fn keeps_key(&self, old: pg_sys::HeapTuple) -> bool {
        let key = self.watch.arguments.key.as_ref().filter(|key| !key.unique.is_empty());
        // SAFETY: as judge's.
        key.is_none_or(|RowKey { column, .. }| unsafe {
            column.same(self.event.read(old, column), self.event.read(self.event.new, column))
        })
    }

    /// What the row is judged by.
    unsafe fn criteria(&self, fp: Option<Code>) -> Criteria {
        // SAFETY: as judge's.
        let bytes = |column: &Column| unsafe {
            self.event.read(self.event.new, column).map(|value| column.bytes(value))
        };
        let arguments = &self.watch.arguments;
        let scope = arguments.scope.iter().map(|scope| &scope.column);
        let text = arguments.text.iter().map(|text| &text.column);
        Criteria { fp, values: scope.chain(text).map(bytes).collect() }
    }

    /// Claims of earlier rows end. Of one that moves, its own goes on.
    unsafe fn go_on_with_claims(&mut self, settled: Settled) {
        // SAFETY: as judge's.
        let (statement, trigger) = unsafe { (self.statement(), self.trigger()) };
        let table = self.event.table();
        if settled != Settled::AsItMoves {
            return claims::begin_row(statement, trigger, table);
        }
        if let Some(member) = self.watch.current_family().indexed(table) {
            let column = (table, member.fp.number);
            claims::row_moves(statement, trigger, column, &member.indexes);
        }
    }

    /// Whether the row needs no search: its fingerprint was there before, in the same scope, and
    /// its text if texts are compared.
    unsafe fn settled(&self, before: Option<Option<Code>>, fp: Option<Code>) -> Settled {
        let event = self.event;
        let root = self.watch.family.roots.first().copied().unwrap_or(event.table());
        let trigger = event.trigger_name();
        // SAFETY: as judge's.
        unsafe {
            let statement = self.statement();
            match event.old_place().zip(event.old) {
                Some((place, old)) => {
                    if event.is_partition() {
                        moves::note_update(statement, root, trigger, place, self.criteria(fp));
                    }
                    if before != Some(fp) || !self.stays_in_scope(old) || !self.keeps_text(old) {
                        Settled::No
                    } else if self.keeps_key(old) {
                        Settled::AsItWas
                    } else {
                        Settled::Renamed
                    }
                }
                None => {
                    let criteria = || self.criteria(fp);
                    let moves = event.is_partition()
                        && moves::is_second_half(statement, root, trigger, event.table(), criteria);
                    if moves { Settled::AsItMoves } else { Settled::No }
                }
            }
        }
    }

    unsafe fn statement(&self) -> StatementId {
        // SAFETY: PostgreSQL passes the call.
        unsafe { StatementId::of_trigger(self.fcinfo) }
    }

    /// Tells the triggers of a statement apart. Every partition's copy has the same name.
    fn trigger(&self) -> u64 {
        hash_of(self.event.trigger_name())
    }

    /// Searches for a near row, if it `looks`. A row that comes in has a claim from then on, unless
    /// its family's lock keeps everybody else out.
    unsafe fn search(
        &mut self,
        fp: Code,
        scope: &[pg_sys::Datum],
        looks: bool,
    ) -> Option<Duplicate> {
        let (family, alone) = self.locked_family();
        // SAFETY: PostgreSQL passes the call.
        let site = unsafe { site(self.fcinfo) };
        let has_verified = std::mem::replace(&mut site.has_verified, true);
        // SAFETY: as judge's.
        let (statement, trigger) = unsafe { (self.statement(), self.trigger()) };
        // SAFETY: the snapshot is registered until it is released.
        unsafe {
            let text = self.watch.arguments.text.as_ref().map(|text| text.column);
            // Nothing is similar to no text.
            let own = match text {
                Some(column) => Some(self.event.read(self.event.new, &column)?),
                None => None,
            };
            let near_text = own.zip(self.watch.arguments.by.similar()).map(|(own, similar)| {
                let (text, config) = (Text::decode(own).into_str(), (*similar.config).into());
                NearText { similarity: similar.similarity, config, text }.encode()
            });
            let triggers = self.watch.triggers;
            let (arguments, texts) = self.watch.arguments_and_texts(own, !has_verified)?;
            let window = arguments.window.as_ref();
            let since = window.map(|w| w.before(self.event.read(self.event.new, &w.column.column)));
            let unique = arguments.key.as_ref().filter(|_| self.event.old.is_none());
            let own_key = unique.and_then(|key| self.event.read(self.event.new, &key.column));
            let query = Query {
                fp,
                by: &arguments.by,
                near_text,
                scope,
                updated: self.event.old_place(),
                key: arguments.key.as_ref(),
                same_row: own_key.map(|key| (self.event.table(), key)),
                since,
                any: matches!(arguments.action, Action::Skip | Action::Flag(_)),
            };
            let member = family.indexed(self.event.table()).filter(|_| !alone);
            let row = member.map(|member| claims::Incoming {
                statement,
                trigger,
                table: member.table,
                indexes: &member.indexes,
                roots: &family.roots,
                triggers,
                column: hash_of(&arguments.fp.name),
                what: what(&arguments.by, fp, texts.as_ref()),
                scope: scope_of(&arguments.scope, scope),
                attribute: member.fp.number,
                is_vague: arguments.verification.is_some() || window.is_some(),
                value: match arguments.by {
                    By::Distance { width, .. } => Value::Fingerprint(width, fp),
                    By::Similarity(_) => Value::Text(fp.fingerprint::<u64>()),
                },
            });
            if !looks {
                row.as_ref().map(|row| claims::claim(row));
                return None;
            }
            let stays = matches!(arguments.action, Action::Link { .. } | Action::Flag(_));
            find(&family, &query, texts, row.as_ref(), stays)
        }
    }

    /// The family as it is once its locks are held and its relations are locked against any change,
    /// and whether nobody else can put rows in.
    fn locked_family(&mut self) -> (Rc<Family>, bool) {
        loop {
            let known = self.watch.current_family();
            // SAFETY: as judge's.
            let alone = !board::is_there()
                || unsafe { self.watch.needs_lock_alone(self.event.relation, self.event.trigger) };
            known.roots.iter().for_each(|&root| lock::take(root, alone));
            known.lock_relations();
            // Parents and children may have come or gone while locks were waited for.
            let family = self.watch.current_family();
            if Rc::ptr_eq(&known, &family) {
                return (family, alone);
            }
        }
    }

    /// Sets link and flag.
    fn mark(&mut self, found: Option<Duplicate>) {
        let arguments = &self.watch.arguments;
        if let Some(flag) = arguments.action.flag() {
            self.changes.set(&flag, Some(pg_sys::Datum::from(found.is_some())));
        }
        if let (Some(link), Some(key)) = (arguments.action.link(), &arguments.key) {
            let value = found.and_then(|found| found.key);
            let value =
                value.map(|value| widen(key.column.base, link.base, value).unwrap_or(value));
            self.changes.set(&link, value);
        }
    }
}

/// Searches for a row near one that comes in. If that is to have a claim, it has one from then on,
/// unless the row will not be stored: it is without a near row, or if it `stays` in any case.
///
/// # Safety
/// The family's relations are locked; the trigger was fired for the row.
unsafe fn find(
    family: &Family,
    query: &Query<'_>,
    mut texts: Option<Texts<'_>>,
    row: Option<&claims::Incoming<'_>>,
    stays: bool,
) -> Option<Duplicate> {
    loop {
        // SAFETY: as this function's; the snapshot is registered until it is released.
        unsafe {
            let completions = row.map(|_| snapshot::completions());
            let ticket = row.map(|row| claims::claim(row));
            let seen = ticket.map(|_| look(family, query, texts.as_mut()));
            if let (Some(ticket), Some(Seen::Busy(busy))) = (ticket, &seen) {
                claims::withdraw(ticket);
                busy.wait();
                continue;
            }
            // What is committed is what it was, and none of it was near.
            if matches!(seen, Some(Seen::None)) && completions == Some(snapshot::completions()) {
                return None;
            }
            let snapshot = snapshot::snapshot();
            let found = nearest(family, query, texts.as_mut(), snapshot);
            snapshot::release(snapshot);
            let Some(ticket) = ticket else { return found };
            // What was seen is gone, and others in progress were not looked at.
            let again = found.is_none() && matches!(seen, Some(Seen::Row));
            if again || found.is_some() && !stays {
                claims::withdraw(ticket);
            }
            if !again {
                return found;
            }
        }
    }
}

/// What a row's claim is compared by.
fn what(by: &By, fp: Code, texts: Option<&Texts<'_>>) -> What {
    match by {
        By::Distance { distance, .. } => What::Fingerprint { fp, distance: *distance },
        By::Similarity(similar) => match texts.and_then(|t| t.keys(hash_of(&*similar.config))) {
            Some(keys) => What::Text(keys),
            // Near to everything.
            None => What::Fingerprint { fp, distance: fp.bits() },
        },
    }
}

/// Hashes of a scope: equal values have the same.
///
/// # Safety
/// They are values of the columns.
unsafe fn scope_of(columns: &[Named], values: &[pg_sys::Datum]) -> Scope {
    let names: Vec<_> = columns.iter().map(|named| &named.name).collect();
    // SAFETY: as this function's.
    let hash = |(named, &value): (&Named, &pg_sys::Datum)| unsafe { named.column.hash(value) };
    let values: Vec<_> = columns.iter().zip(values).map(hash).collect();
    Scope { columns: hash_of(names), values: hash_of(values) }
}
