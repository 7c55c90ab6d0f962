//! Identities and recipients.

use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_facade as facade;
use endseal_facade::{OsRandom, Passphrase};
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::exception;

/// A person's secret keys, unless they were wiped.
#[napi]
pub struct Identity(Mutex<Option<facade::Identity>>);

impl Identity {
    pub(crate) fn of(keys: facade::Identity) -> Self {
        Self(Mutex::new(Some(keys)))
    }

    pub(crate) fn keys(&self) -> Result<facade::Identity> {
        let closed = || exception(facade::Error::argument("the identity was disposed of"));
        self.held().clone().ok_or_else(closed)
    }

    fn held(&self) -> MutexGuard<'_, Option<facade::Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[napi]
impl Identity {
    #[napi(factory)]
    pub fn generate() -> Result<Self> {
        facade::Identity::generate(&mut OsRandom).map(Self::of).map_err(exception)
    }

    #[napi(ts_return_type = "Promise<Identity>")]
    pub fn unlock(file: Uint8Array, passphrase: String) -> Result<AsyncTask<Unlock>> {
        let passphrase = Passphrase::new(&passphrase).map_err(exception)?;
        Ok(AsyncTask::new(Unlock { file: file.to_vec(), passphrase }))
    }

    #[napi(ts_return_type = "Promise<string>")]
    pub fn lock(&self, passphrase: String) -> Result<AsyncTask<Lock>> {
        let passphrase = Passphrase::new(&passphrase).map_err(exception)?;
        Ok(AsyncTask::new(Lock { keys: self.keys()?, passphrase }))
    }

    #[napi(getter)]
    pub fn public(&self) -> Result<PublicIdentity> {
        Ok(PublicIdentity(self.keys()?.public()))
    }

    #[napi]
    pub fn dispose(&self) {
        *self.held() = None;
    }
}

pub struct Unlock {
    file: Vec<u8>,
    passphrase: Passphrase,
}

impl Task for Unlock {
    type Output = facade::Identity;
    type JsValue = Identity;

    fn compute(&mut self) -> Result<Self::Output> {
        facade::Identity::unlock(&self.file, &self.passphrase).map_err(exception)
    }

    fn resolve(&mut self, _: Env, keys: Self::Output) -> Result<Identity> {
        Ok(Identity::of(keys))
    }
}

pub struct Lock {
    keys: facade::Identity,
    passphrase: Passphrase,
}

impl Task for Lock {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        self.keys.lock(&self.passphrase, &mut OsRandom).map_err(exception)
    }

    fn resolve(&mut self, _: Env, file: String) -> Result<String> {
        Ok(file)
    }
}

/// A person's public keys.
#[napi]
pub struct PublicIdentity(pub(crate) facade::PublicIdentity);

#[napi]
impl PublicIdentity {
    #[napi(factory)]
    pub fn parse(text: String) -> Result<Self> {
        facade::PublicIdentity::parse(text.trim()).map(Self).map_err(exception)
    }

    #[napi(getter)]
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    #[napi(getter)]
    pub fn post_quantum(&self) -> bool {
        self.0.is_post_quantum()
    }

    #[napi(getter)]
    pub fn short(&self) -> Self {
        Self(self.0.short())
    }

    #[napi(getter)]
    pub fn key(&self) -> Uint8Array {
        self.0.key().to_vec().into()
    }
}

/// Recipients of content.
#[napi]
pub struct Recipients(pub(crate) facade::Recipients);

#[napi]
impl Recipients {
    #[napi(constructor)]
    pub fn new(of: Vec<&PublicIdentity>) -> Result<Self> {
        let of: Vec<_> = of.into_iter().map(|it| it.0.clone()).collect();
        facade::Recipients::new(&of).map(Self).map_err(exception)
    }

    #[napi(getter)]
    pub fn size(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    #[napi(getter)]
    pub fn post_quantum(&self) -> bool {
        self.0.is_post_quantum()
    }
}
