//! What a trigger's arguments mean, with the state that the trigger keeps across statements, until
//! a relation or a role changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Simhasher;
use simhash_core::compare::similarity::Similarity;
use simhash_core::passages::recipe;
use simhash_core::sketches::minhash::Fingerprinter;

use super::arguments::Arguments;
use super::warnings::{refuse_foreign, warn_once};
use crate::catalog::Schema;
use crate::claims::board::TriggerSet;
use crate::family::arguments::By;
use crate::family::changes::changes;
use crate::family::on::{On, Open};
use crate::family::serving::Similar;
use crate::family::tables::{Family, NamedKey, Names, topmost};
use crate::family::value::Value;
use crate::family::verify::Texts;
use crate::models::sketches::Sketches;
use crate::models::{fingerprinter, simhasher_for};
use crate::types::hash::hash_of;
use crate::types::{ConfigText, Width};

/// A trigger on one table: its arguments, its family, its hashers.
pub struct Setup {
    pub relation: pg_sys::Oid,
    pub arguments: Arguments,
    pub family: Rc<Family>,
    pub triggers: TriggerSet,
    names: Names,
    schema: Schema,
    hasher: Option<Fingerprinter>,
    maker: Option<Maker>,
    /// The values of [`changes`] when the arguments were read, and when the family was looked up.
    made: u64,
    family_made: u64,
    /// The result of [`needs_lock_alone`](Self::needs_lock_alone), if it is known.
    alone: Option<bool>,
}

/// What makes texts comparable: cuts them into shingles or into words, or makes their sketches.
enum Maker {
    Shingles(Similarity, Simhasher),
    Sketches(f64, Sketches),
    /// With the number of words in a passage.
    Words(usize, Simhasher),
}

type FamilyKey = (Vec<pg_sys::Oid>, Names);

/// How many set-ups are kept.
const KEPT: usize = 1024;

thread_local! {
    static SETUPS: RefCell<HashMap<pg_sys::Oid, Setup>> = RefCell::new(HashMap::new());
    /// The families below some parents, by the parents' OIDs and the columns. The triggers of a
    /// table's partitions share one.
    static FAMILIES: RefCell<HashMap<FamilyKey, (u64, Rc<Family>)>> = RefCell::new(HashMap::new());
}

/// The trigger's set-up, a new one if none is kept or current. The caller owns it until
/// [`give_back`], so an ERROR drops it.
pub fn take(on: On<'_>, schema: Schema) -> Setup {
    let kept = SETUPS.with_borrow_mut(|setups| setups.remove(&on.trigger.tgoid));
    match kept {
        Some(setup) if setup.is_current() && setup.relation == on.table.oid() => setup,
        _ => Setup::new(on, schema),
    }
}

pub fn give_back(trigger: pg_sys::Oid, setup: Setup) {
    SETUPS.with_borrow_mut(|setups| {
        if setups.len() >= KEPT {
            setups.clear();
        }
        setups.insert(trigger, setup);
    });
}

impl Setup {
    fn new(on: On<'_>, schema: Schema) -> Self {
        let made = changes();
        let arguments = Arguments::parse(on, schema);
        let (table, owner) = (on.table.oid(), on.table.form().relowner);
        let names = names(&arguments, owner);
        let family = family_of(table, &names);
        refuse_foreign(table, &family, &arguments);
        warn_once(&family, &arguments);
        let family_made = made;
        let mut setup = Setup {
            relation: table,
            arguments,
            family,
            triggers: triggers_of_rows(on),
            names,
            schema,
            hasher: None,
            maker: None,
            made,
            family_made,
            alone: None,
        };
        // An impossible config is an ERROR at the first row, even if that row needs no hashing.
        if let (&By::Distance { width, .. }, Some(_)) = (&setup.arguments.by, setup.arguments.body)
        {
            setup.hasher(width, false);
        }
        setup.maker(false);
        setup
    }

    fn is_current(&self) -> bool {
        self.made == changes()
    }

    /// Whether only one transaction at a time may write, because of this trigger or of another one
    /// of the table or its relatives. The trigger that fires first already takes the lock
    /// exclusively: two transactions that both share it, and then both need it exclusively, would
    /// deadlock.
    pub fn needs_lock_alone(&mut self, on: On<'_>) -> bool {
        let family = self.current_family();
        if let Some(alone) = self.alone {
            return alone;
        }
        let says_so = |table: Open<'_>| triggers_like(table, on.trigger).any(says_one_writer);
        let alone = self.is_one_writers()
            || triggers_like(on.table, on.trigger).any(|other| {
                let setup = take(other, self.schema);
                let alone = setup.is_one_writers();
                give_back(other.trigger.tgoid, setup);
                alone
            })
            || family.relations.iter().any(|&relative| {
                Open::with(relative, pg_sys::AccessShareLock, says_so).unwrap_or(false)
            });
        self.alone = Some(alone);
        alone
    }

    fn is_one_writers(&self) -> bool {
        let by_passages =
            self.arguments.by.similar().is_some_and(|similar| similar.words.is_some());
        self.arguments.one_writer || by_passages || self.family.indexed(self.relation).is_none()
    }

    /// The family, looked up again if a relation has changed since.
    pub fn current_family(&mut self) -> Rc<Family> {
        let now = changes();
        if self.family_made != now {
            self.family_made = now;
            self.alone = None;
            self.family = family_of(self.relation, &self.names);
        }
        self.family.clone()
    }

