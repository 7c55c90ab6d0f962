//! Sealing.

use endseal_facade as facade;
use endseal_facade::{OsRandom, SealOptions, SuiteChoice};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::{Bytes, Context};
use crate::error::{exception, unlocked};
use crate::identity::{Identity, Recipients};

#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
fn options(
    py: Python<'_>,
    sender: &Identity,
    recipients: &Bound<'_, PyAny>,
    context: Context,
    time: Option<&Bound<'_, PyAny>>,
    suite: &str,
    hide_count: bool,
) -> PyResult<SealOptions> {
    let recipients = match recipients.cast::<Recipients>() {
        Ok(prepared) => prepared.get().0.clone(),
        Err(_) => {
            let identities = crate::identity::identities(recipients)?;
            unlocked(py, || facade::Recipients::new(&identities))?
        }
    };
    let suite = match suite {
        "x25519" => SuiteChoice::X25519,
        "hybrid" => SuiteChoice::Hybrid,
        other => {
            let error = format!("the suite is hybrid or x25519, not {other:?}");
            return Err(exception(py, &facade::Error::argument(error)));
        }
    };
    let time = time.map(milliseconds).transpose()?;
    let (sender, context) = (sender.keys(py)?, context.0);
    Ok(SealOptions { sender, recipients, context, time, suite, hides_count: hide_count })
}

/// Converts a `datetime` to milliseconds since 1970-01-01T00:00:00Z.
fn milliseconds(time: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = time.py();
    let Ok(zone) = time.getattr("tzinfo") else {
        let error = "the time is a datetime";
        return Err(exception(py, &facade::Error::argument(error)));
    };
    if zone.is_none() {
        let error = "the time needs a time zone, as in datetime.now(timezone.utc)";
        return Err(exception(py, &facade::Error::argument(error)));
    }
    let seconds: f64 = time.call_method0("timestamp")?.extract()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "years 1970 to 9999"
    )]
    let milliseconds = (seconds * 1_000.0).round().max(0.0) as u64;
    if milliseconds == 0 {
        return Err(exception(py, &facade::Error::argument("the time is after 1970")));
    }
    Ok(milliseconds)
}

#[pyfunction]
#[pyo3(signature = (content, *, sender, recipients, context, time = None, suite = "hybrid", hide_count = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub(crate) fn seal<'py>(
    py: Python<'py>,
    content: Bytes,
    sender: &Identity,
    recipients: &Bound<'_, PyAny>,
    context: Context,
    time: Option<&Bound<'_, PyAny>>,
    suite: &str,
    hide_count: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options(py, sender, recipients, context, time, suite, hide_count)?;
    let content = content.as_slice();
    let len = facade::sealed_len(content.len(), &options);
    let len = len.map_err(|error| exception(py, &error))?;
    // No one else has the new object yet.
    PyBytes::new_with(py, len, |out| {
        unlocked(py, || facade::seal_into(content, &options, out, &mut OsRandom))
    })
}

/// An envelope that is being sealed.
#[pyclass(module = "endseal._native")]
pub(crate) struct SealStream(facade::SealStream);

#[pymethods]
impl SealStream {
    #[new]
    #[pyo3(signature = (*, sender, recipients, context, time = None, suite = "hybrid", hide_count = false))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        py: Python<'_>,
        sender: &Identity,
        recipients: &Bound<'_, PyAny>,
        context: Context,
        time: Option<&Bound<'_, PyAny>>,
        suite: &str,
        hide_count: bool,
    ) -> PyResult<Self> {
        let options = options(py, sender, recipients, context, time, suite, hide_count)?;
        Ok(Self(unlocked(py, || facade::SealStream::new(&options, &mut OsRandom))?))
    }

    fn push<'py>(&mut self, py: Python<'py>, content: Bytes) -> PyResult<Bound<'py, PyBytes>> {
        let stream = &mut self.0;
        let sealed = unlocked(py, || stream.push(content.as_slice()))?;
        Ok(PyBytes::new(py, &sealed))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let stream = &mut self.0;
        let sealed = unlocked(py, || stream.finish())?;
        Ok(PyBytes::new(py, &sealed))
    }
}
