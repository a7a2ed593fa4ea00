//! A join in progress, batch by batch: it finds pairs, then looks their rows up in the heap.
//!
//! Between batches no page is locked or pinned, so a query may stop after any of them. Each row of
//! a pair is looked up once; the rows of a batch are looked up together, in heap order.
//!
//! `README.md` says how memory is divided. When the part for rows in pairs is full, `simhash_pairs`
//! forgets the rows and later looks them up again. `simhash_clusters` writes edges between
//! connected rows to a file, and then forgets the rows.

use simhash_core::base::sort::sort_checked;
use simhash_core::search::TreeKey;
use simhash_core::whole::join::{
    Chunk, GroupPair, Join, Log, Mark, Members, Step, bytes_per_row, bytes_per_row_of_tries,
    plan_join,
};

use super::errors::{no_memory, raise_memory};
use super::file::File;
use super::heap::{Heap, Heaps};
use super::leaves::{Leaves, most_rows, scope_sizes};
use super::progress::{self, Command, Progress};
use super::ranges::{self, Ranges, Reader};
use super::row;
use super::target::{Named, OpenedAll, Target};
use super::team::{Alone, Team, most_workers};
use crate::am::kind::open;
use crate::am::opened::Opened;
use crate::guc::work_mem;
use crate::storage::{Index, check_for_interrupts};

/// How many pairs the first batch of `simhash_pairs` looks for: few, so that a LIMIT returns early.
const FIRST_BATCH: usize = 1024;
const LARGEST_BATCH: usize = 1 << 20;

/// Which of two chunks a number refers to.
#[derive(Clone, Copy)]
pub enum Side {
    Left,
    Right,
}

/// A batch in progress.
struct Batch<'a> {
    opened: &'a OpenedAll,
    /// How many pairs of `found` have been processed.
    seen: usize,
    /// How many members there were before the batch.
    before: usize,
}

pub struct Session<K: TreeKey> {
    target: Target,
    join: Join<K>,
    pub members: Members,
    pub found: Vec<GroupPair>,
    /// How many members have been looked up: those with lesser numbers than this.
    looked_up: usize,
    batch: usize,
    done: bool,
    pairs: usize,
    command: Command,
    /// The bytes that `members` may take.
    memory: usize,
    /// The most parallel workers that may take part.
    workers: usize,
    /// How the workers read block tables by ranges.
    ranges: Option<Ranges>,
    /// The workers that share the walk in progress.
    team: Option<Team>,
    /// Whether equal fingerprints connect rows by themselves.
    copies_are_connected: bool,
    /// Pairs of groups that were deferred, because their rows did not fit in memory.
    put_off: Vec<GroupPair>,
    /// The edges between connected rows that were forgotten.
    edges: Option<Log<File>>,
    progress: Progress,
}

impl<K: TreeKey> Session<K> {
    /// `members` is the memory, in bytes, for rows with a near-duplicate. `opened` must not be
    /// empty.
    pub fn new(
        target: Target,
        opened: &[Opened],
        distance: u32,
        command: Command,
        members: usize,
    ) -> Self {
        let indexes = open_all::<K>(opened);
        let memory = work_mem() / 2;
        let rows = opened.iter().zip(&indexes).map(|(opened, index)| rows_of(opened, index)).sum();
        let workers = most_workers(opened, indexes.iter().map(Index::leaves_per_table).sum());
        let processes = ranges::processes(&indexes, rows, workers);
        let (layout, sizes) = (indexes[0].layout, scope_sizes(&indexes));
        let plan = plan_join::<K::Fingerprint>(layout, distance, &sizes, processes);
        let ranges = (processes > 1).then(|| Ranges::new(&target, &plan, workers));
        let block_tables = plan.radii().flatten().count();
        let Named { table, index } = target.named[0];
        let progress = Progress::start(command, table, index, block_tables, rows);
        // For workers, the keys and tries are copied into shared memory.
        let shared = if workers > 0 { bytes_per_row_of_tries::<K>() } else { 0 };
        Self {
            target,
            join: Join::new(plan, memory / (bytes_per_row::<K>() + shared)),
            members: Members::default(),
            found: Vec::new(),
            looked_up: 0,
            batch: if command == Command::Pairs { FIRST_BATCH } else { LARGEST_BATCH },
            done: false,
            pairs: 0,
            command,
            memory: members,
            workers,
            ranges,
            team: None,
            copies_are_connected: true,
            put_off: Vec::new(),
            edges: None,
            progress,
        }
    }

