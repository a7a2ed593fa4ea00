//! How the numbers of the model are encoded in an index, as fingerprints, scopes and payloads.
//!
//! A key of the model has up to 64 bits. In the index they are spread evenly over the fingerprint,
//! and the bits between them never change, so distances are the same. A scope is a small number
//! that stands for a string. The strings are those whose neighbours in order are difficult cases. A
//! payload encodes the number of its row.

use std::ops::Range;
use std::rc::Rc;

use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::search::BlockLayout;
use simhash_index::form::Form;
use simhash_index::insert::Beside;
use simhash_index::key::Bytes;
use simhash_index::postings::{Presence, RECENT, ROWS, SETTLED};
use simhash_index::scopes::{Allowed, Filter};
use simhash_index::{Entry, Family, Meta, Row, Scopes, TreeKey};

use crate::random::Random;
use crate::rows::{self, SCOPES, Selected};

/// The scopes of a scan.
#[derive(Clone, Debug)]
pub enum Selection {
    All,
    One(u8),
    Where(Filter),
}

/// How one index stores the rows of the model.
#[derive(Clone, Copy)]
pub struct Coding<K: TreeKey> {
    pub meta: Meta,
    pub layout: BlockLayout,
    /// The bits between those of the model.
    background: K::Fingerprint,
    /// How many leaves of recent postings there may be.
    pub most_recent: u32,
}

/// Whether indexes of this family have keys of type `K`.
fn is_of<K: TreeKey>(family: Family) -> bool {
    let (bits, scope) = (K::Fingerprint::BITS, K::Scope::BYTES);
    match family {
        Family::Plain64 => (bits, scope) == (64, 0),
        Family::Plain128 => (bits, scope) == (128, 0),
        Family::Plain256 => (bits, scope) == (256, 0),
        Family::Brief64 => (bits, scope) == (64, 16),
        Family::Scoped64 => (bits, scope) == (64, 24),
        Family::Scoped128 => (bits, scope) == (128, 24),
        Family::Scoped256 => (bits, scope) == (256, 24),
        Family::Wide => bits > 256,
        Family::Postings => K::STORED == 4,
        Family::BriefPostings => (bits, scope) == (64, 16),
        Family::ScopedPostings => (bits, scope) == (64, 56),
    }
}

/// Chooses an index with keys of type `K`, of which a page of this size holds a few entries.
pub fn choose<K: TreeKey>(page: usize, blocks: u32, random: &mut Random) -> Coding<K> {
    const BITS: [u32; 12] = [64, 64, 64, 40, 128, 128, 100, 256, 256, 200, 300, 1024];
    let mut suitable = Vec::new();
    for bits in BITS {
        for scope in [0, 1, 2, 5, 17, 30, 56] {
            for payload in [0, 4, 9] {
                let meta = Meta { kind: 1, bits, blocks, scope, payload, ..Meta::default() };
                if is_suitable::<K>(&meta, page) {
                    suitable.push(meta);
                }
            }
        }
    }
    Coding::new(random.pick(&suitable))
}

fn is_suitable<K: TreeKey>(meta: &Meta, page: usize) -> bool {
    let shape = meta.shape();
    is_of::<K>(meta.family())
        && shape.leaf_capacity(page, Form::MIXED) >= 3
        && shape.inner_capacity(page) >= 3
}

/// Chooses an index of postings in the same way.
pub fn choose_postings<K: TreeKey>(page: usize, random: &mut Random) -> Coding<K> {
    let mut suitable = Vec::new();
    for scope in [0, 1, 2, 5, 16, 17, 30, 56] {
        for payload in [0, 4, 9] {
            let blocks = u32::from(ROWS);
            let postings = Meta { bands: 8, rows: 1, similarity: 7 << 40, ..Meta::default() };
            let meta = Meta { kind: 1, bits: 32, blocks, scope, payload, ..postings };
            if is_suitable::<K>(&meta, page) {
                suitable.push(meta);
            }
        }
    }
    let most_recent = random.pick(&[1, 2, 2, 3, 5, 8, 1000]);
    Coding { most_recent, ..Coding::new(random.pick(&suitable)) }
}

/// Indexed by [`rows::Row::presence`].
const PRESENCE: [Presence; 3] = [Presence::Null, Presence::Empty, Presence::Keys];

impl<K: TreeKey> Coding<K> {
    pub fn new(meta: Meta) -> Self {
        let layout = BlockLayout::of_bits(meta.bits, meta.blocks).expect("blocks are not empty");
        let mut coding = Self { meta, layout, background: K::Fingerprint::ZERO, most_recent: 0 };
        let is_of_model = |bit: u32| (0..coding.bits()).any(|i| coding.place(i) == bit);
        coding.background = (0..meta.bits)
            .filter(|&bit| bit % 3 != 0 && !is_of_model(bit))
            .fold(K::Fingerprint::ZERO, |bits, bit| bits | K::Fingerprint::bit(bit));
        coding
    }

