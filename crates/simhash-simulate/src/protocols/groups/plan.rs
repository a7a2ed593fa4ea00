//! What a search with a snapshot leads to: which ids must be locked, and which rows are assigned
//! another id.

use super::model::{Groups, Mutant, Row, Set, State, Statement, Told, Version, each, has};
use crate::protocols::explore::NOBODY;

/// The locks and assignments that a statement needs.
pub struct Plan {
    /// The ids to lock, shared and exclusively.
    pub joined: Set,
    pub changed: Set,
    pub told: Vec<Told>,
    /// The places near the statement's rows at which there are others. (If an index returns a row
    /// at the same place before the others, the search ends there. Then fewer places are relied on,
    /// and rows in progress are searched for once more.)
    pub relied: Set,
}

/// Connected rows. Live rows stand for the other rows of their groups.
#[derive(Clone, Copy, Default)]
struct Party {
    fresh: Set,
    live: Set,
    groups: Set,
    id: Option<u8>,
}

struct Looker<'a> {
    of: &'a Groups,
    rows: Vec<Option<Version>>,
    /// The rows that the statement has written.
    own: Set,
    /// The rows of groups that may have come apart.
    former: Set,
}

/// The plan of a writer's statement, as its snapshot sees the rows now.
pub fn plan(of: &Groups, state: &State, writer: u8, statement: &Statement) -> Plan {
    let its = &state.writers[writer as usize];
    let hidden = |row: u8| of.mutant == Some(Mutant::OneLook) && its.is_all && !has(its.found, row);
    let see = |(row, it): (u8, &Row)| {
        let is_own = it.holder == writer;
        it.seen_by(writer).filter(|_| is_own || !hidden(row))
    };
    let rows: Vec<Option<Version>> = (0..).zip(&state.rows).map(see).collect();
    let own = match *statement {
        Statement::Insert(rows) => rows,
        Statement::Update(row, _) => 1 << row,
        Statement::Delete(_) => 0,
    };
    let own = each(own)
        .filter(|&row| rows[row as usize].is_some() && state.rows[row as usize].holder == writer);
    let own = own.fold(0, |set, row| set | 1 << row);
    let mut looker = Looker { of, rows, own, former: 0 };
    let (apart, bridged) = looker.left(&its.left);
    let is_apart = |row: &u8| {
        looker.rows[*row as usize].is_some_and(|it| it.id != NOBODY && has(apart, it.id))
    };
    looker.former = each(looker.all() & !own).filter(is_apart).fold(0, |set, row| set | 1 << row);
    let mut plan = looker.name(looker.parties());
    let left = its.left.iter().fold(0, |set, &(id, _)| set | 1 << id);
    let unless = |mutant, set: Set| if of.mutant == Some(mutant) { 0 } else { set };
    plan.changed |= unless(Mutant::ApartUnlocked, apart)
        | unless(Mutant::BridgedUnlocked, bridged & !apart)
        | unless(Mutant::LeftUnlocked, left & !apart & !bridged);
    plan
}

