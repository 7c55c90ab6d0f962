//! Messages between a client and a remote signer (NIP-46).

use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::Relays;
use endseal_nostr::connect::{
    self, Answer, ConnectSecret, ConnectUri, KIND, MAX_EVENT, MAX_URI, Metadata, NostrConnect,
    Permissions,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::unescape;
use endseal_nostr::key::PublicKey;
use endseal_nostr::nip44::Lengths;

use super::event::malformed;
use super::key::{NostrKey, hex, no_random, peer_of, seal};
use crate::error::Error;

/// A signer's URI, `bunker://…`.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has a secret")]
pub struct Bunker {
    /// Public key of the signer, in hexadecimal digits.
    pub signer: String,
    /// Relays where it listens, at least one.
    pub relays: Vec<String>,
    /// Secret, valid for one connection.
    pub secret: Option<Zeroizing<String>>,
}

impl Bunker {
    /// Reads a URI.
    ///
    /// # Errors
    /// `argument`.
    pub fn parse(uri: &str) -> Result<Self, Error> {
        let uri = uri.trim();
        let mut buffer = Zeroizing::new(vec![0; uri.len().min(MAX_URI)]);
        match ConnectUri::parse(uri, &mut buffer) {
            Ok(ConnectUri::Bunker(bunker)) => Ok(Self {
                signer: hex(&bunker.signer),
                relays: bunker.relays.iter().map(str::to_owned).collect(),
                secret: bunker.secret.map(|it| Zeroizing::new(it.expose_secret().to_owned())),
            }),
            Ok(_) => Err(Error::argument("a nostrconnect:// URI is for the signer")),
            Err(error) => Err(Error::argument(error)),
        }
    }
}

/// A client's URI, `nostrconnect://…`, which a person gives to a signer.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has a secret")]
pub struct Invitation {
    /// The URI.
    pub uri: Zeroizing<String>,
    /// The secret in it, which the signer returns.
    pub secret: Zeroizing<String>,
}

/// Kind of an answer of a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// The result of the request.
    Result,
    /// The text of an error.
    Error,
    /// The URL of a page on which a person decides; another response follows.
    AuthUrl,
}

impl ResponseKind {
    /// Name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Error => "error",
            Self::AuthUrl => "auth-url",
        }
    }
}

/// An authentic response of a signer.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has plaintext")]
pub struct Response {
    /// Id of the request.
    pub id: String,
    /// Kind of the answer.
    pub kind: ResponseKind,
    /// Text of the answer.
    pub text: String,
}

impl NostrKey {
    /// Encrypts a request, JSON with `id`, `method` and `params`, as an event for a signer.
    /// `created_at` is in seconds since 1970.
    ///
    /// # Errors
    /// `argument` for a wrong public key, `limit` for a request of which the event is longer than
    /// 512 KiB, `random` if the source of randomness fails.
    pub fn request(
        &self,
        signer: &str,
        request: &str,
        created_at: u64,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let too_long = || Error::new("limit", "the request is too long");
        if request.len() > MAX_EVENT {
            return Err(too_long());
        }
        let (signer, mut nonce) = (peer_of(signer)?, [0; 32]);
        random.fill(&mut nonce).map_err(no_random)?;
        let signer = hex(&signer);
        let conversation = self.conversation(&signer)?;
        let content = seal(&conversation, request.as_bytes(), &nonce, Lengths::Extended)?;
        let template = Template {
            pubkey: None,
            created_at,
            kind: KIND,
            tags: Tags::List(&[&["p", &signer]]),
            content: content.as_str().into(),
        };
        let event = self.sign_template(&template, random)?;
        if event.len() > MAX_EVENT { Err(too_long()) } else { Ok(event) }
    }

