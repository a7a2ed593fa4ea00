//! What a search for rows that share keys had to return, by brute force.

use std::collections::BTreeSet;

use crate::rows::{Row, Rows, SCOPES, Selected, Time};

/// What a search returned.
#[derive(Clone, Debug)]
pub struct Search {
    /// The keys sought. A repeated key counts twice.
    pub keys: Vec<u64>,
    /// How many of them a row must have.
    pub shared: usize,
    pub scopes: Selected,
    /// The scopes that it entered, in order. `None` if it did not search for scopes that have rows.
    pub visited: Option<Vec<u8>>,
    pub began: Time,
    pub ended: Time,
    /// Scope and TID, in the order in which they were returned.
    pub hits: Vec<(u8, u64)>,
    /// Whether it was run to its end.
    pub complete: bool,
}

impl Search {
    /// How many of its keys at least one of these rows has.
    fn count<'a>(&self, rows: impl Iterator<Item = &'a Row> + Clone) -> usize {
        let has = |key: &&u64| rows.clone().any(|row| row.keys.contains(key));
        self.keys.iter().filter(has).count()
    }

    /// The fewest of the keys that a row must have to be found: a row without any never is.
    fn least(&self) -> usize {
        self.shared.max(1)
    }
}

impl Rows {
    /// Judges a search. Every row that its snapshot sees and that has enough of the keys must be
    /// found, once, and rows must be returned in the order of scope and TID. A TID may be found
    /// only if the rows that had it during the search, in that scope, have enough of the keys
    /// together: a deleted row leaves postings until a vacuum has ended, and if its TID is reused
    /// meanwhile, the keys of both rows count.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub fn judge_search(&self, search: &Search) -> Result<(), String> {
        let Search { began, ended, .. } = *search;
        if let Some(two) = search.hits.windows(2).find(|two| two[0] >= two[1]) {
            return Err(format!("rows come in the order {two:x?}"));
        }
        let is_selected = |row: &&Row| search.scopes[usize::from(row.scope)];
        let reach = search.hits.last().copied().filter(|_| !search.complete);
        let found: BTreeSet<(u8, u64)> = search.hits.iter().copied().collect();
        for row in self.all.iter().filter(is_selected).filter(|row| row.is_seen(began)) {
            let place = (row.scope, row.tid);
            let is_reached = reach.is_none_or(|reach| place <= reach);
            if is_reached
                && search.count(std::iter::once(row)) >= search.least()
                && !found.contains(&place)
            {
                return Err(format!("row {:x} with the keys {:x?} is missing", row.tid, row.keys));
            }
        }
        for &(scope, tid) in &found {
            let owners = self
                .all
                .iter()
                .filter(|row| row.tid == tid && row.scope == scope && row.was_there(began, ended));
            if !search.scopes[usize::from(scope)] || search.count(owners.clone()) < search.least() {
                let keys: Vec<_> = owners.map(|row| row.keys.clone()).collect();
                return Err(format!("row {tid:x} of scope {scope}, with {keys:x?}, is found"));
            }
        }
        search.visited.as_ref().map_or(Ok(()), |visited| self.judge_visited(search, visited))
    }

    /// Checks that a search entered exactly the selected scopes that have rows, in order.
    fn judge_visited(&self, search: &Search, visited: &[u8]) -> Result<(), String> {
        let Search { began, ended, .. } = *search;
        if let Some(two) = visited.windows(2).find(|two| two[0] >= two[1]) {
            return Err(format!("scopes come in the order {two:?}"));
        }
        let last = visited.last().copied().filter(|_| !search.complete);
        for scope in 0..SCOPES {
            let mut rows = self.all.iter().filter(|row| row.scope == scope);
            let is_selected = search.scopes[usize::from(scope)];
            let may_come = is_selected && rows.clone().any(|row| row.was_there(began, ended));
            let has_to_come = is_selected
                && last.is_none_or(|last| scope <= last)
                && rows.any(|row| row.is_seen(began));
            let comes = visited.contains(&scope);
            if comes && !may_come || !comes && has_to_come {
                return Err(format!("of scope {scope} it is {comes} that there are rows"));
            }
        }
        Ok(())
    }

    /// Judges whether a probe for a posting was right to report `found`.
    ///
    /// # Errors
    /// If it was not.
    pub fn judge_posting(
        &self,
        (tid, scope, key): (u64, u8, u64),
        (began, ended): (Time, Time),
        found: bool,
    ) -> Result<(), String> {
        let mut owners = self
            .all
            .iter()
            .filter(|row| row.tid == tid && row.scope == scope && row.keys.contains(&key));
        let may = owners.clone().any(|row| row.was_there(began, ended));
        let must = owners.any(|row| row.is_seen(began));
        if found && !may || !found && must {
            return Err(format!("the posting {key:x} of row {tid:x} is there: {found}"));
        }
        Ok(())
    }
}
