//! What the groups are called, and which rows have to be told.
//!
//! Of the groups that a component brings along, the one with the least id gives its own to all. A
//! component that brings none is named by the least key of its rows that is no other group's id. It
//! may be one: a group keeps its id when the row of that key has left it. If the keys of all its
//! rows are taken in this way, the component takes the least of them, and the group that had it is
//! named anew, by a row of its own. A group loses its id in this way once at most: then it is
//! called by one of its own rows.

use std::collections::{HashMap, HashSet};

use pgrx::pg_sys;

use super::keys::NONE;
use super::regroup::{Kind, Regroup, Row};
use super::setup::Settle;
use super::{looks, marks, own, table};

/// How many keys of a party are asked for at once, at most.
const LARGEST_BATCH: usize = 1024;

/// A component: rows that are a group from now on.
#[derive(Default)]
struct Party {
    /// The rows that are known, in the order of their keys. Of a live group, only those near fresh
    /// rows.
    rows: Vec<u32>,
    /// The live groups in it.
    groups: Vec<u32>,
    /// The least id among its groups and those it is the heir of.
    id: u32,
    /// How many of its first rows' keys are known to be taken.
    refused: usize,
}

/// Decides what every row's id is, and tells the rows whose id is another one. Returns the number
/// of groups.
pub fn decide_and_tell(regroup: &mut Regroup<'_>) -> usize {
    looks::look(regroup.setup);
    let mut naming = Naming { parties: Vec::new(), told: HashMap::new(), holders: HashMap::new() };
    naming.told.extend(bare(regroup).into_iter().map(|key| (key, NONE)));
    naming.components(regroup);
    naming.inherit(regroup);
    naming.choose(regroup);
    naming.tell(regroup);
    naming.parties.len()
}

struct Naming {
    parties: Vec<Party>,
    /// The new id of each row that is to be told one.
    told: HashMap<u32, u32>,
    /// Which party has an id.
    holders: HashMap<u32, usize>,
}

impl Naming {
    /// Makes a party of each component of two rows or more.
    fn components(&mut self, regroup: &mut Regroup<'_>) {
        let is_there = |row: &Row| matches!(row.kind, Kind::Found | Kind::Live);
        regroup.groups.sort_unstable();
        regroup.groups.dedup();
        let rows = (0..regroup.rows.len() as u32).filter(|&n| is_there(&regroup.rows[n as usize]));
        let groups = regroup.groups.iter().map(|&group| 2 * group + 1);
        let nodes: Vec<u32> = rows.map(|row| 2 * row).chain(groups).collect();
        let mut nodes: Vec<_> = nodes.into_iter().map(|node| (regroup.root(node), node)).collect();
        nodes.sort_unstable();
        for same in nodes.chunk_by(|a, b| a.0 == b.0) {
            pgrx::check_for_interrupts!();
            if let [(_, node)] = same {
                let row = node / 2;
                if node % 2 == 0 && regroup.rows[row as usize].stored != NONE {
                    self.told.insert(row, NONE);
                }
                continue;
            }
            let (rows, groups): (Vec<u32>, Vec<u32>) =
                same.iter().map(|&(_, node)| node).partition(|node| node % 2 == 0);
            let half = |nodes: Vec<u32>| nodes.into_iter().map(|node| node / 2).collect();
            let mut party = Party { rows: half(rows), groups: half(groups), id: NONE, refused: 0 };
            party.rows.sort_unstable_by(|&a, &b| regroup.keys.compare(a, b));
            party.id = least(party.groups.iter().copied(), regroup);
            self.parties.push(party);
        }
    }

    /// Gives the ids of groups that have been settled to what is left of them: to the party with
    /// the row of that key, or else to the one with the oldest member.
    fn inherit(&mut self, regroup: &Regroup<'_>) {
        // For each group the party, and the oldest member.
        let mut heirs: HashMap<u32, (usize, u32)> = HashMap::new();
        for (place, party) in self.parties.iter().enumerate() {
            for &row in &party.rows {
                let former = regroup.rows[row as usize].former;
                if former == NONE {
                    continue;
                }
                let heir = heirs.entry(former).or_insert((place, row));
                let is_founder = |row: u32| row == former;
                if !is_founder(heir.1)
                    && (is_founder(row) || regroup.keys.compare(row, heir.1).is_lt())
                {
                    *heir = (place, row);
                }
            }
        }
        for (former, (place, _)) in heirs {
            let party = &mut self.parties[place];
            party.id = least([party.id, former], regroup);
        }
        for (place, party) in self.parties.iter().enumerate() {
            if party.id != NONE {
                self.holders.insert(party.id, place);
            }
        }
    }

