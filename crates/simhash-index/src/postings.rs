//! Postings: entries (key, TID) of rows that have many keys each, such as the band keys of a text.
//!
//! # Shape
//! An index of postings has three trees of the same kind as block tables: that of [`RECENT`]
//! postings, that of [`SETTLED`] ones, and that of [`ROWS`], which has every row once, with keys or
//! without. A posting is in one of the first two.
//!
//! # Why two
//! The keys of a row are scattered over the whole key space. If each were written to its place in
//! one tree at once, an insertion would change as many pages as the row has keys, and after a
//! checkpoint each of them is logged whole. The recent tree is small. Once it has enough leaves, a
//! full one is not split: its postings settle, all those of one settled leaf together. So one page
//! that is logged takes dozens of postings. This is a buffer tree of one level (Arge, Algorithmica
//! 37, 2003). A look-up costs two descents for each key, however many postings are recent. No merge
//! is left for later: the insertion that finds a full leaf empties it.
//!
//! # Invariants
//! 1. A posting moves from the recent tree to the settled one, never back, and both change in one
//!    record. So a search of the recent tree first and then of the settled one does not miss it.
//!    A posting that moves in between is seen twice. A scan of many postings with one key reads
//!    both trees leaf by leaf, and the settled one never further than it has read the recent one.
//! 2. A process that holds a recent leaf locks a settled one at once or not at all. It descends to
//!    that leaf before. The postings that move in one record are a run without gaps, from the
//!    least one that is left: if a settled leaf cannot take all of its own, no postings of the
//!    next leaf move. So none stays behind.
//! 3. Vacuum cleans the recent tree first.
//! 4. A stale posting costs only work: a search returns candidates, and the caller reads the rows
//!    themselves.

use crate::damage::Damage;
use crate::index::{Index, root};
use crate::insert::Beside;
use crate::key::{Bytes, TreeKey};
pub use crate::key::{MOST_BANDS, POSTING_KEY, RECENT, ROWS, SETTLED};
use crate::page::write::Addition;
use crate::page::{Entry, Page, Row};
use crate::scopes::Scopes;
use crate::split::form;
use crate::store::{Extent, Fetch, Lock, MAX_PAGES, Store};
use crate::tree::{ATTEMPTS, Missed, Parent, Place};
use simhash_core::Fingerprint;
use simhash_core::base::key::Key;

/// By default, the recent tree has a leaf for this many pages of the index.
const PAGES_FOR_RECENT: u32 = 16;
/// The least and the most leaves of the recent tree, by default: 0.5 and 64 MB.
const LEAST_RECENT: u32 = 64;
const MOST_RECENT: u32 = 8192;

/// How many leaves the recent tree of an index of this many pages may have by default.
pub fn recent_by_default(pages: u32) -> u32 {
    (pages / PAGES_FOR_RECENT).clamp(LEAST_RECENT, MOST_RECENT)
}

/// What is known of a row's text: its key in the tree of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Null,
    /// It has no token, and so no keys.
    Empty,
    Keys,
}

impl Presence {
    pub fn key<F: Key>(self) -> F {
        match self {
            Presence::Null => F::ZERO,
            Presence::Empty => F::bit(1),
            Presence::Keys => F::bit(0),
        }
    }
}

