//! Texts as arguments from Python: one string, a sequence of strings, or Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use pyo3_arrow::input::AnyArray;

/// Texts, which are not copied.
pub enum Texts {
    One(PyBackedStr),
    Many(Vec<Option<PyBackedStr>>),
    Arrow(Vec<ArrayRef>),
}

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Ok(Texts::One(text(&object, None)?));
        }
        if object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")? {
            return Ok(Texts::Arrow(chunks(&object)?));
        }
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return Err(not_a_text(&object, None));
        }
        let Ok(items) = object.try_iter() else { return Err(not_a_text(&object, None)) };
        let mut texts = Vec::with_capacity(object.len().unwrap_or(0));
        for (place, item) in items.enumerate() {
            let item = item?;
            texts.push(if is_missing(&item)? { None } else { Some(text(&item, Some(place))?) });
        }
        Ok(Texts::Many(texts))
    }
}

/// Whether an item is None, or pandas' missing value.
fn is_missing(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_none() {
        return Ok(true);
    }
    Ok(!item.is_instance_of::<PyString>() && item.get_type().name()? == "NAType")
}

fn text(object: &Bound<'_, PyAny>, place: Option<usize>) -> PyResult<PyBackedStr> {
    let Ok(string) = object.cast::<PyString>() else { return Err(not_a_text(object, place)) };
    PyBackedStr::try_from(string.clone()).map_err(|error| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(object.py()) {
            return error;
        }
        PyValueError::new_err(format!(
            "{} is no Unicode text, it has half of a surrogate pair, as PostgreSQL's texts never \
             have. Leave it out with text.encode(\"utf-8\", \"replace\").decode().",
            named(place)
        ))
    })
}

fn named(place: Option<usize>) -> String {
    place.map_or_else(|| "the text".into(), |place| format!("text {place}"))
}

fn not_a_text(object: &Bound<'_, PyAny>, place: Option<usize>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let hint = match kind.as_str() {
        "float" => "Missing texts are None: series.astype(object).where(series.notna(), None).",
        "bytes" | "bytearray" => "Decode it first.",
        _ => "Texts are a string, a sequence of strings and None, or an Arrow array.",
    };
    let value = object.repr().map_or_else(|_| kind.clone(), |value| value.to_string());
    let shown: String = value.chars().take(40).collect();
    PyTypeError::new_err(format!("{} is of type {kind}: {shown}. {hint}", named(place)))
}

/// The chunks of an Arrow array, as arrays of strings.
fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let failed = |error: String| PyValueError::new_err(error);
    let array: AnyArray = object.extract()?;
    let (chunks, _) = array
        .into_chunked_array()
        .map_err(|error| failed(format!("the Arrow array cannot be read: {error}")))?
        .into_inner();
    let strings = |chunk: ArrayRef| match chunk.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Ok(chunk),
        DataType::Dictionary(_, values) if is_string(values) => {
            cast(&chunk, values).map_err(|error| failed(error.to_string()))
        }
        other => Err(PyTypeError::new_err(format!(
            "the Arrow array is of type {other}. Texts are of a type string, large_string or \
             string_view."
        ))),
    };
    let mut all = Vec::with_capacity(chunks.len());
    let mut before = 0;
    for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
        // Its maker promises that it is valid, but a `str` that is not would be undefined
        // behaviour. This also checks the values of a dictionary.
        chunk.to_data().validate_full().map_err(|error| {
            failed(format!("the Arrow array is not valid, from text {before} on: {error}"))
        })?;
        before += chunk.len();
        all.push(strings(chunk)?);
    }
    Ok(all)
}

fn is_string(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Texts {
    pub fn is_one(&self) -> bool {
        matches!(self, Texts::One(_))
    }

    pub fn is_arrow(&self) -> bool {
        matches!(self, Texts::Arrow(_))
    }

    /// All texts in order. `None` for a missing one.
    pub fn all(&self) -> Vec<Option<&str>> {
        match self {
            Texts::One(text) => vec![Some(text)],
            Texts::Many(texts) => texts.iter().map(Option::as_deref).collect(),
            Texts::Arrow(chunks) => {
                let mut all = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
                for chunk in chunks {
                    match chunk.data_type() {
                        DataType::Utf8 => all.extend(chunk.as_string::<i32>()),
                        DataType::LargeUtf8 => all.extend(chunk.as_string::<i64>()),
                        DataType::Utf8View => all.extend(chunk.as_string_view()),
                        _ => all.resize(all.len() + chunk.len(), None),
                    }
                }
                all
            }
        }
    }
}

/// The bytes of all texts together.
pub fn bytes(texts: &[Option<&str>]) -> usize {
    texts.iter().flatten().map(|text| text.len()).sum()
}
