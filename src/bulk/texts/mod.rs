//! Compares whole tables of texts by similarity: pairs, the rows that a cover drops, clusters.
//!
//! [`simhash_core::whole::sharing`] has the algorithm. Here are the rows: [`super::places`] (in
//! which order they are taken), [`postings`] (which of them have a key), [`rows`] (their texts).
//!
//! The state of each row comes first out of simhash.work_mem. Half of the rest is for rows that
//! share keys, half for sets of shingles.

mod any_rows;
mod cutters;
mod parcel;
pub mod passages;
pub mod postings;
mod read;
pub mod rows;
pub mod suggest;

use std::collections::HashMap;

use pgrx::PgSqlErrorCode;
use simhash_core::config::Numbers;
use simhash_core::whole::sharing;
use simhash_core::whole::sharing::{Clusters, Full, Law, Same, chain, star};

use self::postings::Bands;
pub use self::read::Origin;
use self::read::Read;
use self::rows::{Texts, rows_with_keys};
use super::order::{in_order, versions_in_order};
use super::places::{BYTES, MOST, Places};
use super::progress::{Command, Progress};
use super::servers::messages::expect_tids;
use super::servers::parts::Parts;
use super::servers::texts::ServerTexts;
use super::spool::Spool;
use super::target::{Named, OpenedAll, Target};
use crate::am::texts::Recipe;
use crate::error::raise;
use crate::guc::work_mem;
use crate::types::near_text::check_similarity;

/// Two rows by the numbers of their visible versions, and their similarity.
pub type Pair = (u64, u64, f64);

/// The texts of rows, and how they are compared.
struct Whole {
    read: Read,
    law: Law,
    /// The memory for rows that share keys, and as much for sets.
    memory: usize,
    _progress: Progress,
}

impl Whole {
    /// Rows are taken in the order of `keep`, or by table and TID. With `others_first`, the rows of
    /// the second index precede those of the first. `numbers` overrides the index's rule of which
    /// numbers in texts must agree.
    fn new(
        origin: Origin,
        similarity: f64,
        keep: Option<&str>,
        others_first: bool,
        command: Command,
        numbers: Option<Numbers>,
    ) -> Option<Self> {
        check_similarity(similarity);
        match origin {
            Origin::Here(target) => {
                Self::of_target(target, similarity, keep, others_first, command, numbers)
            }
            Origin::Servers(parts) => {
                Some(Self::of_parts(parts, similarity, keep, command, numbers))
            }
        }
    }

    fn of_target(
        target: Target,
        similarity: f64,
        keep: Option<&str>,
        others_first: bool,
        command: Command,
        numbers: Option<Numbers>,
    ) -> Option<Self> {
        let opened = target.open();
        let first = opened.first()?;
        let recipe = Recipe::of(first.rel());
        let recipe = numbers.map_or(recipe.clone(), |numbers| recipe.with_numbers(numbers));
        let law = law_of(&opened, similarity);
        // SAFETY: the index is open.
        let simhasher = unsafe { recipe.simhasher(first.rel()) };
        let Named { table, index } = target.named[0];
        let progress = Progress::start(command, table, index, 1, 0);
        let split = target.split.unwrap_or(opened.len());
        let mut own = match keep {
            None => rows_with_keys(&opened, 0, split),
            Some(_) => Vec::new(),
        };
        let others = rows_with_keys(&opened, split, opened.len());
        drop(opened);
        let mut moved = HashMap::new();
        if let Some(keep) = keep {
            // This query runs as the caller, so after the tables, opened as their owners, are
            // closed.
            (own, moved) = in_order(&target, keep);
        }
        let (first, second) = if others_first { (others, own) } else { (own, others) };
        let split = target.split.map(|_| first.len() as u32);
        let mut all = first;
        all.extend(second);
        let memory = memory_beside(all.len(), command, &progress);
        let places = Places::new(all, target.sources.len(), split);
        let layout = recipe.layout();
        let bands = Some(Bands { layout, count: law.sketch.bands });
        let config = (!recipe.names_words()).then(|| recipe.config.clone());
        let texts = Texts { places, bands, simhasher, config, moved };
        Some(Self { read: Read::Here(target, Box::new(texts)), law, memory, _progress: progress })
    }

    fn of_parts(
        mut parts: Parts,
        similarity: f64,
        keep: Option<&str>,
        command: Command,
        numbers: Option<Numbers>,
    ) -> Self {
        let law = Law::new(similarity, parts.layout());
        let law = law.unwrap_or_else(|| raise_no_law(similarity));
        let progress = Progress::start(command, parts.table, parts.table, 1, 0);
        let (all, moved) = match keep {
            None => (ServerTexts::all_rows(&mut parts, true), HashMap::new()),
            Some(keep) => {
                let tables = parts.tables();
                let mut versions = versions_in_order(parts.table, tables.iter().copied(), keep);
                let moved = ServerTexts::find_roots(&mut parts, &mut versions);
                (versions, moved)
            }
        };
        expect_tids(&all, work_mem());
        let memory = memory_beside(all.len(), command, &progress);
        let places = Places::new(all, parts.parts.len(), None);
        let bands = Bands { layout: parts.layout(), count: law.sketch.bands };
        let texts = ServerTexts::new(parts, places, Some(bands), numbers, moved);
        Self { read: Read::Servers(Box::new(texts)), law, memory, _progress: progress }
    }

