//! Bytes that Python passes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

/// Bytes that no one changes while the lock is released: of a `bytes` as they are, of every other
/// buffer a copy.
pub(crate) struct Bytes(PyBackedBytes);

impl Bytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBytes>() {
            return Ok(Self(object.extract()?));
        }
        // bytes("text") and bytes(5) are not what was meant.
        if object.is_instance_of::<PyString>() || object.extract::<i64>().is_ok() {
            let name = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a bytes-like object is needed, not {name}")));
        }
        let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,))?;
        Ok(Self(view.call_method0("tobytes")?.extract()?))
    }
}

/// The context of an application: bytes, or a text.
pub(crate) struct Context(pub(crate) Vec<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Context {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>() {
            Ok(text) => Ok(Self(text.into_bytes())),
            Err(_) => Ok(Self(object.extract::<Bytes>()?.as_slice().to_vec())),
        }
    }
}
