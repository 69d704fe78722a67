//! Tables in Arrow's columns, handed to Python's tools through the PyCapsule interface: no copy, and no pyarrow.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyCapsule, PyList};

use crate::errors::error;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// Cells of a column, as Python hands them in.
#[derive(FromPyObject)]
enum Cells {
    Flags(Vec<Option<Flag>>),
    Counts(Vec<Option<u64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

/// A flag that no number is taken for.
struct Flag(bool);

impl<'a, 'py> FromPyObject<'a, 'py> for Flag {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<PyBool>()?.is_true()))
    }
}

impl Cells {
    fn data_type(&self) -> DataType {
        match self {
            Self::Flags(_) => DataType::Boolean,
            Self::Counts(_) => DataType::UInt64,
            Self::Numbers(_) => DataType::Float64,
            Self::Texts(_) => DataType::Utf8,
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Self::Flags(cells) => {
                let flags = cells.into_iter().map(|flag| flag.map(|Flag(flag)| flag));
                Arc::new(flags.collect::<BooleanArray>())
            }
            Self::Counts(cells) => Arc::new(UInt64Array::from(cells)),
            Self::Numbers(cells) => Arc::new(Float64Array::from(cells)),
            Self::Texts(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}

/// Batches of one schema in memory.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

/// A capsule with a stream of batches.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// A capsule with a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|refused| error(py, "Error", refused.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Names of the columns.
pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

#[pymethods]
impl Table {
    /// A table of columns: name, and texts, flags, or numbers; `None` where there is no value.
    #[staticmethod]
    fn of_columns(py: Python<'_>, columns: Vec<(String, Cells)>) -> PyResult<Self> {
        let fields: Vec<_> = columns.iter().map(|(name, cells)| Field::new(name, cells.data_type(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let arrays = columns.into_iter().map(|(_, cells)| cells.into_array()).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays);
        Ok(Self::new(schema, vec![batch.map_err(|refused| error(py, "Error", refused.to_string()))?]))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // A producer may ignore it.
        let batches = self.batches.clone().into_iter().map(Ok);
        stream_capsule(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// A column's type code and bytes (those of `array.array`) if it is numbers without gaps; else a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Option<char>, Bound<'py, PyAny>)> {
        let (at, field) = self.schema.column_with_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let columns: Vec<&dyn Array> = self.batches.iter().map(|batch| &**batch.column(at)).collect();
        let is_whole = columns.iter().all(|column| column.null_count() == 0);
        let (code, bytes) = match field.data_type() {
            DataType::UInt64 if is_whole => ('Q', bytes_of::<UInt64Type>(&columns)),
            DataType::UInt32 if is_whole => ('I', bytes_of::<UInt32Type>(&columns)),
            DataType::Float64 if is_whole => ('d', bytes_of::<Float64Type>(&columns)),
            other => return Ok((None, with_gaps(py, other, &columns)?.into_any())),
        };
        Ok((Some(code), PyBytes::new(py, &bytes).into_any()))
    }
}

/// The values of a column without gaps, one after the other.
fn bytes_of<T: ArrowPrimitiveType>(columns: &[&dyn Array]) -> Vec<u8> {
    columns.iter().flat_map(|column| column.as_primitive::<T>().values().inner().iter().copied()).collect()
}

/// A column as a list; `None` where there is no value.
fn with_gaps<'py>(py: Python<'py>, of: &DataType, columns: &[&dyn Array]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for column in columns {
        for row in 0..column.len() {
            if column.is_null(row) {
                list.append(py.None())?;
                continue;
            }
            match of {
                DataType::UInt64 => list.append(column.as_primitive::<UInt64Type>().value(row))?,
                DataType::UInt32 => list.append(column.as_primitive::<UInt32Type>().value(row))?,
                DataType::Float64 => list.append(column.as_primitive::<Float64Type>().value(row))?,
                DataType::Boolean => list.append(column.as_boolean().value(row))?,
                DataType::Utf8 => list.append(column.as_string::<i32>().value(row))?,
                DataType::Dictionary(..) => {
                    let words = column.as_dictionary::<Int8Type>();
                    let word = words.keys().value(row) as usize;
                    list.append(words.values().as_string::<i32>().value(word))?;
                }
                other => unreachable!("no table of ours has a column of {other}"),
            }
        }
    }
    Ok(list)
}
