//! The scenarios: which writers write which rows, and which rows are near.

use super::model::{Change, Claims, Mutant, Op, Rows};
use crate::protocols::explore::NOBODY;

/// All scenarios, small ones first, or only one in `SAMPLED` of the large ones.
pub fn scenarios(mutant: Option<Mutant>, is_whole: bool) -> Vec<Claims> {
    let families =
        [inserts(), keys(), on_conflict(), inside(), deletions(), updates(), triggers(), links()];
    let is_large = |claims: &Claims| claims.programs.len() > 2 && claims.owner.len() > 3;
    let (large, mut all): (Vec<_>, Vec<_>) = families.into_iter().flatten().partition(is_large);
    all.extend(large.into_iter().step_by(if is_whole { 1 } else { SAMPLED }));
    all.sort_by_key(|claims| (claims.owner.len(), claims.programs.len()));
    all.iter_mut().for_each(|claims| claims.mutant = mutant);
    all
}

/// An everyday run explores one large scenario in this many.
const SAMPLED: usize = 3;

/// Pairs of rows.
type Pairs<'a> = &'a [(u8, u8)];

impl Claims {
    /// A scenario without near rows. The rows that no writer inserts exist from the start.
    fn of(programs: &[&[Op]], rows: u8) -> Self {
        let mut owner = vec![NOBODY; rows as usize];
        for (writer, program) in (0..).zip(programs) {
            for op in *program {
                if let Op::Insert(row) | Op::Update { new: row, .. } = *op {
                    owner[row as usize] = writer;
                }
            }
        }
        Claims {
            programs: programs.iter().map(|program| program.to_vec()).collect(),
            near: vec![[0; 2]; rows as usize],
            same: vec![0; rows as usize],
            inside: vec![NOBODY; rows as usize],
            owner,
            triggers: 1,
            ..Claims::default()
        }
    }

    /// Writers that each insert this many rows, one after the other.
    fn inserts(sizes: &[u8]) -> Self {
        let mut first = 0;
        let mut programs = Vec::new();
        for size in sizes {
            programs.push((first..first + size).map(Op::Insert).collect::<Vec<_>>());
            first += size;
        }
        let programs: Vec<&[Op]> = programs.iter().map(Vec::as_slice).collect();
        Claims::of(&programs, first)
    }

    fn same(mut self, pairs: Pairs<'_>) -> Self {
        for &(a, b) in pairs {
            self.same[a as usize] |= 1 << b;
            self.same[b as usize] |= 1 << a;
        }
        self
    }

    /// A later trigger of row `outer` inserts row `inner`, for the same writer.
    fn nested(mut self, outer: u8, inner: u8) -> Self {
        self.inside[outer as usize] = inner;
        self.owner[inner as usize] = self.owner[outer as usize];
        self
    }

    fn on_conflict(mut self, writers: u8) -> Self {
        self.on_conflict = writers;
        self
    }

    /// The same scenario with every possible relation of near rows for one of the triggers.
    /// Versions of a row with the same text are near the same rows.
    fn every_near(self, trigger: usize) -> Vec<Self> {
        let mut twin: Vec<u8> = (0..self.owner.len() as u8).collect();
        for op in self.programs.iter().flatten() {
            match *op {
                Op::Update { old, new, change } if change != Change::Text => {
                    twin[new as usize] = old;
                }
                _ => {}
            }
        }
        let rows = self.owner.len() as u8;
        let first = |row: u8| twin[row as usize] == row;
        let pairs: Vec<(u8, u8)> = (0..rows)
            .flat_map(|a| (a + 1..rows).map(move |b| (a, b)))
            .filter(|&(a, b)| first(a) && first(b))
            // Rows that exist from the start are not near each other.
            .filter(|&(a, b)| self.owner[a as usize] != NOBODY || self.owner[b as usize] != NOBODY)
            .collect();
        let with = |bits: u32| {
            let mut claims = self.clone();
            let mut near: Vec<Rows> = vec![0; rows as usize];
            for (place, &(a, b)) in pairs.iter().enumerate() {
                if bits >> place & 1 == 1 {
                    near[a as usize] |= 1 << b;
                    near[b as usize] |= 1 << a;
                }
            }
            for row in 0..rows as usize {
                // A version is near what the older one is near, and the older one itself.
                let of = twin[row] as usize;
                let others = (0..rows as usize).filter(|&other| {
                    let its = twin[other] as usize;
                    row != other && (of == its || near[of] >> its & 1 == 1)
                });
                claims.near[row][trigger] = others.fold(0, |rows, other| rows | 1 << other);
            }
            claims
        };
        (0..1 << pairs.len()).map(with).collect()
    }
}

