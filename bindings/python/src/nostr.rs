//! Keys and messages of Nostr.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_facade::nostr::{self, WrapOptions};
use endseal_facade::{Error, OsRandom};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::error::{exception, unlocked};

/// A secret key, unless it was wiped. A call holds it until it ends.
#[pyclass(module = "endseal.nostr", weakref, frozen)]
pub(crate) struct NostrKey(Mutex<Option<nostr::NostrKey>>);

impl NostrKey {
    fn new(key: nostr::NostrKey) -> Self {
        Self(Mutex::new(Some(key)))
    }

    fn held(&self) -> MutexGuard<'_, Option<nostr::NostrKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, py: Python<'_>) -> PyResult<nostr::NostrKey> {
        let closed = || exception(py, &Error::argument("the key was closed"));
        self.held().clone().ok_or_else(closed)
    }
}

#[pymethods]
impl NostrKey {
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(unlocked(py, || nostr::NostrKey::generate(&mut OsRandom))?))
    }

    #[staticmethod]
    #[pyo3(signature = (ncryptsec, passphrase, *, max_log_n = nostr::DEFAULT_MAX_LOG_N.into()))]
    fn unlock(py: Python<'_>, ncryptsec: &str, passphrase: &str, max_log_n: i64) -> PyResult<Self> {
        let open = || nostr::NostrKey::unlock(ncryptsec, passphrase, cost(max_log_n));
        Ok(Self::new(unlocked(py, open)?))
    }

    #[pyo3(signature = (passphrase, *, log_n = nostr::DEFAULT_LOG_N.into()))]
    fn lock(&self, py: Python<'_>, passphrase: &str, log_n: i64) -> PyResult<String> {
        let key = self.key(py)?;
        unlocked(py, || key.lock(passphrase, cost(log_n), &mut OsRandom))
    }

    #[getter]
    fn public_key(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.key(py)?.public())
    }

    fn encrypt(&self, py: Python<'_>, peer: &str, text: &str) -> PyResult<String> {
        let key = self.key(py)?;
        unlocked(py, || key.encrypt(peer, text, &mut OsRandom))
    }

    fn decrypt(&self, py: Python<'_>, peer: &str, payload: &str) -> PyResult<String> {
        let key = self.key(py)?;
        unlocked(py, || key.decrypt(peer, payload))
    }

    fn sign<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (key, template) = (self.key(py)?, template_of(template)?);
        loads(py, &unlocked(py, || key.sign(&template, &mut OsRandom))?)
    }

    /// Returns the unsigned event, and pairs of receiver and wrap.
    #[pyo3(signature = (message, recipients, *, ephemeral = false, expires_after = None))]
    fn wrap<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
        recipients: &Bound<'py, PyAny>,
        ephemeral: bool,
        expires_after: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        if recipients.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("recipients is a list of public keys"));
        }
        let mut names = Vec::new();
        for recipient in recipients.try_iter()? {
            names.push(recipient?.extract::<String>()?);
        }
        let expires_after = match expires_after {
            None => None,
            Some(delta) => {
                let seconds: f64 = delta.call_method0("total_seconds")?.extract()?;
                if seconds.is_nan() || seconds < 0.0 {
                    let text = "expires_after is not a time of 0 seconds or more";
                    return Err(exception(py, &Error::argument(text)));
                }
                Some(seconds as u64)
            }
        };
        let options = WrapOptions { now: now(), is_ephemeral: ephemeral, expires_after };
        let key = self.key(py)?;
        let receivers = unlocked(py, || key.receivers(&names))?;
        let template = match message.extract::<String>() {
            Ok(text) => key.message(&text, &receivers, options.now),
            Err(_) => template_of(message)?,
        };
        let (rumor, wraps) = unlocked(py, || {
            let rumor = key.rumor(&template)?;
            let wrap = |it: &String| key.wrap(&template, it, &options, &mut OsRandom);
            Ok((rumor, receivers.iter().map(wrap).collect::<Result<Vec<_>, _>>()?))
        })?;
        let copies = PyDict::new(py);
        for (receiver, wrap) in receivers.iter().zip(&wraps) {
            copies.set_item(receiver, loads(py, wrap)?)?;
        }
        Ok((loads(py, &rumor)?, copies))
    }

    /// Returns the unsigned event, the time at which it expires, and whether it is ephemeral.
    fn unwrap<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<u64>, bool)> {
        let (key, event) = (self.key(py)?, json_of(event)?);
        let opened = unlocked(py, || key.unwrap(&event))?;
        Ok((loads(py, &opened.rumor)?, opened.expiration, opened.is_ephemeral))
    }

    fn _request(&self, py: Python<'_>, signer: &str, request: &str, at: u64) -> PyResult<String> {
        let key = self.key(py)?;
        unlocked(py, || key.request(signer, request, at, &mut OsRandom))
    }

    fn _response(
        &self,
        py: Python<'_>,
        signer: &str,
        event: &str,
    ) -> PyResult<(String, &'static str, String)> {
        let key = self.key(py)?;
        let response = unlocked(py, || key.response(signer, event))?;
        Ok((response.id, response.kind.name(), response.text))
    }

    /// Returns URI and secret.
    fn _invitation(
        &self,
        py: Python<'_>,
        relays: Vec<String>,
        permissions: &str,
        name: Option<&str>,
    ) -> PyResult<(String, String)> {
        let key = self.key(py)?;
        let made = unlocked(py, || key.invitation(&relays, permissions, name, &mut OsRandom))?;
        Ok((made.uri.to_string(), made.secret.to_string()))
    }

    fn _accepted(&self, py: Python<'_>, event: &str, secret: &str) -> PyResult<String> {
        let key = self.key(py)?;
        unlocked(py, || key.accepted(event, secret))
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
        Err(PyTypeError::new_err("a secret key cannot be copied"))
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__copy__()
    }

    fn __reduce_ex__(&self, _protocol: i32) -> PyResult<()> {
        Err(PyTypeError::new_err("a secret key cannot be pickled: lock() makes a text of it"))
    }

    fn __repr__(&self) -> String {
        match &*self.held() {
            Some(key) => format!("<endseal.nostr.NostrKey {}>", key.public()),
            None => "<endseal.nostr.NostrKey, closed>".to_owned(),
        }
    }

    #[cfg(feature = "test-vectors")]
    #[staticmethod]
    fn _from_bytes(py: Python<'_>, bytes: [u8; 32]) -> PyResult<Self> {
        Ok(Self::new(unlocked(py, || nostr::NostrKey::from_bytes(&bytes))?))
    }
}