/// The most significant bits of a key of 64 bits, as many as a posting stores.
pub fn posting_key<F: Key>(key: u64) -> F {
    F::from_be_bytes(&key.to_be_bytes()[..POSTING_KEY])
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Adds a row with these keys. The recent tree may have `most_recent` leaves.
    ///
    /// Every tree is written before the call returns, as in [`Index::insert`].
    pub fn insert_postings(
        &self,
        keys: &[K::Fingerprint],
        presence: Presence,
        beside: &Beside<K>,
        most_recent: u32,
    ) {
        let posting = |&key| Row { payload: K::Payload::ZERO, ..beside.row(key) };
        let mut rows: Vec<Row<K>> = keys.iter().map(posting).collect();
        rows.sort_unstable();
        rows.dedup();
        self.add_recent(&rows, most_recent);
        let row = beside.row(presence.key());
        self.insert_into(&[ROWS], |_| row);
    }

    /// Adds postings in ascending order to the recent tree, those of up to four leaves under one
    /// record. Only the first leaf is waited for.
    fn add_recent(&self, mut rows: &[Row<K>], most_recent: u32) {
        let mut contradictions = 0;
        while !rows.is_empty() {
            self.store.check_for_interrupts();
            let (leaves, done, full) = self.lock_recent(rows);
            if !leaves.is_empty() {
                self.store.append(&leaves);
                rows = &rows[done..];
                continue;
            }
            drop(leaves);
            let roomy = self.make_recent_room(&rows[0].entry, most_recent);
            if roomy.is_some_and(|roomy| roomy != full) {
                // As in `insert_into`: the parent says that the posting belongs elsewhere.
                self.forget_all();
                contradictions += 1;
                if contradictions == ATTEMPTS {
                    let damage = Damage::Other("its bounds differ from those in its parent");
                    self.store.damaged(full, &damage);
                }
            }
        }
    }

    /// Locks the leaves of the first rows. Returns them with what is to be added to each, the
    /// number of rows that they take, and the number of the first leaf, which had no room if there
    /// are none.
    fn lock_recent(&self, rows: &[Row<K>]) -> (Vec<(S::Exclusive, Addition)>, usize, u32) {
        let places = self.places(RECENT, rows, MAX_PAGES);
        let mut leaves = Vec::with_capacity(places.len());
        let (mut done, mut first) = (0, root(RECENT));
        for (place, start) in places {
            if start != done {
                break;
            }
            let entry = &rows[start].entry;
            let parent = place.parent.as_ref().map(Parent::share);
            let (guard, number) = if leaves.is_empty() {
                self.cover::<S::Exclusive>(RECENT, entry, Some(place))
            } else {
                match self.cover_at_once(RECENT, entry, &place) {
                    Ok(found) => found,
                    Err(_) => break,
                }
            };
            let page = self.checked(number, guard.bytes());
            let bounds = page.bounds();
            let taken = rows[start..]
                .iter()
                .take(Addition::most_rows(&page))
                .take_while(|row| bounds.contains(&row.entry) && page.takes(&row.entry))
                .count();
            if taken == 0 {
                first = if leaves.is_empty() { number } else { first };
                break;
            }
            let addition = Addition::of_rows(&page, &rows[start..start + taken]);
            if let Some(parent) = parent {
                parent.next().set(addition.next());
            }
            leaves.push((guard, addition));
            done = start + taken;
        }
        (leaves, done, first)
    }

    /// Where up to `most` leaves of the first rows are by cached copies, each with the number of
    /// its first row.
    fn places(&self, table: u8, rows: &[Row<K>], most: usize) -> Vec<(Place<K, S>, usize)> {
        let mut places = Vec::with_capacity(most);
        let mut start = 0;
        while start < rows.len() && places.len() < most {
            let place = self.locate(table, &rows[start].entry);
            let end = place.parent.as_ref().and_then(|parent| {
                let parts = parent.next().get().map(usize::from);
                let special = self.shape.special();
                self.store.prefetch_for_append(place.leaf, parent.recent(), parts, special);
                parent.copy.end_of(parent.child)
            });
            places.push((place, start));
            let left = &rows[start..];
            start +=
                end.map_or(left.len(), |end| left.partition_point(|row| row.entry < end).max(1));
        }
        places
    }

    /// Makes room for `target` in the recent tree: by a split while there are few leaves, else by
    /// another form of its leaf, or by settling the leaf's postings. Returns the leaf's number if
    /// it had room already.
    fn make_recent_room(&self, target: &Entry<K>, most_recent: u32) -> Option<u32> {
        if self.reclaim_versions(RECENT, target) {
            return None;
        }
        if self.table_leaves(RECENT) < most_recent {
            return self.make_room(RECENT, target);
        }
        let (leaf, number) = self.cover::<S::Exclusive>(RECENT, target, None);
        let page = self.checked(number, leaf.bytes());
        if page.has_room_for(target) {
            return Some(number);
        }
        // An emptied leaf keeps its form, which may not be that of the target.
        let reshaped = self.reshape(&page, &leaf, target);
        drop(leaf);
        if !reshaped {
            self.settle(target);
        }
        None
    }

    /// Moves the postings of the recent leaf that covers `target` to the settled tree, those of up
    /// to three settled leaves in one record. The caller must have no page locked.
    pub fn settle(&self, target: &Entry<K>) {
        let (leaf, number) = self.cover::<S::Shared>(RECENT, target, None);
        let bounds = self.checked(number, leaf.bytes()).bounds::<K>();
        drop(leaf);
        let mut rows = self.recent_rows(&bounds.low, &bounds.high);
        let mut is_sorted = false;
        // As in `insert_into`. An attempt that moves postings contradicts nothing.
        let mut contradictions = 0;
        while let Some(first) = rows.first().map(|row| row.entry) {
            self.store.check_for_interrupts();
            let places = self.places(SETTLED, &rows, MAX_PAGES - 1);
            let (recent, number) = self.cover::<S::Exclusive>(RECENT, &first, None);
            let page = self.checked(number, recent.bytes());
            let here = self.rows_of(number, &page, &first, &bounds.high);
            if here.first().is_none_or(|(row, _)| row.entry != first) {
                // Another process has settled it meanwhile.
                drop(recent);
                rows = self.recent_rows(&first, &bounds.high);
                continue;
            }
            let Settling { leaves, done, stop } = self.lock_settled(&here, places);
            if !leaves.is_empty() {
                self.record_settling(&recent, &leaves, !is_sorted);
                is_sorted = true;
                contradictions = 0;
                let next = page.high().filter(|next| bounds.high.is_none_or(|end| *next < end));
                drop((recent, leaves));
                rows = here[done..].iter().map(|(row, _)| *row).collect();
                if rows.is_empty()
                    && let Some(next) = next
                {
                    rows = self.recent_rows(&next, &bounds.high);
                }
                continue;
            }
            drop((recent, leaves));
            let contradicted = match stop {
                Some(Stop::Missed(place, why)) => {
                    let leaf = place.leaf;
                    drop(self.cover::<S::Exclusive>(SETTLED, &first, Some(place)));
                    matches!(why, Missed::Elsewhere).then_some(leaf)
                }
                Some(Stop::Full(_)) if self.reclaim_versions(SETTLED, &first) => None,
                Some(Stop::Full(leaf)) => {
                    let roomy = self.make_room(SETTLED, &first);
                    roomy.filter(|roomy| *roomy != leaf).map(|_| {
                        self.forget_all();
                        leaf
                    })
                }
                None => None,
            };
            if let Some(page) = contradicted {
                contradictions += 1;
                if contradictions == ATTEMPTS {
                    let damage = Damage::Other("its bounds differ from those in its parent");
                    self.store.damaged(page, &damage);
                }
            }
        }
    }

    /// The postings from `from` on and below `high`, in ascending order, of the first recent leaf
    /// that has any.
    fn recent_rows(&self, from: &Entry<K>, high: &Option<Entry<K>>) -> Vec<Row<K>> {
        let mut from = *from;
        loop {
            let (leaf, number) = self.cover::<S::Shared>(RECENT, &from, None);
            let page = self.checked(number, leaf.bytes());
            let rows = self.rows_of(number, &page, &from, high);
            match page.high().filter(|next| high.is_none_or(|high| *next < high)) {
                Some(next) if rows.is_empty() => from = next,
                _ => return rows.into_iter().map(|(row, _)| row).collect(),
            }
        }
    }

    /// The postings of a recent leaf from `from` on and below `high`, in ascending order, each with
    /// its place on the leaf.
    fn rows_of(
        &self,
        number: u32,
        page: &Page<'_>,
        from: &Entry<K>,
        high: &Option<Entry<K>>,
    ) -> Vec<Placed<K>> {
        self.expect_entries(number, page);
        let mut rows: Vec<Placed<K>> = page.rows().zip(0..).collect();
        rows.retain(|(row, _)| row.entry >= *from && high.is_none_or(|high| row.entry < high));
        rows.sort_unstable();
        rows
    }

    /// Locks the settled leaves of the first of some rows, which are ascending, as far as that can
    /// be done at once.
    fn lock_settled(
        &self,
        rows: &[Placed<K>],
        places: Vec<(Place<K, S>, usize)>,
    ) -> Settling<K, S> {
        let mut settling = Settling { leaves: Vec::new(), done: 0, stop: None };
        for (place, _) in places {
            let left = &rows[settling.done..];
            let Some((first, _)) = left.first() else { break };
            let (guard, number) = match self.cover_at_once(SETTLED, &first.entry, &place) {
                Ok(found) => found,
                Err(why) => {
                    settling.stop = Some(Stop::Missed(place, why));
                    break;
                }
            };
            let page = self.checked(number, guard.bytes());
            let bounds = page.bounds::<K>();
            let is_of = |(row, _): &&Placed<K>| bounds.contains(&row.entry);
            let mut own: Vec<Placed<K>> = left.iter().take_while(is_of).copied().collect();
            let all = own.len();
            let taken = own.iter().take_while(|(row, _)| page.takes(&row.entry)).count();
            own.truncate(taken.min(page.room()));
            let Some((last, _)) = own.last() else {
                settling.stop = Some(Stop::Full(number));
                break;
            };
            settling.done = rows.partition_point(|(row, _)| row.entry <= last.entry);
            let is_whole = own.len() == all;
            settling.leaves.push((guard, own));
            if !is_whole {
                break;
            }
        }
        settling
    }

    /// Takes postings off a recent leaf and adds them to settled ones, in one record.
    ///
    /// The first of several such records puts what is left on the recent leaf in descending order.
    /// The others then cut its end off, and log none of its bytes but the header's.
    fn record_settling(
        &self,
        recent: &S::Exclusive,
        settled: &[(S::Exclusive, Vec<Placed<K>>)],
        is_first: bool,
    ) {
        let moved = settled.iter().flat_map(|(_, rows)| rows);
        let mut places: Vec<usize> = moved.map(|&(_, place)| place).collect();
        places.sort_unstable();
        let page = self.checked(self.store.number(recent), recent.bytes());
        let is_left = |&(_, place): &Placed<K>| places.binary_search(&place).is_err();
        let mut left: Vec<Row<K>> = Vec::new();
        if is_first {
            left = page.rows().zip(0..).filter(is_left).map(|(row, _)| row).collect();
            left.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(left.len() + places.len(), page.len(), "a posting is lost");
        }
        let form = form(&self.shape, &left, &page.bounds().low);
        let leaves = std::iter::once(recent).chain(settled.iter().map(|(leaf, _)| leaf));
        let pages: Vec<_> = leaves.map(|leaf| (leaf, Extent::Parts)).collect();
        self.store.change_all(&pages, |pages| {
            let [recent, others @ ..] = pages else { return };
            let mut page = self.edit(recent);
            if left.is_empty() {
                page.remove(&places);
            } else {
                page.set_rows(&left, form);
            }
            for (bytes, (_, rows)) in others.iter_mut().zip(settled) {
                self.edit(bytes).append(rows.iter().map(|(row, _)| row));
            }
        });
    }

    /// Moves all recent postings to the settled tree.
    pub fn settle_all(&self) {
        let mut from = Some(Entry::MIN);
        while let Some(low) = from {
            self.store.check_for_interrupts();
            let (leaf, number) = self.cover::<S::Shared>(RECENT, &low, None);
            from = self.checked(number, leaf.bytes()).bounds().high;
            drop(leaf);
            self.settle(&low);
        }
    }

    /// Whether a posting is in the recent or the settled tree.
    pub fn has_posting(&self, entry: &Entry<K>) -> bool {
        // In this order: see the invariants.
        [RECENT, SETTLED].iter().any(|&table| self.find(table, entry).is_some())
    }

    /// The least scope of a row that is allowed and not below `from`.
    pub fn next_scope(&self, scopes: &Scopes<K::Scope>, from: K::Scope) -> Option<K::Scope> {
        let length = self.shape.scope;
        let mut scope = scopes.at_or_after(from, length)?;
        let mut low = Entry::first_with(K::new(scope, K::Fingerprint::ZERO));
        loop {
            self.store.check_for_interrupts();
            let (leaf, number) = self.read_leaf(ROWS, &low, None);
            let page = self.checked(number, leaf.bytes());
            let least =
                page.entries::<K>().filter(|entry| *entry >= low).map(|e| e.key.scope()).min();
            match least.or(page.bounds::<K>().high.map(|high| high.key.scope())) {
                None => return None,
                Some(found) if least.is_some() && scopes.contains(found, length) => {
                    return Some(found);
                }
                Some(found) => {
                    let high = page.bounds::<K>().high;
                    scope = scopes.at_or_after(found.max(scope), length)?;
                    let start = Entry::first_with(K::new(scope, K::Fingerprint::ZERO));
                    // Never to the left: a leaf without such rows is done with.
                    low = if least.is_none() { start.max(high?) } else { start };
                }
            }
        }
    }
}

