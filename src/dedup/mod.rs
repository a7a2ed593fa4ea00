//! `simhash_dedup()`: the trigger that keeps near-duplicates out, or marks them, as rows come in.
//!
//! For a row with a new fingerprint: the family's [`lock`], a snapshot taken after it, a [`search`] of the [`family`]'s
//! indexes, then what the [`arguments`] say. DESIGN.md, "Deduplicating on insert", tells what that promises.

mod arguments;
mod column;
mod family;
mod generated;
mod lock;
mod moves;
mod rights;
mod search;
mod violation;
mod watch;

use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use self::arguments::{Action, widen};
use self::column::{Column, Generated};
use self::family::Family;
use self::generated::Expression;
use self::search::{Found, Place, Wanted, fingerprint_bits, fingerprint_datum, nearest};
use self::violation::{Violation, lasting};
use self::watch::Watch;
use crate::error::raise;
use crate::functions::call_site::{interrupts, keep};
use crate::memory;
use crate::models::Schema;
use crate::types::Text;
use crate::types::text::{server_to_utf8, utf8_to_server};

/// PostgreSQL's record of the function below.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub extern "C" fn pg_finfo_simhash_dedup_wrapper() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}

/// The SQL function. Not by `pg_extern`, whose errors cannot carry a SQLSTATE of our own.
///
/// # Safety
/// Called by PostgreSQL.
#[unsafe(no_mangle)]
#[doc(hidden)]
pub unsafe extern "C-unwind" fn simhash_dedup_wrapper(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: everything with a destructor lives inside the guard; a verdict has none.
    unsafe {
        match pg_sys::submodules::panic::pgrx_extern_c_guard(|| judge(fcinfo)) {
            Verdict::Row(row) => pg_sys::Datum::from(row),
            Verdict::NoRow => pg_sys::Datum::null(),
            Verdict::Violation(violation) => violation.raise(),
        }
    }
}

/// What becomes of the row.
#[derive(Clone, Copy)]
enum Verdict {
    Row(pg_sys::HeapTuple),
    NoRow,
    Violation(Violation),
}

unsafe fn judge(fcinfo: pg_sys::FunctionCallInfo) -> Verdict {
    // SAFETY: as simhash_dedup_wrapper's; the trigger's data live as long as the call.
    unsafe {
        memory::prepare();
        let event = Event::of(fcinfo);
        let schema = Schema::of_call(fcinfo);
        let mut watch = watch::take(event.relation, event.trigger, schema);
        let verdict =
            Judge { event: &event, watch: &mut watch, fcinfo, changes: Changes::default() }.verdict();
        watch::give_back(event.trigger.tgoid, watch);
        verdict
    }
}

/// What fired the trigger.
struct Event<'a> {
    relation: pg_sys::Relation,
    trigger: &'a pg_sys::Trigger,
    /// The row as it would be stored.
    new: pg_sys::HeapTuple,
    /// The row that an update replaces.
    old: Option<pg_sys::HeapTuple>,
}

impl Event<'_> {
    unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: the context of a call by the trigger manager is a TriggerData.
        unsafe {
            let context = (*fcinfo).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                raise_protocol("simhash_dedup can only be called as a trigger");
            }
            let data = &*context.cast::<pg_sys::TriggerData>();
            let (before, timing) = (pg_sys::TRIGGER_EVENT_BEFORE, pg_sys::TRIGGER_EVENT_TIMINGMASK);
            if data.tg_event & pg_sys::TRIGGER_EVENT_ROW == 0 || data.tg_event & timing != before {
                raise_protocol("simhash_dedup must be fired BEFORE the event and FOR EACH ROW");
            }
            let (new, old) = match data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
                pg_sys::TRIGGER_EVENT_INSERT => (data.tg_trigtuple, None),
                pg_sys::TRIGGER_EVENT_UPDATE => (data.tg_newtuple, Some(data.tg_trigtuple)),
                _ => raise_protocol("simhash_dedup must be fired by INSERT or UPDATE"),
            };
            Event { relation: data.tg_relation, trigger: &*data.tg_trigger, new, old }
        }
    }

    unsafe fn read(&self, row: pg_sys::HeapTuple, column: &Column) -> Option<pg_sys::Datum> {
        // SAFETY: rows and columns are of the trigger's table.
        unsafe { column.read(row, (*self.relation).rd_att) }
    }

    fn table(&self) -> pg_sys::Oid {
        // SAFETY: an open relation.
        unsafe { (*self.relation).rd_id }
    }

    fn trigger_name(&self) -> &CStr {
        // SAFETY: the name lives as long as the trigger's description.
        unsafe { CStr::from_ptr(self.trigger.tgname) }
    }
}

