//! Which rows are connected: the components of fresh rows and of the groups near them.
//!
//! The comment of `mod.rs` says what fresh and standing rows are. The id that a fresh row holds
//! does not connect it with anything. Rows and groups are nodes of a forest (union-find).

use std::collections::{HashMap, HashSet};

use pgrx::PgSqlErrorCode;
use simhash_core::base::bits::B256;

use super::keys::{Key, Keys};
use super::row::{At, RowValues};
use super::scopes::Scopes;
use super::setup::Setup;
use crate::error::raise;
use crate::family::value::Value;
use crate::guc::work_mem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The search has read no row with this key.
    Absent,
    /// Fresh, and not found yet. The row may be gone again.
    Fresh,
    /// Fresh, and found near another row, but not yet with the values that its statement gave it.
    NearOnly,
    /// Fresh, and found with the values that its statement gave it.
    Found,
    /// Represents its whole group.
    Standing,
}

/// What is known about the row with a key.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub kind: Kind,
    /// The id in its column.
    pub stored: Option<Key>,
    /// The group that it was in and that may have come apart.
    pub former: Option<Key>,
    /// Whether the row itself is unchanged, so that it is still in that group.
    pub is_member: bool,
    /// Whether the statement has written it, so that no other transaction can change it.
    pub is_own: bool,
    pub at: Option<At>,
}

const ABSENT: Row = Row {
    kind: Kind::Absent,
    stored: None,
    former: None,
    is_member: false,
    is_own: false,
    at: None,
};

impl Row {
    fn fresh(stored: Option<Key>, is_member: bool) -> Self {
        Row { kind: Kind::Fresh, stored, former: stored, is_member, ..ABSENT }
    }

    pub fn found(stored: Option<Key>, at: At) -> Self {
        Row { kind: Kind::Found, at: Some(at), ..Row::fresh(stored, true) }
    }

    pub fn standing(stored: Option<Key>, at: At) -> Self {
        Row { kind: Kind::Standing, stored, at: Some(at), ..ABSENT }
    }
}

/// A node of the forest: a row by its key, or a group by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(u32);

impl Node {
    pub fn row(key: Key) -> Self {
        Node(2 * key.index() as u32)
    }

    pub fn group(id: Key) -> Self {
        Node(2 * id.index() as u32 + 1)
    }

    pub fn is_row(self) -> bool {
        self.0.is_multiple_of(2)
    }

    pub fn key(self) -> Key {
        Key::new(self.0 as usize / 2)
    }
}

/// What rows are searched by, with its scope: a fingerprint, or a hash of a text. Rows at one point
/// are near the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    pub scope: u32,
    pub what: B256,
}

/// A row at the point searched for, already among the components. Rows connected with it need no
/// comparison with the text of that point.
#[derive(Clone, Copy)]
pub struct Anchor {
    pub own: Key,
    /// Whether the id of a standing row proves what the row is connected with.
    pub trusts_ids: bool,
}

/// A row that the statement has added or changed.
#[derive(Clone, Copy)]
struct Changed {
    key: Key,
    /// `None` for a row that can be in no group.
    point: Option<Point>,
    stored: Option<Key>,
    /// Whether the row is still near the rows that it was near before.
    stays: bool,
}

pub struct Components<'a> {
    pub setup: &'a Setup,
    pub keys: Keys,
    pub rows: Vec<Row>,
    /// The groups of the standing rows found.
    pub groups: Vec<Key>,
    /// Fresh rows that can be in no group, because they lack a fingerprint, a text or a scope.
    pub groupless: Vec<Key>,
    pub scopes: Scopes,
    links: Vec<Node>,
    changed: Vec<Changed>,
    /// The fresh rows of groups that may have come apart, with their points.
    former: Vec<(Key, Point)>,
    /// Of each row that has left its group, the id and the point. Rows without a point are only in
    /// `left`.
    gone: Vec<(Key, Point)>,
    pub left: HashSet<Key>,
    /// Hashes of texts without words, near which there is nothing.
    pub wordless: HashSet<B256>,
    /// The texts of the hashes in points, if rows are searched by texts.
    texts: HashMap<B256, Value<'static>>,
    text_bytes: usize,
}

impl<'a> Components<'a> {
    pub fn new(setup: &'a Setup) -> Self {
        Components {
            setup,
            keys: Keys::new(setup.key.column),
            rows: Vec::new(),
            groups: Vec::new(),
            groupless: Vec::new(),
            scopes: Scopes::default(),
            links: Vec::new(),
            changed: Vec::new(),
            former: Vec::new(),
            gone: Vec::new(),
            left: HashSet::new(),
            wordless: HashSet::new(),
            texts: HashMap::new(),
            text_bytes: 0,
        }
    }