    /// Names the parties that have no id.
    fn choose(&mut self, regroup: &mut Regroup<'_>) {
        let mut open: Vec<usize> =
            (0..self.parties.len()).filter(|&place| self.parties[place].id == NONE).collect();
        // Ids that are about to be given up are not given to others in the same breath.
        let merging: HashSet<u32> = regroup.groups.iter().copied().collect();
        // Keys are asked for in batches that double: many founders may have left their groups.
        let mut batch = 1;
        while !open.is_empty() {
            let mut wanted = Vec::new();
            for place in std::mem::take(&mut open) {
                let candidates = self.candidates(place, batch, &merging);
                if candidates.is_empty() {
                    open.extend(self.take_over(place, &merging, regroup));
                } else {
                    wanted.push((place, candidates));
                }
            }
            let keys: Vec<u32> =
                wanted.iter().flat_map(|(_, all)| all.iter().map(|&(_, key)| key)).collect();
            let taken = self.taken(regroup, &keys);
            for (place, candidates) in wanted {
                if let Some(&(_, key)) = candidates.iter().find(|(_, key)| !taken.contains(key)) {
                    self.parties[place].id = key;
                    self.holders.insert(key, place);
                } else if let Some((last, _)) = candidates.last() {
                    self.parties[place].refused = last + 1;
                    open.push(place);
                }
            }
            batch = (2 * batch).min(LARGEST_BATCH);
        }
    }

    /// The least keys of the party's rows that are not known to be taken, and their places.
    fn candidates(&self, place: usize, most: usize, merging: &HashSet<u32>) -> Vec<(usize, u32)> {
        let party = &self.parties[place];
        let rows = party.rows.iter().copied().enumerate().skip(party.refused);
        rows.filter(|(_, key)| !self.holders.contains_key(key) && !merging.contains(key))
            .take(most)
            .collect()
    }

    /// Gives a party the least key of its rows, which is another group's id. Returns that group, to
    /// be named anew.
    fn take_over(
        &mut self,
        place: usize,
        merging: &HashSet<u32>,
        regroup: &mut Regroup<'_>,
    ) -> Option<usize> {
        let id = *self.parties[place].rows.first()?;
        self.parties[place].id = id;
        if let Some(other) = self.holders.insert(id, place) {
            self.parties[other].id = NONE;
            self.parties[other].refused = 0;
            return Some(other);
        }
        if merging.contains(&id) {
            return None;
        }
        let mut other = Party { groups: vec![id], id: NONE, ..Party::default() };
        for (key, stored) in members(regroup, &[id]) {
            if self.stays(regroup, key) {
                regroup.rows[key as usize] = Row { kind: Kind::Live, stored, former: NONE };
                other.rows.push(key);
            }
        }
        if other.rows.is_empty() {
            return None;
        }
        other.rows.sort_unstable_by(|&a, &b| regroup.keys.compare(a, b));
        self.parties.push(other);
        Some(self.parties.len() - 1)
    }

    /// Those of the ids that are a group's in which a row is that is not fresh.
    fn taken(&self, regroup: &mut Regroup<'_>, ids: &[u32]) -> HashSet<u32> {
        let members = members(regroup, ids).into_iter();
        let others = members.filter(|&(key, _)| {
            regroup.rows[key as usize].kind == Kind::Live || self.stays(regroup, key)
        });
        others.map(|(_, stored)| stored).collect()
    }

    /// Whether a row is in the group that its column names, as far as is known. A fresh row is, if
    /// its search did not find it: a statement inside this one has changed it, and told it an id.
    fn stays(&self, regroup: &Regroup<'_>, key: u32) -> bool {
        match regroup.rows[key as usize].kind {
            Kind::Absent => true,
            Kind::Fresh => !self.told.contains_key(&key),
            Kind::Met | Kind::Found | Kind::Live => false,
        }
    }

    /// Names the groups that a doubtful one is part of. A doubtful group of which no row is known
    /// here has lost all of them, or is about to be found among those that rows have left.
    fn name_doubtful(&self, regroup: &mut Regroup<'_>) {
        let doubtful: HashSet<u32> = regroup.doubtful.drain(..).collect();
        let is_doubtful = |party: &&Party| party.groups.iter().any(|id| doubtful.contains(id));
        regroup.doubtful.extend(self.parties.iter().filter(is_doubtful).map(|party| party.id));
    }

