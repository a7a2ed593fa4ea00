//! The operations of actors on an index of postings, and how their answers are judged.

use simhash_index::key::Bytes;
use simhash_index::mutant::{self, Mutant};
use simhash_index::postings::{Candidates, RECENT, SETTLED};
use simhash_index::{Entry, TreeKey};

use super::{Actor, Excluded, Near};
use crate::candidates::Search;
use crate::coding::Selection;
use crate::failure::fail;
use crate::rows::{Row, Rows};
use crate::world::locked;

impl<K: TreeKey, const PAGE: usize> Actor<'_, K, PAGE> {
    /// Searches for rows with at least `shared` of the keys, until `rows` are found. Returns their
    /// TIDs.
    pub fn search(&self, keys: &[u64], shared: usize, scopes: &Selection, rows: usize) -> Vec<u64> {
        let began = self.begin_scan();
        let (index, coding) = (self.index, self.coding());
        let fingerprints: Vec<K::Fingerprint> =
            keys.iter().map(|&key| coding.fingerprint(key)).collect();
        let looked_into = coding.scopes(scopes);
        // A scope that is known need not be searched for.
        let known = match scopes {
            Selection::One(scope) => Some(coding.scope(*scope)),
            _ => (index.shape.scope == 0 && self.patience == 1).then_some(K::Scope::ZERO),
        };
        let (mut visited, mut hits, mut complete) = (Vec::new(), Vec::new(), true);
        let mut from = Some(K::Scope::ZERO);
        while let (Some(least), true) = (from, complete) {
            let next = known.or_else(|| index.next_scope(&looked_into, least));
            let Some(scope) = next else { break };
            let number = coding.number(scope);
            let number = number.unwrap_or_else(|| fail(format!("{scope:x?} is of no row")));
            visited.push(number);
            let mut candidates = Candidates::new(index, scope, &fingerprints, shared);
            let mut batch = Vec::new();
            while complete && candidates.next_batch(index, &mut batch) {
                if batch.is_empty() {
                    fail("a batch of candidates is empty, but not the last".to_owned());
                }
                let postings = |tid: u64| {
                    let entry = move |&key| Entry { key: K::new(scope, key), tid };
                    fingerprints.iter().map(entry).flat_map(|e| [(RECENT, e), (SETTLED, e)])
                };
                self.note_dead(batch.iter().copied().flat_map(postings));
                hits.extend(batch.drain(..).map(|tid| (number, tid)));
                complete = hits.len() < rows;
                // These steps stand for the caller's work on the rows themselves.
                (1..self.patience.min(30)).for_each(|_| index.store.step());
            }
            from = known.map_or_else(|| looked_into.after(scope, index.shape.scope), |_| None);
        }
        let tids = hits.iter().map(|&(_, tid)| tid).collect();
        let search = Search {
            keys: keys.to_vec(),
            shared,
            scopes: coding.selected(scopes),
            visited: known.is_none().then_some(visited),
            began,
            ended: self.now(),
            hits,
            complete,
        };
        if self.end_scan() {
            self.judge_search(&search);
        }
        tids
    }

    fn judge_search(&self, search: &Search) {
        if let Err(what) = self.rows().judge_search(search) {
            let Search { keys, shared, scopes, began, ended, .. } = search;
            fail(format!(
                "a search for {shared} of {keys:x?} in {scopes:?} (began {began}, ended {ended}): \
                 {what}"
            ));
        }
    }

    /// The rows, with the times of this actor's clock: on a standby, positions in the log.
    fn rows(&self) -> Rows {
        let world = locked(&self.index.store.world);
        if self.standby { world.rows.by_log() } else { world.rows.clone() }
    }

    pub(super) fn exclude_sharing(&mut self, keys: &[u64], shared: usize, scope: u8) {
        let search = || self.search(keys, shared, &Selection::One(scope), usize::MAX);
        let early = mutant::is(Mutant::SearchedFirst).then(search);
        let Some(row) = self.insert(keys.to_vec(), scope) else { return };
        let saw = early.unwrap_or_else(search).into_iter().collect();
        let near = Near::Sharing { keys: keys.to_vec(), shared };
        self.excluded.push(Excluded { row, scope, near, saw });
    }

    /// Probes for every posting of a row, and for its posting of `key`. `place` is the row's place
    /// among the rows that exist now.
    pub(super) fn look(&self, place: usize, key: u64) {
        self.index.store.step();
        let began = self.now();
        let rows = self.rows();
        let there: Vec<&Row> = rows.all.iter().filter(|row| row.was_there(began, began)).collect();
        let Some(row) = there.get(place % there.len().max(1)) else { return };
        let coding = self.coding();
        for &key in row.keys.iter().chain([&key]) {
            let began = self.begin_scan();
            let key_of_tree = K::new(coding.scope(row.scope), coding.fingerprint(key));
            let found = self.index.has_posting(&Entry { key: key_of_tree, tid: row.tid });
            let times = (began, self.now());
            if self.end_scan() {
                self.rows()
                    .judge_posting((row.tid, row.scope, key), times, found)
                    .unwrap_or_else(|what| fail(what));
            }
        }
    }

    /// Settles the recent leaf of a posting of the row at this place in the list of all rows.
    pub(super) fn settle(&self, place: usize) {
        let rows = self.rows();
        let Some(row) = rows.all.get(place % rows.all.len().max(1)) else { return };
        let Some(posting) = self.coding().rows(row, RECENT).first().map(|row| row.entry) else {
            return;
        };
        self.unless_cancelled(|| self.index.settle(&posting));
    }
}