/// A row of a leaf, and its place there.
type Placed<K> = (Row<K>, usize);

/// Settled leaves that are locked for the first of some rows.
struct Settling<K: TreeKey, S: Store> {
    /// Each with the rows that it takes.
    leaves: Vec<(S::Exclusive, Vec<Placed<K>>)>,
    /// How many rows are dealt with.
    done: usize,
    /// Why the next leaf is not among them.
    stop: Option<Stop<K, S>>,
}

/// Why a leaf takes no rows.
enum Stop<K, S: Store> {
    /// It was to be at this place, but could not be locked at once.
    Missed(Place<K, S>, Missed),
    /// It has no room for the first of them, or no form.
    Full(u32),
}

/// The rows of one scope that have at least `shared` of some keys.
pub struct Candidates<K: TreeKey> {
    shared: usize,
    runs: Vec<Run<K>>,
    is_done: bool,
}

/// The postings with one key, as far as they have been read.
struct Run<K> {
    key: K,
    band: u32,
    recent: Part<K>,
    /// Settled postings count only as far as the recent ones have been read: see the invariants.
    settled: Part<K>,
}

/// What was read of a run in one of the trees.
struct Part<K> {
    /// TIDs in ascending order, which have not been returned.
    tids: Vec<u64>,
    /// Where the run goes on; everything before has been read.
    next: Option<Entry<K>>,
}