    /// Tells all rows that have another id from now on.
    fn tell(&mut self, regroup: &mut Regroup<'_>) {
        let mut renamed: HashMap<u32, u32> = HashMap::new();
        for party in &self.parties {
            for &row in &party.rows {
                if regroup.rows[row as usize].stored != party.id {
                    self.told.insert(row, party.id);
                }
            }
            let others = party.groups.iter().filter(|&&group| group != party.id);
            renamed.extend(others.map(|&group| (group, party.id)));
        }
        self.name_doubtful(regroup);
        if regroup.setup.settle == Settle::Later {
            marks::follow(regroup, &renamed);
        }
        let groups: Vec<u32> = renamed.keys().copied().collect();
        for (key, stored) in members(regroup, &groups) {
            if self.stays(regroup, key)
                && let Some(&id) = renamed.get(&stored)
            {
                self.told.insert(key, id);
            }
        }
        let value = |number: u32| (number != NONE).then(|| regroup.keys.value(number));
        let mut told: Vec<(u32, u32)> = self.told.drain().collect();
        // Rows that came in one after the other lie side by side.
        told.sort_unstable();
        let setup = regroup.setup;
        let values = told.iter().map(|&(key, id)| (regroup.keys.value(key), value(id)));
        let meanwhile = table::tell(setup, &values.collect::<Vec<_>>());
        if own::is_inside(setup) {
            let ids = self.ids(regroup).into_iter().map(|id| regroup.keys.value(id));
            own::changed(setup, &ids.collect::<Vec<_>>());
        }
        // A statement inside may have connected rows by ids that were others in the end. If not,
        // it may have given other names to groups that are still to be looked at.
        if meanwhile.early {
            let ids = self.ids(regroup);
            regroup.doubtful.extend(ids);
            regroup.lone =
                told.iter().filter(|&&(_, id)| id == NONE).map(|&(key, _)| key).collect();
        }
        if meanwhile.any && !(regroup.doubtful.is_empty() && regroup.lone.is_empty()) {
            regroup.is_disturbed = true;
            for id in meanwhile.ids {
                // SAFETY: an id of the same column.
                let id = unsafe { regroup.number(id) };
                regroup.doubtful.push(id);
            }
        }
    }

    /// What the groups that are known here were called, and are called now.
    fn ids(&self, regroup: &Regroup<'_>) -> Vec<u32> {
        let parties = self.parties.iter();
        let named = parties.flat_map(|party| party.groups.iter().copied().chain([party.id]));
        let stored = regroup.rows.iter().map(|row| row.stored);
        let mut ids: Vec<u32> = stored.chain(named).filter(|&id| id != NONE).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// The rows that are in no group, for want of a fingerprint or a scope, and have an id. A statement
/// inside this one may have given a row what it lacked, and with that a group: so they are read.
fn bare(regroup: &mut Regroup<'_>) -> Vec<u32> {
    let rows = std::mem::take(&mut regroup.bare).into_iter().filter(|&key| {
        let row = regroup.rows[key as usize];
        row.kind == Kind::Fresh && row.stored != NONE
    });
    let keys: Vec<pg_sys::Datum> = rows.map(|key| regroup.keys.value(key)).collect();
    let (mut bare, setup) = (Vec::new(), regroup.setup);
    table::rows_with(setup, &keys, &mut |row| {
        // SAFETY: the values are of the table's columns.
        unsafe {
            if let Some(key) = row.key
                && regroup.is_bare(&row)
            {
                bare.push(regroup.number(key));
            }
        }
    });
    bare
}

/// The least of some ids.
fn least(ids: impl IntoIterator<Item = u32>, regroup: &Regroup<'_>) -> u32 {
    let ids = ids.into_iter().filter(|&id| id != NONE);
    ids.min_by(|&a, &b| regroup.keys.compare(a, b)).unwrap_or(NONE)
}

/// The rows of some groups: their keys and their ids.
fn members(regroup: &mut Regroup<'_>, ids: &[u32]) -> Vec<(u32, u32)> {
    let values: Vec<pg_sys::Datum> = ids.iter().map(|&id| regroup.keys.value(id)).collect();
    let mut members = Vec::new();
    let setup = regroup.setup;
    table::rows_of(setup, &values, &mut |row| {
        // SAFETY: the values are of the table's columns.
        unsafe {
            if let (Some(key), Some(cluster)) = (row.key, row.cluster) {
                members.push((regroup.number(key), regroup.number(cluster)));
            }
        }
    });
    members
}