fn inserts() -> Vec<Claims> {
    let sizes: [&[u8]; 5] = [&[1, 1], &[1, 2], &[2, 2], &[1, 1, 1], &[1, 1, 2]];
    sizes.iter().flat_map(|sizes| Claims::inserts(sizes).every_near(0)).collect()
}

fn keys() -> Vec<Claims> {
    let (ab, ac, ad, bc, bd) = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3));
    let of: [(&[u8], Pairs<'_>); 14] = [
        (&[1, 1], &[ab]),
        (&[1, 2], &[ab]),
        (&[1, 2], &[ac]),
        (&[2, 2], &[ac]),
        (&[2, 2], &[ad]),
        (&[2, 2], &[bd]),
        (&[2, 2], &[ac, bd]),
        (&[2, 2], &[ad, bc]),
        (&[1, 1, 1], &[ab]),
        (&[1, 1, 1], &[ab, ac, bc]),
        (&[1, 1, 2], &[ab]),
        (&[1, 1, 2], &[ac]),
        (&[1, 1, 2], &[ad]),
        (&[1, 1, 2], &[ac, bd]),
    ];
    of.iter().flat_map(|(sizes, same)| Claims::inserts(sizes).same(same).every_near(0)).collect()
}

fn on_conflict() -> Vec<Claims> {
    let (ab, ac, bc) = ((0, 1), (0, 2), (1, 2));
    let of: [(&[u8], Pairs<'_>, u8); 11] = [
        (&[1, 2], &[ab], 1),
        (&[1, 2], &[ab], 2),
        (&[1, 2], &[ab], 3),
        (&[1, 2], &[ac], 1),
        (&[1, 2], &[ac], 2),
        (&[1, 2], &[ac], 3),
        (&[1, 1, 1], &[ab], 1),
        (&[1, 1, 1], &[ab], 3),
        (&[1, 1, 1], &[ab, ac, bc], 1),
        (&[1, 1, 1], &[ab, ac, bc], 3),
        (&[1, 1, 2], &[ac], 1),
    ];
    let each = |&(sizes, same, writers): &(&[u8], Pairs<'_>, u8)| {
        Claims::inserts(sizes).same(same).on_conflict(writers).every_near(0)
    };
    of.iter().flat_map(each).collect()
}

fn inside() -> Vec<Claims> {
    use Op::Insert;
    let mut unwatched = Claims::of(&[&[Insert(0)], &[Insert(2)]], 3).nested(0, 1);
    unwatched.unwatched = 1 << 1;
    let of_unwatched = unwatched.every_near(0).into_iter().filter(|it| it.near[1][0] == 0);
    let one = Claims::of(&[&[Insert(0)], &[Insert(2)]], 3).nested(0, 1);
    let two = Claims::of(&[&[Insert(0)], &[Insert(2), Insert(3)]], 4).nested(0, 1);
    let both = Claims::of(&[&[Insert(0)], &[Insert(2)]], 4).nested(0, 1).nested(2, 3);
    let three = Claims::of(&[&[Insert(0)], &[Insert(2)], &[Insert(3)]], 4).nested(0, 1);
    let all = [one, two, both, three];
    all.into_iter().flat_map(|it| it.every_near(0)).chain(of_unwatched).collect()
}

fn deletions() -> Vec<Claims> {
    use Op::{Delete, Insert};
    let of: [(&[&[Op]], u8); 5] = [
        (&[&[Delete(0), Insert(1)], &[Insert(2)]], 3),
        (&[&[Delete(0)], &[Insert(1)], &[Insert(2)]], 3),
        (&[&[Insert(1)], &[Delete(0)], &[Delete(0), Insert(2)]], 3),
        (&[&[Delete(0), Insert(1)], &[Insert(2), Insert(3)]], 4),
        (&[&[Delete(0), Insert(1)], &[Insert(2)], &[Insert(3)]], 4),
    ];
    of.iter().flat_map(|&(programs, rows)| Claims::of(programs, rows).every_near(0)).collect()
}

fn updates() -> Vec<Claims> {
    use Op::{Delete, Insert, Update};
    let mut all = Vec::new();
    for change in [Change::Other, Change::Key, Change::Text] {
        let update = Update { old: 0, new: 1, change };
        // Row 1 is the second version of row 0. It keeps the key, or row 2 takes it.
        let keys: [&[(u8, u8)]; 2] = match change {
            Change::Key => [&[], &[(0, 2)]],
            _ => [&[(0, 1)], &[(0, 1), (0, 2), (1, 2)]],
        };
        for same in keys {
            let of = [
                Claims::of(&[&[update], &[Insert(2)]], 3),
                Claims::of(&[&[update], &[Insert(2)]], 3).on_conflict(2),
                Claims::of(&[&[update], &[Insert(2)], &[Insert(3)]], 4),
                Claims::of(&[&[update], &[Insert(2), Insert(3)]], 4),
                Claims::of(&[&[update, Insert(3)], &[Insert(2)]], 4),
                Claims::of(&[&[update], &[Insert(2)], &[Delete(0)]], 3),
            ];
            all.extend(of.into_iter().flat_map(|it| it.same(same).every_near(0)));
        }
    }
    let [first, second] =
        [(0, 1), (2, 3)].map(|(old, new)| Update { old, new, change: Change::Text });
    all.extend(Claims::of(&[&[first], &[second]], 4).every_near(0));
    all
}

/// Rows are judged by two triggers.
fn triggers() -> Vec<Claims> {
    let sizes: [&[u8]; 3] = [&[1, 1], &[1, 2], &[1, 1, 1]];
    let both = |sizes: &&[u8]| {
        let mut claims = Claims::inserts(sizes);
        claims.triggers = 2;
        claims.every_near(0).into_iter().flat_map(|claims| claims.every_near(1)).collect::<Vec<_>>()
    };
    sizes.iter().flat_map(both).collect()
}

fn links() -> Vec<Claims> {
    use Op::{Delete, Insert, Update};
    let update = Update { old: 0, new: 1, change: Change::Other };
    let of = [
        Claims::inserts(&[1, 1]),
        Claims::inserts(&[1, 2]),
        Claims::inserts(&[1, 1, 1]),
        Claims::inserts(&[1, 1, 2]),
        Claims::of(&[&[Insert(1)], &[Insert(2)]], 3),
        Claims::of(&[&[Insert(1)], &[Insert(2)], &[Delete(0)]], 3),
        Claims::of(&[&[update], &[Insert(2)]], 3).same(&[(0, 1)]),
        Claims::of(&[&[update], &[Insert(2)], &[Insert(3)]], 4).same(&[(0, 1)]),
        Claims::inserts(&[1, 2]).same(&[(0, 1)]).on_conflict(2),
    ];
    let linking = |mut claims: Claims| {
        claims.links = true;
        claims.every_near(0)
    };
    of.into_iter().flat_map(linking).collect()
}
