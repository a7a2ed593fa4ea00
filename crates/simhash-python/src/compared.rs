//! What is made of two texts, or of two sequences of texts, row by row.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rayon::prelude::*;
use simhash_core::Simhasher;
use simhash_core::passages::{Passage, WORDS, share, shared, shares};
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Law, Sketcher, near as are_near};

use crate::laws::no_law;
use crate::made::arrow;
use crate::recipe::{Purpose, Recipe, value_error};
use crate::texts::{Texts, bytes};
use crate::work::{FEW, Work, run};

/// What is made of each row: one or a list of many, or an Arrow array if one of the texts is.
enum Rows<T> {
    One(Option<T>),
    Many(Vec<Option<T>>),
    Arrow(Vec<Option<T>>),
}

/// What `make` makes of the texts of each row. One text stands beside each of many.
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
    let bytes = bytes(&of_a) + bytes(&of_b);
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
    let maker = || Sketcher::new(recipe.simhasher(Purpose::Near));
    let rows = rows(py, [&a, &b], maker, |sketcher, [a, b], check| {
        let a = sketcher.sketch(a, check);
        let b = a.is_some().then(|| sketcher.sketch(b, check)).flatten();
        a.zip(b).is_some_and(|(a, b)| are_near(&a, &b, similarity))
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
    let maker = || recipe.simhasher(Purpose::Near);
    let rows = rows(py, [&a, &b], maker, |simhasher, texts, check| {
        let [a, b] = texts.map(|text| ShingleSet::new(simhasher, text, check));
        a.jaccard(&b).unwrap_or(0.0)
    })?;
    numbers(py, rows)
}

fn checked_words(words: i64) -> PyResult<usize> {
    usize::try_from(words).ok().filter(|words| WORDS.contains(words)).ok_or_else(|| {
        value_error(
            format!("a passage of {words} words"),
            &format!(
                "Allowed: {} to {}. Fewer words in a row are found in most texts by chance.",
                WORDS.start(),
                WORDS.end()
            ),
        )
    })
}

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
    let maker = || recipe.simhasher(Purpose::Passages);
    let made = rows(py, [&a, &b], maker, |simhasher: &mut Simhasher, texts, check| {
        shares(simhasher, texts, words, check)
    })?;
    booleans(py, made)
}

/// The share of a's words that lie in passages that b has.
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
    run(py, a.len() + b.len(), |work| {
        let check = &mut || work.check();
        let mut passages = shared(&mut recipe.simhasher(Purpose::Passages), [a, b], words, check);
        let mut all = Vec::new();
        while let Some(Passage { a, b, words }) = passages.next(check) {
            all.push((a.start - 1, a.length, b.start - 1, b.length, words));
        }
        all
    })
}