    /// Makes equal fingerprints connect no rows by themselves: the caller compares their texts.
    pub fn copies_are_not_connected(&mut self) {
        self.copies_are_connected = false;
    }

    /// Finds the next pairs, and looks up their rows. False when there are no more.
    pub fn next_batch(&mut self) -> bool {
        self.found.clear();
        if self.done && self.put_off.is_empty() {
            return false;
        }
        if self.command == Command::Pairs && self.members.memory() > self.memory {
            self.forget_members();
        }
        let opened = self.target.open();
        progress::comparing();
        if self.put_off.is_empty() {
            self.find(&opened);
        } else {
            self.write_edges();
            self.found = std::mem::take(&mut self.put_off);
            self.remember(0, 0, &opened);
        }
        self.batch = (self.batch * 4).min(LARGEST_BATCH);
        self.pairs += self.found.len();
        self.look_up(&opened);
        true
    }

    /// Joins until the batch is full, memory runs out, or the join is done.
    fn find(&mut self, opened: &OpenedAll) {
        let indexes = open_all::<K>(opened);
        let mut ranges = self.ranges.take();
        let leaves = Leaves::new(&indexes, self.target.split);
        let mut reader = Reader { leaves, ranges: ranges.as_mut() };
        let mut batch = Batch { opened, seen: 0, before: self.members.len() };
        let progress = self.join.walking().map_or(0.0, |walking| walking.walk.progress());
        let (mut alone, mut workers) = (Alone::begin(progress), self.workers);
        loop {
            if let Some(team) = self.team.take() {
                self.find_together(team, &mut batch);
                if self.is_full() {
                    break;
                }
            }
            let step = self.join.step(&mut reader, &mut self.found);
            self.take_in(&mut batch);
            self.done = step == Step::Done;
            let flush = step == Step::Flush && batch.seen > 0;
            if self.done || flush || self.is_full() {
                break;
            }
            if step == Step::Flush {
                alone = Alone::begin(0.0);
            }
            alone.steps += 1;
            let filled = self.filled();
            let Some(mut walking) = self.join.walking() else { continue };
            let progress = walking.walk.progress();
            if workers > 0 && alone.is_over(walking.keys(), progress, filled) {
                self.team = Team::launch(&mut walking, workers);
                // A batch tries to launch workers once, and grows so that the launch pays off.
                workers = 0;
                self.batch = (self.batch * 32).min(LARGEST_BATCH);
            }
        }
        self.ranges = ranges;
    }

    /// Continues the walk with parallel workers, to its end or until the batch is full. Clusters
    /// keep the team for the next batch, because the query resumes only when all batches are done.
    fn find_together(&mut self, mut team: Team, batch: &mut Batch<'_>) {
        loop {
            let Some(mut walking) = self.join.walking() else { return };
            let more = team.walk(&mut walking, &mut self.found);
            self.take_in(batch);
            if more && !self.is_full() {
                continue;
            }
            if more && self.command == Command::Clusters {
                self.team = Some(team);
                return;
            }
            if let Some(mut walking) = self.join.walking() {
                team.finish(&mut walking, &mut self.found);
            }
            self.take_in(batch);
            return;
        }
    }

    /// Processes the pairs found since the last call.
    fn take_in(&mut self, batch: &mut Batch<'_>) {
        if self.put_off.is_empty() {
            self.remember(batch.seen, batch.before, batch.opened);
        } else {
            self.put_off.extend(self.found.drain(batch.seen..));
        }
        batch.seen = self.found.len();
        self.report();
    }

    /// Whether the batch has enough pairs or rows, or memory has run out.
    fn is_full(&self) -> bool {
        self.filled() >= 1.0 || !self.put_off.is_empty()
    }

    /// The share of the batch that its pairs or rows fill.
    fn filled(&self) -> f64 {
        let rows = self.members.len() - self.looked_up;
        self.found.len().max(rows) as f64 / self.batch.min(work_mem() / 256) as f64
    }

