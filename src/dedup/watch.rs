//! What a trigger is set up to do, kept from statement to statement until its table or a relative changes.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::rc::Rc;

use pgrx::{pg_guard, pg_sys};
use simhash_core::sets::minhash::Fingerprinter;

use super::arguments::{Action, Arguments};
use super::family::{Family, Key, Names, topmost};
use crate::error::warn;
use crate::functions::call_site::fingerprinter;
use crate::models::Schema;
use crate::types::text::server_to_utf8;

/// A trigger on one table: its arguments, the tables to look at, the hasher.
pub struct Watch {
    pub relation: pg_sys::Oid,
    pub arguments: Arguments,
    pub family: Rc<Family>,
    names: Names,
    schema: Schema,
    hasher: Option<Fingerprinter>,
    /// What [`CHANGES`] was when the arguments were read, and when the family was looked up.
    made: u64,
    family_made: u64,
}

type FamilyKey = (Vec<pg_sys::Oid>, Names);

/// How many triggers are remembered.
const KEPT: usize = 1024;

thread_local! {
    static WATCHES: RefCell<HashMap<pg_sys::Oid, Watch>> = RefCell::new(HashMap::new());
    /// What is below some parents, by their OIDs and the columns: shared by the triggers of
    /// partitions.
    static FAMILIES: RefCell<HashMap<FamilyKey, (u64, Rc<Family>)>> = RefCell::new(HashMap::new());
    /// Counts changes of any relation, and of roles: a link needs a right to be there.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    static LISTENING: Cell<bool> = const { Cell::new(false) };
    /// Families that a warning was given for, in this session.
    static WARNED: RefCell<HashSet<pg_sys::Oid>> = RefCell::new(HashSet::new());
}

#[pg_guard]
unsafe extern "C-unwind" fn role_changed(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    CHANGES.set(CHANGES.get().wrapping_add(1));
}

#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: pg_sys::Datum, _relation: pg_sys::Oid) {
    CHANGES.set(CHANGES.get().wrapping_add(1));
}

/// The trigger's set-up, made if need be. Belongs to the caller until it is given back: an ERROR drops it.
///
/// # Safety
/// `relation` is the open table that the trigger is on.
pub unsafe fn take(relation: pg_sys::Relation, trigger: &pg_sys::Trigger, schema: Schema) -> Watch {
    if !LISTENING.replace(true) {
        use pg_sys::SysCacheIdentifier::{AUTHMEMROLEMEM, AUTHOID};
        // SAFETY: once in a backend.
        unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), pg_sys::Datum::null());
            for cache in [AUTHMEMROLEMEM, AUTHOID] {
                pg_sys::CacheRegisterSyscacheCallback(
                    cache as i32,
                    Some(role_changed),
                    pg_sys::Datum::null(),
                );
            }
        }
    }
    // SAFETY: as this function's.
    let table = unsafe { (*relation).rd_id };
    let kept = WATCHES.with_borrow_mut(|watches| watches.remove(&trigger.tgoid));
    match kept {
        Some(watch) if watch.is_current() && watch.relation == table => watch,
        // SAFETY: as this function's.
        _ => unsafe { Watch::new(relation, trigger, schema) },
    }
}

pub fn give_back(trigger: pg_sys::Oid, watch: Watch) {
    WATCHES.with_borrow_mut(|watches| {
        if watches.len() >= KEPT {
            watches.clear();
        }
        watches.insert(trigger, watch);
    });
}

impl Watch {
    unsafe fn new(relation: pg_sys::Relation, trigger: &pg_sys::Trigger, schema: Schema) -> Self {
        let made = CHANGES.get();
        // SAFETY: as take's.
        let (arguments, table, owner) = unsafe {
            (Arguments::parse(relation, trigger, schema), (*relation).rd_id, (*(*relation).rd_rel).relowner)
        };
        let names = names(&arguments, owner);
        let family = family_of(table, &names);
        warn_once(&family, &arguments);
        let family_made = made;
        let mut watch =
            Watch { relation: table, arguments, family, names, schema, hasher: None, made, family_made };
        if watch.arguments.body.is_some() {
            // A config that cannot be is an error at the first row, whether or not that one needs hashing.
            watch.hasher(false);
        }
        watch
    }

    fn is_current(&self) -> bool {
        self.made == CHANGES.get()
    }

