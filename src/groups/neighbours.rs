//! Finds the rows near a fingerprint or a text. Its scans stay open from one search to the next.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::sets::sketch::{Sketch, near};

use super::components::{Anchor, Components, Point};
use super::row::At;
use super::setup::Setup;
use crate::catalog::Schema;
use crate::family::arguments::By;
use crate::family::column::Column;
use crate::family::row::Row;
use crate::family::scan::{Asked, Next, Opened};
use crate::family::serving::Similar;
use crate::family::snapshot::Snapshot;
use crate::family::tables::Member;
use crate::family::value::Value;
use crate::models::sketches;
use crate::types::{Code, ConfigText, Width};

/// A row that is near.
pub struct Neighbour<'r> {
    /// 0 for a row at the point itself. Among texts, every other row has 1.
    pub distance: u32,
    /// Its value in the column that rows are searched by.
    pub value: Value<'r>,
    pub key: Value<'r>,
    pub cluster: Option<Value<'r>>,
    pub at: At,
    /// The other transaction, still in progress, that has written it.
    pub writer: Option<pg_sys::TransactionId>,
    /// The command that wrote it, if this transaction did; otherwise 0.
    pub command: pg_sys::CommandId,
}

/// A consumer of near rows.
type Sink<'a, 'c> = &'a mut dyn FnMut(&mut Components<'c>, &Neighbour<'_>) -> Next;

/// The tables of a family, open for searching.
pub struct Neighbours<'a> {
    setup: &'a Setup,
    snapshot: &'a Snapshot,
    tables: Vec<Table<'a>>,
    /// Created when the first text is searched for.
    sketches: Option<Sketches>,
}

struct Table<'a> {
    /// Its number among the family's members.
    member: u32,
    opened: Opened<'a>,
    key: Column,
    cluster: Column,
}

impl<'a> Neighbours<'a> {
    pub fn open(setup: &'a Setup, snapshot: &'a Snapshot) -> Self {
        let open = |(number, member): (usize, &'a Member)| {
            let (key, cluster) = (member.key?, Column::named(member.table, &setup.cluster.name)?);
            let opened = Opened::open(member, snapshot)?;
            Some(Table { member: number as u32, opened, key, cluster })
        };
        let tables = setup.family.members.iter().enumerate().filter_map(open).collect();
        Neighbours { setup, snapshot, tables, sketches: None }
    }

