//! Functions of two texts, or of two sequences of texts row by row.

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rayon::prelude::*;
use simhash_core::Simhasher;
use simhash_core::passages::{Passage, Prepared, WORDS, share, shared, shares};
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Law, Sketcher, near as are_near};

use crate::laws::no_law;
use crate::made::arrow;
use crate::recipe::{Purpose, Recipe, value_error};
use crate::texts::{Texts, bytes};
use crate::work::{FEW, Work, run, run_long};

/// The results of all rows: one result, a list, or an Arrow array if one of the arguments is one.
enum Rows<T> {
    One(Option<T>),
    Many(Vec<Option<T>>),
    Arrow(Vec<Option<T>>),
}

/// What a thread has made of an argument that is one text: made once, not for each row.
struct Once<T> {
    is_one: [bool; 2],
    made: [Option<Rc<T>>; 2],
}

impl<T> Once<T> {
    fn new(a: &Texts, b: &Texts) -> Self {
        Self { is_one: [a.is_one(), b.is_one()], made: [None, None] }
    }

    /// The result of `make` for a row's text on a side.
    fn of(&mut self, side: usize, make: impl FnOnce() -> T) -> Rc<T> {
        if !self.is_one[side] {
            return Rc::new(make());
        }
        self.made[side].get_or_insert_with(|| Rc::new(make())).clone()
    }
}

/// The results of `make` for the texts of each row. An argument that is one text belongs to every
/// row.
fn rows<M, T: Send>(
    py: Python<'_>,
    [a, b]: [&Texts; 2],
    maker: impl Fn() -> M + Sync,
    make: impl Fn(&mut M, [&str; 2], &mut dyn FnMut()) -> T + Sync,
) -> PyResult<Rows<T>> {
    let [of_a, of_b] = [a.all(), b.all()];
    let length = match (a.is_one(), b.is_one()) {
        (false, false) if of_a.len() != of_b.len() => {
            return Err(PyValueError::new_err(format!(
                "{} texts beside {}: they are compared row by row",
                of_a.len(),
                of_b.len()
            )));
        }
        (true, _) => of_b.len(),
        _ => of_a.len(),
    };
    let work_of = |texts: &[Option<&str>], is_one| bytes(texts) * if is_one { length } else { 1 };
    let bytes = work_of(&of_a, a.is_one()).saturating_add(work_of(&of_b, b.is_one()));
    let [a_is_one, b_is_one] = [a.is_one(), b.is_one()];
    let of = |maker: &mut M, row: usize, work: &Work| {
        work.check();
        let (a, b) = (of_a[if a_is_one { 0 } else { row }], of_b[if b_is_one { 0 } else { row }]);
        a.zip(b).map(|(a, b)| make(maker, [a, b], &mut || work.check()))
    };
    let made: Vec<Option<T>> = run(py, bytes, |work| {
        if bytes <= FEW {
            let mut maker = maker();
            return (0..length).map(|row| of(&mut maker, row, work)).collect();
        }
        let rows = (0..length).into_par_iter().with_min_len(16);
        rows.map_init(&maker, |maker, row| of(maker, row, work)).collect()
    })?;
    Ok(match (a.is_one() && b.is_one(), a.is_arrow() || b.is_arrow()) {
        (true, _) => Rows::One(made.into_iter().next().flatten()),
        (_, true) => Rows::Arrow(made),
        _ => Rows::Many(made),
    })
}

fn booleans<'py>(py: Python<'py>, rows: Rows<bool>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match rows {
        Rows::One(value) => value.into_pyobject(py)?,
        Rows::Many(values) => PyList::new(py, values)?.into_any(),
        Rows::Arrow(values) => {
            let mut array = BooleanBuilder::with_capacity(values.len());
            values.into_iter().for_each(|value| array.append_option(value));
            arrow(py, Arc::new(array.finish()))?
        }
    })
}

fn numbers<'py>(py: Python<'py>, rows: Rows<f64>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match rows {
        Rows::One(value) => value.into_pyobject(py)?,
        Rows::Many(values) => PyList::new(py, values)?.into_any(),
        Rows::Arrow(values) => {
            let mut array = Float64Builder::with_capacity(values.len());
            values.into_iter().for_each(|value| array.append_option(value));
            arrow(py, Arc::new(array.finish()))?
        }
    })
}

