//! Which ids the groups have, and which rows get another one.
//!
//! Of the groups that a component brings along, the one with the least id gives its own to all. A
//! component that brings none is called by the least key of its rows that is no other group's id.
//! It may be one: a group keeps its id when the row of that key has left it. If the keys of all its
//! rows are taken in this way, the component takes the least of them, and the group that had it is
//! given another id, by a row of its own. A group loses its id in this way once at most: then it is
//! called by one of its own rows.

use std::collections::{HashMap, HashSet};

use super::components::{Components, Kind, Node, Row};
use super::keys::Key;
use super::locks::Use;
use super::row::At;
use super::table::{self, NewId};

/// How many keys of a group are asked for at once, at most.
const LARGEST_BATCH: usize = 1024;

/// What is to be done about the components that were found.
pub struct Assignment {
    /// The rows whose id is another one from now on, in the order of where they are.
    pub new_ids: Vec<NewId>,
    /// Ids that end, and those that their rows get.
    pub renamed: HashMap<Key, Key>,
    /// The ids on which this depends.
    pub uses: Vec<(Key, Use)>,
    /// How many groups there are.
    pub groups: usize,
}

/// A component: rows that are a group from now on.
#[derive(Default)]
struct NewGroup {
    /// The rows that are known, in the order of their keys. Of a group that stands, only those near
    /// fresh rows.
    rows: Vec<Key>,
    /// The groups that stand in it, by their ids.
    merged: Vec<Key>,
    /// The least id among its groups and those it is the heir of.
    id: Option<Key>,
    /// How many of its first rows' keys are known to be taken.
    refused: usize,
}

/// Decides what every row's id is.
pub fn assign(components: &mut Components<'_>) -> Assignment {
    let mut naming =
        Naming { groups: Vec::new(), new_ids: HashMap::new(), holders: HashMap::new() };
    let bare = bare(components);
    naming.new_ids.extend(bare.into_iter().map(|key| (key, None)));
    naming.collect(components);
    naming.inherit(components);
    naming.choose(components);
    naming.assignment(components)
}

struct Naming {
    groups: Vec<NewGroup>,
    /// The new id of each row that is to have one, or none.
    new_ids: HashMap<Key, Option<Key>>,
    /// Which group has an id.
    holders: HashMap<Key, usize>,
}

impl Naming {
    /// Makes a group of each component of two rows or more.
    fn collect(&mut self, components: &mut Components<'_>) {
        let is_there = |row: &Row| matches!(row.kind, Kind::Found | Kind::Standing);
        components.groups.sort_unstable();
        components.groups.dedup();
        let rows = (0..components.rows.len()).filter(|&index| is_there(&components.rows[index]));
        let groups = components.groups.iter().map(|&group| Node::group(group));
        let nodes: Vec<Node> = rows.map(|index| Node::row(Key::new(index))).chain(groups).collect();
        let mut nodes: Vec<_> =
            nodes.into_iter().map(|node| (components.root(node), node)).collect();
        nodes.sort_unstable();
        for same in nodes.chunk_by(|a, b| a.0 == b.0) {
            pgrx::check_for_interrupts!();
            if let &[(_, node)] = same {
                if node.is_row() && components.row(node.key()).stored.is_some() {
                    self.new_ids.insert(node.key(), None);
                }
                continue;
            }
            let (rows, groups): (Vec<Node>, Vec<Node>) =
                same.iter().map(|&(_, node)| node).partition(|node| node.is_row());
            let keys = |nodes: Vec<Node>| nodes.into_iter().map(Node::key).collect();
            let mut group =
                NewGroup { rows: keys(rows), merged: keys(groups), ..NewGroup::default() };
            group.rows.sort_unstable_by(|&a, &b| components.keys.compare(a, b));
            group.id = least(group.merged.iter().copied(), components);
            self.groups.push(group);
        }
    }

