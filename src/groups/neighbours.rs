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
use crate::family::scan::{Next, Opened, value};
use crate::family::serving::Similar;
use crate::family::tables::Member;
use crate::models::sketches;
use crate::types::ball::Ball;
use crate::types::datum::{Decode, Encode};
use crate::types::text::with_text;
use crate::types::{Code, ConfigText, NearText, Text, Width, strategy, tid};

/// A row that is near. Its values are valid until the next row.
pub struct Neighbour {
    /// 0 for a row at the point itself. Among texts, every other row has 1.
    pub distance: u32,
    /// Its value in the column that rows are searched by.
    pub value: pg_sys::Datum,
    pub key: pg_sys::Datum,
    pub cluster: Option<pg_sys::Datum>,
    pub at: At,
    /// The other transaction, still in progress, that has written it.
    pub writer: Option<pg_sys::TransactionId>,
    /// The command that wrote it, if this transaction did; otherwise 0.
    pub command: pg_sys::CommandId,
}

/// A consumer of near rows.
type Sink<'a, 'c> = &'a mut dyn FnMut(&mut Components<'c>, &Neighbour) -> Next;

/// The tables of a family, open for searching.
pub struct Neighbours<'a> {
    setup: &'a Setup,
    snapshot: pg_sys::Snapshot,
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
    /// # Safety
    /// The snapshot is a dirty one, or registered while the result is used. The family's relations
    /// are locked.
    pub unsafe fn open(setup: &'a Setup, snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: the caller keeps the snapshot valid, and has locked the family's relations.
        let open = |(number, member)| unsafe { Table::open(setup, number, member, snapshot) };
        let tables = setup.family.members.iter().enumerate().filter_map(open).collect();
        Neighbours { setup, snapshot, tables, sketches: None }
    }

    /// Calls `found` with the rows at the point itself. That is faster than [`Neighbours::near`].
    ///
    /// # Safety
    /// As [`Neighbours::near`].
    pub unsafe fn equal<'c>(
        &mut self,
        components: &mut Components<'c>,
        point: Point,
        found: Sink<'_, 'c>,
    ) {
        // SAFETY: the snapshot of `open` is still valid, and the point is one of the components'.
        unsafe {
            match &self.setup.by {
                By::Distance { width, .. } => {
                    let within = Within { width: *width, point, radius: 0 };
                    self.within(components, within, found);
                }
                By::Similarity(similar) => {
                    if let Some((own, _)) = self.own(components, similar, point) {
                        let by = &self.setup.by;
                        let asked = (strategy::EQUAL, own);
                        let mut distance = |text| (by.what(text) == point.what).then_some(0);
                        let (tables, from) = (&mut self.tables, (self.snapshot, point.scope, None));
                        each(tables, components, from, asked, &mut distance, found);
                    }
                }
            }
        }
    }

    /// The text of a point, and its sketch. `None` if it has no words.
    ///
    /// # Safety
    /// As [`Neighbours::near`].
    unsafe fn own(
        &mut self,
        components: &mut Components<'_>,
        similar: &Similar,
        point: Point,
    ) -> Option<(pg_sys::Datum, Rc<Sketch>)> {
        let schema = self.setup.schema;
        let own = components.text(point)?;
        let sketches = self.sketches.get_or_insert_with(|| Sketches::new(similar, schema));
        // SAFETY: `own` is a copy of a text that has that hash.
        let sketch = unsafe { sketches.of(point.what, own) };
        if sketch.is_none() {
            components.wordless.insert(point.what);
        }
        Some((own, sketch?))
    }

    unsafe fn within<'c>(
        &mut self,
        components: &mut Components<'c>,
        within: Within,
        found: Sink<'_, 'c>,
    ) {
        let (tables, from) = (&mut self.tables, (self.snapshot, within.point.scope, None));
        // SAFETY: the snapshot of `open` is still valid, and the ball is an argument of the
        // operator.
        unsafe {
            let mut distance = |row| within.distance(row);
            each(tables, components, from, within.asked(), &mut distance, found);
        }
    }

    /// Calls `found` with the rows near the point in its scope, as far as `found` wants them. An
    /// anchor, for texts, leaves out the rows with an equal text and those connected with the
    /// anchor.
    ///
    /// # Safety
    /// As [`Neighbours::open`]; the point is one of the components'.
    pub unsafe fn near<'c>(
        &mut self,
        components: &mut Components<'c>,
        point: Point,
        anchor: Option<Anchor>,
        found: Sink<'_, 'c>,
    ) {
        // SAFETY: the snapshot of `open` is still valid, and the point is one of the components'.
        unsafe {
            match &self.setup.by {
                By::Distance { width, distance } => {
                    let within = Within { width: *width, point, radius: *distance };
                    self.within(components, within, found);
                }
                By::Similarity(similar) => {
                    self.similar(components, similar, (point, anchor), found);
                }
            }
        }
    }

    unsafe fn similar<'c>(
        &mut self,
        components: &mut Components<'c>,
        similar: &Similar,
        (point, anchor): (Point, Option<Anchor>),
        found: Sink<'_, 'c>,
    ) {
        let by = &self.setup.by;
        // SAFETY: the snapshot of `open` is still valid, and the texts are values of a column of
        // text: copies in the components, or in a row.
        unsafe {
            let Some((own, sketch)) = self.own(components, similar, point) else { return };
            let Some(sketches) = &mut self.sketches else { return };
            let (text, config) = (Text::decode(own).into_str(), (*similar.config).into());
            let asked = NearText { similarity: similar.similarity, config, text };
            let asked = (strategy::NEAR, asked.encode());
            let mut distance = |text: pg_sys::Datum| {
                let what = by.what(text);
                if what == point.what {
                    return anchor.is_none().then_some(0);
                }
                let other = sketches.of(what, text)?;
                near(&sketch, &other, similar.similarity).then_some(1)
            };
            let (tables, from) = (&mut self.tables, (self.snapshot, point.scope, anchor));
            each(tables, components, from, asked, &mut distance, found);
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
    pub fn text(&mut self, at: At) -> Option<pg_sys::Datum> {
        let table = self.tables.iter().find(|table| table.member == at.member)?;
        let text = table.opened.member.text;
        let text = text.filter(|_| table.opened.fetch(tid::unpack(at.tid)))?;
        // SAFETY: `fetch` has put the row into the slot, and the column is one of its table.
        unsafe { value(table.opened.slot, &text) }
    }

    pub fn close(self) {
        for table in self.tables.into_iter().rev() {
            table.opened.close();
        }
    }
}

/// Calls `found` with the rows in the scope that an index returns and for which `distance` is not
/// `None`. Rows connected with the anchor are left out, unless a transaction in progress wrote
/// them.
///
/// # Safety
/// As [`Neighbours::near`].
unsafe fn each<'c>(
    tables: &mut [Table<'_>],
    components: &mut Components<'c>,
    (snapshot, scope, anchor): (pg_sys::Snapshot, u32, Option<Anchor>),
    asked: (u16, pg_sys::Datum),
    distance: &mut dyn FnMut(pg_sys::Datum) -> Option<u32>,
    found: Sink<'_, 'c>,
) {
    let scope = components.scopes.values(scope).to_vec();
    let mut is_over = false;
    for Table { member: number, opened, key, cluster } in tables {
        let (member, number) = (opened.member, *number);
        let mut row = |components: &mut Components<'c>, slot: *mut pg_sys::TupleTableSlot| {
            // SAFETY: the slot holds a row of the member's table, and the columns are that table's.
            unsafe {
                let (key, cluster) = (value(slot, key)?, value(slot, cluster));
                let writer = writer(snapshot);
                if let Some(anchor) = anchor.filter(|_| writer.is_none())
                    && components.is_anchored(anchor, key, cluster)
                {
                    return None;
                }
                let searched = value(slot, &member.searched)?;
                let distance = distance(searched)?;
                if !member.is_in_scope(slot, &scope) {
                    return None;
                }
                let at = At { member: number, tid: tid::pack(&(*slot).tts_tid) };
                let command = command(slot);
                Some(Neighbour { distance, value: searched, key, cluster, at, writer, command })
            }
        };
        // SAFETY: `asked` is an operator of the searched column with its argument, and the values
        // of the scope are of the scope's columns.
        unsafe {
            opened.near(asked, &scope, &mut |slot| {
                let row = row(components, slot);
                let next = row.map_or(Next::Any, |row| found(components, &row));
                is_over = next == Next::None;
                next
            });
        }
        if is_over {
            return;
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
    ///
    /// # Safety
    /// The datum has the representation of text.
    unsafe fn of(&mut self, what: B256, text: pg_sys::Datum) -> Option<Rc<Sketch>> {
        if let Some(known) = self.all.get(&what) {
            return known.clone();
        }
        if self.all.len() >= MAX_SKETCHES {
            self.all.clear();
        }
        // SAFETY: the caller passes a datum with the representation of text.
        let sketch = unsafe { with_text(text, |text| self.maker.of(text)) };
        self.all.insert(what, sketch.clone());
        sketch
    }
}

impl<'a> Table<'a> {
    /// # Safety
    /// As [`Neighbours::open`].
    unsafe fn open(
        setup: &Setup,
        number: usize,
        member: &'a Member,
        snapshot: pg_sys::Snapshot,
    ) -> Option<Self> {
        let cluster = Column::named(member.table, &setup.cluster.name)?;
        let key = member.key?;
        // SAFETY: the caller of `Neighbours::open` keeps the snapshot valid and the relations
        // locked.
        let opened = unsafe { Opened::open(member, snapshot)? };
        Some(Table { member: number as u32, opened, key, cluster })
    }
}

/// Fingerprints within a distance.
struct Within {
    width: Width,
    point: Point,
    radius: u32,
}

impl Within {
    fn asked(&self) -> (u16, pg_sys::Datum) {
        let center = code(self.point.what, self.width);
        (strategy::WITHIN, self.width.ball_datum(Ball { center, radius: self.radius }))
    }

    /// # Safety
    /// The datum is a fingerprint of that width.
    unsafe fn distance(&self, fp: pg_sys::Datum) -> Option<u32> {
        // SAFETY: the caller passes a fingerprint of that width.
        let other = unsafe { self.width.code(fp) };
        let distance = other.hamming(&code(self.point.what, self.width));
        (distance <= self.radius).then_some(distance)
    }
}

/// The fingerprint of that width, which `what` holds at its most significant end.
pub fn code(what: B256, width: Width) -> Code {
    match width {
        Width::Bits64 => Code::new(what.word(3)),
        Width::Bits128 => Code::new(u128::from(what.word(3)) << 64 | u128::from(what.word(2))),
        Width::Bits256 => Code::new(what),
    }
}

/// The transaction in progress that wrote the row returned last, if the snapshot is a dirty one and
/// the transaction is another one.
unsafe fn writer(snapshot: pg_sys::Snapshot) -> Option<pg_sys::TransactionId> {
    // SAFETY: the caller's snapshot is valid.
    unsafe {
        let is_of_everything = (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY;
        let writer = (*snapshot).xmin;
        (is_of_everything && writer != pg_sys::InvalidTransactionId)
            .then(|| pg_sys::SubTransGetTopmostTransaction(writer))
    }
}

/// The command that wrote a row of this transaction; 0 for a row of another one.
///
/// The system column cmin does not do. If the row was also deleted, say by a subtransaction that
/// was rolled back, it is a combo command ID, which stands for two commands.
unsafe fn command(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::CommandId {
    let (mut is_null, mut is_copy) = (true, false);
    // SAFETY: the slot holds a row of a table. A heap row lies in a buffer that the slot has
    // pinned.
    unsafe {
        let written = pg_sys::MinTransactionIdAttributeNumber;
        let writer = pg_sys::slot_getsysattr(slot, written, &mut is_null);
        let writer = pg_sys::TransactionId::from(writer.value() as u32);
        if !pg_sys::TransactionIdIsCurrentTransactionId(writer) {
            return 0;
        }
        if (*slot).tts_ops != &raw const pg_sys::TTSOpsBufferHeapTuple {
            let command = pg_sys::MinCommandIdAttributeNumber;
            return pg_sys::slot_getsysattr(slot, command, &mut is_null).value() as u32;
        }
        let row = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut is_copy);
        pg_sys::HeapTupleHeaderGetCmin((*row).t_data)
    }
}

/// The command that wrote the row at a place, as in [`Neighbour`].
pub fn command_at(setup: &Setup, at: At) -> pg_sys::CommandId {
    let member = &setup.family.members[at.member as usize];
    // SAFETY: the family's relations are locked. The slot and the relation are closed below.
    unsafe {
        let no_lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        let relation = pg_sys::table_open(member.table, no_lock);
        let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
        let (mut tid, any) = (tid::unpack(at.tid), &raw mut pg_sys::SnapshotAnyData);
        let is_there = pg_sys::table_tuple_fetch_row_version(relation, &mut tid, any, slot);
        let command = if is_there { command(slot) } else { 0 };
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        pg_sys::table_close(relation, no_lock);
        command
    }
}
