//! Numbers rows, and holds their visible versions and the clusters that their pairs form.

use crate::base::memory::{NoMemory, reserve};
use crate::base::sort::sort_checked;

/// Rows by address, any number that identifies a row. Each has the address of its visible version,
/// if there is one, and its cluster.
///
/// Clusters are a union-find forest (Tarjan, JACM 1975). The root of a cluster is the row with the
/// least visible address. Paths are halved.
#[derive(Default)]
pub struct Members {
    /// Open addressing: the number of a row plus one, or 0.
    slots: Vec<u32>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    address: u64,
    /// The visible version, or `GONE`.
    visible: u64,
    parent: u32,
}

/// Clusters as [`Members::into_clusters`] gives them.
pub type Clusters = std::vec::IntoIter<(u64, u64, u32)>;

/// Stands for no visible version.
const GONE: u64 = u64::MAX;

impl Members {
    /// The number of a row, if it is known.
    #[inline]
    pub fn find(&self, address: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.place(address);
        loop {
            let number = self.slots[at].checked_sub(1)?;
            if self.rows[number as usize].address == address {
                return Some(number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The number of a row. A new row gets the next number, and has no visible version at first.
    /// `check` is called while the slots grow, and may unwind.
    ///
    /// # Panics
    /// At 2^32 - 4 rows.
    ///
    /// # Errors
    /// When memory is refused. Then the members must not be used any more.
    #[inline]
    pub fn remember(&mut self, address: u64, check: &mut dyn FnMut()) -> Result<u32, NoMemory> {
        if (self.rows.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow(check)?;
        }
        let mut at = self.place(address);
        while let Some(number) = self.slots[at].checked_sub(1) {
            if self.rows[number as usize].address == address {
                return Ok(number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        let number = u32::try_from(self.rows.len()).ok().filter(|&number| number < u32::MAX - 3);
        let number = number.expect("fewer than 2^32 rows");
        if self.rows.len() == self.rows.capacity() {
            let more = self.rows.len().max(64);
            reserve(&mut self.rows, more)?;
        }
        self.rows.push(Row { address, visible: GONE, parent: number });
        self.slots[at] = number + 1;
        Ok(number)
    }

    /// The address that a row was remembered by.
    #[inline]
    pub fn address(&self, number: u32) -> u64 {
        self.rows[number as usize].address
    }

    /// Sets the address of a row's visible version, if it has one.
    #[inline]
    pub fn set_visible(&mut self, number: u32, visible: Option<u64>) {
        self.rows[number as usize].visible = visible.unwrap_or(GONE);
    }

    fn place(&self, address: u64) -> usize {
        // The high bits of the product are the best mixed.
        let shift = u64::BITS - self.slots.len().trailing_zeros();
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    fn grow(&mut self, check: &mut dyn FnMut()) -> Result<(), NoMemory> {
        const STRETCH: usize = 1 << 16;
        let slots = (self.slots.len() * 2).max(1024);
        self.slots = Vec::new();
        reserve(&mut self.slots, slots)?;
        while self.slots.len() < slots {
            check();
            self.slots.resize(slots.min(self.slots.len() + STRETCH), 0);
        }
        for number in 0..self.rows.len() {
            if number.is_multiple_of(STRETCH) {
                check();
            }
            let mut at = self.place(self.rows[number].address);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = number as u32 + 1;
        }
        Ok(())
    }

    /// The visible version of a row.
    #[inline]
    pub fn visible(&self, number: u32) -> Option<u64> {
        Some(self.rows[number as usize].visible).filter(|&visible| visible != GONE)
    }

    /// Puts two visible rows into one cluster.
    #[inline]
    pub fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let a_first = self.rows[a as usize].visible < self.rows[b as usize].visible;
            let (first, second) = if a_first { (a, b) } else { (b, a) };
            self.rows[second as usize].parent = first;
        }
    }

    /// Whether two rows are in one cluster.
    #[inline]
    pub fn are_united(&mut self, a: u32, b: u32) -> bool {
        self.root(a) == self.root(b)
    }

    #[inline]
    fn root(&mut self, mut number: u32) -> u32 {
        loop {
            let parent = self.rows[number as usize].parent;
            if parent == number {
                return number;
            }
            let above = self.rows[parent as usize].parent;
            self.rows[number as usize].parent = above;
            number = above;
        }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<u32>() + self.rows.capacity() * size_of::<Row>()
    }

    /// The peak bytes of memory while `more` rows are added, copies made by growth included.
    pub fn memory_with(&self, more: usize) -> usize {
        let count = self.rows.len() + more;
        let (mut rows, mut old, mut slots) = (self.rows.capacity(), 0, self.slots.len());
        while rows < count {
            (rows, old) = ((rows * 2).max(64), rows);
        }
        while count * 4 > slots * 3 {
            slots = (slots * 2).max(1024);
        }
        (rows + old) * size_of::<Row>() + slots * size_of::<u32>()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is known.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Passes an edge to `sink` for every row of a cluster but its root: the visible versions of
    /// the row and of the root. `check` is called now and then and may unwind.
    pub fn for_each_edge(&mut self, check: &mut dyn FnMut(), mut sink: impl FnMut((u64, u64))) {
        for number in 0..self.rows.len() as u32 {
            if number.is_multiple_of(1 << 16) {
                check();
            }
            let root = self.root(number);
            if root != number {
                let visible = |number: u32| self.rows[number as usize].visible;
                sink((visible(number), visible(root)));
            }
        }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The clusters of two rows or more, as (representative, member, size) in ascending order. Rows
    /// are given by their visible addresses, and the representative is the least of its cluster.
    /// `check` is called now and then and may unwind.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn into_clusters(mut self, check: &mut dyn FnMut()) -> Result<Clusters, NoMemory> {
        self.slots = Vec::new();
        let mut sizes: Vec<u32> = Vec::new();
        reserve(&mut sizes, self.rows.len())?;
        sizes.resize(self.rows.len(), 0);
        for number in 0..self.rows.len() as u32 {
            let root = self.root(number);
            sizes[root as usize] += 1;
            if number.is_multiple_of(1 << 16) {
                check();
            }
        }
        let mut members: Vec<(u64, u64, u32)> = Vec::new();
        reserve(
            &mut members,
            sizes.iter().filter(|&&size| size > 1).map(|&size| size as usize).sum(),
        )?;
        for number in 0..self.rows.len() as u32 {
            if number.is_multiple_of(1 << 16) {
                check();
            }
            let root = self.root(number) as usize;
            if sizes[root] > 1 {
                members.push((
                    self.rows[root].visible,
                    self.rows[number as usize].visible,
                    sizes[root],
                ));
            }
        }
        drop(self);
        sort_checked(&mut members, check);
        Ok(members.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    #[test]
    fn memory_is_never_more_than_was_said() {
        let mut members = Members::default();
        for row in 0..5000u64 {
            let (said, far) = (members.memory_with(1), members.memory_with(777));
            let before = members.rows.capacity();
            members.remember(row * 7, &mut || ()).unwrap();
            let grew = members.rows.capacity() != before;
            let moment = if grew { before * size_of::<Row>() } else { 0 };
            assert_eq!(said, members.memory() + moment, "{row} rows");
            assert!(far >= said);
        }
    }

    #[test]
    fn edges_connect_what_was_united() {
        let mut members = Members::default();
        for row in 0..9u64 {
            let number = members.remember(row, &mut || ()).unwrap();
            members.set_visible(number, (row < 8).then_some(100 - row));
        }
        for (a, b) in [(0, 3), (3, 5), (6, 7)] {
            members.unite(a, b);
        }
        let mut edges = Vec::new();
        members.for_each_edge(&mut || (), |edge| edges.push(edge));
        edges.sort_unstable();
        assert_eq!(edges, [(94, 93), (97, 95), (100, 95)]);
    }

    #[test]
    fn clusters_are_the_connected_components_and_the_least_row_stands_for_each() {
        let mut members = Members::default();
        let mut random = SplitMix64::new(3);
        let count = 3000;
        // Addresses far apart and not in order; every tenth row has no visible version.
        let address = |i: u64| i.wrapping_mul(0x5851_f42d) & 0xffff_ffff_ffff;
        let numbers: Vec<u32> =
            (0..count).map(|i| members.remember(address(i), &mut || ()).unwrap()).collect();
        for i in 0..count {
            assert_eq!(members.find(address(i)), Some(numbers[i as usize]));
            assert_eq!(members.remember(address(i), &mut || ()), Ok(numbers[i as usize]));
            members.set_visible(numbers[i as usize], (i % 10 != 0).then(|| address(i) + 1));
        }
        assert_eq!(members.find(12345), None);
        let mut label: Vec<u64> = (0..count).collect();
        for _ in 0..1200 {
            let (a, b) = (random.below(count), random.below(count));
            if a % 10 == 0 || b % 10 == 0 {
                continue;
            }
            members.unite(numbers[a as usize], numbers[b as usize]);
            let (from, to) = (label[a as usize], label[b as usize]);
            label.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
        }
        let mut expected = Vec::new();
        for i in 0..count as usize {
            let cluster: Vec<u64> = (0..count)
                .filter(|&j| label[j as usize] == label[i])
                .map(|j| address(j) + 1)
                .collect();
            if cluster.len() > 1 {
                let least = *cluster.iter().min().unwrap();
                expected.push((least, address(i as u64) + 1, cluster.len() as u32));
            }
        }
        expected.sort_unstable();
        assert!(expected.len() > 1000);
        assert_eq!(members.into_clusters(&mut || ()).unwrap().collect::<Vec<_>>(), expected);
    }
}
