//! Errors as exceptions of `endseal._errors`.

use endseal_facade::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Makes the exception of an error, with its code.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = py
        .import("endseal._errors")
        .and_then(|errors| errors.call_method1("of", (error.code(), error.to_string())));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Runs work without Python's lock.
pub(crate) fn unlocked<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| exception(py, &error))
}
