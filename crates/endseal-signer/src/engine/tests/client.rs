//! Client side of an app in the tests.

use endseal_nostr::connect::{Answer, ConnectUri, Response};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey, public_to_hex};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::Outgoing;

/// Client of one signer, with its keys and secret.
pub(super) struct Client {
    pub(super) key: SigningKey,
    pub(super) signer: PublicKey,
    pub(super) secret: String,
    conversation: Conversation,
}

/// Response as a client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) result: Option<String>,
    pub(super) error: Option<String>,
}

impl Reply {
    /// Result of request `r1`.
    pub(super) fn result(result: &str) -> Self {
        Self { id: "r1".to_owned(), result: Some(result.to_owned()), error: None }
    }

    /// Error of request `r1`.
    pub(super) fn error(error: &str) -> Self {
        Self { id: "r1".to_owned(), result: None, error: Some(error.to_owned()) }
    }
}

impl Client {
    pub(super) fn of_bunker(uri: &str) -> Self {
        Self::with_key(uri, 9)
    }

    pub(super) fn with_key(uri: &str, key: u8) -> Self {
        let mut buffer = vec![0; uri.len()];
        let Ok(ConnectUri::Bunker(bunker)) = ConnectUri::parse(uri, &mut buffer) else {
            panic!("{uri}")
        };
        let secret = bunker.secret.map(|it| it.expose_secret().to_owned()).unwrap_or_default();
        Self::new(key, bunker.signer, &secret)
    }

    pub(super) fn new(key: u8, signer: PublicKey, secret: &str) -> Self {
        let key = SigningKey::new(SecretKey::from_bytes(&[key; 32]).unwrap());
        let conversation = Conversation::new(key.secret_key(), &signer);
        Self { key, signer, secret: secret.to_owned(), conversation }
    }

    pub(super) fn public_hex(&self) -> String {
        String::from_utf8(public_to_hex(self.key.public_key()).to_vec()).unwrap()
    }

    pub(super) fn signer_hex(&self) -> String {
        String::from_utf8(public_to_hex(&self.signer).to_vec()).unwrap()
    }

    pub(super) fn connect(&self, now: u64) -> String {
        self.request(now, "r1", "connect", &[&self.signer_hex(), &self.secret])
    }

    pub(super) fn request(&self, now: u64, id: &str, method: &str, params: &[&str]) -> String {
        let json = serde_json::json!({"id": id, "method": method, "params": params});
        self.event(now, &json.to_string())
    }

    /// Signs an event with any plaintext. Each event has its own id.
    pub(super) fn event(&self, now: u64, plaintext: &str) -> String {
        let mut nonce = [0; 32];
        endseal_crypto::random::Random::fill(&mut endseal_crypto::random::OsRandom, &mut nonce)
            .unwrap();
        let mut payload = vec![0; payload_len(plaintext.len(), Lengths::Extended).unwrap()];
        let payload = self
            .conversation
            .seal(plaintext.as_bytes(), &nonce, Lengths::Extended, &mut payload)
            .unwrap()
            .to_owned();
        self.sign(now, &payload)
    }

    pub(super) fn sign(&self, now: u64, content: &str) -> String {
        let signer = self.signer_hex();
        let template = Template {
            pubkey: None,
            created_at: now,
            kind: 24_133,
            tags: Tags::List(&[&["p", &signer]]),
            content: content.into(),
        };
        let mut json = Vec::new();
        template.sign(&self.key, &[0; 32]).unwrap().write_to(&mut json);
        String::from_utf8(json).unwrap()
    }

    /// Decrypts the responses to this client, in their order.
    pub(super) fn read_all(&self, outgoing: &[Outgoing]) -> Vec<Reply> {
        let own = outgoing.iter().filter(|it| it.transport == self.signer.to_bytes());
        own.map(|it| self.read(&it.event.json)).collect()
    }

    fn read(&self, json: &[u8]) -> Reply {
        let event = Event::parse(json).unwrap();
        let author = event.verify().unwrap();
        assert_eq!(author.to_bytes(), self.signer.to_bytes());
        assert!(event.tags.value("p").unwrap().is(&self.public_hex()));
        let mut content = event.content.to_string().into_bytes();
        let plaintext = self.conversation.open(&mut content).unwrap();
        // An error is never empty, and a success has no `error` member.
        let value: serde_json::Value = serde_json::from_slice(plaintext).unwrap();
        let members = value.as_object().unwrap();
        assert!(members.get("error").is_none_or(|it| it.as_str().is_some_and(|it| !it.is_empty())));
        assert!(members.get("result").is_none_or(|it| it.is_string()));
        let response = Response::parse(plaintext).unwrap();
        let (result, error) = match response.answer {
            Answer::Text(text) => (Some(text.to_owned()), None),
            Answer::Error(error) => (None, Some(error.to_owned())),
            Answer::AuthUrl(url) => (Some("auth_url".to_owned()), Some(url.to_owned())),
            _ => panic!("another answer"),
        };
        Reply { id: response.id.to_owned(), result, error }
    }
}