/// About how many postings of a run are returned at a time: a search for a few rows of thousands of
/// copies does not wait for all that a leaf holds.
const CHUNK: usize = 128;

impl<K: TreeKey> Candidates<K> {
    /// Searches for the rows of `scope` that have at least `shared` of `keys`. Equal keys of
    /// different bands count as different ones.
    pub fn new<S: Store>(
        index: &Index<K, S>,
        scope: K::Scope,
        keys: &[K::Fingerprint],
        shared: usize,
    ) -> Self {
        let mut wanted: Vec<(K, u32)> =
            keys.iter().zip(0..).map(|(&key, band)| (K::new(scope, key), band)).collect();
        wanted.sort_unstable();
        let part = || Part { tids: Vec::new(), next: None };
        let run = |(key, band)| Run { key, band, recent: part(), settled: part() };
        let mut runs: Vec<Run<K>> = wanted.into_iter().map(run).collect();
        read_first(index, RECENT, &mut runs);
        read_first(index, SETTLED, &mut runs);
        runs.iter_mut().for_each(Run::cut);
        Self { shared, runs, is_done: false }
    }

    /// Appends more rows, in ascending order of their TIDs. False at the end.
    pub fn next_batch<S: Store>(&mut self, index: &Index<K, S>, tids: &mut Vec<u64>) -> bool {
        let before = tids.len();
        while tids.len() == before {
            if self.is_done {
                return false;
            }
            self.next_step(index, tids);
        }
        true
    }

