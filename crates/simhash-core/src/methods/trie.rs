//! An exact set of texts: a PATRICIA trie over their bytes (Morrison 1968; Bernstein's crit-bit
//! trees).
//!
//! A path holds only the bits in which texts differ, so an inner node takes 16 bytes, however long
//! the texts are. Every distinct text is kept once. A text is read as symbols of nine bits: its
//! bytes plus 1, followed by endless zeros. So no text is a prefix of another.

/// A set of texts numbered from 0 in the order in which they were added.
#[derive(Default)]
pub struct Trie {
    nodes: Vec<Node>,
    root: Link,
    texts: Vec<u8>,
    /// Where text i ends in `texts`. It starts where the one before ends.
    ends: Vec<usize>,
}

/// The texts below a node agree on all bits before `mask` of symbol `position`, and differ there.
struct Node {
    position: u32,
    mask: u16,
    children: [Link; 2],
}

/// The number of a node or, with the bit [`LEAF`], of a text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Link(u32);

const LEAF: u32 = 1 << 31;

enum Target {
    Node(usize),
    Text(usize),
}

impl Link {
    fn target(self) -> Target {
        if self.0 & LEAF == 0 {
            Target::Node(self.0 as usize)
        } else {
            Target::Text((self.0 ^ LEAF) as usize)
        }
    }
}

impl Node {
    #[inline]
    fn side(&self, text: &[u8]) -> usize {
        usize::from(symbol(text, self.position) & self.mask != 0)
    }
}

#[inline]
fn symbol(text: &[u8], position: u32) -> u16 {
    text.get(position as usize).map_or(0, |&byte| u16::from(byte) + 1)
}

impl Trie {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.texts.capacity()
            + self.ends.capacity() * size_of::<usize>()
    }

    /// Adds `text` and returns its number.
    ///
    /// ```
    /// use simhash_core::methods::trie::Trie;
    /// let mut trie = Trie::new();
    /// assert_eq!(trie.insert(b"abc"), Ok(0));
    /// assert_eq!(trie.insert(b"ab"), Ok(1));
    /// assert_eq!(trie.insert(b"abc"), Err(0));
    /// ```
    ///
    /// # Errors
    /// The number of the equal text, if there is one.
    ///
    /// # Panics
    /// When there are 2^31 - 1 texts, or at a text of 4 GiB.
    pub fn insert(&mut self, text: &[u8]) -> Result<usize, usize> {
        assert!(
            self.len() < LEAF as usize - 1 && u32::try_from(text.len()).is_ok(),
            "the trie is full"
        );
        if self.is_empty() {
            self.root = self.add_text(text);
            return Ok(0);
        }
        let nearest = self.descend(text);
        let there = self.text(nearest);
        let Some(position) = first_difference(there, text) else {
            return Err(nearest);
        };
        let differing = symbol(there, position) ^ symbol(text, position);
        let mask = 1 << differing.ilog2();
        let side = usize::from(symbol(text, position) & mask != 0);
        let new = self.add_text(text);
        self.split(text, Node { position, mask, children: [new; 2] }, side);
        Ok(self.len() - 1)
    }

    /// The text that the bits of `text` lead to: the equal one, if there is one.
    fn descend(&self, text: &[u8]) -> usize {
        let mut link = self.root;
        loop {
            match link.target() {
                Target::Text(number) => return number,
                Target::Node(node) => link = self.nodes[node].children[self.nodes[node].side(text)],
            }
        }
    }

    /// Inserts `node` where the path of `text` first reaches a later bit. The link there becomes
    /// its other child.
    fn split(&mut self, text: &[u8], mut node: Node, side: usize) {
        let mut parent: Option<(usize, usize)> = None;
        let mut link = self.root;
        while let Target::Node(at) = link.target() {
            let there = &self.nodes[at];
            // Bits are tested from the highest of a symbol down.
            if (there.position, u16::MAX - there.mask) > (node.position, u16::MAX - node.mask) {
                break;
            }
            parent = Some((at, there.side(text)));
            link = there.children[there.side(text)];
        }
        node.children[1 - side] = link;
        let new = Link(self.nodes.len() as u32);
        self.nodes.push(node);
        match parent {
            None => self.root = new,
            Some((at, side)) => self.nodes[at].children[side] = new,
        }
    }

    fn add_text(&mut self, text: &[u8]) -> Link {
        self.texts.extend_from_slice(text);
        self.ends.push(self.texts.len());
        Link((self.ends.len() - 1) as u32 | LEAF)
    }

    fn text(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[number]]
    }
}

/// The first symbol in which the two texts differ. `None` when they are equal.
fn first_difference(a: &[u8], b: &[u8]) -> Option<u32> {
    match a.iter().zip(b).position(|(x, y)| x != y) {
        Some(position) => Some(position as u32),
        None => (a.len() != b.len()).then(|| a.len().min(b.len()) as u32),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0u8, 1, 127, 128, 255]), 0..6)
    }

    proptest! {
        #[test]
        fn is_a_set(texts in prop::collection::vec(text(), 0..300)) {
            let mut trie = Trie::new();
            let mut map: HashMap<&[u8], usize> = HashMap::new();
            for text in &texts {
                let next = map.len();
                let expected = match map.get(text.as_slice()) {
                    Some(&number) => Err(number),
                    None => { map.insert(text, next); Ok(next) }
                };
                prop_assert_eq!(trie.insert(text), expected);
            }
            prop_assert_eq!(trie.len(), map.len());
        }
    }
}
