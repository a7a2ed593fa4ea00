//! Sketches of texts, with a cache per session of those that were needed last. Where many texts are
//! alike, successive rows are compared with the same texts. A text that a trigger has compared is
//! next inserted into an index.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use simhash_core::base::hash::feature_hash;
use simhash_core::config::Config;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::sketch::{Layout, Sketch, Sketcher};

use super::simhasher_for;
use crate::call::interrupts;
use crate::catalog::Schema;

/// Makes sketches by one config.
pub struct Sketches {
    sketcher: Sketcher,
    made_by: Rc<MadeBy>,
    /// The session's cache. If the config names a model or a word list, which may be replaced, it
    /// is a cache of this value alone.
    kept: Rc<RefCell<Kept>>,
}

/// The inputs of a sketch beside the text.
#[derive(PartialEq, Eq)]
struct MadeBy {
    schema: Schema,
    recipe: Config,
}

/// The cache, in two generations. When the young one is full, it replaces the old one.
#[derive(Default)]
struct Kept {
    young: HashMap<u64, Known>,
    old: HashMap<u64, Known>,
    /// The size of the young generation.
    bytes: usize,
}

struct Known {
    made_by: Rc<MadeBy>,
    text: Box<str>,
    /// `None` if the text has no token.
    sketch: Option<Rc<Sketch>>,
}

/// The size in bytes at which the young generation is full.
const GENERATION: usize = 8 << 20;

/// The maximal size of a cached text together with its sketch.
const LARGEST: usize = GENERATION / 32;

thread_local! {
    static KEPT: Rc<RefCell<Kept>> = Rc::default();
}

impl Sketches {
    /// Named models and lists are looked up in the extension's schema.
    pub fn new(config: &Config, schema: Schema) -> Self {
        let recipe = near_recipe(config);
        let lasts = !recipe.names_something();
        let kept = if lasts { KEPT.with(Rc::clone) } else { Rc::default() };
        let sketcher = Sketcher::new(simhasher_for(recipe.clone(), schema));
        Sketches { sketcher, made_by: Rc::new(MadeBy { schema, recipe }), kept }
    }

    /// The text's sketch. `None` if it has no token.
    pub fn of(&mut self, text: &str) -> Option<Rc<Sketch>> {
        let place = self.place(text);
        if let Some(known) = self.kept.borrow_mut().get(place, &self.made_by, text) {
            return known;
        }
        let sketch = self.sketcher.sketch(text, &mut interrupts()).map(Rc::new);
        let bytes = text.len() + sketch.as_ref().map_or(0, |sketch| sketch.memory());
        if bytes <= LARGEST {
            let (made_by, sketch) = (self.made_by.clone(), sketch.clone());
            self.kept.borrow_mut().put(place, Known { made_by, text: text.into(), sketch }, bytes);
        }
        sketch
    }

    /// Writes the keys of the text's sketch to `keys`; none if the text has no token.
    pub fn keys(&mut self, text: &str, layout: Layout, keys: &mut Vec<u64>) {
        let known = self.kept.borrow_mut().get(self.place(text), &self.made_by, text);
        match known {
            Some(sketch) => {
                keys.clear();
                keys.extend(sketch.iter().flat_map(|sketch| sketch.keys(layout)));
            }
            None => _ = self.sketcher.keys(text, layout, &mut interrupts(), keys),
        }
    }

    fn place(&self, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.made_by.recipe.hash(&mut hasher);
        feature_hash::<u64>(text.as_bytes()) ^ hasher.finish()
    }
}

impl Kept {
    fn get(&mut self, place: u64, made_by: &MadeBy, text: &str) -> Option<Option<Rc<Sketch>>> {
        let is_it = |known: &&Known| *known.text == *text && *known.made_by == *made_by;
        if let Some(known) = self.young.get(&place) {
            return Some(known).filter(is_it).map(|known| known.sketch.clone());
        }
        let known = self.old.remove(&place)?;
        let sketch = Some(&known).filter(is_it).map(|known| known.sketch.clone());
        let bytes = known.bytes();
        self.put(place, known, bytes);
        sketch
    }

    fn put(&mut self, place: u64, known: Known, bytes: usize) {
        match self.young.entry(place) {
            Entry::Occupied(mut other) => {
                self.bytes -= other.get().bytes();
                other.insert(known);
            }
            Entry::Vacant(free) => _ = free.insert(known),
        }
        self.bytes += bytes;
        if self.bytes >= GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
    }
}

impl Known {
    fn bytes(&self) -> usize {
        self.text.len() + self.sketch.as_ref().map_or(0, |sketch| sketch.memory())
    }
}