    /// Reads one more leaf of each run that is behind, and appends the rows that are complete by
    /// then, if any. False at the end.
    pub fn next_step<S: Store>(&mut self, index: &Index<K, S>, tids: &mut Vec<u64>) -> bool {
        if !self.is_done {
            self.step(index, |tid, _| tids.push(tid));
        }
        !self.is_done
    }

    /// Reads one more leaf of each run that is behind. `each` gets the number of shared keys of
    /// each row that is complete by then. False at the end.
    pub fn next_counts<S: Store>(
        &mut self,
        index: &Index<K, S>,
        mut each: impl FnMut(usize),
    ) -> bool {
        if !self.is_done {
            self.step(index, |_, shared| each(shared));
        }
        !self.is_done
    }

    fn step<S: Store>(&mut self, index: &Index<K, S>, each: impl FnMut(u64, usize)) {
        index.store.check_for_interrupts();
        // Every run has been read up to here.
        let known = self.runs.iter().filter_map(Run::end).min();
        let parts = self.runs.iter().flat_map(|run| [&run.recent, &run.settled]);
        let chunk = parts.filter_map(|part| part.tids.get(CHUNK).copied()).min();
        let limit = match (known, chunk) {
            (Some(known), Some(chunk)) => Some(known.min(chunk)),
            (known, chunk) => known.or(chunk),
        };
        self.count_below(limit, each);
        match known {
            _ if limit < known || known.is_none() && limit.is_some() => {}
            None => self.is_done = true,
            Some(known) => {
                for run in &mut self.runs {
                    run.read_on(index, known);
                }
            }
        }
    }