    /// Calls `found` with the rows at the point itself. That is faster than [`Neighbours::near`].
    pub fn equal<'c>(
        &mut self,
        components: &mut Components<'c>,
        point: Point,
        found: Sink<'_, 'c>,
    ) {
        self.search(components, (point, None), true, found);
    }

    /// Calls `found` with the rows near the point in its scope, as far as `found` wants them. An
    /// anchor, for texts, leaves out the rows with an equal text and those connected with the
    /// anchor.
    pub fn near<'c>(
        &mut self,
        components: &mut Components<'c>,
        point: Point,
        anchor: Option<Anchor>,
        found: Sink<'_, 'c>,
    ) {
        self.search(components, (point, anchor), false, found);
    }

    fn search<'c>(
        &mut self,
        components: &mut Components<'c>,
        (point, anchor): (Point, Option<Anchor>),
        is_equal: bool,
        found: Sink<'_, 'c>,
    ) {
        let (setup, at) = (self.setup, (point, anchor));
        match &setup.by {
            By::Distance { width, distance } => {
                let radius = if is_equal { 0 } else { *distance };
                let center = code(point.what, *width);
                let mut distance = |fp: Value<'_>| {
                    let distance = fp.code(*width).hamming(&center);
                    (distance <= radius).then_some(distance)
                };
                self.each(
                    components,
                    at,
                    Asked::within(*width, center, radius),
                    &mut distance,
                    found,
                );
            }
            By::Similarity(similar) => {
                let Some(own) = components.text(point) else { return };
                let mut sketches =
                    self.sketches.take().unwrap_or_else(|| Sketches::new(similar, setup.schema));
                if let Some(sketch) = sketches.of(point.what, own) {
                    let mut distance = |text: Value<'_>| {
                        let what = setup.by.what(text);
                        if what == point.what {
                            return anchor.is_none().then_some(0);
                        }
                        if is_equal {
                            return None;
                        }
                        let other = sketches.of(what, text)?;
                        near(&sketch, &other, similar.similarity).then_some(1)
                    };
                    let asked =
                        if is_equal { Asked::equal(own) } else { Asked::near(similar, own) };
                    self.each(components, at, asked, &mut distance, found);
                } else {
                    components.wordless.insert(point.what);
                }
                self.sketches = Some(sketches);
            }
        }
    }

    /// Calls `found` with the rows in the scope that an index returns and for which `distance` is
    /// not `None`. Rows connected with the anchor are left out, unless a transaction in progress
    /// wrote them.
    fn each<'c>(
        &mut self,
        components: &mut Components<'c>,
        (point, anchor): (Point, Option<Anchor>),
        asked: Asked<'_>,
        distance: &mut dyn FnMut(Value<'_>) -> Option<u32>,
        found: Sink<'_, 'c>,
    ) {
        let scope = components.scopes.values(point.scope).to_vec();
        let mut is_over = false;
        for Table { member: number, opened, key, cluster } in &mut self.tables {
            let member = opened.member;
            let mut take = |row: Row<'_>| {
                let (key, cluster) = (row.value(key)?, row.value(cluster));
                let writer = self.snapshot.writer().map(|(transaction, _)| {
                    // SAFETY: looks up the transaction of a subtransaction.
                    unsafe { pg_sys::SubTransGetTopmostTransaction(transaction) }
                });
                if let Some(anchor) = anchor.filter(|_| writer.is_none())
                    && components.is_anchored(anchor, key, cluster)
                {
                    return None;
                }
                let value = row.value(&member.searched)?;
                let distance = distance(value)?;
                if !member.is_in_scope(row, &scope) {
                    return None;
                }
                let at = At { member: *number, tid: row.tid() };
                let command = row.command();
                let row = Neighbour { distance, value, key, cluster, at, writer, command };
                Some(found(components, &row))
            };
            opened.near(asked, &scope, &mut |row| {
                let next = take(row).unwrap_or(Next::Any);
                is_over = next == Next::None;
                next
            });
            if is_over {
                return;
            }
        }
    }

    /// Whether two points are near each other. `None` if that is not known: texts are known only
    /// while their sketches are kept.
    pub fn are_near(&self, a: Point, b: Point) -> Option<bool> {
        if a.scope != b.scope {
            return Some(false);
        }
        match &self.setup.by {
            By::Distance { width, distance } => {
                Some(code(a.what, *width).hamming(&code(b.what, *width)) <= *distance)
            }
            By::Similarity(similar) => {
                let known = &self.sketches.as_ref()?.all;
                let (a, b) = (known.get(&a.what)?, known.get(&b.what)?);
                let both = a.as_ref().zip(b.as_ref());
                Some(both.is_some_and(|(a, b)| near(a, b, similar.similarity)))
            }
        }
    }

    /// The text of a row that was found, valid until another text is read or searched for.
    pub fn text(&mut self, at: At) -> Option<Value<'_>> {
        let table = self.tables.iter_mut().find(|table| table.member == at.member)?;
        let text = table.opened.member.text?;
        table.opened.fetch(at.tid)?.value(&text)
    }

    pub fn close(self) {
        for table in self.tables.into_iter().rev() {
            table.opened.close();
        }
    }
}

/// Sketches of texts, by their hashes; `None` for a text without words.
struct Sketches {
    maker: sketches::Sketches,
    all: HashMap<B256, Option<Rc<Sketch>>>,
}

/// The most sketches that are kept.
const MAX_SKETCHES: usize = 10_000;

impl Sketches {
    fn new(similar: &Similar, schema: Schema) -> Self {
        let config = ConfigText::config_of(&similar.config);
        Sketches { maker: sketches::Sketches::new(&config, schema), all: HashMap::new() }
    }

    /// The sketch of a text with that hash.
    fn of(&mut self, what: B256, text: Value<'_>) -> Option<Rc<Sketch>> {
        if let Some(known) = self.all.get(&what) {
            return known.clone();
        }
        if self.all.len() >= MAX_SKETCHES {
            self.all.clear();
        }
        let sketch = text.with_text(|text| self.maker.of(text));
        self.all.insert(what, sketch.clone());
        sketch
    }
}

/// The fingerprint of that width, which `what` holds at its most significant end.
fn code(what: B256, width: Width) -> Code {
    match width {
        Width::Bits64 => Code::new(what.word(3)),
        Width::Bits128 => Code::new(u128::from(what.word(3)) << 64 | u128::from(what.word(2))),
        Width::Bits256 => Code::new(what),
    }
}

/// The command that wrote the row at a place, as in [`Neighbour`].
pub fn command_at(setup: &Setup, at: At) -> pg_sys::CommandId {
    let any = Snapshot::any();
    let opened = Opened::open(&setup.family.members[at.member as usize], &any);
    opened.map_or(0, |mut opened| {
        let command = opened.fetch(at.tid).map_or(0, Row::command);
        opened.close();
        command
    })
}