/// Whether texts are near-duplicates.
#[pyfunction]
pub fn near<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    similarity: f64,
    a: Texts,
    b: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    Law::of(similarity).ok_or_else(|| no_law(similarity))?;
    let maker = || (Sketcher::new(recipe.simhasher(Purpose::Near)), Once::new(&a, &b));
    let rows = rows(py, [&a, &b], maker, |(sketcher, once), [a, b], check| {
        let a = once.of(0, || sketcher.sketch(a, check));
        let b = once.of(1, || sketcher.sketch(b, check));
        a.as_ref()
            .as_ref()
            .zip(b.as_ref().as_ref())
            .is_some_and(|(a, b)| are_near(a, b, similarity))
    })?;
    booleans(py, rows)
}

/// Jaccard's coefficient of the texts' sets of shingles.
#[pyfunction]
pub fn similarity<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    a: Texts,
    b: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let maker = || (recipe.simhasher(Purpose::Near), Once::new(&a, &b));
    let rows = rows(py, [&a, &b], maker, |(simhasher, once), [a, b], check| {
        let a = once.of(0, || ShingleSet::new(simhasher, a, check));
        let b = once.of(1, || ShingleSet::new(simhasher, b, check));
        a.jaccard(&b).unwrap_or(0.0)
    })?;
    numbers(py, rows)
}

fn checked_words(words: i64) -> PyResult<usize> {
    usize::try_from(words).ok().filter(|words| WORDS.contains(words)).ok_or_else(|| {
        value_error(
            format!("number of words {words} is out of range for a passage"),
            &format!(
                "Allowed: {} to {}. Most texts share shorter passages by chance.",
                WORDS.start(),
                WORDS.end()
            ),
        )
    })
}

/// What cuts texts, and the argument that is one text.
type Cutter = (Simhasher, Option<Prepared>);

/// Whether texts have a passage in common.
#[pyfunction]
pub fn shares_passage<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    words: i64,
    a: Texts,
    b: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let words = checked_words(words)?;
    let maker = || (recipe.simhasher(Purpose::Passages), None);
    let [a_is_one, b_is_one] = [a.is_one(), b.is_one()];
    let made = rows(py, [&a, &b], maker, |(simhasher, kept): &mut Cutter, [a, b], check| {
        // If one argument is one text, that is cut once. The answer does not depend on the side.
        let (one, other) = match (a_is_one, b_is_one) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return shares(simhasher, [a, b], words, check),
        };
        let one = kept.get_or_insert_with(|| Prepared::new(simhasher, one, words, check));
        one.shares(simhasher, other, check)
    })?;
    booleans(py, made)
}

/// The share of a's words that are in passages that b has too.
#[pyfunction]
pub fn passage_share<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    words: i64,
    a: Texts,
    b: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let words = checked_words(words)?;
    let maker = || recipe.simhasher(Purpose::Passages);
    let made = rows(py, [&a, &b], maker, |simhasher: &mut Simhasher, texts, check| {
        share(simhasher, texts, words, check)
    })?;
    numbers(py, made)
}

/// (a_start, a_length, b_start, b_length, words) of a passage, starts counted from 0.
type Place = (u32, u32, u32, u32, u32);

/// The passages that two texts have in common.
#[pyfunction]
pub fn shared_passages(
    py: Python<'_>,
    recipe: &Recipe,
    words: i64,
    a: &str,
    b: &str,
) -> PyResult<Vec<Place>> {
    let words = checked_words(words)?;
    // There may be as many passages as the product of the texts' lengths.
    run_long(py, None, |work| {
        let check = &mut || work.check();
        let mut passages = shared(&mut recipe.simhasher(Purpose::Passages), [a, b], words, check);
        let mut all = Vec::new();
        while let Some(Passage { a, b, words }) = passages.next(check) {
            all.push((a.start - 1, a.length, b.start - 1, b.length, words));
        }
        all
    })
}