    /// Remembers the rows of the pairs from index `from` on. `before` is the number of members
    /// before the batch. Clusters defer pairs whose rows do not fit in memory.
    fn remember(&mut self, from: usize, before: usize, opened: &OpenedAll) {
        for i in from..self.found.len() {
            let GroupPair { left, right, .. } = self.found[i];
            for (side, group) in [(Side::Left, left), (Side::Right, right)] {
                let (chunk, members) = self.chunk_and_members(side);
                if chunk.mark(group) != Mark::Unknown {
                    continue;
                }
                let memory = members.memory_with(chunk.group(group).len());
                if self.command == Command::Pairs || memory <= self.memory {
                    self.remember_group(side, group);
                } else if i > 0 || before > 0 {
                    self.put_off = self.found.split_off(i);
                    return;
                } else {
                    self.connect_copies(side, group, opened);
                }
            }
        }
    }

    fn remember_group(&mut self, side: Side, group: u32) {
        let (chunk, members) = self.chunk_and_members(side);
        let mut number = 0;
        for &row in interruptible(chunk.group(group)) {
            let remembered = members.remember(row, &mut check_for_interrupts);
            number = remembered.unwrap_or_else(|refused| no_memory(refused));
        }
        let alone = chunk.group(group).len() == 1;
        chunk.set_mark(group, if alone { Mark::Row(number) } else { Mark::Remembered });
    }

    /// For a group too large to be remembered: writes edges between its visible rows, and remembers
    /// the first of them for all. Raises 53200 if equal fingerprints alone connect no rows.
    fn connect_copies(&mut self, side: Side, group: u32, opened: &OpenedAll) {
        let edges = self.edges.get_or_insert_default();
        let chunk = match side {
            Side::Left => self.join.left(),
            Side::Right => self.join.right(),
        };
        if !self.copies_are_connected {
            raise_memory(work_mem(), chunk.group(group).len());
        }
        progress::looking_up();
        let mut heaps = Heaps::new(opened);
        let mut first = None;
        // The rows of a group are ordered by table and TID.
        for &row in chunk.group(group) {
            let Some(visible) = heaps.visible(row) else { continue };
            let &mut (_, of_first) = first.get_or_insert((row, visible));
            if of_first != visible {
                edges.push((visible, of_first));
            }
        }
        let mark = first.map_or(Mark::Invisible, |(row, visible)| {
            let number = self.members.remember(row, &mut check_for_interrupts);
            let number = number.unwrap_or_else(|refused| no_memory(refused));
            self.members.set_visible(number, Some(visible));
            Mark::Row(number)
        });
        chunk.set_mark(group, mark);
    }

    /// Frees the memory of the join, which is done.
    pub fn end_join(&mut self) {
        *self.join.left() = Chunk::default();
        *self.join.right() = Chunk::default();
    }

    /// Makes room for two more rows, if necessary by forgetting the others.
    pub fn expect_two(&mut self) {
        if self.members.memory_with(2) > self.memory {
            self.write_edges();
        }
    }

    /// Remembers a visible row by the root of its HOT chain, and returns its number.
    pub fn number(&mut self, root: u64, visible: u64) -> u32 {
        let number = self.members.remember(root, &mut check_for_interrupts);
        let number = number.unwrap_or_else(|refused| no_memory(refused));
        self.members.set_visible(number, Some(visible));
        number
    }

    /// Writes edges between all connected rows, and forgets the rows.
    fn write_edges(&mut self) {
        let edges = self.edges.get_or_insert_default();
        self.members.for_each_edge(&mut check_for_interrupts, |edge| edges.push(edge));
        self.forget_members();
    }

    fn look_up(&mut self, opened: &OpenedAll) {
        let mut unknown = Vec::new();
        while self.looked_up < self.members.len() {
            progress::looking_up();
            let upto = self.members.len().min(self.looked_up + LARGEST_BATCH);
            unknown
                .extend((self.looked_up..upto).map(|i| (self.members.address(i as u32), i as u32)));
            sort_checked(&mut unknown, &mut check_for_interrupts);
            // Numbers of rows are ordered by table.
            for rows in unknown.chunk_by(|a, b| row::table(a.0) == row::table(b.0)) {
                let table = row::table(rows[0].0);
                let mut heap = Heap::new(&opened[table]);
                for &(row, number) in rows {
                    let visible = heap.visible(row::tid(row));
                    let visible = visible.map(|tid| row::number(table, tid));
                    self.members.set_visible(number, visible);
                }
            }
            unknown.clear();
            self.looked_up = upto;
        }
        check_for_interrupts();
    }

    /// Forgets all rows. Pairs can look them up again.
    fn forget_members(&mut self) {
        self.members.clear();
        self.looked_up = 0;
        self.join.left().clear_marks();
        self.join.right().clear_marks();
    }

