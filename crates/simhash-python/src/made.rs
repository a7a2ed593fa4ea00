//! Functions of each text: fingerprints, keys, shingles, tokens, normalised texts, numbers.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int64Builder, LargeListBuilder};
use arrow_array::builder::{LargeStringBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, Field};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pyo3_arrow::PyArray;
use rayon::prelude::*;
use simhash_core::base::bits::B256;
use simhash_core::config::{Method, Weight};
use simhash_core::sets::numbers::list;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::sketches::minhash::Fingerprinter;
use simhash_core::{Fingerprint, Simhasher};

use crate::recipe::{Purpose, Recipe};
use crate::texts::{Texts, bytes};
use crate::work::{Work, run};

/// The result of `make` for each text, in the order of the texts. Each thread has its own maker.
pub fn each<M, T: Send>(
    py: Python<'_>,
    texts: &Texts,
    maker: impl Fn() -> M + Sync,
    make: impl Fn(&mut M, &str, &mut dyn FnMut()) -> T + Sync,
) -> PyResult<Vec<Option<T>>> {
    let all = texts.all();
    let bytes = bytes(&all);
    let of = |maker: &mut M, text: Option<&str>, work: &Work| {
        work.check();
        text.map(|text| make(maker, text, &mut || work.check()))
    };
    run(py, bytes, |work| {
        if bytes <= crate::work::FEW {
            let mut maker = maker();
            return all.iter().map(|text| of(&mut maker, *text, work)).collect();
        }
        let makers = all.par_iter().with_min_len(64);
        makers.map_init(&maker, |maker, text| of(maker, *text, work)).collect()
    })
}

/// A type of fingerprints, and their bytes in network order.
trait Bytes: Fingerprint {
    fn bytes(self, to: &mut Vec<u8>);
}

impl Bytes for u64 {
    fn bytes(self, to: &mut Vec<u8>) {
        to.extend(self.to_be_bytes());
    }
}

impl Bytes for u128 {
    fn bytes(self, to: &mut Vec<u8>) {
        to.extend(self.to_be_bytes());
    }
}

impl Bytes for B256 {
    fn bytes(self, to: &mut Vec<u8>) {
        self.words().iter().for_each(|word| to.extend(word.to_be_bytes()));
    }
}

/// Fingerprints by "simhash" or "minhash". For one text, its bytes or None. For a sequence, the
/// bytes of all, with zeros for missing ones, and a byte for each, which is 1 if the fingerprint is
/// missing. For Arrow, an array.
#[pyfunction]
pub fn fingerprints<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    method: &str,
    bits: u32,
    texts: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let method = Method::from_name(method)
        .ok_or_else(|| PyValueError::new_err(format!("no method is called {method:?}")))?;
    match bits {
        64 => of_width::<u64>(py, recipe, method, texts),
        128 => of_width::<u128>(py, recipe, method, texts),
        256 => of_width::<B256>(py, recipe, method, texts),
        _ => Err(PyValueError::new_err(format!("no fingerprint has {bits} bits"))),
    }
}

fn of_width<'py, F: Bytes>(
    py: Python<'py>,
    recipe: &Recipe,
    method: Method,
    texts: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let purpose = match method {
        Method::Simhash => Purpose::All,
        Method::Minhash => Purpose::Sets,
    };
    let maker = || Fingerprinter::new(method, recipe.simhasher(purpose), F::BITS);
    let made = each(py, &texts, maker, |maker, text, check| maker.fingerprint::<F>(text, check))?;
    let made = made.into_iter().map(Option::flatten);
    if texts.is_arrow() {
        return arrow(py, fingerprint_array(made)?);
    }
    let width = F::BITS as usize / 8;
    let mut all = Vec::with_capacity(made.len() * width);
    let mut missing = Vec::with_capacity(made.len());
    for fingerprint in made {
        missing.push(u8::from(fingerprint.is_none()));
        match fingerprint {
            Some(fingerprint) => fingerprint.bytes(&mut all),
            None => all.resize(all.len() + width, 0),
        }
    }
    if texts.is_one() {
        let bytes = (missing == [0]).then(|| PyBytes::new(py, &all));
        return Ok(bytes.into_pyobject(py)?);
    }
    Ok((PyBytes::new(py, &all), PyBytes::new(py, &missing)).into_pyobject(py)?.into_any())
}

/// An array of unsigned numbers for 64 bits, and of bytes for more.
fn fingerprint_array<F: Bytes>(
    made: impl ExactSizeIterator<Item = Option<F>>,
) -> PyResult<ArrayRef> {
    let mut bytes = Vec::with_capacity(32);
    let mut in_bytes = |fingerprint: F| {
        bytes.clear();
        fingerprint.bytes(&mut bytes);
        bytes.clone()
    };
    if F::BITS == 64 {
        let mut array = UInt64Builder::with_capacity(made.len());
        for fingerprint in made {
            let bytes = fingerprint.map(&mut in_bytes);
            array.append_option(
                bytes.and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes),
            );
        }
        return Ok(Arc::new(array.finish()));
    }
    let width = F::BITS as usize / 8;
    let mut array = FixedSizeBinaryBuilder::with_capacity(made.len(), width as i32);
    for fingerprint in made {
        match fingerprint.map(&mut in_bytes) {
            Some(bytes) => array.append_value(bytes).map_err(arrow_error)?,
            None => array.append_null(),
        }
    }
    Ok(Arc::new(array.finish()))
}