    pub fn key(&mut self, value: Value<'_>) -> Key {
        let key = self.keys.key(value);
        if key.index() == self.rows.len() {
            self.rows.push(ABSENT);
            self.links.extend([Node::row(key), Node::group(key)]);
            if key.index().is_multiple_of(1024) {
                self.check_memory();
            }
        }
        key
    }

    pub fn id(&mut self, value: Option<Value<'_>>) -> Option<Key> {
        value.map(|value| self.key(value))
    }

    pub fn row(&self, key: Key) -> &Row {
        &self.rows[key.index()]
    }

    pub fn row_mut(&mut self, key: Key) -> &mut Row {
        &mut self.rows[key.index()]
    }

    /// Adds a row that the statement has added or changed. `stays`: it is still near the rows that
    /// it was near before.
    pub fn change(&mut self, row: &RowValues<'_>, stays: bool) {
        let Some(key) = row.key else { return };
        let (key, stored) = (self.key(key), self.id(row.cluster));
        let point = self.point(row);
        self.changed.push(Changed { key, point, stored, stays });
    }

    /// The keys of the rows that the statement has added or changed.
    pub fn changed_keys(&self) -> HashSet<Key> {
        self.changed.iter().map(|changed| changed.key).collect()
    }

    /// The keys of the changed rows that have a point: a search can find only these.
    pub fn searched_keys(&self) -> HashSet<Key> {
        let searched = self.changed.iter().filter(|changed| changed.point.is_some());
        searched.map(|changed| changed.key).collect()
    }

    /// Notes the old values of a row that is changed or gone. Rows that it connected may come
    /// apart.
    pub fn leave(&mut self, row: &RowValues<'_>) {
        // A row in no group connected nothing.
        if row.cluster.is_some() {
            let (point, id) = (self.point(row), self.id(row.cluster));
            self.left.extend(id);
            self.gone.extend(id.zip(point));
            if self.gone.len().is_multiple_of(1024) {
                self.check_memory();
            }
        }
    }

    /// Whether a row can be in a group, or holds an id.
    pub fn concerns_groups(&mut self, row: &RowValues<'_>) -> bool {
        row.cluster.is_some() || self.point(row).is_some()
    }

    /// The point of a row; `None` if it can be in no group.
    pub fn point(&mut self, row: &RowValues<'_>) -> Option<Point> {
        let value = row.searched?;
        let what = self.setup.by.what(value);
        let scope = self.scopes.number(self.setup, &row.scope)?;
        if self.setup.by.is_text() && !self.texts.contains_key(&what) {
            // SAFETY: the current memory context is that of the call for which the points are.
            let copy = unsafe { value.copy() };
            self.text_bytes += value.with_bytes(<[u8]>::len) + 64;
            self.texts.insert(what, copy);
            self.check_memory();
        }
        Some(Point { scope, what })
    }

