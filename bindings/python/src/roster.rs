//! Rosters of groups.

use endseal_facade as facade;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::bytes::Bytes;
use crate::error::{exception, unlocked};
use crate::identity::{PublicIdentity, Recipients};

/// The members of a group in one epoch.
#[pyclass(module = "endseal", frozen)]
pub(crate) struct Roster(facade::Roster);

#[pymethods]
impl Roster {
    #[staticmethod]
    #[pyo3(signature = (file, *, owner))]
    fn read(py: Python<'_>, file: &Bound<'_, PyAny>, owner: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (file, owner) = (bytes(file)?, identity(owner)?);
        Ok(Self(unlocked(py, || facade::Roster::read(&file, &owner))?))
    }

    #[pyo3(signature = (file, *, allow_gap = false))]
    fn read_next(
        &self,
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        allow_gap: bool,
    ) -> PyResult<Self> {
        let (held, file) = (&self.0, bytes(file)?);
        Ok(Self(unlocked(py, || held.read_next(&file, allow_gap))?))
    }

    #[getter]
    fn group(&self) -> &str {
        self.0.group()
    }

    #[getter]
    fn id(&self) -> String {
        self.0.id()
    }

    #[getter]
    fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    #[getter]
    fn digest(&self) -> String {
        self.0.digest()
    }

    #[getter]
    fn previous(&self) -> Option<String> {
        self.0.previous()
    }

    #[getter]
    fn owner(&self) -> PublicIdentity {
        PublicIdentity(self.0.owner())
    }

    #[getter]
    fn signing_owner(&self) -> PublicIdentity {
        PublicIdentity(self.0.signing_owner())
    }

    #[getter]
    fn signer(&self) -> PublicIdentity {
        PublicIdentity(self.0.signer())
    }

    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let members = self.0.members().into_iter().map(|it| Member(it).into_pyobject(py));
        PyTuple::new(py, members.collect::<Result<Vec<_>, _>>()?)
    }

    fn recipients(&self, py: Python<'_>) -> PyResult<Recipients> {
        Ok(Recipients(unlocked(py, || self.0.recipients())?))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<endseal.Roster {}, epoch {}>", self.0.group(), self.0.epoch())
    }
}

/// One member of a group.
#[pyclass(module = "endseal", frozen)]
pub(crate) struct Member(facade::Member);

#[pymethods]
impl Member {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn identity(&self) -> PublicIdentity {
        PublicIdentity(self.0.identity.clone())
    }

    #[getter]
    fn is_admin(&self) -> bool {
        self.0.is_admin
    }

    fn __repr__(&self) -> String {
        format!("<endseal.Member {} {}>", self.0.name, self.0.identity.short())
    }
}

/// Bytes of a file, which is text.
fn bytes(file: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if file.is_instance_of::<PyString>() {
        return Ok(file.extract::<String>()?.into_bytes());
    }
    Ok(file.extract::<Bytes>()?.as_slice().to_vec())
}

fn identity(of: &Bound<'_, PyAny>) -> PyResult<facade::PublicIdentity> {
    if let Ok(identity) = of.cast::<PublicIdentity>() {
        return Ok(identity.get().0.clone());
    }
    let text = of.extract::<String>()?;
    let parsed = facade::PublicIdentity::parse(text.trim());
    parsed.map_err(|error| exception(of.py(), &error))
}
