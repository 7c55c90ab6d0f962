//! Objects of a bucket, opened with a key ring.

use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_facade as facade;
use endseal_facade::{Error, Passphrase, S3Object, S3Place};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::bytes::Bytes;
use crate::error::{exception, unlocked};

/// The keys of a ring, unless they were wiped. A call holds them until it ends.
#[pyclass(module = "endseal.s3", weakref, frozen)]
pub(crate) struct Ring(Mutex<Option<facade::S3Ring>>);

impl Ring {
    fn held(&self) -> MutexGuard<'_, Option<facade::S3Ring>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, py: Python<'_>) -> PyResult<facade::S3Ring> {
        let closed = || exception(py, &Error::argument("the ring was closed"));
        self.held().clone().ok_or_else(closed)
    }
}

#[pymethods]
impl Ring {
    #[staticmethod]
    #[pyo3(signature = (file, passphrase = ""))]
    fn unlock(py: Python<'_>, file: &Bound<'_, PyAny>, passphrase: &str) -> PyResult<Self> {
        let file = match file.is_instance_of::<PyString>() {
            true => file.extract::<String>()?.into_bytes(),
            false => file.extract::<Bytes>()?.as_slice().to_vec(),
        };
        let open = || facade::S3Ring::unlock(&file, &Passphrase::new(passphrase)?);
        Ok(Self(Mutex::new(Some(unlocked(py, open)?))))
    }

    #[getter]
    fn key_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ring(py)?.key_ids())
    }

    /// Begins to open an object of a bucket and a key, with its header or without.
    fn _object(
        &self,
        py: Python<'_>,
        length: u64,
        end: Bytes,
        place: (String, String, Option<String>, bool),
    ) -> PyResult<Object> {
        let ring = self.ring(py)?;
        let (bucket, key, header, accepts_moved) = &place;
        let header = header.as_deref();
        let place = S3Place { bucket, key, header, accepts_moved: *accepts_moved };
        Ok(Object(unlocked(py, || ring.object(length, end.as_slice(), &place))?))
    }

    fn close(&self) {
        *self.held() = None;
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a key ring cannot be copied"))
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__copy__()
    }

    fn __reduce_ex__(&self, _protocol: i32) -> PyResult<()> {
        Err(PyTypeError::new_err("a key ring cannot be pickled"))
    }

    fn __repr__(&self) -> String {
        match &*self.held() {
            Some(ring) => format!("<endseal.s3.Ring of {} keys>", ring.key_ids().len()),
            None => "<endseal.s3.Ring, closed>".to_owned(),
        }
    }

    #[cfg(feature = "test-vectors")]
    #[staticmethod]
    fn _from_key(py: Python<'_>, id: &str, key: [u8; 32]) -> PyResult<Self> {
        let made = unlocked(py, || facade::S3Ring::from_key(id, &key))?;
        Ok(Self(Mutex::new(Some(made))))
    }
}

/// An object whose key is known and whose place was checked.
#[pyclass(module = "endseal.s3", frozen)]
pub(crate) struct Object(S3Object);

#[pymethods]
impl Object {
    #[getter]
    fn content_length(&self) -> u64 {
        self.0.content_len()
    }

    #[getter]
    fn tail_length(&self) -> u64 {
        self.0.tail_len()
    }

    fn open(&self, py: Python<'_>, tail: Bytes) -> PyResult<Opener> {
        Ok(Opener(unlocked(py, || self.0.open(tail.as_slice()))?))
    }
}

/// Opens the content of an object piece by piece.
#[pyclass(module = "endseal.s3")]
pub(crate) struct Opener(facade::S3Opener);

#[pymethods]
impl Opener {
    /// Returns the range of the object's bytes to feed.
    #[getter]
    fn sealed(&self) -> (u64, u64) {
        let range = self.0.sealed();
        (range.start, range.end)
    }

    fn feed<'py>(&mut self, py: Python<'py>, sealed: Bytes) -> PyResult<Bound<'py, PyBytes>> {
        let opener = &mut self.0;
        let content = unlocked(py, || opener.feed(sealed.as_slice()))?;
        Ok(PyBytes::new(py, &content))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let opener = &mut self.0;
        let content = unlocked(py, || opener.finish())?;
        Ok(PyBytes::new(py, &content))
    }
}