    fn places(&self) -> u32 {
        self.read.places().len()
    }

    fn split(&self) -> Option<u32> {
        self.read.places().split
    }
}

/// The memory for rows that share keys, and as much for sets, beside the state of so many rows.
fn memory_beside(rows: usize, command: Command, progress: &Progress) -> usize {
    check_count(rows);
    progress.expect_rows(rows);
    let known = rows * (BYTES + of_result(command));
    match work_mem().checked_sub(known) {
        Some(memory) if memory >= work_mem() / 4 => memory / 2,
        _ => raise_no_room(rows, known),
    }
}

/// The bytes of a command's result for each row.
fn of_result(command: Command) -> usize {
    match command {
        Command::Duplicates => size_of::<u32>() + size_of::<f64>(),
        Command::Clusters => 4 * size_of::<u32>() + size_of::<f64>(),
        _ => 0,
    }
}

/// Raises 22023 for a similarity below that of an index, XX000 for one that has no law.
fn law_of(opened: &OpenedAll, similarity: f64) -> Law {
    for one in opened.iter() {
        let recipe = Recipe::of(one.rel());
        if similarity < recipe.similarity {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "similarity {similarity} is less than that of index \"{}\", which is {}",
                    one.rel().name(),
                    recipe.similarity
                ),
                "An index finds only texts of at least its own similarity: use a greater \
                 similarity, or create an index WITH (similarity = ...).",
            )
        }
    }
    let layout = opened.first().map(|first| Recipe::of(first.rel()).layout());
    let law = layout.and_then(|layout| Law::new(similarity, layout));
    law.unwrap_or_else(|| raise_no_law(similarity))
}

fn raise_no_law(similarity: f64) -> ! {
    let code = PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
    raise(code, format!("no law for similarity {similarity}"), "")
}

fn check_count(rows: usize) {
    if rows > MOST {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("too many rows to compare by similarity: {rows}"),
            &format!("At most {MOST} are allowed: compare partitions with each other."),
        )
    }
}

fn raise_no_room(rows: usize, bytes: usize) -> ! {
    let megabytes = (bytes * 4 / 3 + (16 << 20)) >> 20;
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!(
            "{rows} rows need more than the {} MB that simhash.work_mem allows",
            work_mem() >> 20
        ),
        &format!("Set simhash.work_mem to {megabytes} MB or more."),
    )
}

fn expect_room<T>(found: Result<T, Full>) -> T {
    found.unwrap_or_else(|Full| {
        raise(
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            format!("simhash.work_mem of {} MB is too small", work_mem() >> 20),
            "Raise simhash.work_mem.",
        )
    })
}

/// All pairs of near-duplicates, as they are found.
pub struct Pairs {
    whole: Whole,
    pairs: sharing::Pairs,
    batch: Vec<Same>,
    next: usize,
    /// The rows of the present pair of classes; `at` is the next pair of these rows.
    left: Vec<u32>,
    right: Vec<u32>,
    /// Whether both are the same class.
    is_one: bool,
    at: (usize, usize),
}

/// All pairs of rows whose texts are near-duplicates. Over servers all are found before the first
/// one is returned: while connections are open, no other code of the session may run.
pub fn pairs(origin: Origin, similarity: f64) -> Box<dyn Iterator<Item = Pair>> {
    let is_here = matches!(origin, Origin::Here(_));
    let pairs = Pairs::new(origin, similarity).into_iter().flatten();
    if is_here {
        return Box::new(pairs);
    }
    let spool = Spool::of(pairs.map(|(a, b, similarity)| [a, b, similarity.to_bits()]));
    Box::new(spool.map(|[a, b, similarity]| (a, b, f64::from_bits(similarity))))
}

impl Pairs {
    fn new(origin: Origin, similarity: f64) -> Option<Self> {
        let whole = Whole::new(origin, similarity, None, false, Command::Pairs, None)?;
        let pairs = sharing::Pairs::new(whole.places(), whole.split(), whole.law, whole.memory);
        let (batch, left, right) = Default::default();
        Some(Pairs { whole, pairs, batch, next: 0, left, right, is_one: false, at: (0, 0) })
    }

    /// Starts on the next pair of classes. False at the end.
    fn advance(&mut self) -> bool {
        if self.next == self.batch.len() {
            let Self { whole, pairs, batch, .. } = self;
            if !expect_room(whole.read.with_rows(false, |rows| pairs.next_batch(rows, batch))) {
                whole.read.end();
                return false;
            }
            self.next = 0;
        }
        let Same { first, second, .. } = self.batch[self.next];
        self.left.clear();
        self.left.extend(self.pairs.places(first));
        self.is_one = first == second;
        self.right.clear();
        if !self.is_one {
            self.right.extend(self.pairs.places(second));
        }
        self.at = (0, usize::from(self.is_one));
        self.next += 1;
        true
    }
}

