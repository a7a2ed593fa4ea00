//! Compares two texts, call after call. The set or sketch of a text is kept for the next call with
//! the same text at the same place, such as a constant or the outer row of a join.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use simhash_core::config::Config;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Sketch, near};
use simhash_core::sketches::simhash::Simhasher;

use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::models::{simhasher_for, sketches};
use crate::types::ConfigText;

/// For each of two places, the latest text and the value made of it.
struct Places<T>([Option<(String, T)>; 2]);

impl<T> Places<T> {
    const NONE: Self = Places([None, None]);

    /// The value of each text: that of the previous call, or a new one by `make`.
    fn of(&mut self, [a, b]: [&str; 2], mut make: impl FnMut(&str) -> T) -> [&T; 2] {
        let [first, second] = &mut self.0;
        [(first, a), (second, b)].map(|(place, text)| {
            let kept = place.take().filter(|(kept, _)| kept == text);
            &place.insert(kept.unwrap_or_else(|| (text.to_owned(), make(text)))).1
        })
    }
}

fn shingler(config: &Config, schema: Schema) -> Simhasher {
    simhasher_for(near_recipe(config), schema)
}

/// Compares texts by their sets of shingles.
pub struct Sets {
    shingler: Simhasher,
    sets: Places<ShingleSet>,
}

impl Sets {
    /// The instance that the call site keeps for `config`.
    pub fn of_site<'a>(call: &'a mut Call<'_>, config: &ConfigText<'_>) -> &'a mut Self {
        call.keep(
            |made_for: &String| made_for == config.as_str(),
            |call| {
                let shingler = shingler(&config.config(), Schema::of_call(call));
                (config.as_str().to_owned(), Sets { shingler, sets: Places::NONE })
            },
        )
    }

    /// Jaccard's coefficient; 0 if one of the texts has no token.
    pub fn similarity(&mut self, texts: [&str; 2]) -> f64 {
        let make = |text: &str| ShingleSet::new(&mut self.shingler, text, &mut interrupts());
        let [a, b] = self.sets.of(texts, make);
        a.jaccard(b).unwrap_or(0.0)
    }
}

/// Compares texts by their sketches.
pub struct Sketches {
    all: sketches::Sketches,
    latest: Places<Option<Rc<Sketch>>>,
    /// What the sketches depend on. `None` if the config names a model or a list of words, which
    /// may change.
    made_by: Option<Rc<(Schema, Config)>>,
}

/// The answer of the session's latest call, at any place. A row that an index on near_text proposes
/// is compared twice in succession: by the index's clause, and by the call beside it.
struct Answer {
    made_by: Rc<(Schema, Config)>,
    texts: [String; 2],
    similarity: f64,
    is_near: bool,
}

/// The length in bytes up to which texts are kept in an [`Answer`].
const LONGEST_KEPT: usize = 64 << 10;

impl Sketches {
    fn new(config: &Config, schema: Schema) -> Self {
        let recipe = near_recipe(config);
        let made_by = (!recipe.names_something()).then(|| Rc::new((schema, recipe)));
        let all = sketches::Sketches::new(config, schema);
        Sketches { all, latest: Places::NONE, made_by }
    }

    /// The instance that the call site keeps for `config`.
    pub fn of_site<'a>(call: &'a mut Call<'_>, config: &ConfigText<'_>) -> &'a mut Self {
        call.keep(
            |made_for: &String| made_for == config.as_str(),
            |call| {
                let made = Sketches::new(&config.config(), Schema::of_call(call));
                (config.as_str().to_owned(), made)
            },
        )
    }

    /// Whether two texts are near. A text without a token is near to none.
    pub fn near(&mut self, texts: [&str; 2], similarity: f64) -> bool {
        let Some(made_by) = self.made_by.as_ref().filter(|_| is_short(texts)) else {
            return self.compare(texts, similarity);
        };
        let [a, b] = texts;
        let known = ANSWER.with_borrow(|answer| {
            let answer = answer.as_ref()?;
            let [first, second] = &answer.texts;
            let is_same = (first == a && second == b) || (first == b && second == a);
            (is_same && answer.similarity == similarity && answer.made_by == *made_by)
                .then_some(answer.is_near)
        });
        if let Some(is_near) = known {
            return is_near;
        }
        let made_by = made_by.clone();
        let is_near = self.compare(texts, similarity);
        let texts = texts.map(str::to_owned);
        ANSWER.set(Some(Answer { made_by, texts, similarity, is_near }));
        is_near
    }

    fn compare(&mut self, texts: [&str; 2], similarity: f64) -> bool {
        match self.latest.of(texts, |text| self.all.of(text)) {
            [Some(a), Some(b)] => near(a, b, similarity),
            _ => false,
        }
    }

    /// Drops texts and sketches that are too large to be kept until the session ends.
    fn forget_large(&mut self) {
        const KEPT: usize = 8 << 20;
        for place in &mut self.latest.0 {
            let small = |(text, sketch): &(String, Option<Rc<Sketch>>)| {
                text.len() + sketch.as_ref().map_or(0, |sketch| sketch.memory()) <= KEPT
            };
            *place = place.take().filter(small);
        }
    }
}

fn is_short(texts: [&str; 2]) -> bool {
    texts.iter().all(|text| text.len() <= LONGEST_KEPT)
}

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
    /// The sketches last used without a call site, with their schema and config. The config names
    /// no model and no list of words.
    static LAST: Cell<Option<(Schema, String, Sketches)>> = const { Cell::new(None) };
}

/// [`Sketches::near`] by a config in its canonical form. Without a lasting call site, the session
/// keeps the sketches that it used last: an exclusion constraint has none, and compares a new row
/// with each candidate.
pub fn near_at_site(
    mut call: Call<'_>,
    config: &str,
    parse: impl Fn() -> Config,
    texts: [&str; 2],
    similarity: f64,
) -> bool {
    let serves = |made_for: &String| made_for == config;
    let make =
        |call: &Call<'_>| (config.to_owned(), Sketches::new(&parse(), Schema::of_call(call)));
    if let Some(sketches) = call.keep_later(serves, make) {
        return sketches.near(texts, similarity);
    }
    let schema = Schema::of_call(&call);
    let last = LAST.take().filter(|(of, for_config, _)| *of == schema && for_config == config);
    let (keeps, mut sketches) = match last {
        Some((.., sketches)) => (true, sketches),
        None => {
            let config = parse();
            (!config.names_something(), Sketches::new(&config, schema))
        }
    };
    let near = sketches.near(texts, similarity);
    if keeps {
        sketches.forget_large();
        LAST.set(Some((schema, config.to_owned(), sketches)));
    }
    near
}