fn raise_protocol(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        message.to_owned(),
        "CREATE TRIGGER name BEFORE INSERT OR UPDATE ON table FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=column', ...);",
    )
}

/// New values of some columns.
#[derive(Default)]
struct Changes {
    columns: Vec<i32>,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

impl Changes {
    /// Raises an ERROR if the column is of a domain that does not allow the value.
    fn set(&mut self, column: &Column, value: Option<pg_sys::Datum>) {
        if column.declared != column.base {
            let (datum, extra) = (value.unwrap_or(pg_sys::Datum::null()), std::ptr::null_mut());
            // SAFETY: a value of the domain's base type; nothing is cached between calls.
            unsafe {
                pg_sys::domain_check(
                    datum,
                    value.is_none(),
                    column.declared,
                    extra,
                    pg_sys::CurrentMemoryContext,
                )
            };
        }
        self.columns.push(i32::from(column.number));
        self.values.push(value.unwrap_or(pg_sys::Datum::null()));
        self.nulls.push(value.is_none());
    }

    /// The row with the new values.
    unsafe fn apply(mut self, row: pg_sys::HeapTuple, descriptor: pg_sys::TupleDesc) -> pg_sys::HeapTuple {
        if self.columns.is_empty() {
            return row;
        }
        // SAFETY: the columns are the descriptor's, the values of their types.
        unsafe {
            pg_sys::heap_modify_tuple_by_cols(
                row,
                descriptor,
                self.columns.len() as i32,
                self.columns.as_mut_ptr(),
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            )
        }
    }
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
            let bits = self.watch.arguments.bits;
            let fp_column = self.watch.arguments.fp;
            let before = self
                .event
                .old
                .map(|old| self.event.read(old, &fp_column).map(|datum| fingerprint_bits(datum, bits)));
            let fp = self.fingerprint(before);
            if self.is_settled(before, fp) {
                return self.keep();
            }
            let found = fp.and_then(|fp| self.search(fp));
            match (found, self.watch.arguments.action) {
                (Some(_), Action::Skip) => Verdict::NoRow,
                (Some(found), Action::Error) => Verdict::Violation(self.violation(&found)),
                (found, _) => {
                    self.mark(found);
                    self.keep()
                }
            }
        }
    }

    unsafe fn keep(self) -> Verdict {
        // SAFETY: the changes are to columns of the trigger's table.
        Verdict::Row(unsafe { self.changes.apply(self.event.new, (*self.event.relation).rd_att) })
    }

    /// The fingerprint that the row will have. `before`: the one it had, of an update.
    unsafe fn fingerprint(&mut self, before: Option<Option<u128>>) -> Option<u128> {
        // SAFETY: as judge's.
        unsafe {
            let arguments = &self.watch.arguments;
            let (event, column, bits) = (self.event, arguments.fp, arguments.bits);
            if column.generated == Generated::Stored {
                let expression =
                    keep(self.fcinfo, |_: &()| true, || ((), Expression::of(self.fcinfo, event, &column)));
                return match before {
                    Some(fp) if !expression.input_changed(event) => fp,
                    _ => expression.evaluate(event).map(|datum| fingerprint_bits(datum, bits)),
                };
            }
            let given = event.read(event.new, &column).map(|datum| fingerprint_bits(datum, bits));
            let Some(body) = arguments.body else { return given };
            let body_changed =
                event.old.is_some_and(|old| !body.same(event.read(old, &body), event.read(event.new, &body)));
            if given.is_some() && !body_changed {
                return given;
            }
            let begins = std::mem::replace(keep(self.fcinfo, |_: &()| true, || ((), true)), false);
            let text = event.read(event.new, &body);
            let fp = text.and_then(|text| self.hash(text, begins));
            if fp != given {
                self.changes.set(&column, fp.map(|fp| fingerprint_datum(fp, bits)));
            }
            fp
        }
    }

    unsafe fn hash(&mut self, text: pg_sys::Datum, statement_begins: bool) -> Option<u128> {
        let bits = self.watch.arguments.bits;
        // SAFETY: the body's column has the representation of text.
        let text = unsafe { <Text<'_> as pgrx::FromDatum>::from_datum(text, false) }?;
        let hasher = self.watch.hasher(statement_begins);
        if bits == 64 {
            hasher.fingerprint::<u64>(text.as_str(), &mut interrupts()).map(u128::from)
        } else {
            hasher.fingerprint::<u128>(text.as_str(), &mut interrupts())
        }
    }

    /// Whether the row needs no search: its fingerprint was there before.
    unsafe fn is_settled(&self, before: Option<Option<u128>>, fp: Option<u128>) -> bool {
        let event = self.event;
        // SAFETY: an open relation; the old row is one of it. The executor sets triggers up in its statement's memory.
        unsafe {
            let is_partition = (*(*event.relation).rd_rel).relispartition;
            let root = self.watch.family.roots.first().copied().unwrap_or(event.table());
            let (statement, trigger) = ((*(*self.fcinfo).flinfo).fn_mcxt, event.trigger_name());
            match event.old {
                Some(old) => {
                    if is_partition {
                        moves::note_update(statement, root, trigger, self.place(old), fp);
                    }
                    before == Some(fp)
                }
                None => is_partition && moves::is_second_half(statement, root, trigger, event.table(), fp),
            }
        }
    }

    unsafe fn place(&self, row: pg_sys::HeapTuple) -> Place {
        // SAFETY: a row of the trigger's table.
        Place { table: self.event.table(), tid: pgrx::itemptr::item_pointer_to_u64(unsafe { (*row).t_self }) }
    }

    unsafe fn search(&mut self, fp: u128) -> Option<Found> {
        let family = self.locked_family();
        let arguments = &self.watch.arguments;
        // SAFETY: the snapshot is registered until it is released.
        unsafe {
            let unique = arguments.key.as_ref().filter(|_| self.event.old.is_none());
            let own_key = unique.and_then(|key| self.event.read(self.event.new, &key.column));
            let wanted = Wanted {
                fp,
                bits: arguments.bits,
                distance: arguments.distance,
                updated: self.event.old.map(|old| self.place(old)),
                key: arguments.key.as_ref(),
                same_row: own_key.map(|key| (self.event.table(), key)),
                any: arguments.action == Action::Skip
                    || (arguments.action == Action::Mark && arguments.link.is_none()),
            };
            let snapshot = lock::snapshot();
            let found = nearest(&family, &wanted, snapshot);
            lock::release(snapshot);
            found
        }
    }

    /// The family as it is once its locks are held, and its relations are locked against any change.
    fn locked_family(&mut self) -> Rc<Family> {
        loop {
            let known = self.watch.current_family();
            known.roots.iter().for_each(|&root| lock::take(root));
            known.lock_relations();
            // Parents and children may have come or gone while locks were waited for.
            let family = self.watch.current_family();
            if Rc::ptr_eq(&known, &family) {
                return family;
            }
        }
    }

    /// Sets link and flag.
    fn mark(&mut self, found: Option<Found>) {
        let arguments = &self.watch.arguments;
        if let Some(flag) = &arguments.flag {
            self.changes.set(flag, Some(pg_sys::Datum::from(found.is_some())));
        }
        if let (Some(link), Some(key)) = (&arguments.link, &arguments.key) {
            let value = found.and_then(|found| found.key);
            let value = value.map(|value| widen(key.column.base, link.base, value).unwrap_or(value));
            self.changes.set(link, value);
        }
    }

    unsafe fn violation(&self, found: &Found) -> Violation {
        // SAFETY: names of an open relation and its trigger, in the server's encoding; the strings are palloc'd.
        unsafe {
            let relation = self.event.relation;
            let utf8 = |text: &CStr| server_to_utf8(text.to_bytes()).to_owned();
            let table = CStr::from_ptr((*(*relation).rd_rel).relname.data.as_ptr());
            let trigger = self.event.trigger_name();
            let message = format!(
                "near-duplicate row violates trigger \"{}\" of table \"{}\"",
                utf8(trigger),
                utf8(table)
            );
            let detail = self.detail(found);
            let own = |text: String| lasting(&CString::new(&*utf8_to_server(&text)).unwrap_or_default());
            Violation {
                message: own(message),
                detail: own(detail),
                schema: pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace),
                table: lasting(table),
                trigger: lasting(trigger),
            }
        }
    }

    /// Names the other row, to those who may read its key.
    unsafe fn detail(&self, found: &Found) -> String {
        let arguments = &self.watch.arguments;
        let distance =
            format!("at distance {}; at most {} is a near-duplicate", found.distance, arguments.distance);
        let (Some(key), Some(name), Some(value)) = (&arguments.key, &arguments.key_name, found.key) else {
            return format!("Another row is {distance}.");
        };
        // SAFETY: reads the session's state.
        if !rights::may_read(found.place.table, name, unsafe { pg_sys::GetUserId() }) {
            return format!("Another row is {distance}.");
        }
        // SAFETY: the value is of the key's column; its text form is palloc'd, in the server's encoding.
        unsafe {
            let name = server_to_utf8(name.to_bytes());
            format!(
                "The row with {name} = {} is {distance}.",
                server_to_utf8(key.column.show(value).to_bytes())
            )
        }
    }
}
