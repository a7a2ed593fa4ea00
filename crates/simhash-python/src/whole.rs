//! Searches over many texts at once: which to drop, all pairs, clusters.

use std::path::PathBuf;

use pyo3::exceptions::{PyIndexError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use simhash_core::sets::sketch::Layout;
use simhash_core::whole::sharing;
use simhash_core::whole::sharing::{Full, chain, cover, star};

use crate::laws::no_law;
use crate::recipe::Recipe;
use crate::rows::TextRows;
use crate::texts::Texts;
use crate::work::{Work, run_long};

/// The bytes of memory for keys, and as many again for sets of shingles; and the directory for keys
/// that do not fit.
#[derive(FromPyObject)]
pub struct Room(usize, PathBuf);

/// The parameters of a search over whole tables.
struct Asked<'a> {
    recipe: &'a Recipe,
    similarity: f64,
    room: &'a Room,
}

impl Asked<'_> {
    /// The result of `ask` on the rows of texts, in this order.
    fn of<'py, T: Send>(
        &self,
        progress: Option<&Bound<'py, PyAny>>,
        py: Python<'py>,
        texts: &[Option<&str>],
        ask: impl FnOnce(&mut TextRows<'_>, u32, sharing::Law) -> Result<T, Full> + Send,
    ) -> PyResult<T> {
        let layout = Layout::of(self.similarity).ok_or_else(|| no_law(self.similarity))?;
        let law = sharing::Law::new(self.similarity, layout);
        let law = law.ok_or_else(|| no_law(self.similarity))?;
        let places = u32::try_from(texts.len()).ok().filter(|&places| places < u32::MAX - 2);
        let places = places.ok_or_else(|| {
            PyValueError::new_err("more than 2^32 texts at once. Take the extension, or Spark.")
        })?;
        let done = run_long(py, progress, |work: &Work| {
            let Room(memory, directory) = self.room;
            let mut rows = TextRows::new(texts, self.recipe, layout, *memory, directory, work);
            ask(&mut rows, places, law)
        })?;
        done.map_err(|Full| PyMemoryError::new_err("the memory that is allowed is too little"))
    }
}

/// The number of characters of each text.
#[pyfunction]
pub fn lengths(texts: Texts) -> Vec<Option<usize>> {
    texts.all().into_iter().map(|text| text.map(|text| text.chars().count())).collect()
}

/// The texts to drop, as (duplicate, kept, similarity), by their numbers. They are processed in
/// `order`, which contains each number once.
#[pyfunction]
#[pyo3(signature = (recipe, similarity, texts, order, room, progress=None))]
pub fn duplicates<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    similarity: f64,
    texts: Texts,
    order: Option<Vec<u32>>,
    room: Room,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<(u32, u32, f64)>> {
    let all = texts.all();
    let order = checked(order, all.len())?;
    let ordered: Vec<Option<&str>> = match &order {
        Some(order) => order.iter().map(|&number| all[number as usize]).collect(),
        None => all,
    };
    let number = |place: u32| order.as_ref().map_or(place, |order| order[place as usize]);
    let asked = Asked { recipe, similarity, room: &room };
    let cover = asked.of(progress.as_ref(), py, &ordered, |rows, places, law| {
        cover(rows, places, None, law, room.0)
    })?;
    let dropped = (0..ordered.len() as u32).filter_map(|place| {
        cover.kept(place).map(|(kept, similarity)| (number(place), number(kept), similarity))
    });
    Ok(dropped.collect())
}

/// Checks that an order contains each of `length` numbers once.
fn checked(order: Option<Vec<u32>>, length: usize) -> PyResult<Option<Vec<u32>>> {
    let Some(order) = order else { return Ok(None) };
    let mut seen = vec![false; length];
    let names_all = order.len() == length
        && order.iter().all(|&number| {
            seen.get_mut(number as usize).is_some_and(|seen| !std::mem::replace(seen, true))
        });
    if !names_all {
        return Err(PyValueError::new_err("an order names the number of each text once"));
    }
    Ok(Some(order))
}

/// Pairs of texts, by their numbers: (a, b, similarity), a < b, ascending.
#[pyclass(frozen, sequence, module = "pg_simhash")]
pub struct Pairs(Vec<(u32, u32, f64)>);

#[pymethods]
impl Pairs {
    #[new]
    #[pyo3(signature = (recipe, similarity, texts, room, progress=None))]
    fn new<'py>(
        py: Python<'py>,
        recipe: &Recipe,
        similarity: f64,
        texts: Texts,
        room: Room,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let asked = Asked { recipe, similarity, room: &room };
        let pairs = asked.of(progress.as_ref(), py, &texts.all(), |rows, places, law| {
            let mut pairs = sharing::Pairs::new(places, None, law, room.0);
            let (mut all, mut same) = (Vec::new(), Vec::new());
            while pairs.next_batch(rows, &mut same)? {
                for pair in &same {
                    for a in pairs.places(pair.first) {
                        for b in pairs.places(pair.second) {
                            // Within one class, each pair only once.
                            if pair.first != pair.second || a < b {
                                all.push((a.min(b), a.max(b), pair.similarity));
                            }
                        }
                    }
                }
            }
            all.sort_unstable_by_key(|&(a, b, _)| (a, b));
            Ok(all)
        })?;
        Ok(Pairs(pairs))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, number: isize) -> PyResult<(u32, u32, f64)> {
        let number = if number < 0 { number + self.0.len() as isize } else { number };
        let pair = usize::try_from(number).ok().and_then(|number| self.0.get(number));
        pair.copied().ok_or_else(|| PyIndexError::new_err("there are fewer pairs"))
    }
}

/// The clusters of at least two texts, by their numbers: for each a list of (text, similarity to
/// the first one). Texts are connected by chains of pairs, or, in a star, near the first one.
#[pyfunction]
#[pyo3(signature = (recipe, similarity, texts, is_star, room, progress=None))]
pub fn clusters<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    similarity: f64,
    texts: Texts,
    is_star: bool,
    room: Room,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Vec<(u32, f64)>>> {
    let asked = Asked { recipe, similarity, room: &room };
    asked.of(progress.as_ref(), py, &texts.all(), |rows, places, law| {
        let mut clusters = if is_star {
            star(cover(rows, places, None, law, room.0)?, places)
        } else {
            chain(rows, places, law, room.0)?
        };
        let mut all = Vec::new();
        while let Some(cluster) = clusters.next(rows) {
            all.push(cluster.iter().map(|member| (member.place, member.similarity)).collect());
        }
        Ok(all)
    })
}
