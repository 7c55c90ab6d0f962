//! Opening.

use std::sync::{Arc, Mutex, PoisonError};

use endseal_facade as facade;
use endseal_facade::{AgeLimit, Info, OpenOptions};
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::exception;
use crate::identity::{Identity, PublicIdentity};

/// Choice of the envelopes that are opened, and their reader.
#[napi]
pub struct Opening(OpenOptions);

#[napi]
impl Opening {
    /// `max_age` is in milliseconds, `now` in milliseconds since 1970.
    #[napi(constructor)]
    pub fn new(
        identity: &Identity,
        context: Uint8Array,
        senders: Option<Vec<&PublicIdentity>>,
        max_age: Option<f64>,
        now: f64,
        requires_post_quantum: bool,
    ) -> Result<Self> {
        let senders = senders.map(|all| all.into_iter().map(|it| it.0.clone()).collect());
        let (identity, context) = (identity.keys()?, context.to_vec());
        let age = max_age.map(|it| AgeLimit { now: now as u64, max: it as u64 });
        Ok(Self(OpenOptions { identity, context, senders, age, requires_post_quantum }))
    }

    #[napi(ts_return_type = "Promise<Opened>")]
    pub fn open(&self, envelope: Uint8Array) -> AsyncTask<Open> {
        AsyncTask::new(Open { envelope: envelope.to_vec(), options: self.0.clone() })
    }

    /// The results are `Opened`, or the text of an error.
    #[napi(ts_return_type = "Promise<(Opened | string)[]>")]
    pub fn open_many(&self, envelopes: Vec<Uint8Array>) -> AsyncTask<OpenMany> {
        let envelopes = envelopes.iter().map(|it| it.to_vec()).collect();
        AsyncTask::new(OpenMany { envelopes, options: self.0.clone() })
    }

    #[napi]
    pub fn stream(&self) -> Result<OpenStream> {
        let stream = facade::OpenStream::new(&self.0).map_err(exception)?;
        Ok(OpenStream(Arc::new(Mutex::new(stream))))
    }
}

pub struct Open {
    envelope: Vec<u8>,
    options: OpenOptions,
}

impl Task for Open {
    type Output = facade::Opened;
    type JsValue = Opened;

    fn compute(&mut self) -> Result<facade::Opened> {
        facade::open(&self.envelope, &self.options).map_err(exception)
    }

    fn resolve(&mut self, _: Env, opened: facade::Opened) -> Result<Opened> {
        Ok(Opened::new(opened.content, &opened.info))
    }
}

pub struct OpenMany {
    envelopes: Vec<Vec<u8>>,
    options: OpenOptions,
}

impl Task for OpenMany {
    type Output = Vec<std::result::Result<facade::Opened, facade::Error>>;
    type JsValue = Vec<napi::Either<Opened, String>>;

    fn compute(&mut self) -> Result<Self::Output> {
        let envelopes: Vec<_> = self.envelopes.iter().map(Vec::as_slice).collect();
        Ok(facade::open_many(&envelopes, &self.options))
    }

    fn resolve(&mut self, _: Env, results: Self::Output) -> Result<Self::JsValue> {
        let results = results.into_iter().map(|result| match result {
            Ok(opened) => napi::Either::A(Opened::new(opened.content, &opened.info)),
            Err(error) => napi::Either::B(exception(error).reason.clone()),
        });
        Ok(results.collect())
    }
}

/// An envelope that was opened.
#[napi(object, object_from_js = false)]
pub struct Opened {
    pub content: Uint8Array,
    pub sender: String,
    pub message_id: Uint8Array,
    /// In milliseconds since 1970.
    pub time: Option<f64>,
    pub suite: String,
}

impl Opened {
    fn new(content: Vec<u8>, info: &Info) -> Self {
        Self {
            content: content.into(),
            sender: info.sender.to_string(),
            message_id: info.message_id.to_vec().into(),
            time: info.time.map(|it| it as f64),
            suite: info.suite.to_owned(),
        }
    }
}

/// An envelope that is being opened.
#[napi]
pub struct OpenStream(Arc<Mutex<facade::OpenStream>>);

#[napi]
impl OpenStream {
    /// Resolves to content, and facts about the message once they are known.
    #[napi(ts_return_type = "Promise<Opened | Uint8Array>")]
    pub fn feed(&self, envelope: Uint8Array) -> AsyncTask<Feed> {
        AsyncTask::new(Feed { stream: Arc::clone(&self.0), envelope: Some(envelope.to_vec()) })
    }

    #[napi(ts_return_type = "Promise<Opened | Uint8Array>")]
    pub fn finish(&self) -> AsyncTask<Feed> {
        AsyncTask::new(Feed { stream: Arc::clone(&self.0), envelope: None })
    }
}

pub struct Feed {
    stream: Arc<Mutex<facade::OpenStream>>,
    /// `None` for the end.
    envelope: Option<Vec<u8>>,
}

impl Task for Feed {
    type Output = (Vec<u8>, Option<Info>);
    type JsValue = napi::Either<Opened, Uint8Array>;

    fn compute(&mut self) -> Result<Self::Output> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let content = match &self.envelope {
            Some(envelope) => stream.feed(envelope),
            None => stream.finish(),
        };
        Ok((content.map_err(exception)?, stream.info().cloned()))
    }

    fn resolve(&mut self, _: Env, (content, info): Self::Output) -> Result<Self::JsValue> {
        Ok(match info {
            Some(info) => napi::Either::A(Opened::new(content, &info)),
            None => napi::Either::B(content.into()),
        })
    }
}

/// Public facts about an envelope.
#[napi(object, object_from_js = false)]
pub struct Inspected {
    pub suite: String,
    pub slots: u32,
    pub content_length: Option<f64>,
}

#[napi]
pub fn inspect(envelope: Uint8Array) -> Result<Inspected> {
    let facade::Inspected { suite, slots, content_len } =
        facade::inspect(&envelope).map_err(exception)?;
    Ok(Inspected {
        suite: suite.to_owned(),
        slots: u32::try_from(slots).unwrap_or(u32::MAX),
        content_length: content_len.map(|it| it as f64),
    })
}