    /// The indexes and their heaps, until the result is dropped.
    pub fn open(&self) -> OpenedAll {
        self.target.open()
    }

    /// Whether both sides are the same chunk.
    pub fn is_one_chunk(&self) -> bool {
        !self.join.is_across()
    }

    /// Puts the visible versions of a group's rows into `rows`.
    pub fn visible(&mut self, side: Side, group: u32, rows: &mut Vec<u64>) {
        rows.clear();
        let (chunk, members) = self.chunk_and_members(side);
        match chunk.mark(group) {
            Mark::Row(number) => rows.extend(members.visible(number)),
            _ => {
                let tids = interruptible(chunk.group(group));
                rows.extend(tids.filter_map(|&tid| members.visible(members.find(tid)?)));
            }
        }
    }

    /// Puts the numbers and visible versions of a group's rows into `rows`.
    pub fn visible_members(&mut self, side: Side, group: u32, rows: &mut Vec<(u32, u64)>) {
        rows.clear();
        let (chunk, members) = self.chunk_and_members(side);
        let visible = |number: u32| Some((number, members.visible(number)?));
        match chunk.mark(group) {
            Mark::Row(number) => rows.extend(visible(number)),
            _ => {
                let tids = interruptible(chunk.group(group));
                rows.extend(tids.filter_map(|&tid| visible(members.find(tid)?)));
            }
        }
    }

    /// Unites all visible rows of a group into one cluster, and returns one of them.
    #[inline]
    pub fn united(&mut self, side: Side, group: u32) -> Option<u32> {
        let (chunk, members) = self.chunk_and_members(side);
        match chunk.mark(group) {
            Mark::Unknown | Mark::Invisible => None,
            Mark::Remembered => {
                let row = unite_all(chunk.group(group), members);
                chunk.set_mark(group, row.map_or(Mark::Invisible, Mark::Row));
                row
            }
            Mark::Row(number) => Some(number).filter(|&row| members.visible(row).is_some()),
        }
    }

    fn chunk_and_members(&mut self, side: Side) -> (&mut Chunk<K>, &mut Members) {
        let chunk = match side {
            Side::Left => self.join.left(),
            Side::Right => self.join.right(),
        };
        (chunk, &mut self.members)
    }

    /// Ends the session. Returns the clusters as members, or as edges if memory did not hold all
    /// rows. The progress report goes on until the [`Progress`] is dropped.
    pub fn finish(mut self) -> (Members, Option<Log<File>>, Progress) {
        if self.edges.is_some() {
            self.write_edges();
        }
        (self.members, self.edges, self.progress)
    }

    fn report(&self) {
        let (block_table, share) = self.join.progress();
        progress::advance(self.join.plan(), block_table, share, self.pairs + self.found.len());
    }
}

/// The number of an index's rows by pg_class.reltuples; if unknown, the most that its pages can
/// hold.
fn rows_of<K: TreeKey>(opened: &Opened, index: &Index<K>) -> usize {
    // SAFETY: an open relation has its catalogue row.
    let known = unsafe { (*(*opened.index).rd_rel).reltuples };
    if known > 0.0 { known as usize } else { most_rows(index) }
}

/// The indexes as the query's snapshot sees them.
pub(super) fn open_all<K: TreeKey>(opened: &[Opened]) -> Vec<Index<K>> {
    let index = |opened: &Opened| {
        let mut index = open::<K>(opened.rel());
        // SAFETY: a function called by a query has an active snapshot.
        let snapshot = unsafe { pgrx::pg_sys::GetActiveSnapshot() };
        // SAFETY: it stays active during the call.
        index.store = unsafe { index.store.with_snapshot(snapshot) };
        index
    };
    opened.iter().map(index).collect()
}

/// Unites the visible rows of a group into one cluster; returns one of them.
fn unite_all(tids: &[u64], members: &mut Members) -> Option<u32> {
    let mut first = None;
    for &tid in interruptible(tids) {
        let Some(row) = members.find(tid).filter(|&row| members.visible(row).is_some()) else {
            continue;
        };
        match first {
            None => first = Some(row),
            Some(first) => members.unite(first, row),
        }
    }
    first
}

/// The rows of a group, with a check for interrupts at each: there may be millions.
fn interruptible(rows: &[u64]) -> impl Iterator<Item = &u64> {
    rows.iter().inspect(|_| check_for_interrupts())
}