    /// The family, looked up anew if a relation changed since.
    pub fn current_family(&mut self) -> Rc<Family> {
        let now = CHANGES.get();
        if self.family_made != now {
            self.family_made = now;
            self.family = family_of(self.relation, &self.names);
        }
        self.family.clone()
    }

    /// The hasher of the trigger's config. A model is looked up once a statement.
    pub fn hasher(&mut self, statement_begins: bool) -> &mut Fingerprinter {
        if statement_begins && self.arguments.config.model.is_some() {
            self.hasher = None;
        }
        let Arguments { method, config, bits, .. } = &self.arguments;
        self.hasher.get_or_insert_with(|| fingerprinter(*method, config.clone(), self.schema, *bits))
    }
}

fn family_of(table: pg_sys::Oid, names: &Names) -> Rc<Family> {
    let made = CHANGES.get();
    let key = (topmost(table, names), names.clone());
    let kept = FAMILIES.with_borrow(|families| families.get(&key).filter(|(when, _)| *when == made).cloned());
    let family = match kept {
        Some((_, family)) => family,
        None => {
            let family = Rc::new(Family::below(&key.0, key.0.clone(), names));
            FAMILIES.with_borrow_mut(|families| {
                families.retain(|_, (when, _)| *when == made);
                families.insert(key.clone(), (made, family.clone()));
            });
            family
        }
    };
    if family.relations.contains(&table) {
        return family;
    }
    // A partition that is being detached is no longer below its parent, but has it.
    let tops: Vec<_> = key.0.iter().copied().chain([table]).collect();
    Rc::new(Family::below(&tops, key.0, names))
}

fn names(arguments: &Arguments, owner: pg_sys::Oid) -> Names {
    let linked_by = (arguments.action == Action::Mark && arguments.link.is_some()).then_some(owner);
    let key = arguments.key.as_ref().zip(arguments.key_name.clone()).map(|(key, name)| Key {
        name,
        base: key.column.base,
        modifier: key.column.modifier,
        linked_by,
    });
    Names { fp: arguments.fp_name.clone(), fp_type: arguments.fp.declared, key }
}

/// Says once a session what makes the search slow or incomplete.
fn warn_once(family: &Family, arguments: &Arguments) {
    let without_index = family.members.iter().find(|member| member.index.is_none());
    let unlinkable = family.unlinkable.filter(|_| arguments.link.is_some());
    let Some(&root) = family.roots.first() else { return };
    if (without_index.is_none() && family.foreign == 0 && unlinkable.is_none())
        || !WARNED.with_borrow_mut(|warned| warned.insert(root))
    {
        return;
    }
    // SAFETY: an identifier in the server's encoding; the result is that or palloc'd.
    let column = unsafe {
        server_to_utf8(CStr::from_ptr(pg_sys::quote_identifier(arguments.fp_name.as_ptr())).to_bytes())
    };
    if let Some(member) = without_index {
        let table = table_name(member.table);
        warn(
            &format!(
                "table {table} has no simhash index on column {column}: simhash_dedup reads the whole table for every row"
            ),
            &format!(
                "CREATE INDEX ON {} USING simhash ({column}{});",
                table_name(root),
                operator_class(arguments)
            ),
        );
    }
    if family.foreign > 0 {
        warn(
            &format!("simhash_dedup does not look at the foreign tables below {}", table_name(root)),
            "Near-duplicates across servers are found in bulk: see docs/scale-out.md.",
        );
    }
    if let Some(table) = unlinkable {
        warn(
            &format!("simhash_dedup does not link to the rows of table {}", table_name(table)),
            "Its key must be of the same type, and the owner of the trigger's table must be allowed to read it.",
        );
    }
}

fn operator_class(arguments: &Arguments) -> &'static str {
    if arguments.fp.base == pg_sys::INT8OID { " hamming_int8_ops" } else { "" }
}

fn table_name(table: pg_sys::Oid) -> String {
    // SAFETY: a name of a locked table, palloc'd, in the server's encoding.
    unsafe {
        let name = pg_sys::get_rel_name(table);
        if name.is_null() {
            return format!("with OID {}", table.to_u32());
        }
        server_to_utf8(CStr::from_ptr(pg_sys::quote_identifier(name)).to_bytes()).to_owned()
    }
}