    /// The arguments, and what makes texts comparable, if texts are compared. The names in its
    /// config are looked up once in each statement.
    fn maker(&mut self, statement_begins: bool) -> (&Arguments, Option<&mut Maker>) {
        let Setup { arguments, maker, schema, .. } = self;
        if !statement_begins && maker.is_some() {
            return (arguments, maker.as_mut());
        }
        let Arguments { by, verification, .. } = &*arguments;
        let config = match (by.similar(), verification) {
            (Some(similar), _) if similar.words.is_some() => {
                recipe(&ConfigText::config_of(&similar.config))
            }
            (Some(similar), _) => ConfigText::config_of(&similar.config),
            (None, Some(how)) => how.shingles.clone(),
            (None, None) => return (arguments, None),
        };
        if maker.is_none() || config.names_something() {
            *maker = match (by.similar(), verification) {
                (Some(&Similar { words: Some(words), .. }), _) => {
                    Some(Maker::Words(words, simhasher_for(config, *schema)))
                }
                (Some(similar), _) => {
                    let sketches = Sketches::new(&config, *schema);
                    Some(Maker::Sketches(similar.similarity, sketches))
                }
                (None, how) => {
                    how.as_ref().map(|how| Maker::Shingles(how.similarity, how.simhasher()))
                }
            };
        }
        (arguments, maker.as_mut())
    }

    /// The arguments, and the comparison of a row's `own` text with others, if texts are compared.
    /// `None` if rows are searched by texts and this one has no token.
    pub fn arguments_and_texts<'a>(
        &'a mut self,
        own: Option<Value<'a>>,
        statement_begins: bool,
    ) -> Option<(&'a Arguments, Option<Texts<'a>>)> {
        let (arguments, maker) = self.maker(statement_begins);
        let Some((own, maker)) = own.zip(maker) else { return Some((arguments, None)) };
        let texts = match maker {
            Maker::Shingles(similarity, shingler) => Texts::by_sets(*similarity, shingler, own),
            Maker::Sketches(similarity, sketches) => {
                Texts::by_sketches(*similarity, sketches, own)?
            }
            Maker::Words(words, cutter) => Texts::by_passages(*words, cutter, own),
        };
        Some((arguments, Some(texts)))
    }

    /// The hasher of the trigger's config, for fingerprints of `width`. The names in the config are
    /// looked up once in each statement.
    pub fn hasher(&mut self, width: Width, statement_begins: bool) -> &mut Fingerprinter {
        if statement_begins && self.arguments.config.names_something() {
            self.hasher = None;
        }
        let Arguments { method, config, .. } = &self.arguments;
        let bits = width.bits();
        self.hasher.get_or_insert_with(|| fingerprinter(*method, config.clone(), self.schema, bits))
    }
}

/// commands/trigger.h.
const TRIGGER_DISABLED: u8 = b'D';

/// The other enabled triggers of a table that call the same function as this one.
fn triggers_like<'a>(table: Open<'a>, trigger: &pg_sys::Trigger) -> impl Iterator<Item = On<'a>> {
    let (function, own) = (trigger.tgfoid, trigger.tgoid);
    table.triggers().filter(move |On { trigger: other, .. }| {
        other.tgfoid == function && other.tgoid != own && other.tgenabled as u8 != TRIGGER_DISABLED
    })
}

/// Another trigger of the table that does the same as this one.
pub fn same_trigger(on: On<'_>) -> Option<On<'_>> {
    let own = (identity(on), on.trigger.tgtype);
    let is_same = |other: &On<'_>| {
        (identity(*other), other.trigger.tgtype) == own && other.trigger.tgqual.is_null()
    };
    triggers_like(on.table, on.trigger).find(is_same)
}

/// The triggers that fire for the rows of a table.
fn triggers_of_rows(on: On<'_>) -> TriggerSet {
    let both = pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE;
    let has_all_rows = |On { trigger, .. }: On<'_>| {
        trigger.tgqual.is_null() && trigger.tgnattr == 0 && trigger.tgtype as u32 & both == both
    };
    let triggers: Vec<_> = triggers_like(on.table, on.trigger).chain([on]).collect();
    let mut hashes: Vec<u64> = triggers.iter().map(|&trigger| identity(trigger)).collect();
    hashes.sort_unstable();
    let all = triggers.into_iter().all(has_all_rows).then(|| hash_of(hashes));
    TriggerSet { own: identity(on), all }
}

/// A hash of a trigger's arguments.
fn identity(on: On<'_>) -> u64 {
    hash_of(on.arguments().collect::<Vec<_>>())
}

/// Whether a trigger's arguments require one writer at a time, as a passage does.
fn says_one_writer(on: On<'_>) -> bool {
    on.arguments().any(|argument| {
        let mut parts = argument.to_bytes().splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
        let parts = (parts.next(), parts.next());
        parts == (Some(b"writers"), Some(b"one")) || parts.0 == Some(b"passage")
    })
}

fn family_of(table: pg_sys::Oid, names: &Names) -> Rc<Family> {
    let made = changes();
    let key = (topmost(table, names), names.clone());
    let kept = FAMILIES
        .with_borrow(|families| families.get(&key).filter(|(when, _)| *when == made).cloned());
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
    // A partition that is being detached still has its parent, but is no longer found below it.
    let tops: Vec<_> = key.0.iter().copied().chain([table]).collect();
    Rc::new(Family::below(&tops, key.0, names))
}

fn names(arguments: &Arguments, owner: pg_sys::Oid) -> Names {
    let Arguments { searched, by, scope, text, window, key, key_name, .. } = arguments;
    let linked_by = arguments.action.link().is_some().then_some(owner);
    let key = key.as_ref().zip(key_name.as_ref());
    let key = key.map(|(key, name)| NamedKey::new(name, &key.column, linked_by));
    let time = window.as_ref().map(|window| &window.column);
    Names::of((searched, by), scope, [text.as_ref(), time], key)
}