    /// Returns the rows that share enough keys among those with TIDs below a limit, in ascending
    /// order, each with the number of keys.
    fn count_below(&mut self, limit: Option<u64>, mut each: impl FnMut(u64, usize)) {
        let is_below = |tid: u64| limit.is_none_or(|limit| tid < limit);
        let mut found: Vec<(u64, u32)> = Vec::new();
        for run in &mut self.runs {
            let band = run.band;
            for part in [&mut run.recent, &mut run.settled] {
                let known = part.tids.partition_point(|&tid| is_below(tid));
                found.extend(part.tids.drain(..known).map(|tid| (tid, band)));
            }
        }
        // This sort makes use of sorted runs: copies have ascending TIDs.
        found.sort();
        // A posting that settled in between was found twice.
        found.dedup();
        let rows = found.chunk_by(|a, b| a.0 == b.0);
        let shared = rows.filter(|same| same.len() >= self.shared);
        shared.for_each(|same| each(same[0].0, same.len()));
    }
}

impl<K: TreeKey> Run<K> {
    /// The TID up to which the run has been read. `None` if it was read to its end.
    fn end(&self) -> Option<u64> {
        [&self.recent, &self.settled].into_iter().filter_map(|part| part.next).map(|e| e.tid).min()
    }

    /// Reads the next leaf of each part that goes on at this TID, the recent one first.
    fn read_on<S: Store>(&mut self, index: &Index<K, S>, at: u64) {
        let key = self.key;
        for (table, part) in [(RECENT, &mut self.recent), (SETTLED, &mut self.settled)] {
            let Some(from) = part.next.filter(|next| next.tid == at) else { continue };
            let (leaf, number) = index.read_leaf(table, &from, None);
            let page = index.checked(number, leaf.bytes());
            collect(index, number, &page, key, &from, |tid| part.tids.push(tid));
            part.tids.sort();
            part.next = continues(&page, key);
        }
        self.cut();
    }

    /// Leaves settled postings for later if the recent ones up to their TIDs have not been read.
    fn cut(&mut self) {
        if let Some(recent) = self.recent.next
            && self.settled.next.is_none_or(|next| next.tid > recent.tid)
        {
            let known = self.settled.tids.partition_point(|&tid| tid < recent.tid);
            self.settled.tids.truncate(known);
            self.settled.next = Some(Entry { key: self.key, tid: recent.tid });
        }
    }
}

