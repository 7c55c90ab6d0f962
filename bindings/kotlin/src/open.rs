//! Opening.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_facade as facade;
use endseal_facade::AgeLimit;

use crate::error::EndsealError;
use crate::identity::{Identity, PublicIdentity};
use crate::seal::Suite;

/// Which envelopes are opened, and by whom.
#[derive(uniffi::Record)]
pub struct OpenOptions {
    /// The reader.
    pub identity: Arc<Identity>,
    /// The context under which it was sealed.
    pub context: String,
    /// Senders from whom envelopes are opened; `null` for all.
    #[uniffi(default = None)]
    pub senders: Option<Vec<Arc<PublicIdentity>>>,
    /// Greatest age in milliseconds. With it, envelopes without a time and those that are dated
    /// more than five minutes ahead are refused, too.
    #[uniffi(default = None)]
    pub max_age: Option<u64>,
    /// Refuses envelopes that are not post-quantum.
    #[uniffi(default = false)]
    pub requires_post_quantum: bool,
}

impl OpenOptions {
    fn options(&self) -> facade::OpenOptions {
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        let senders = self.senders.as_ref();
        facade::OpenOptions {
            identity: self.identity.0.clone(),
            context: self.context.clone().into_bytes(),
            senders: senders.map(|all| all.iter().map(|it| it.0.clone()).collect()),
            age: self.max_age.map(|max| AgeLimit { now: now(), max }),
            requires_post_quantum: self.requires_post_quantum,
        }
    }
}

/// Authentic facts about an envelope.
#[derive(uniffi::Record)]
pub struct Info {
    /// Identity that sealed and signed it, in the short form.
    pub sender: Arc<PublicIdentity>,
    /// Random name of the message, which the sender chose.
    pub message_id: Vec<u8>,
    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z.
    pub time: Option<u64>,
    /// Suite of the envelope.
    pub suite: Suite,
}

impl Info {
    fn of(info: &facade::Info) -> Self {
        Self {
            sender: Arc::new(PublicIdentity(info.sender.clone())),
            message_id: info.message_id.to_vec(),
            time: info.time,
            suite: Suite::of(info.suite),
        }
    }
}

/// An envelope that was opened.
#[derive(uniffi::Record)]
pub struct OpenedContent {
    /// The content.
    pub content: Vec<u8>,
    /// Facts about the message.
    pub info: Info,
}

impl From<facade::Opened> for OpenedContent {
    fn from(opened: facade::Opened) -> Self {
        Self { content: opened.content, info: Info::of(&opened.info) }
    }
}

/// The result of one of many envelopes.
#[derive(uniffi::Record)]
pub struct OneOfMany {
    /// The opened message, or `null`.
    pub opened: Option<OpenedContent>,
    /// Reason why nothing was opened, or `null`.
    pub error: Option<EndsealError>,
}

/// Opens an envelope.
#[uniffi::export]
pub fn open_now(envelope: &[u8], options: OpenOptions) -> Result<OpenedContent, EndsealError> {
    Ok(facade::open(envelope, &options.options())?.into())
}

/// Opens many envelopes for one reader, which costs a fraction of opening each. The results are in
/// the order of the envelopes.
#[uniffi::export]
pub fn open_many_now(
    envelopes: Vec<Vec<u8>>,
    options: OpenOptions,
) -> Result<Vec<OneOfMany>, EndsealError> {
    let envelopes: Vec<_> = envelopes.iter().map(Vec::as_slice).collect();
    let results = facade::open_many(&envelopes, &options.options());
    let results = results.into_iter().map(|result| match result {
        Ok(opened) => OneOfMany { opened: Some(opened.into()), error: None },
        Err(error) => OneOfMany { opened: None, error: Some(error.into()) },
    });
    Ok(results.collect())
}

/// The public part of an envelope. Nothing of it is authentic.
#[derive(uniffi::Record)]
pub struct Inspected {
    /// Suite of the envelope.
    pub suite: Suite,
    /// Number of slots: of recipients, or more if their number is hidden.
    pub slots: u64,
    /// Length of the content in bytes; `null` if the envelope was cut short.
    pub content_length: Option<u64>,
}

/// Reads the public part of an envelope.
#[uniffi::export]
pub fn inspect(envelope: &[u8]) -> Result<Inspected, EndsealError> {
    let found = facade::inspect(envelope)?;
    let (suite, slots) = (Suite::of(found.suite), found.slots as u64);
    Ok(Inspected { suite, slots, content_length: found.content_len })
}

/// An envelope that is being opened, a block (4 MiB) at a time.
#[derive(uniffi::Object)]
pub struct OpenStream(Mutex<facade::OpenStream>);

impl OpenStream {
    fn stream(&self) -> MutexGuard<'_, facade::OpenStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[uniffi::export]
impl OpenStream {
    /// Begins to open an envelope.
    #[uniffi::constructor]
    pub fn new(options: OpenOptions) -> Result<Arc<Self>, EndsealError> {
        let stream = facade::OpenStream::new(&options.options())?;
        Ok(Arc::new(Self(Mutex::new(stream))))
    }

    /// Takes the next bytes of the envelope. Returns the content of the blocks that they complete:
    /// it is authentic, but it is not all before `finish`.
    pub fn feed(&self, envelope: &[u8]) -> Result<Vec<u8>, EndsealError> {
        Ok(self.stream().feed(envelope)?)
    }

    /// Ends the envelope, and returns the rest of its content.
    pub fn finish(&self) -> Result<Vec<u8>, EndsealError> {
        Ok(self.stream().finish()?)
    }

    /// Returns what is known of the message: after the first content, or the end.
    pub fn info(&self) -> Option<Info> {
        self.stream().info().map(Info::of)
    }
}
