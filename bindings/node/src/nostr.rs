//! Keys and messages of Nostr. `nostr-key.js` makes its classes and promises.

use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_facade::nostr::{self, WrapOptions};
use endseal_facade::{Error, OsRandom};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::exception;

/// A secret key, unless it was wiped.
#[napi]
pub struct NostrKey(Mutex<Option<nostr::NostrKey>>);

impl NostrKey {
    pub(crate) fn of(key: nostr::NostrKey) -> Self {
        Self(Mutex::new(Some(key)))
    }

    fn key(&self) -> Result<nostr::NostrKey> {
        let closed = || exception(Error::argument("the key was disposed of"));
        self.held().clone().ok_or_else(closed)
    }

    fn held(&self) -> MutexGuard<'_, Option<nostr::NostrKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[napi]
impl NostrKey {
    #[napi(factory)]
    pub fn generate() -> Result<Self> {
        nostr::NostrKey::generate(&mut OsRandom).map(Self::of).map_err(exception)
    }

    #[napi(ts_return_type = "Promise<NostrKey>")]
    pub fn unlock(text: String, password: String, max_log_n: u8) -> AsyncTask<UnlockKey> {
        AsyncTask::new(UnlockKey { text, password, max_log_n })
    }

    #[napi(ts_return_type = "Promise<string>")]
    pub fn lock(&self, password: String, log_n: u8) -> Result<AsyncTask<LockKey>> {
        Ok(AsyncTask::new(LockKey { key: self.key()?, password, log_n }))
    }

    #[napi(getter)]
    pub fn public(&self) -> Result<String> {
        Ok(self.key()?.public())
    }

    #[napi]
    pub fn encrypt(&self, peer: String, text: String) -> Result<String> {
        self.key()?.encrypt(&peer, &text, &mut OsRandom).map_err(exception)
    }

    #[napi]
    pub fn decrypt(&self, peer: String, payload: String) -> Result<String> {
        self.key()?.decrypt(&peer, &payload).map_err(exception)
    }

    #[napi]
    pub fn sign(&self, template: String) -> Result<String> {
        self.key()?.sign(&template, &mut OsRandom).map_err(exception)
    }

    #[napi]
    pub fn receivers(&self, recipients: Vec<String>) -> Result<Vec<String>> {
        self.key()?.receivers(&recipients).map_err(exception)
    }

    #[napi]
    pub fn rumor(&self, template: String) -> Result<String> {
        self.key()?.rumor(&template).map_err(exception)
    }

    /// A negative time is for no expiration.
    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn wrap(
        &self,
        template: String,
        receivers: Vec<String>,
        is_ephemeral: bool,
        expires_after: f64,
        now: f64,
    ) -> Result<AsyncTask<Wrap>> {
        let expires_after = (expires_after >= 0.0).then_some(expires_after as u64);
        let options = WrapOptions { now: now as u64, is_ephemeral, expires_after };
        Ok(AsyncTask::new(Wrap { key: self.key()?, template, receivers, options }))
    }

    #[napi]
    pub fn unwrap(&self, event: String) -> Result<Unwrapped> {
        let opened = self.key()?.unwrap(&event).map_err(exception)?;
        let expiration = opened.expiration.map(|it| it as f64);
        Ok(Unwrapped { rumor: opened.rumor, expiration, is_ephemeral: opened.is_ephemeral })
    }

    #[napi]
    pub fn request(&self, signer: String, request: String, created_at: f64) -> Result<String> {
        let event = self.key()?.request(&signer, &request, created_at as u64, &mut OsRandom);
        event.map_err(exception)
    }

    #[napi]
    pub fn response(&self, signer: String, event: String) -> Result<Response> {
        let response = self.key()?.response(&signer, &event).map_err(exception)?;
        let kind = response.kind.name().to_owned();
        Ok(Response { id: response.id, kind, text: response.text })
    }

    /// Returns URI and secret.
    #[napi]
    pub fn invitation(
        &self,
        relays: Vec<String>,
        permissions: String,
        name: Option<String>,
    ) -> Result<Vec<String>> {
        let made = self.key()?.invitation(&relays, &permissions, name.as_deref(), &mut OsRandom);
        let made = made.map_err(exception)?;
        Ok(vec![made.uri.to_string(), made.secret.to_string()])
    }

    #[napi]
    pub fn accepted(&self, event: String, secret: String) -> Result<String> {
        self.key()?.accepted(&event, &secret).map_err(exception)
    }

    #[napi]
    pub fn dispose(&self) {
        *self.held() = None;
    }
}

/// A private message that was opened.
#[napi(object)]
pub struct Unwrapped {
    pub rumor: String,
    pub expiration: Option<f64>,
    pub is_ephemeral: bool,
}

/// A response of a remote signer.
#[napi(object)]
pub struct Response {
    pub id: String,
    pub kind: String,
    pub text: String,
}

/// A signer's URI.
#[napi(object)]
pub struct Bunker {
    pub signer: String,
    pub relays: Vec<String>,
    pub secret: String,
}

#[napi]
pub fn nostr_public_key(text: String) -> Result<String> {
    nostr::public_key(&text).map_err(exception)
}

#[napi]
pub fn nostr_verify(event: String) -> Result<()> {
    nostr::verify(&event).map_err(exception)
}

#[napi]
pub fn nostr_bunker(uri: String) -> Result<Bunker> {
    let bunker = nostr::Bunker::parse(&uri).map_err(exception)?;
    let secret = bunker.secret.map(|it| it.to_string()).unwrap_or_default();
    Ok(Bunker { signer: bunker.signer, relays: bunker.relays, secret })
}

pub struct UnlockKey {
    text: String,
    password: String,
    max_log_n: u8,
}

impl Task for UnlockKey {
    type Output = nostr::NostrKey;
    type JsValue = NostrKey;

    fn compute(&mut self) -> Result<Self::Output> {
        nostr::NostrKey::unlock(&self.text, &self.password, self.max_log_n).map_err(exception)
    }

    fn resolve(&mut self, _: Env, key: Self::Output) -> Result<NostrKey> {
        Ok(NostrKey::of(key))
    }
}

pub struct LockKey {
    key: nostr::NostrKey,
    password: String,
    log_n: u8,
}

impl Task for LockKey {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        self.key.lock(&self.password, self.log_n, &mut OsRandom).map_err(exception)
    }

    fn resolve(&mut self, _: Env, text: String) -> Result<String> {
        Ok(text)
    }
}

pub struct Wrap {
    key: nostr::NostrKey,
    template: String,
    receivers: Vec<String>,
    options: WrapOptions,
}

impl Task for Wrap {
    type Output = Vec<String>;
    type JsValue = Vec<String>;

    fn compute(&mut self) -> Result<Vec<String>> {
        let wrap = |it: &String| self.key.wrap(&self.template, it, &self.options, &mut OsRandom);
        self.receivers.iter().map(wrap).collect::<std::result::Result<_, _>>().map_err(exception)
    }

    fn resolve(&mut self, _: Env, wraps: Vec<String>) -> Result<Vec<String>> {
        Ok(wraps)
    }
}