/// Where the postings with a key go on after a leaf, if they do.
fn continues<K: TreeKey>(page: &Page<'_>, key: K) -> Option<Entry<K>> {
    page.high::<K>().filter(|high| high.key == key)
}

/// Passes the TIDs of a leaf's postings with this key, from `from` on, to `each`.
fn collect<K: TreeKey, S: Store>(
    index: &Index<K, S>,
    number: u32,
    page: &Page<'_>,
    key: K,
    from: &Entry<K>,
    mut each: impl FnMut(u64),
) {
    let mut positions = Vec::new();
    page.equal(key.fingerprint(), &mut positions);
    for position in positions {
        let entry = page.entry::<K>(position as usize);
        if entry.key != key || entry < *from {
            continue;
        }
        if entry.tid & 0xffff == 0 {
            index.store.damaged(number, &Damage::Other("it holds a TID without an offset"));
        }
        each(entry.tid);
    }
}

/// Reads the leaves of `table` where the runs of these keys begin, into a part for each.
fn read_leaves<K: TreeKey, S: Store>(
    index: &Index<K, S>,
    table: u8,
    wanted: &[K],
    parts: &mut [Part<K>],
) {
    let mut places: Vec<Option<Place<K, S>>> = Vec::with_capacity(wanted.len());
    for &key in wanted {
        let place = index.locate(table, &Entry::first_with(key));
        if let Some(parent) = &place.parent {
            let special = index.shape.special();
            index.store.prefetch(place.leaf, parent.recent(), special, Fetch::Head);
        }
        places.push(Some(place));
    }
    let mut next = 0;
    while next < wanted.len() {
        index.store.check_for_interrupts();
        let start = Entry::first_with(wanted[next]);
        let (leaf, number) = index.read_leaf(table, &start, places[next].take());
        let page = index.checked(number, leaf.bytes());
        let bounds = page.bounds::<K>();
        let first = next;
        while next < wanted.len()
            && (next == first || bounds.contains(&Entry::first_with(wanted[next])))
        {
            let (key, part) = (wanted[next], &mut parts[next]);
            collect(index, number, &page, key, &start, |tid| part.tids.push(tid));
            part.next = continues(&page, key);
            next += 1;
        }
    }
}

/// Reads the first leaf of every run in one of the trees.
fn read_first<K: TreeKey, S: Store>(index: &Index<K, S>, table: u8, runs: &mut [Run<K>]) {
    let keys: Vec<K> = runs.iter().map(|run| run.key).collect();
    let mut parts: Vec<Part<K>> =
        keys.iter().map(|_| Part { tids: Vec::new(), next: None }).collect();
    read_leaves(index, table, &keys, &mut parts);
    for (run, mut part) in runs.iter_mut().zip(parts) {
        part.tids.sort();
        let own = if table == RECENT { &mut run.recent } else { &mut run.settled };
        *own = part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recent_tree_grows_with_the_index() {
        assert_eq!([0, 1000, 1024].map(recent_by_default), [64; 3]);
        assert_eq!([1040, 16_000].map(recent_by_default), [65, 1000]);
        assert_eq!([131_072, 1 << 20, u32::MAX].map(recent_by_default), [8192; 3]);
    }

    #[test]
    fn a_posting_key_is_the_most_significant_part() {
        assert_eq!(posting_key::<u64>(0x1122_3344_5566_7788), 0x1122_3344_0000_0000);
    }

    #[test]
    fn what_is_known_of_a_text_has_keys_of_its_own() {
        let [null, empty, keys] =
            [Presence::Null, Presence::Empty, Presence::Keys].map(Presence::key::<u64>);
        assert!(null < empty && empty < keys);
        // Each is among the bits that a posting stores.
        assert!([null, empty, keys].iter().all(|&key| posting_key::<u64>(key) == key));
    }
}
