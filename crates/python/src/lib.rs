//! The compiled part of the Python package `flashloom`.

mod policy;

use pyo3::prelude::*;

/// What the package `flashloom` consists of; its names are exported there.
#[pymodule]
mod _flashloom {
    use super::*;

    #[pymodule_export]
    use super::policy::_run;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