impl Looker<'_> {
    fn all(&self) -> Set {
        let rows = (0..).zip(&self.rows).filter(|(_, row)| row.is_some());
        rows.fold(0, |set, (row, _): (u8, _)| set | 1 << row)
    }

    fn row(&self, row: u8) -> Version {
        self.rows[row as usize].expect("it is there")
    }

    /// The groups near places that rows have left: those that may have come apart, and all.
    fn left(&self, left: &[(u8, u8)]) -> (Set, Set) {
        let (mut apart, mut all) = (0, 0);
        for &(_, place) in left {
            let others = each(self.all() & !self.own).map(|row| self.row(row));
            let near: Vec<Version> = others
                .filter(|row| row.id != NOBODY && self.of.are_near(place, row.place))
                .collect();
            let ids = near.iter().fold(0, |set, row| set | 1 << row.id);
            all |= ids;
            // A row at the place that was left is near the same rows. But it may be the only one
            // that is left.
            if near.len() < 2 || near.iter().all(|row| row.place != place) {
                apart |= ids;
            }
        }
        (apart, all)
    }

    /// Connects fresh rows with the rows near them. One live row at each place is enough, and one
    /// at the fresh row's own place is enough for all places. Also returns the places near fresh
    /// rows at which there are others.
    fn parties(&self) -> (Vec<Party>, Set) {
        let fresh = self.own | self.former;
        let (mut parties, mut relied): (Vec<Party>, Set) = (Vec::new(), 0);
        let places = each(fresh).fold(0, |set: Set, row| set | 1 << self.row(row).place);
        for place in each(places) {
            let at = |set: Set, place| {
                let is_there = move |row: &u8| self.row(*row).place == place;
                each(set).filter(is_there).fold(0, |set: Set, row| set | 1 << row)
            };
            let live = self.all() & !fresh;
            let others = each(self.all() & !self.own).map(|row| self.row(row).place);
            relied |=
                others.fold(0, |set: Set, other| set | 1 << other) & self.of.near[place as usize];
            let mut party = Party { fresh: at(fresh, place), ..Party::default() };
            let near = match at(live, place) {
                0 => self.of.near[place as usize],
                _ => 1 << place,
            };
            for other in each(near) {
                party.fresh |= at(fresh, other);
                if let Some(first) = each(at(live, other)).next() {
                    party.live |= 1 << first;
                    if self.row(first).id != NOBODY {
                        party.groups |= 1 << self.row(first).id;
                    }
                }
            }
            let meets = |other: &Party| {
                (other.fresh | other.live) & (party.fresh | party.live) != 0
                    || other.groups & party.groups != 0
            };
            let (met, others): (Vec<_>, Vec<_>) = parties.into_iter().partition(meets);
            parties = others;
            for Party { fresh, live, groups, .. } in met {
                party.fresh |= fresh;
                party.live |= live;
                party.groups |= groups;
            }
            parties.push(party);
        }
        (parties, relied)
    }

    /// Assigns ids to the parties, as assign.rs does.
    fn name(&self, (mut parties, relied): (Vec<Party>, Set)) -> Plan {
        let mut told = Vec::new();
        let mut tell = |row: u8, id: u8| {
            let version = self.row(row);
            if version.id != id {
                told.push(Told { row, version, id });
            }
        };
        let is_party =
            |party: &Party| party.groups != 0 || (party.fresh | party.live).count_ones() > 1;
        let lone = parties.extract_if(.., |party| !is_party(party)).collect::<Vec<_>>();
        lone.iter().flat_map(|party| each(party.fresh)).for_each(|row| tell(row, NOBODY));
        self.inherit(&mut parties);
        let merging = parties.iter().fold(0, |set, party| set | party.groups);
        let held =
            parties.iter().filter_map(|party| party.id).fold(0, |set: Set, id| set | 1 << id);
        let fresh = self.own | self.former;
        let staying = each(self.all() & !fresh).map(|row| self.row(row).id);
        let taken =
            staying.filter(|&id| id != NOBODY).fold(merging | held, |set, id| set | 1 << id);
        let (mut joined, mut changed) = (0, 0);
        for party in parties {
            let rows = party.fresh | party.live;
            let key = || each(rows & !taken).next().or(each(rows).next());
            let id = party.id.or_else(key).expect("a party has rows");
            each(rows).for_each(|row| tell(row, id));
            // The lock of a lone row, which has no id, is that of its key.
            changed |= each(party.live)
                .filter(|&row| self.row(row).id == NOBODY)
                .fold(0, |set: Set, row| set | 1 << row);
            let ended = party.groups & !(1 << id);
            let others = each(self.all() & !fresh & !party.live);
            others
                .filter(|&row| self.row(row).id != NOBODY && has(ended, self.row(row).id))
                .for_each(|row| tell(row, id));
            let join = party.groups & 1 << id;
            match self.of.mutant {
                Some(Mutant::JoinUnlocked) => {}
                Some(Mutant::JoinLocksRow) if join != 0 => joined |= party.live,
                _ => joined |= join,
            }
            match self.of.mutant {
                Some(Mutant::MergeUnlocked) => {}
                Some(Mutant::MergeShares) => joined |= ended,
                _ => changed |= ended,
            }
        }
        told.sort_unstable();
        Plan { joined, changed, told, relied }
    }

    /// Each group that may have come apart leaves its id to one party: the one with the row of that
    /// key, or else with the oldest row. The party must have a row that the statement has not
    /// changed. Beside such a row, changed rows count too.
    fn inherit(&self, parties: &mut [Party]) {
        for party in parties.iter_mut() {
            party.id = each(party.groups).next();
        }
        let former = |row: u8| Some(self.row(row).id).filter(|&id| id != NOBODY);
        let apart = each(self.former).filter_map(former).fold(0, |set: Set, id| set | 1 << id);
        for id in each(apart) {
            let mut heir: Option<(bool, u8, usize)> = None;
            for (place, party) in parties.iter().enumerate() {
                if each(party.fresh & self.former).all(|row| former(row) != Some(id)) {
                    continue;
                }
                for row in each(party.fresh).filter(|&row| former(row) == Some(id)) {
                    let better = (row != id, row, place);
                    heir = Some(heir.map_or(better, |heir| heir.min(better)));
                }
            }
            if let Some((_, _, place)) = heir {
                let its = parties[place].id;
                parties[place].id = Some(its.map_or(id, |its| its.min(id)));
            }
        }
    }
}