    /// Invites a signer to this client, with a new secret. `permissions` are wishes, joined by
    /// commas.
    ///
    /// # Errors
    /// `argument` if there is no relay, one is no WebSocket URL, or the URI is longer than 4,096
    /// bytes; `random` if the source of randomness fails.
    pub fn invitation(
        &self,
        relays: &[String],
        permissions: &str,
        name: Option<&str>,
        random: &mut impl Random,
    ) -> Result<Invitation, Error> {
        let mut bytes = Zeroizing::new([0; 16]);
        random.fill(&mut bytes[..]).map_err(no_random)?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = Zeroizing::new(secret);
        let relays: Vec<&str> = relays.iter().map(String::as_str).collect();
        let uri = NostrConnect {
            client: *self.signing().public_key(),
            relays: Relays::new(&relays),
            ignored_relays: 0,
            secret: ConnectSecret::new(&secret).map_err(Error::argument)?,
            permissions: Permissions::new(permissions),
            metadata: Metadata { name: name.map(Into::into), ..Metadata::default() },
        };
        let mut buffer = Zeroizing::new(vec![0; MAX_URI]);
        let uri = Zeroizing::new(uri.write(&mut buffer).map_err(Error::argument)?.to_owned());
        // What no signer could read is not given out.
        let mut buffer = Zeroizing::new(vec![0; uri.len()]);
        match ConnectUri::parse(&uri, &mut buffer).map_err(Error::argument)? {
            ConnectUri::NostrConnect(it) if it.ignored_relays == 0 => {}
            _ => return Err(Error::argument("a relay is no WebSocket URL (wss://…)")),
        }
        Ok(Invitation { uri, secret })
    }

    /// Reads the first response to an invitation. Returns the public key of the signer, which has
    /// returned the secret.
    ///
    /// # Errors
    /// `secret` if it is another one; otherwise those of [`NostrKey::response`].
    pub fn accepted(&self, event: &str, secret: &str) -> Result<String, Error> {
        let (author, response) = self.read_response(event, None)?;
        let other = || Error::new("secret", "the response has another secret");
        let secret = ConnectSecret::new(secret).map_err(Error::argument)?;
        let found = ConnectSecret::new(&response.text).map_err(|_| other())?;
        if response.kind == ResponseKind::Result && found == secret {
            Ok(author)
        } else {
            Err(other())
        }
    }

    /// Verifies and decrypts a response: an event of the signer for this key.
    ///
    /// # Errors
    /// `argument` for a wrong public key, `limit` for an event of more than 512 KiB, `event` if it
    /// is none, `kind` if it has another kind or another receiver, `author` if it is another
    /// author's, `authentication`, or `response` if its content is none.
    pub fn response(&self, signer: &str, event: &str) -> Result<Response, Error> {
        let signer = peer_of(signer)?;
        self.read_response(event, Some(&signer)).map(|(_, response)| response)
    }

    /// Reads a response of a signer, or of anyone, and its author.
    fn read_response(
        &self,
        event: &str,
        signer: Option<&PublicKey>,
    ) -> Result<(String, Response), Error> {
        if event.len() > MAX_EVENT {
            return Err(Error::new("limit", "the event is longer than 512 KiB"));
        }
        let mut json = Zeroizing::new(event.as_bytes().to_vec());
        let (event, content) = Event::parse_located(&json).map_err(malformed)?;
        let own = self.public();
        if event.kind != KIND || !event.tags.value("p").is_some_and(|it| it.is(&own)) {
            return Err(Error::new("kind", "the event is no response to this key"));
        }
        if signer.is_some_and(|it| event.pubkey != it.to_bytes()) {
            return Err(Error::new("author", "the event is of another author"));
        }
        let forged = |error: &dyn std::fmt::Display| Error::new("authentication", error);
        let author = hex(&event.verify().map_err(|error| forged(&error))?);
        let content = &mut json[content];
        let len = unescape::in_place(content).map_err(|error| forged(&error))?;
        let conversation = self.conversation(&author)?;
        let opened = conversation.open(&mut content[..len]).map_err(|error| forged(&error))?;
        let response = connect::Response::parse(opened);
        let response = response.map_err(|error| Error::new("response", error))?;
        let (kind, text) = match response.answer {
            Answer::Text(text) => (ResponseKind::Result, text),
            Answer::AuthUrl(url) => (ResponseKind::AuthUrl, url),
            Answer::Error(text) => (ResponseKind::Error, text),
            // The only other answer that is read.
            _ => (ResponseKind::Result, "null"),
        };
        Ok((author, Response { id: response.id.to_owned(), kind, text: text.to_owned() }))
    }
}