/// Checks id and signature of an event.
#[pyfunction]
pub(crate) fn verify_event(py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<()> {
    let event = json_of(event)?;
    unlocked(py, || nostr::verify(&event))
}

/// Returns a public key in hexadecimal digits.
#[pyfunction]
pub(crate) fn public_key(py: Python<'_>, text: &str) -> PyResult<String> {
    unlocked(py, || nostr::public_key(text))
}

/// Returns signer, relays and secret of a `bunker://` URI.
#[pyfunction]
pub(crate) fn _bunker(
    py: Python<'_>,
    uri: &str,
) -> PyResult<(String, Vec<String>, Option<String>)> {
    let bunker = unlocked(py, || nostr::Bunker::parse(uri))?;
    Ok((bunker.signer, bunker.relays, bunker.secret.map(|it| it.to_string())))
}

/// Keys of the vectors, in a build that is not shipped: of a conversation, of what it seals and
/// opens.
#[cfg(feature = "test-vectors")]
#[pyclass]
pub(crate) struct _TestConversation(nostr::TestConversation);

#[cfg(feature = "test-vectors")]
#[pymethods]
impl _TestConversation {
    #[new]
    fn new(key: [u8; 32]) -> Self {
        Self(nostr::TestConversation::new(&key))
    }

    #[staticmethod]
    fn key(py: Python<'_>, secret: [u8; 32], public: [u8; 32]) -> PyResult<[u8; 32]> {
        unlocked(py, || nostr::TestConversation::key(&secret, &public))
    }

    fn seal(
        &self,
        py: Python<'_>,
        plaintext: Vec<u8>,
        nonce: [u8; 32],
        is_short: bool,
    ) -> PyResult<String> {
        self.0.seal(&plaintext, &nonce, is_short).map_err(|error| exception(py, &error))
    }

    fn open<'py>(
        &self,
        py: Python<'py>,
        payload: &str,
    ) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let opened = self.0.open(payload).map_err(|error| exception(py, &error))?;
        Ok(pyo3::types::PyBytes::new(py, &opened))
    }
}

/// JSON of an event, as a text or an object.
fn json_of(event: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = event.extract::<String>() {
        return Ok(text);
    }
    let json = event.py().import("json")?;
    let options = PyDict::new(event.py());
    options.set_item("ensure_ascii", false)?;
    json.call_method("dumps", (event,), Some(&options))?.extract()
}

/// JSON of the template of an event. Its time is the present, unless it has one.
/// A cost that no type has room for is refused as the greatest one is.
fn cost(log_n: i64) -> u8 {
    u8::try_from(log_n).unwrap_or(u8::MAX)
}

fn template_of(template: &Bound<'_, PyAny>) -> PyResult<String> {
    if template.is_instance_of::<PyString>() {
        return template.extract();
    }
    let whole = PyDict::new(template.py());
    whole.set_item("created_at", now())?;
    whole.set_item("tags", Vec::<String>::new())?;
    whole.set_item("content", "")?;
    whole.call_method1("update", (template,))?;
    json_of(whole.as_any())
}

fn loads<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}
