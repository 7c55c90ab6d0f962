//! Sealing.

use std::sync::{Arc, Mutex, PoisonError};

use endseal_facade as facade;
use endseal_facade::{OsRandom, SealOptions, SuiteChoice};
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::exception;
use crate::identity::{Identity, Recipients};

/// Parts of an envelope beside its content.
#[napi]
pub struct Sealing(SealOptions);

#[napi]
impl Sealing {
    /// `time` is in milliseconds since 1970, 0 for none.
    #[napi(constructor)]
    pub fn new(
        sender: &Identity,
        recipients: &Recipients,
        context: Uint8Array,
        time: f64,
        hybrid: bool,
        hides_count: bool,
    ) -> Result<Self> {
        let suite = if hybrid { SuiteChoice::Hybrid } else { SuiteChoice::X25519 };
        let (sender, recipients) = (sender.keys()?, recipients.0.clone());
        let (context, time) = (context.to_vec(), time as u64);
        let time = (time > 0).then_some(time);
        Ok(Self(SealOptions { sender, recipients, context, time, suite, hides_count }))
    }

    #[napi(ts_return_type = "Promise<Uint8Array>")]
    pub fn seal(&self, content: Uint8Array) -> AsyncTask<Seal> {
        // A copy: the caller may change the array meanwhile.
        AsyncTask::new(Seal { content: content.to_vec(), options: self.0.clone() })
    }

    #[napi]
    pub fn stream(&self) -> Result<SealStream> {
        let stream = facade::SealStream::new(&self.0, &mut OsRandom).map_err(exception)?;
        Ok(SealStream(Arc::new(Mutex::new(stream))))
    }
}

pub struct Seal {
    content: Vec<u8>,
    options: SealOptions,
}

impl Task for Seal {
    type Output = Vec<u8>;
    type JsValue = Uint8Array;

    fn compute(&mut self) -> Result<Vec<u8>> {
        facade::seal(&self.content, &self.options, &mut OsRandom).map_err(exception)
    }

    fn resolve(&mut self, _: Env, envelope: Vec<u8>) -> Result<Uint8Array> {
        Ok(envelope.into())
    }
}

/// An envelope that is being sealed.
#[napi]
pub struct SealStream(Arc<Mutex<facade::SealStream>>);

#[napi]
impl SealStream {
    #[napi(ts_return_type = "Promise<Uint8Array>")]
    pub fn push(&self, content: Uint8Array) -> AsyncTask<Push> {
        AsyncTask::new(Push { stream: Arc::clone(&self.0), content: Some(content.to_vec()) })
    }

    #[napi(ts_return_type = "Promise<Uint8Array>")]
    pub fn finish(&self) -> AsyncTask<Push> {
        AsyncTask::new(Push { stream: Arc::clone(&self.0), content: None })
    }
}

pub struct Push {
    stream: Arc<Mutex<facade::SealStream>>,
    /// `None` for the end.
    content: Option<Vec<u8>>,
}

impl Task for Push {
    type Output = Vec<u8>;
    type JsValue = Uint8Array;

    fn compute(&mut self) -> Result<Vec<u8>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sealed = match &self.content {
            Some(content) => stream.push(content),
            None => stream.finish(),
        };
        sealed.map_err(exception)
    }

    fn resolve(&mut self, _: Env, sealed: Vec<u8>) -> Result<Uint8Array> {
        Ok(sealed.into())
    }
}