    /// Gives the ids of groups that may have come apart to what is left of them: to the group with
    /// the row of that key, or else to the one with the oldest member. A row that has changed is a
    /// member only of a group that has another one.
    fn inherit(&mut self, components: &Components<'_>) {
        // For each of those groups its heir, and the oldest member there.
        let mut heirs: HashMap<Key, (usize, Key)> = HashMap::new();
        for (number, group) in self.groups.iter().enumerate() {
            let members = group.rows.iter().filter(|&&row| components.row(row).is_member);
            let present: HashSet<Key> =
                members.filter_map(|&row| components.row(row).former).collect();
            for &row in &group.rows {
                let Some(former) = components.row(row).former else { continue };
                if !present.contains(&former) {
                    continue;
                }
                let heir = heirs.entry(former).or_insert((number, row));
                let is_founder = |row: Key| row == former;
                if !is_founder(heir.1)
                    && (is_founder(row) || components.keys.compare(row, heir.1).is_lt())
                {
                    *heir = (number, row);
                }
            }
        }
        for (former, (number, _)) in heirs {
            let group = &mut self.groups[number];
            group.id = least(group.id.into_iter().chain([former]), components);
        }
        for (number, group) in self.groups.iter().enumerate() {
            if let Some(id) = group.id {
                self.holders.insert(id, number);
            }
        }
    }

    /// Finds ids for the groups that have none.
    fn choose(&mut self, components: &mut Components<'_>) {
        let mut open: Vec<usize> =
            (0..self.groups.len()).filter(|&number| self.groups[number].id.is_none()).collect();
        // Ids that are about to be given up are not given to others in the same breath.
        let merging: HashSet<Key> = components.groups.iter().copied().collect();
        // Keys are asked for in batches that double: many founders may have left their groups.
        let mut batch = 1;
        while !open.is_empty() {
            let mut wanted = Vec::new();
            for number in std::mem::take(&mut open) {
                let candidates = self.candidates(number, batch, &merging);
                if candidates.is_empty() {
                    open.extend(self.take_over(number, &merging, components));
                } else {
                    wanted.push((number, candidates));
                }
            }
            let keys: Vec<Key> =
                wanted.iter().flat_map(|(_, all)| all.iter().map(|&(_, key)| key)).collect();
            let taken = self.taken(components, &keys);
            for (number, candidates) in wanted {
                if let Some(&(_, key)) = candidates.iter().find(|(_, key)| !taken.contains(key)) {
                    self.groups[number].id = Some(key);
                    self.holders.insert(key, number);
                } else if let Some((last, _)) = candidates.last() {
                    self.groups[number].refused = last + 1;
                    open.push(number);
                }
            }
            batch = (2 * batch).min(LARGEST_BATCH);
        }
    }

    /// The least keys of the group's rows that are not known to be taken, each with its number
    /// among the rows.
    fn candidates(&self, number: usize, most: usize, merging: &HashSet<Key>) -> Vec<(usize, Key)> {
        let group = &self.groups[number];
        let rows = group.rows.iter().copied().enumerate().skip(group.refused);
        rows.filter(|(_, key)| !self.holders.contains_key(key) && !merging.contains(key))
            .take(most)
            .collect()
    }

    /// Gives a group the least key of its rows, which is another group's id. Returns that group, to
    /// be given another id.
    fn take_over(
        &mut self,
        number: usize,
        merging: &HashSet<Key>,
        components: &mut Components<'_>,
    ) -> Option<usize> {
        let id = *self.groups[number].rows.first()?;
        self.groups[number].id = Some(id);
        if let Some(other) = self.holders.insert(id, number) {
            self.groups[other].id = None;
            self.groups[other].refused = 0;
            return Some(other);
        }
        if merging.contains(&id) {
            return None;
        }
        let mut other = NewGroup { merged: vec![id], ..NewGroup::default() };
        for (key, stored, at) in rows_of_groups(components, &[id]) {
            if self.stays(components, key) {
                *components.row_mut(key) = Row::standing(Some(stored), at);
                other.rows.push(key);
            }
        }
        if other.rows.is_empty() {
            return None;
        }
        other.rows.sort_unstable_by(|&a, &b| components.keys.compare(a, b));
        self.groups.push(other);
        Some(self.groups.len() - 1)
    }

