//! The compiled part of the Python package `flashloom`.

use pyo3::prelude::*;

/// What the package `flashloom` consists of; its names are exported there.
#[pymodule]
mod _flashloom {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