impl Iterator for Pairs {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        loop {
            let right = if self.is_one { &self.left } else { &self.right };
            while let Some(&a) = self.left.get(self.at.0) {
                if let Some(&b) = right.get(self.at.1) {
                    self.at.1 += 1;
                    let similarity = self.batch[self.next - 1].similarity;
                    let whole = &self.whole;
                    let is_of_two = whole.split().is_some();
                    let (first, second) =
                        (whole.read.visible(a.min(b)), whole.read.visible(a.max(b)));
                    // The order of versions need not be that of the roots of their chains.
                    return Some(match is_of_two {
                        true => (first, second, similarity),
                        false => (first.min(second), first.max(second), similarity),
                    });
                }
                let row = self.at.0 + 1;
                self.at = (row, if self.is_one { row + 1 } else { 0 });
            }
            self.left.clear();
            if !self.advance() {
                return None;
            }
        }
    }
}

/// The rows that the cover in the order of `keep` drops, each with the kept row that represents it;
/// for two tables, the rows of the first that are near a row of the second. `numbers` overrides the
/// index's rule of which numbers in texts must agree.
pub fn duplicates(
    origin: Origin,
    similarity: f64,
    keep: Option<&str>,
    numbers: Option<Numbers>,
) -> Box<dyn Iterator<Item = Pair>> {
    let whole = Whole::new(origin, similarity, keep, true, Command::Duplicates, numbers);
    let Some(mut whole) = whole else { return Box::new(std::iter::empty()) };
    let (places, split, law, memory) = (whole.places(), whole.split(), whole.law, whole.memory);
    let cover = whole.read.with_rows(true, |rows| sharing::cover(rows, places, split, law, memory));
    let cover = expect_room(cover);
    whole.read.end();
    Box::new((0..places).filter_map(move |place| {
        let (kept, similarity) = cover.kept(place)?;
        Some((whole.read.visible(place), whole.read.visible(kept), similarity))
    }))
}

/// How the rows of a cluster are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// By chains of pairs.
    Chain,
    /// Each is near the representative, as in a cover.
    Star,
}

/// A row of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub row: u64,
    pub representative: u64,
    pub size: usize,
    /// Of the row to the representative; `least` is the least one in the cluster.
    pub similarity: f64,
    pub least: f64,
}

/// All rows of clusters of two or more. `numbers` is as for [`duplicates`].
pub fn clusters(
    origin: Origin,
    similarity: f64,
    linkage: Linkage,
    keep: Option<&str>,
    numbers: Option<Numbers>,
) -> Box<dyn Iterator<Item = Member>> {
    let whole = Whole::new(origin, similarity, keep, false, Command::Clusters, numbers);
    let Some(mut whole) = whole else { return Box::new(std::iter::empty()) };
    let (places, law, memory) = (whole.places(), whole.law, whole.memory);
    let clusters = expect_room(whole.read.with_rows(true, |rows| match linkage {
        Linkage::Chain => chain(rows, places, law, memory),
        Linkage::Star => {
            sharing::cover(rows, places, None, law, memory).map(|cover| star(cover, places))
        }
    }));
    let is_here = matches!(whole.read, Read::Here(..));
    let members = Members { whole, clusters, batch: Vec::new().into_iter() };
    if is_here {
        return Box::new(members);
    }
    // All are found before the first one is returned, as in `pairs`.
    let numbers = |member: Member| {
        let Member { row, representative, size, similarity, least } = member;
        [row, representative, size as u64, similarity.to_bits(), least.to_bits()]
    };
    Box::new(Spool::of(members.map(numbers)).map(
        |[row, representative, size, similarity, least]| {
            let (similarity, least) = (f64::from_bits(similarity), f64::from_bits(least));
            Member { row, representative, size: size as usize, similarity, least }
        },
    ))
}

struct Members {
    whole: Whole,
    clusters: Clusters,
    batch: std::vec::IntoIter<Member>,
}

/// About so many members are compared while the tables are open.
const TOGETHER: usize = 1 << 12;

impl Members {
    fn next_batch(&mut self) -> Vec<Member> {
        let Self { whole, clusters, .. } = self;
        let mut compared = Vec::new();
        whole.read.with_rows(false, |rows| {
            let mut count = 0;
            while count < TOGETHER
                && let Some(cluster) = clusters.next(rows)
            {
                count += cluster.len();
                compared.push(cluster);
            }
        });
        let mut batch = Vec::new();
        for cluster in compared {
            let Some(&sharing::Member { place: first, .. }) = cluster.first() else { continue };
            let least = cluster.iter().fold(1.0, |least: f64, member| least.min(member.similarity));
            let representative = whole.read.visible(first);
            batch.extend(cluster.iter().map(|member| Member {
                row: whole.read.visible(member.place),
                representative,
                size: cluster.len(),
                similarity: member.similarity,
                least,
            }));
        }
        if batch.is_empty() {
            whole.read.end();
        }
        batch
    }
}

impl Iterator for Members {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        if self.batch.len() == 0 {
            self.batch = self.next_batch().into_iter();
        }
        self.batch.next()
    }
}
