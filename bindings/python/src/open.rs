//! Opening.

use std::time::{SystemTime, UNIX_EPOCH};

use endseal_facade as facade;
use endseal_facade::{AgeLimit, Info, OpenOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::bytes::{Bytes, Context};
use crate::error::{exception, unlocked};
use crate::identity::{Identity, PublicIdentity, identities};

fn options(
    py: Python<'_>,
    identity: &Identity,
    context: Context,
    senders: Option<&Bound<'_, PyAny>>,
    max_age: Option<&Bound<'_, PyAny>>,
    require_post_quantum: bool,
) -> PyResult<OpenOptions> {
    let seconds = |it: &Bound<'_, PyAny>| {
        let seconds = it.call_method0("total_seconds").and_then(|it| it.extract::<f64>());
        let seconds = seconds.ok().filter(|it| *it >= 0.0);
        let error = || facade::Error::argument("max_age is a timedelta from 0");
        seconds.ok_or_else(|| exception(py, &error()))
    };
    let max_age = max_age.map(seconds).transpose()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration")]
    let max_age = max_age.map(|seconds| (seconds * 1_000.0) as u64);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    Ok(OpenOptions {
        identity: identity.keys(py)?,
        context: context.0,
        senders: senders.map(identities).transpose()?,
        age: max_age.map(|max| AgeLimit { now, max }),
        requires_post_quantum: require_post_quantum,
    })
}

/// An envelope that was opened.
#[pyclass(module = "endseal", frozen)]
pub(crate) struct Opened {
    content: Py<PyBytes>,
    info: Info,
}

impl Opened {
    fn new(py: Python<'_>, opened: facade::Opened) -> Self {
        let facade::Opened { content, info } = opened;
        Self { content: PyBytes::new(py, &content).unbind(), info }
    }
}

#[pymethods]
impl Opened {
    #[getter]
    fn content(&self, py: Python<'_>) -> Py<PyBytes> {
        self.content.clone_ref(py)
    }

    #[getter]
    fn sender(&self) -> PublicIdentity {
        PublicIdentity(self.info.sender.clone())
    }

    #[getter]
    fn message_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.message_id)
    }

    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        time_of(py, &self.info)
    }

    #[getter]
    fn suite(&self) -> &'static str {
        self.info.suite
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let len = self.content.bind(py).len()?;
        Ok(format!("<endseal.Opened, {len} bytes of {}>", self.info.sender))
    }
}

fn time_of<'py>(py: Python<'py>, info: &Info) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(time) = info.time else { return Ok(None) };
    // A sender may claim any time: those beyond the year 9999 have no `datetime`.
    let module = py.import("datetime")?;
    let zero = module
        .getattr("datetime")?
        .call_method1("fromtimestamp", (0, module.getattr("timezone")?.getattr("utc")?))?;
    let days = time / 86_400_000;
    let rest = time % 86_400_000;
    let after = module.getattr("timedelta")?.call1((days, 0, 0, rest));
    Ok(after.and_then(|after| zero.add(after)).ok())
}

#[pyfunction]
#[pyo3(signature = (envelope, *, identity, context, senders = None, max_age = None, require_post_quantum = false))]
pub(crate) fn open(
    py: Python<'_>,
    envelope: Bytes,
    identity: &Identity,
    context: Context,
    senders: Option<&Bound<'_, PyAny>>,
    max_age: Option<&Bound<'_, PyAny>>,
    require_post_quantum: bool,
) -> PyResult<Opened> {
    let options = options(py, identity, context, senders, max_age, require_post_quantum)?;
    let opened = unlocked(py, || facade::open(envelope.as_slice(), &options))?;
    Ok(Opened::new(py, opened))
}

#[pyfunction]
#[pyo3(signature = (envelopes, *, identity, context, senders = None, max_age = None, require_post_quantum = false))]
pub(crate) fn open_many<'py>(
    py: Python<'py>,
    envelopes: Vec<Bytes>,
    identity: &Identity,
    context: Context,
    senders: Option<&Bound<'_, PyAny>>,
    max_age: Option<&Bound<'_, PyAny>>,
    require_post_quantum: bool,
) -> PyResult<Bound<'py, PyList>> {
    let options = options(py, identity, context, senders, max_age, require_post_quantum)?;
    let results = unlocked(py, || {
        let envelopes: Vec<_> = envelopes.iter().map(Bytes::as_slice).collect();
        Ok(facade::open_many(&envelopes, &options))
    })?;
    let list = PyList::empty(py);
    for result in results {
        match result {
            Ok(opened) => list.append(Bound::new(py, Opened::new(py, opened))?)?,
            Err(error) => list.append(exception(py, &error).into_value(py))?,
        }
    }
    Ok(list)
}

/// Public facts about an envelope.
#[pyclass(module = "endseal", frozen, get_all)]
pub(crate) struct Inspected {
    suite: &'static str,
    slots: usize,
    content_length: Option<u64>,
}

#[pyfunction]
pub(crate) fn inspect(py: Python<'_>, envelope: Bytes) -> PyResult<Inspected> {
    let facade::Inspected { suite, slots, content_len } =
        unlocked(py, || facade::inspect(envelope.as_slice()))?;
    Ok(Inspected { suite, slots, content_length: content_len })
}

/// An envelope that is being opened.
#[pyclass(module = "endseal._native")]
pub(crate) struct OpenStream(facade::OpenStream);

#[pymethods]
impl OpenStream {
    #[new]
    #[pyo3(signature = (*, identity, context, senders = None, max_age = None, require_post_quantum = false))]
    fn new(
        py: Python<'_>,
        identity: &Identity,
        context: Context,
        senders: Option<&Bound<'_, PyAny>>,
        max_age: Option<&Bound<'_, PyAny>>,
        require_post_quantum: bool,
    ) -> PyResult<Self> {
        let options = options(py, identity, context, senders, max_age, require_post_quantum)?;
        Ok(Self(unlocked(py, || facade::OpenStream::new(&options))?))
    }

    fn feed<'py>(&mut self, py: Python<'py>, envelope: Bytes) -> PyResult<Bound<'py, PyBytes>> {
        let stream = &mut self.0;
        let content = unlocked(py, || stream.feed(envelope.as_slice()))?;
        Ok(PyBytes::new(py, &content))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let stream = &mut self.0;
        let content = unlocked(py, || stream.finish())?;
        Ok(PyBytes::new(py, &content))
    }

    #[getter]
    fn sender(&self) -> Option<PublicIdentity> {
        self.0.info().map(|info| PublicIdentity(info.sender.clone()))
    }

    #[getter]
    fn message_id<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.info().map(|info| PyBytes::new(py, &info.message_id))
    }

    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.info().map_or(Ok(None), |info| time_of(py, info))
    }

    #[getter]
    fn suite(&self) -> Option<&'static str> {
        self.0.info().map(|info| info.suite)
    }
}
