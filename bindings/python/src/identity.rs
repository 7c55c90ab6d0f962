//! Identities and recipients.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_facade as facade;
use endseal_facade::{OsRandom, Passphrase};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::bytes::Bytes;
use crate::error::{exception, unlocked};

/// A person's secret keys, unless they were wiped. A call holds them until it ends.
#[pyclass(module = "endseal", weakref, frozen)]
pub(crate) struct Identity(Mutex<Option<facade::Identity>>);

impl Identity {
    fn new(keys: facade::Identity) -> Self {
        Self(Mutex::new(Some(keys)))
    }

    fn held(&self) -> MutexGuard<'_, Option<facade::Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the keys, unless they were wiped.
    pub(crate) fn keys(&self, py: Python<'_>) -> PyResult<facade::Identity> {
        self.held()
            .clone()
            .ok_or_else(|| exception(py, &facade::Error::argument("the identity was closed")))
    }
}

#[pymethods]
impl Identity {
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(unlocked(py, || facade::Identity::generate(&mut OsRandom))?))
    }

    #[staticmethod]
    #[pyo3(signature = (file, passphrase = ""))]
    fn unlock(py: Python<'_>, file: Bound<'_, PyAny>, passphrase: &str) -> PyResult<Self> {
        let file = match file.extract::<String>() {
            Ok(text) => text.into_bytes(),
            Err(_) => file.extract::<Bytes>()?.as_slice().to_vec(),
        };
        Ok(Self::new(unlocked(py, || {
            facade::Identity::unlock(&file, &Passphrase::new(passphrase)?)
        })?))
    }

    fn lock(&self, py: Python<'_>, passphrase: &str) -> PyResult<String> {
        let keys = self.keys(py)?;
        unlocked(py, || keys.lock(&Passphrase::new(passphrase)?, &mut OsRandom))
    }

    #[getter]
    fn public(&self, py: Python<'_>) -> PyResult<PublicIdentity> {
        Ok(PublicIdentity(self.keys(py)?.public()))
    }

    fn close(&self) {
        *self.held() = None;
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close();
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("an identity cannot be copied"))
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__copy__()
    }

    fn __reduce_ex__(&self, _protocol: i32) -> PyResult<()> {
        Err(PyTypeError::new_err("an identity cannot be pickled: lock() makes a file of it"))
    }

    fn __repr__(&self) -> String {
        match &*self.held() {
            Some(keys) => format!("<endseal.Identity {}>", keys.public().short()),
            None => "<endseal.Identity, closed>".to_owned(),
        }
    }

    #[cfg(feature = "test-vectors")]
    #[staticmethod]
    fn _from_seeds(ed25519: [u8; 32], mlkem768: Bytes) -> PyResult<Self> {
        let mlkem768 = mlkem768.as_slice().try_into()?;
        Ok(Self::new(facade::Identity::from_seeds(&ed25519, mlkem768)))
    }
}

/// A person's public keys.
#[pyclass(module = "endseal", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct PublicIdentity(pub(crate) facade::PublicIdentity);

#[pymethods]
impl PublicIdentity {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let parsed = facade::PublicIdentity::parse(text.trim());
        parsed.map(Self).map_err(|error| exception(py, &error))
    }

    #[getter]
    fn is_post_quantum(&self) -> bool {
        self.0.is_post_quantum()
    }

    #[getter]
    fn short(&self) -> Self {
        Self(self.0.short())
    }

    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.key())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<endseal.PublicIdentity {}>", self.0.short())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0.is_same_person(&other.get().0))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.key().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyType>, (String,)) {
        (py.get_type::<Self>().unbind(), (self.0.to_string(),))
    }
}

/// Reads public identities, which Python gives as such or as texts.
pub(crate) fn identities(of: &Bound<'_, PyAny>) -> PyResult<Vec<facade::PublicIdentity>> {
    let py = of.py();
    if of.is_instance_of::<pyo3::types::PyString>() {
        return Err(PyTypeError::new_err("a list of identities is needed, not one text"));
    }
    let mut found = Vec::new();
    for one in of.try_iter()? {
        let one = one?;
        found.push(match one.cast::<PublicIdentity>() {
            Ok(identity) => identity.get().0.clone(),
            Err(_) => {
                let text = one.extract::<String>().map_err(|_| {
                    PyTypeError::new_err("a list of PublicIdentity, or of their texts, is needed")
                })?;
                let parsed = facade::PublicIdentity::parse(text.trim());
                parsed.map_err(|error| exception(py, &error))?
            }
        });
    }
    Ok(found)
}

/// Recipients of content.
#[pyclass(module = "endseal", frozen)]
pub(crate) struct Recipients(pub(crate) facade::Recipients);

#[pymethods]
impl Recipients {
    #[new]
    fn new(of: &Bound<'_, PyAny>) -> PyResult<Self> {
        let identities = identities(of)?;
        Ok(Self(unlocked(of.py(), || facade::Recipients::new(&identities))?))
    }

    #[getter]
    fn is_post_quantum(&self) -> bool {
        self.0.is_post_quantum()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
