//! Which ids the groups have, and which rows get another one.
//!
//! The least id of the groups in a component becomes the id of the whole component. A component
//! without groups takes the least key of its rows that is no other group's id. A key may be another
//! group's id, because a group keeps its id when the row of that key has left. If the keys of all
//! its rows are taken in this way, the component takes the least of them, and the group that had it
//! gets another id. That group is then named by a key of its own rows, so this happens to a group
//! at most once.

use std::collections::{HashMap, HashSet};

use super::components::{Components, Kind, Node, Row};
use super::keys::Key;
use super::locks::Use;
use super::row::At;
use super::table::{self, NewId};

/// The most keys of one group that one query asks for.
const LARGEST_BATCH: usize = 1024;

/// What has to be written and locked for the components that the search has found.
pub struct Assignment {
    /// The rows whose id changes, in the order of their places.
    pub new_ids: Vec<NewId>,
    /// The ids that end, each with the id that their rows get.
    pub renamed: HashMap<Key, Key>,
    /// The ids to lock, because the assignment depends on them.
    pub uses: Vec<(Key, Use)>,
    /// How many groups there are.
    pub groups: usize,
}

/// A component: rows that form a group from now on.
#[derive(Default)]
struct NewGroup {
    /// The rows that the search has read, in the order of their keys. Of a standing group, only
    /// rows near fresh rows.
    rows: Vec<Key>,
    /// The ids of the standing groups that it consists of.
    merged: Vec<Key>,
    /// The least of the ids that it has: those of `merged`, and those that it inherits.
    id: Option<Key>,
    /// How many of the first keys in `rows` are known to be ids of other groups.
    refused: usize,
}

/// Decides the id of every row that the search has read.
pub fn assign(components: &mut Components<'_>) -> Assignment {
    let mut naming =
        Naming { groups: Vec::new(), new_ids: HashMap::new(), holders: HashMap::new() };
    let cleared = rows_to_clear(components);
    naming.new_ids.extend(cleared.into_iter().map(|key| (key, None)));
    naming.collect(components);
    naming.inherit(components);
    naming.choose(components);
    naming.assignment(components)
}

struct Naming {
    groups: Vec<NewGroup>,
    /// The new id of each row whose id changes; `None` for NULL.
    new_ids: HashMap<Key, Option<Key>>,
    /// The group that has each id, by its number.
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

    /// Passes on the ids of groups that may have come apart. Such an id goes to the component with
    /// the row of that key, or else to the one with the least key among the group's rows. Only
    /// components that have an unchanged row of the group can inherit; then their changed rows
    /// count as well.
    fn inherit(&mut self, components: &Components<'_>) {
        // For each id, the heir: the number of a component, and the row by which it inherits.
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

    /// Chooses ids for the groups that have none.
    fn choose(&mut self, components: &mut Components<'_>) {
        let mut open: Vec<usize> =
            (0..self.groups.len()).filter(|&number| self.groups[number].id.is_none()).collect();
        // Ids that end in this statement are not given to other groups.
        let merging: HashSet<Key> = components.groups.iter().copied().collect();
        // Batches double, because the rows with many of the first keys may have left their groups.
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

    /// The least keys of the group's rows that are not known to be taken, each with its index in
    /// `rows`.
    fn candidates(&self, number: usize, most: usize, merging: &HashSet<Key>) -> Vec<(usize, Key)> {
        let group = &self.groups[number];
        let rows = group.rows.iter().copied().enumerate().skip(group.refused);
        rows.filter(|(_, key)| !self.holders.contains_key(key) && !merging.contains(key))
            .take(most)
            .collect()
    }

    /// Gives a group the least key of its rows, which is another group's id. Returns the number of
    /// that other group if it needs another id.
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

    /// Those of the ids that a standing row holds, or a row that stays in its group.
    fn taken(&self, components: &mut Components<'_>, ids: &[Key]) -> HashSet<Key> {
        let members = rows_of_groups(components, ids).into_iter();
        let others = members.filter(|&(key, ..)| {
            components.row(key).kind == Kind::Standing || self.stays(components, key)
        });
        others.map(|(_, stored, _)| stored).collect()
    }

    /// Whether the row stays in the group that its column names: a row that the search has not
    /// read, or a fresh row that it did not find. A nested statement has changed such a row, and
    /// given it an id.
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
                // The key of a row without near rows stands for an id.
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

/// The rows that still hold an id although, lacking a fingerprint, a text or a scope, they belong
/// to no group. They are read from the table, because a nested statement may have given a row what
/// it lacked, and a group.
fn rows_to_clear(components: &mut Components<'_>) -> Vec<Key> {
    let wordless = components.wordless_rows();
    let rows =
        std::mem::take(&mut components.groupless).into_iter().chain(wordless).filter(|&key| {
            let row = components.row(key);
            row.kind == Kind::Fresh && row.stored.is_some()
        });
    let keys: Vec<Key> = rows.collect();
    let mut cleared = Vec::new();
    table::rows_with(components, &keys, &mut |components, row| {
        if let Some(key) = row.key
            && components.point(&row).is_none_or(|at| components.wordless.contains(&at.what))
        {
            let key = components.key(key);
            components.row_mut(key).at = row.at;
            cleared.push(key);
        }
    });
    cleared
}

/// The least of some ids.
fn least(ids: impl IntoIterator<Item = Key>, components: &Components<'_>) -> Option<Key> {
    ids.into_iter().min_by(|&a, &b| components.keys.compare(a, b))
}

/// The rows of some groups: their keys, ids and places.
fn rows_of_groups(components: &mut Components<'_>, ids: &[Key]) -> Vec<(Key, Key, At)> {
    let mut members = Vec::new();
    table::rows_of(components, ids, &mut |components, row| {
        if let (Some(key), Some(cluster), Some(at)) = (row.key, row.cluster, row.at) {
            members.push((components.key(key), components.key(cluster), at));
        }
    });
    members
}