/// An object that every Arrow library accepts, by the PyCapsule interface.
pub fn arrow(py: Python<'_>, array: ArrayRef) -> PyResult<Bound<'_, PyAny>> {
    let field = Field::new("", array.data_type().clone(), true);
    let array = PyArray::try_new(array, field.into()).map_err(arrow_error)?;
    Ok(Bound::new(py, array)?.into_any())
}

pub fn arrow_error(error: ArrowError) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

/// The texts after the steps of normalisation.
#[pyfunction]
pub fn normalized<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    texts: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let maker = || recipe.simhasher(Purpose::All);
    let made = each(py, &texts, maker, Simhasher::normalize)?;
    if !texts.is_arrow() {
        return one_or_list(py, &texts, made);
    }
    let mut array = LargeStringBuilder::with_capacity(made.len(), 0);
    made.into_iter().for_each(|text| array.append_option(text));
    arrow(py, Arc::new(array.finish()))
}

/// The tokens of each text.
#[pyfunction]
pub fn tokens<'py>(py: Python<'py>, recipe: &Recipe, texts: Texts) -> PyResult<Bound<'py, PyAny>> {
    let maker = || recipe.simhasher(Purpose::All);
    string_lists(py, &texts, each(py, &texts, maker, Simhasher::tokens)?)
}

/// The numbers of each text, in the form in which they are compared.
#[pyfunction]
pub fn numbers<'py>(py: Python<'py>, recipe: &Recipe, texts: Texts) -> PyResult<Bound<'py, PyAny>> {
    let made = each(
        py,
        &texts,
        || (),
        |(), text, check| list(text, recipe.config(), usize::MAX, check).unwrap_or_default(),
    )?;
    string_lists(py, &texts, made)
}

fn string_lists<'py>(
    py: Python<'py>,
    texts: &Texts,
    made: Vec<Option<Vec<String>>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !texts.is_arrow() {
        return one_or_list(py, texts, made);
    }
    let mut array = LargeListBuilder::with_capacity(LargeStringBuilder::new(), made.len());
    for tokens in made {
        let is_there = tokens.is_some();
        tokens.into_iter().flatten().for_each(|token| array.values().append_value(token));
        array.append(is_there);
    }
    arrow(py, Arc::new(array.finish()))
}

/// The keys of each text's sketch for a similarity: one for each band of [`crate::laws::law`]. None
/// for a text without a token.
#[pyfunction]
pub fn keys<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    similarity: f64,
    texts: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    let layout = Layout::of(similarity).ok_or_else(|| crate::laws::no_law(similarity))?;
    let maker = || Sketcher::new(recipe.simhasher(Purpose::Near));
    let made = each(py, &texts, maker, |sketcher, text, check| {
        let mut keys = Vec::with_capacity(layout.bands);
        sketcher.keys(text, layout, check, &mut keys).then(|| {
            keys.iter_mut().for_each(|key| *key >>= crate::laws::UNUSED);
            keys
        })
    })?;
    number_lists(py, &texts, made.into_iter().map(Option::flatten).collect())
}

/// The hashes of each text's set of shingles. Similarity is the Jaccard coefficient of such sets.
/// ValueError if shingles have weights.
#[pyfunction]
pub fn shingles<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    texts: Texts,
) -> PyResult<Bound<'py, PyAny>> {
    if recipe.config().weight == Weight::Idf {
        return Err(PyValueError::new_err("shingles of a config with weights are no plain set"));
    }
    let maker = || recipe.simhasher(Purpose::Near);
    let made = each(py, &texts, maker, |simhasher, text, check| {
        ShingleSet::new(simhasher, text, check).hashes().to_vec()
    })?;
    number_lists(py, &texts, made)
}

/// Lists of signed numbers of 64 bits.
fn number_lists<'py>(
    py: Python<'py>,
    texts: &Texts,
    made: Vec<Option<Vec<u64>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let signed = made.into_iter().map(|numbers| Some(numbers?.into_iter().map(u64::cast_signed)));
    if !texts.is_arrow() {
        return one_or_list(
            py,
            texts,
            signed.map(|numbers| Some(numbers?.collect::<Vec<i64>>())).collect(),
        );
    }
    let mut array = LargeListBuilder::with_capacity(Int64Builder::new(), signed.len());
    for numbers in signed {
        let is_there = numbers.is_some();
        numbers.into_iter().flatten().for_each(|number| array.values().append_value(number));
        array.append(is_there);
    }
    arrow(py, Arc::new(array.finish()))
}

/// The result for one text, or a list of results.
pub fn one_or_list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    texts: &Texts,
    made: Vec<Option<T>>,
) -> PyResult<Bound<'py, PyAny>> {
    if texts.is_one() {
        let only = made.into_iter().next().flatten();
        return only.into_pyobject(py).map_err(Into::into);
    }
    Ok(PyList::new(py, made)?.into_any())
}