    /// Those of the ids that are a group's in which a row is that is not fresh.
    fn taken(&self, components: &mut Components<'_>, ids: &[Key]) -> HashSet<Key> {
        let members = rows_of_groups(components, ids).into_iter();
        let others = members.filter(|&(key, ..)| {
            components.row(key).kind == Kind::Standing || self.stays(components, key)
        });
        others.map(|(_, stored, _)| stored).collect()
    }

    /// Whether a row is in the group that its column names, as far as is known. A fresh row is, if
    /// its search did not find it: a statement inside this one has changed it, and gave it an id.
    fn stays(&self, components: &Components<'_>, key: Key) -> bool {
        match components.row(key).kind {
            Kind::Absent => true,
            Kind::Fresh => !self.new_ids.contains_key(&key),
            Kind::NearOnly | Kind::Found | Kind::Standing => false,
        }
    }

    fn assignment(mut self, components: &mut Components<'_>) -> Assignment {
        let mut renamed: HashMap<Key, Key> = HashMap::new();
        let mut uses: Vec<(Key, Use)> = Vec::new();
        for group in &self.groups {
            let Some(id) = group.id else { continue };
            for &row in &group.rows {
                let Row { kind, stored, .. } = *components.row(row);
                if stored != Some(id) {
                    self.new_ids.insert(row, Some(id));
                }
                // Its key stands for the id of a row without near ones.
                if kind == Kind::Standing && stored.is_none() {
                    uses.push((row, Use::Changed));
                }
            }
            for &merged in &group.merged {
                if merged == id {
                    uses.push((id, Use::Joined));
                } else {
                    renamed.insert(merged, id);
                    uses.push((merged, Use::Changed));
                }
            }
        }
        let ended: Vec<Key> = renamed.keys().copied().collect();
        for (key, stored, at) in rows_of_groups(components, &ended) {
            if self.stays(components, key)
                && let Some(&id) = renamed.get(&stored)
            {
                components.row_mut(key).at = Some(at);
                self.new_ids.insert(key, Some(id));
            }
        }
        let value = |id: Option<Key>| id.map(|id| components.keys.value(id));
        let mut new_ids: Vec<NewId> = self
            .new_ids
            .iter()
            .filter_map(|(&key, &id)| {
                let Row { at, is_own, .. } = *components.row(key);
                let key = components.keys.value(key);
                Some(NewId { at: at?, key, id: value(id), is_own })
            })
            .collect();
        new_ids.sort_unstable_by_key(|row| row.at);
        Assignment { new_ids, renamed, uses, groups: self.groups.len() }
    }
}

/// The rows that are in no group, for want of what they are searched for by, or of a scope, and
/// have an id. A statement inside this one may have given a row what it lacked, and with that a
/// group: so they are read.
fn bare(components: &mut Components<'_>) -> Vec<Key> {
    let wordless = components.wordless_rows();
    let rows = std::mem::take(&mut components.bare).into_iter().chain(wordless).filter(|&key| {
        let row = components.row(key);
        row.kind == Kind::Fresh && row.stored.is_some()
    });
    let keys: Vec<Key> = rows.collect();
    let mut bare = Vec::new();
    table::rows_with(components, &keys, &mut |components, row| {
        // SAFETY: the values are of the table's columns.
        unsafe {
            if let Some(key) = row.key
                && components.point(&row).is_none_or(|at| components.wordless.contains(&at.what))
            {
                let key = components.key(key);
                components.row_mut(key).at = row.at;
                bare.push(key);
            }
        }
    });
    bare
}

/// The least of some ids.
fn least(ids: impl IntoIterator<Item = Key>, components: &Components<'_>) -> Option<Key> {
    ids.into_iter().min_by(|&a, &b| components.keys.compare(a, b))
}

/// The rows of some groups: their keys, their ids, and where they are.
fn rows_of_groups(components: &mut Components<'_>, ids: &[Key]) -> Vec<(Key, Key, At)> {
    let mut members = Vec::new();
    table::rows_of(components, ids, &mut |components, row| {
        // SAFETY: the values are of the table's columns.
        unsafe {
            if let (Some(key), Some(cluster), Some(at)) = (row.key, row.cluster, row.at) {
                members.push((components.key(key), components.key(cluster), at));
            }
        }
    });
    members
}