    /// The bits of a key.
    pub fn bits(&self) -> u32 {
        self.meta.bits.min(64)
    }

    /// A key made of the most significant bits, as many as keys have.
    pub fn key_of(&self, bits: u64) -> u64 {
        bits >> (64 - self.bits())
    }

    /// The bit of a fingerprint that stands for bit `i` of a key, both counted from the most
    /// significant.
    fn place(&self, i: u32) -> u32 {
        i * self.meta.bits / self.bits()
    }

    pub fn fingerprint(&self, key: u64) -> K::Fingerprint {
        if self.meta.bits == 64 && K::Fingerprint::BYTES == 8 {
            return K::Fingerprint::load(&key.to_ne_bytes());
        }
        let mut left = key << (64 - self.bits());
        let mut fingerprint = self.background;
        while left != 0 {
            let i = left.leading_zeros();
            left &= !(1 << (63 - i));
            fingerprint = fingerprint | K::Fingerprint::bit(self.place(i));
        }
        fingerprint
    }

    /// The key of a fingerprint. `None` if no key of the model has it.
    pub fn key(&self, fingerprint: K::Fingerprint) -> Option<u64> {
        let (bits, width) = (self.bits(), self.meta.bits);
        let mut left = fingerprint ^ self.background;
        let mut key = 0;
        while left != K::Fingerprint::ZERO {
            let place = left.leading_zeros();
            left = left & !K::Fingerprint::bit(place);
            let i = (place * bits).div_ceil(width);
            if i >= bits || self.place(i) != place {
                return None;
            }
            key |= 1 << (bits - 1 - i);
        }
        Some(key)
    }

    fn scope_bytes(&self) -> usize {
        self.meta.scope as usize
    }

    /// The scope as the index stores it.
    pub fn scope(&self, scope: u8) -> K::Scope {
        K::Scope::load(&string(scope, self.scope_bytes()))
    }

    /// The number of a scope. `None` if it is not of the model.
    pub fn number(&self, scope: K::Scope) -> Option<u8> {
        (0..SCOPES).find(|&number| self.scope(number) == scope)
    }

    /// The payload of a row, in the index's payload length.
    fn payload(&self, row: u32) -> Vec<u8> {
        let byte = |i: usize| row.to_le_bytes()[i % 4] ^ (i / 4 * 0x5b) as u8;
        (0..self.meta.payload as usize).map(byte).collect()
    }

    /// The number of the row that a payload encodes. `None` if the index has no payloads.
    ///
    /// # Errors
    /// If it encodes no row.
    pub fn row_of(&self, payload: &[u8]) -> Result<Option<u32>, String> {
        let Some(first) = payload.first_chunk() else { return Ok(None) };
        let row = u32::from_le_bytes(*first);
        if payload == self.payload(row) {
            Ok(Some(row))
        } else {
            Err(format!("{payload:x?} is the payload of no row"))
        }
    }

    /// What a row has besides its fingerprints.
    pub fn beside(&self, row: &rows::Row) -> Beside<K> {
        let payload = K::Payload::load(&self.payload(row.number));
        Beside { scope: self.scope(row.scope), payload, tid: row.tid }
    }

