//! Private messages in gift wraps (NIP-17, NIP-59).

use std::collections::HashSet;

use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::gift_wrap::{
    Layer, Lifetime, MAX_DELAY, UnwrapError, WrapError, Wrapping, max_wrapped_len, past_time,
    unwrap, wrap,
};

use super::event::{Json, malformed};
use super::key::{NostrKey, hex, no_random, peer_of};
use crate::error::Error;

/// Kind of a private message of text.
const PRIVATE_MESSAGE: u16 = 14;
/// Receivers accept times below this one alone, in seconds since 1970.
const END_OF_TIME: u64 = 1 << 53;
const OTHER_AUTHOR: &str = "the event names another author";

/// Treatment of a wrap by relays.
#[derive(Clone, Copy, Debug)]
pub struct WrapOptions {
    /// The present, in seconds since 1970.
    pub now: u64,
    /// Relays pass the wrap on and forget it.
    pub is_ephemeral: bool,
    /// Seconds after which relays may delete the wrap, and up to two days more, so that it does
    /// not say when it was made.
    pub expires_after: Option<u64>,
}

/// A private message that was received. Its author has signed it.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has plaintext")]
pub struct Unwrapped {
    /// The message, an unsigned event. Its `pubkey` is the author's.
    pub rumor: String,
    /// Time after which the message should not be shown, in seconds since 1970.
    pub expiration: Option<u64>,
    /// The wrap was one that relays do not keep.
    pub is_ephemeral: bool,
}

impl NostrKey {
    /// Returns the public keys of recipients in hexadecimal digits, each once. The own one, for
    /// whom a copy is made, is the last.
    ///
    /// # Errors
    /// `argument` for wrong or no recipients.
    pub fn receivers(&self, recipients: &[String]) -> Result<Vec<String>, Error> {
        let own = self.public();
        let (mut receivers, mut seen) = (Vec::with_capacity(recipients.len() + 1), HashSet::new());
        for recipient in recipients {
            let receiver = hex(&peer_of(recipient)?);
            if receiver != own && seen.insert(receiver.clone()) {
                receivers.push(receiver);
            }
        }
        if recipients.is_empty() {
            return Err(Error::argument("there is no recipient"));
        }
        receivers.push(own);
        Ok(receivers)
    }

    /// Returns a private message of text (kind 14) as the template of an event. It names all
    /// `receivers` but the last.
    #[must_use]
    pub fn message(&self, text: &str, receivers: &[String], now: u64) -> String {
        let named = receivers.split_last().map_or(&[][..], |(_, others)| others);
        let tags: Vec<[&str; 2]> = named.iter().map(|it| ["p", it]).collect();
        let tags: Vec<&[&str]> = tags.iter().map(|it| &it[..]).collect();
        let template = Template {
            pubkey: None,
            created_at: now,
            kind: PRIVATE_MESSAGE,
            tags: Tags::List(&tags),
            content: text.into(),
        };
        written(|json| template.write_to(json))
    }

    /// Returns a message as an unsigned event of this author with its id, which the author keeps.
    ///
    /// # Errors
    /// `event` if the template is none, or names another author.
    pub fn rumor(&self, template: &str) -> Result<String, Error> {
        let template = self.own(template)?;
        Ok(written(|json| template.rumor(self.signing().public_key()).write_to(json)))
    }

    /// Wraps a message, the template of an event, for one receiver. A message is wrapped for each
    /// recipient, and for the author.
    ///
    /// # Errors
    /// `event` if the template is none, or names another author; `argument` for a wrong receiver,
    /// or for an expiration of 2^53 seconds after 1970 or later; `length` for a message that is too
    /// long; `random` if the source of randomness fails.
    pub fn wrap(
        &self,
        template: &str,
        receiver: &str,
        options: &WrapOptions,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let (rumor, receiver) = (self.own(template)?, peer_of(receiver)?);
        let (mut json, author) = (Vec::new(), self.signing());
        rumor.rumor(author.public_key()).write_to(&mut Json(&mut json));
        let len = Zeroizing::new(json).len();
        let len = max_wrapped_len(len).map_err(|error| Error::new("length", error))?;
        let (mut scratch, mut out) = (Zeroizing::new(vec![0; len]), Zeroizing::new(vec![0; len]));
        let wrapping = options.wrapping(random)?;
        let event = wrap(&rumor, author, &receiver, &wrapping, random, &mut scratch, &mut out);
        Ok(String::from_utf8_lossy(event.map_err(wrap_error)?).into_owned())
    }

    fn own<'t>(&self, template: &'t str) -> Result<Template<'t>, Error> {
        let template = Template::parse(template.as_bytes()).map_err(malformed)?;
        let own = self.signing().public_key().to_bytes();
        match template.pubkey {
            Some(other) if other != own => Err(Error::new("event", OTHER_AUTHOR)),
            _ => Ok(template),
        }
    }

    /// Opens a wrap. Its author has signed the message, which is checked; kind and tags of the
    /// message are the caller's to judge.
    ///
    /// # Errors
    /// `wrap`, `kind`, `version`, `authentication`, `seal`, `rumor`, `author`
    /// (docs/spec/nostr.md, "Unwrapping").
    pub fn unwrap(&self, event: &str) -> Result<Unwrapped, Error> {
        let mut buffer = Zeroizing::new(event.as_bytes().to_vec());
        let opened = unwrap(&mut buffer, self.signing().secret_key()).map_err(unwrap_error)?;
        Ok(Unwrapped {
            rumor: written(|json| opened.rumor.write_to(json)),
            expiration: opened.expiration,
            is_ephemeral: opened.lifetime == Lifetime::Ephemeral,
        })
    }
}

impl WrapOptions {
    fn wrapping(&self, random: &mut impl Random) -> Result<Wrapping, Error> {
        let after = self.expires_after.unwrap_or_default();
        let latest = self.now.saturating_add(after).saturating_add(MAX_DELAY);
        if latest >= END_OF_TIME {
            return Err(Error::argument("the expiration is 2^53 seconds after 1970 or later"));
        }
        let mut layer = || {
            let expiration = self.expires_after.map(|_| past_time(latest, random)).transpose()?;
            Ok(Layer { created_at: past_time(self.now, random)?, expiration })
        };
        let (seal, wrap) = (layer().map_err(no_random)?, layer().map_err(no_random)?);
        let lifetime = if self.is_ephemeral { Lifetime::Ephemeral } else { Lifetime::Stored };
        Ok(Wrapping { seal, wrap, lifetime })
    }
}

/// The text of JSON.
fn written(write: impl FnOnce(&mut Json<'_>)) -> String {
    let mut json = Vec::new();
    write(&mut Json(&mut json));
    // What is written is made of texts.
    String::from_utf8(json).unwrap_or_default()
}

fn wrap_error(error: WrapError) -> Error {
    let code = match error {
        WrapError::Length => "length",
        WrapError::Random => "random",
        _ => "event",
    };
    Error::new(code, error)
}

fn unwrap_error(error: UnwrapError) -> Error {
    let code = match error {
        UnwrapError::Wrap => "wrap",
        UnwrapError::Kind => "kind",
        UnwrapError::UnsupportedVersion => "version",
        UnwrapError::Seal => "seal",
        UnwrapError::Rumor => "rumor",
        UnwrapError::Author => "author",
        _ => "authentication",
    };
    Error::new(code, error)
}