    /// The text at a point, if rows are searched by texts.
    pub fn text(&self, point: Point) -> Option<Value<'static>> {
        self.texts.get(&point.what).copied()
    }

    /// Whether the statement leaves all groups as they are.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.left.is_empty()
    }

    /// Forgets what searches have found, but not what the statement has changed.
    pub fn begin(&mut self) {
        self.rows.fill(ABSENT);
        for (index, link) in self.links.iter_mut().enumerate() {
            *link = Node(index as u32);
        }
        self.groups.clear();
        self.groupless.clear();
        self.former.clear();
        for index in 0..self.changed.len() {
            let Changed { key, point, stored, stays } = self.changed[index];
            *self.row_mut(key) = Row { is_own: true, ..Row::fresh(stored, stays) };
            if point.is_none() {
                self.groupless.push(key);
            }
        }
    }

    /// Adds a row, with its present values, of a group that may have come apart. If the statement
    /// has changed the row, it stays as it is, and is also searched for at its present point: a
    /// nested statement may have moved it.
    pub fn add_former(&mut self, values: &RowValues<'_>) {
        let Some(key) = values.key else { return };
        let (key, stored) = (self.key(key), self.id(values.cluster));
        let point = self.point(values);
        if self.row(key).kind == Kind::Absent {
            *self.row_mut(key) = Row { at: values.at, ..Row::fresh(stored, true) };
        } else if point.is_none() {
            (self.row_mut(key).stored, self.row_mut(key).at) = (stored, values.at);
        }
        match point {
            Some(point) => self.former.push((key, point)),
            None => self.groupless.push(key),
        }
    }

    /// The points of the rows that the statement has added or changed: distinct, and in order.
    pub fn changed_points(&self) -> Vec<Point> {
        distinct(self.changed.iter().filter_map(|changed| changed.point).collect())
    }

    /// The points of all fresh rows, in the same way.
    pub fn fresh_points(&self) -> Vec<Point> {
        let changed = self.changed.iter().filter_map(|changed| changed.point);
        distinct(changed.chain(self.former.iter().map(|&(_, point)| point)).collect())
    }

    /// The points that rows have left, with their former groups: distinct, and in the order of
    /// groups.
    pub fn gone_points(&self) -> Vec<(Key, Point)> {
        distinct(self.gone.clone())
    }

    /// The keys of fresh rows at these points that the search has not found there.
    pub fn unseen_at(&self, points: &HashMap<Point, Key>) -> Vec<Key> {
        let is_unseen = |changed: &&Changed| {
            matches!(self.row(changed.key).kind, Kind::Fresh | Kind::NearOnly)
                && changed.point.is_some_and(|point| points.contains_key(&point))
        };
        let mut keys: Vec<Key> =
            self.changed.iter().filter(is_unseen).map(|changed| changed.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The fresh rows, not found yet, whose texts have no words.
    pub fn wordless_rows(&self) -> Vec<Key> {
        let changed = self.changed.iter().filter_map(|changed| Some((changed.key, changed.point?)));
        let all = changed.chain(self.former.iter().copied());
        let is_one = |&(key, point): &(Key, Point)| {
            self.wordless.contains(&point.what) && self.row(key).kind == Kind::Fresh
        };
        all.filter(is_one).map(|(key, _)| key).collect()
    }

    /// Connects a row with the group that it represents, if it has one.
    pub fn link_group(&mut self, key: Key, group: Option<Key>) {
        if let Some(group) = group {
            self.groups.push(group);
            self.link(Node::row(key), Node::group(group));
        }
    }

    /// Connects two rows.
    pub fn link_rows(&mut self, a: Key, b: Key) {
        self.link(Node::row(a), Node::row(b));
    }

    /// Whether a row is connected with another row, or with a group.
    pub fn are_connected(&mut self, row: Key, other: Option<Key>, group: Option<Key>) -> bool {
        let root = self.root(Node::row(row));
        other.is_some_and(|other| root == self.root(Node::row(other)))
            || group.is_some_and(|group| root == self.root(Node::group(group)))
    }

    /// Whether a row with this key and id needs no comparison, since it is connected with the
    /// anchor.
    pub fn is_anchored(
        &mut self,
        Anchor { own, trusts_ids }: Anchor,
        key: Value<'_>,
        id: Option<Value<'_>>,
    ) -> bool {
        let known = |value| self.keys.known(value);
        let (other, id) = (known(key), id.filter(|_| trusts_ids).and_then(known));
        let kind = other.map_or(Kind::Absent, |other| self.row(other).kind);
        let group = id.filter(|_| matches!(kind, Kind::Absent | Kind::Standing));
        self.are_connected(own, other, group)
    }

    /// The node that represents all nodes connected with this one.
    pub fn root(&mut self, mut node: Node) -> Node {
        while self.links[node.0 as usize] != node {
            let above = self.links[node.0 as usize];
            self.links[node.0 as usize] = self.links[above.0 as usize];
            node = self.links[node.0 as usize];
        }
        node
    }

    fn link(&mut self, a: Node, b: Node) {
        let (a, b) = (self.root(a), self.root(b));
        self.links[a.max(b).0 as usize] = a.min(b);
    }

    /// Raises 53200 if the components take more memory than `simhash.work_mem` allows.
    pub fn check_memory(&self) {
        let of_row = size_of::<Row>() + 2 * size_of::<Node>();
        let used = self.keys.memory()
            + self.scopes.memory()
            + self.text_bytes
            + self.rows.capacity() * of_row
            + self.changed.capacity() * size_of::<Changed>()
            + self.former.capacity() * size_of::<(Key, Point)>()
            + self.gone.capacity() * size_of::<(Key, Point)>();
        if used > work_mem() {
            raise(
                PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
                format!(
                    "simhash_cluster needs more than the {} MB that simhash.work_mem allows: \
                     {} rows so far",
                    work_mem() >> 20,
                    self.rows.len()
                ),
                "Raise simhash.work_mem, or change fewer rows in a statement if it was one.",
            )
        }
    }
}

fn distinct<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}