    /// The rows that a table of the index has for a row of the model.
    pub fn rows(&self, row: &rows::Row, table: u8) -> Vec<Row<K>> {
        let null_table = self.layout.blocks() as u8;
        let beside = self.beside(row);
        if self.meta.is_of_postings() {
            if table == ROWS {
                return vec![beside.row(self.known_of(row).key())];
            }
            let posting =
                |key: &u64| Row { payload: K::Payload::ZERO, ..beside.row(self.fingerprint(*key)) };
            return row.keys.iter().map(posting).collect();
        }
        match (row.keys.is_empty(), table == null_table) {
            (true, true) => vec![beside.row(K::Fingerprint::ZERO)],
            (false, false) => {
                let rotated =
                    |key: &u64| self.layout.rotate(self.fingerprint(*key), u32::from(table));
                row.keys.iter().map(|key| beside.row(rotated(key))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The tables in groups. Each entry that a row has in a group is in exactly one of its tables.
    pub fn groups(&self) -> Vec<Vec<u8>> {
        if self.meta.is_of_postings() {
            return vec![vec![RECENT, SETTLED], vec![ROWS]];
        }
        (0..=self.layout.blocks() as u8).map(|table| vec![table]).collect()
    }

    /// What the table of all rows records about a row.
    pub fn known_of(&self, row: &rows::Row) -> Presence {
        PRESENCE[row.presence() as usize]
    }

    /// Decodes a key of the table of NULLs, or of the table of all rows, to
    /// [`rows::Row::presence`].
    pub fn presence(&self, fingerprint: K::Fingerprint) -> Option<u64> {
        let known = if self.meta.is_of_postings() { &PRESENCE[..] } else { &PRESENCE[..1] };
        let found =
            known.iter().position(|presence| presence.key::<K::Fingerprint>() == fingerprint);
        found.map(|found| found as u64)
    }

    /// The least entry with a key in a table.
    pub fn first_with(&self, key: u64, scope: u8, table: u8) -> Entry<K> {
        let table = if self.meta.is_of_postings() { 0 } else { table };
        let rotated = self.layout.rotate(self.fingerprint(key), u32::from(table));
        Entry::first_with(K::new(self.scope(scope), rotated))
    }

    pub fn scopes(&self, selection: &Selection) -> Scopes<K::Scope> {
        match selection {
            Selection::All => Scopes::All,
            Selection::One(scope) => Scopes::One(self.scope(*scope)),
            Selection::Where(filter) => Scopes::Where(Rc::new(filter.clone())),
        }
    }

    pub fn selected(&self, selection: &Selection) -> Selected {
        let mut selected = [false; SCOPES as usize];
        for (scope, selected) in (0..).zip(&mut selected) {
            *selected = match selection {
                Selection::All => true,
                Selection::One(one) => *one == scope,
                Selection::Where(filter) => allows(filter, &string(scope, self.scope_bytes())),
            };
        }
        selected
    }
}

/// The string of a scope. The strings ascend. Number 2 is number 1 plus one, with a carry. Number 3
/// has another first byte, and starts again after it. Number 5 is number 4 plus one, and the
/// greatest string of all.
pub fn string(scope: u8, length: usize) -> Vec<u8> {
    let mut string = vec![if scope < 3 { 0 } else { 255 }; length];
    match (scope, &mut string[..]) {
        (1 | 2, [only]) => *only = scope,
        (3, [only]) => *only = 127,
        (1, [.., last]) => *last = 255,
        (2, [.., before, _]) => *before = 1,
        (3, [_, others @ ..]) => others.fill(0),
        (4, [.., last]) => *last = 254,
        _ => {}
    }
    string
}

/// Whether a filter allows a string, column by column.
fn allows(filter: &Filter, string: &[u8]) -> bool {
    columns(filter).zip(&filter.columns).all(|(place, column)| {
        let own = &string[place];
        match &column.allowed {
            Allowed::Any => true,
            Allowed::NotNull => own.first() == Some(&0),
            Allowed::Values(values) => values.iter().any(|value| value == own),
        }
    })
}

/// Where in a scope's string the columns are.
fn columns(filter: &Filter) -> impl Iterator<Item = Range<usize>> {
    filter.columns.iter().scan(0, |end, column| {
        let start = *end;
        *end += column.bytes;
        Some(start..*end)
    })
}

#[cfg(test)]
mod tests {
    use simhash_core::base::bits::{B256, B1024};
    use simhash_index::Scoped;

    use super::*;

    fn of_bits<K: TreeKey>(bits: u32, scope: u32, payload: u32) -> Coding<K> {
        Coding::new(Meta { kind: 1, bits, blocks: 4, scope, payload, ..Meta::default() })
    }

    fn keeps_distances<K: TreeKey>(bits: u32) {
        let coding = of_bits::<K>(bits, 0, 0);
        let mut random = Random::new(u64::from(bits));
        for _ in 0..100 {
            let [a, b] = [(); 2].map(|()| coding.key_of(random.next()));
            let [x, y] = [a, b].map(|key| coding.fingerprint(key));
            assert_eq!((coding.key(x), coding.key(y)), (Some(a), Some(b)));
            assert_eq!((x ^ y).count_ones(), (a ^ b).count_ones());
            assert_eq!(x & !K::Fingerprint::leading_mask(bits), K::Fingerprint::ZERO);
        }
    }

    #[test]
    fn keys_keep_their_distances_in_every_width() {
        keeps_distances::<u64>(64);
        keeps_distances::<u64>(40);
        keeps_distances::<u128>(100);
        keeps_distances::<u128>(128);
        keeps_distances::<B256>(200);
        keeps_distances::<B1024>(300);
    }

    #[test]
    fn scopes_and_payloads_are_read_as_they_were_written() {
        for length in [1, 2, 5, 17, 24] {
            let coding = of_bits::<Scoped<u64, 3>>(64, length, 9);
            let strings: Vec<_> = (0..SCOPES).map(|scope| coding.scope(scope)).collect();
            assert!(strings.is_sorted_by(|a, b| a < b), "{strings:x?}");
            for (scope, string) in (0..).zip(strings) {
                assert_eq!(coding.number(string), Some(scope));
            }
            let mut payload = coding.payload(77);
            assert_eq!(coding.row_of(&payload), Ok(Some(77)));
            payload[8] ^= 1;
            assert!(coding.row_of(&payload).is_err());
        }
        assert_eq!(of_bits::<u64>(64, 0, 0).row_of(&[]), Ok(None));
    }
}
