//! Nostr: gift wraps of unknown senders, and layers that their author signed and encrypted.

use std::sync::LazyLock;

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::sha256;
use endseal_nostr::event::{Rumor, Tags, Template};
use endseal_nostr::gift_wrap::{
    self, EPHEMERAL_GIFT_WRAP, GIFT_WRAP, Layer, Lifetime, SEAL, UnwrapError, WrapError, Wrapping,
};
use endseal_nostr::json::Text;
use endseal_nostr::key::SigningKey;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_testing::SplitMix64;

use crate::choice;
use crate::nostr_encryption::secret_key;

/// Templates that the target gets in addition to the vectors.
const TEMPLATES: [(u8, &str); 9] = [
    (2, r#"{"created_at":1,"kind":13,"tags":[],"content":""}"#),
    (2, r#"{"created_at":1,"kind":13,"tags":[["expiration","1700000000"]],"content":""}"#),
    (2, r#"{"created_at":1,"kind":13,"tags":[["expiration","\u0031"]],"content":""}"#),
    (2, r#"{"created_at":1,"kind":13,"tags":[["expiration","01"]],"content":""}"#),
    (2, r#"{"created_at":1,"kind":13,"tags":[["p","1"],["expiration","1"]],"content":""}"#),
    (3, r#"{"created_at":1,"kind":1059,"tags":[["p","1"],["expiration","1"]],"content":""}"#),
    (3, r#"{"created_at":1,"kind":21059,"tags":[["expiration"]],"content":"","x":{}}"#),
    (5, r#"{"created_at":1,"kind":14,"tags":[["p","1"]],"content":"Are you there?"}"#),
    (0x2f, r#"{"created_at":1,"kind":7,"tags":[["e"]],"content":"\ud83d\ude00\""}"#),
];

/// Returns the inputs that the target gets in addition to the vectors.
pub(crate) fn inputs() -> Vec<Vec<u8>> {
    let templates = TEMPLATES.map(|(form, json)| [&[form], json.as_bytes()].concat());
    // No edit, a changed bit, a cut, and a blank before everything.
    let edits: [&[u8]; 4] = [b"\x04", b"\x04\0\x50\0\x01", b"\x04\0\x50\x01\0", b"\x04\0\0\x02 "];
    templates.into_iter().chain(edits.map(<[u8]>::to_vec)).collect()
}

/// Fuzzes gift wraps. The first byte modulo 6 selects the form of the rest: a wrap; a rumor that is
/// sealed; a template of a seal; a template of a wrap; edits of a wrap; a template that is wrapped.
pub fn nostr_unwrap(data: &[u8]) {
    let (form, data) = choice(data);
    match form % 6 {
        0 => drop(unwrapped(data)),
        1 => rumor(data),
        2 => seal(data),
        3 => wrap(data),
        4 => edited(data),
        _ => wrapped(form / 6, data),
    }
}

/// A signer, with its conversation with the receiver.
struct Author {
    key: SigningKey,
    conversation: Conversation,
}

impl Author {
    fn new(label: &str) -> Self {
        let conversation =
            Conversation::new(&secret_key(label), &secret_key("receiver").public_key());
        Self { key: SigningKey::new(secret_key(label)), conversation }
    }

    fn public_key(&self) -> [u8; 32] {
        self.key.public_key().to_bytes()
    }

    /// Returns the JSON of an event by this author whose content is `text`, encrypted.
    fn event(&self, template: Template<'_>, text: &[u8]) -> Vec<u8> {
        let mut payload = vec![0; payload_len(text.len(), Lengths::Extended).expect("a length")];
        let nonce = sha256::digest(text);
        let payload = self.conversation.seal(text, &nonce, Lengths::Extended, &mut payload);
        let content = Text::Plain(payload.expect("it has space"));
        let event = Template { pubkey: None, content, ..template }.sign(&self.key, &[7; 32]);
        let event = event.expect("no author is named");
        let mut out = Vec::new();
        let len = event.write(&mut out).expect_err("a buffer of nothing").needed;
        out.resize(len, 0);
        event.write(&mut out).expect("it has space").to_vec()
    }
}

static AUTHOR: LazyLock<Author> = LazyLock::new(|| Author::new("author"));
static ONCE: LazyLock<Author> = LazyLock::new(|| Author::new("once"));
/// A rumor and the seal around it.
static SEALED: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let template = Template { content: Text::Plain("Are you there?"), ..plain(14) };
    let rumor = written(&template.rumor(AUTHOR.key.public_key()));
    let seal = AUTHOR.event(plain(SEAL), &rumor);
    (rumor, seal)
});
/// The wrap around that seal.
static WRAP: LazyLock<Vec<u8>> = LazyLock::new(|| ONCE.event(plain(GIFT_WRAP), &SEALED.1));

fn plain(kind: u16) -> Template<'static> {
    let (tags, content) = (Tags::NONE, Text::Plain(""));
    Template { pubkey: None, created_at: 1_700_000_000, kind, tags, content }
}

fn written(rumor: &Rumor<'_>) -> Vec<u8> {
    let len = rumor.write(&mut []).expect_err("a buffer of nothing").needed;
    let mut out = vec![0; len];
    rumor.write(&mut out).expect("it has space").to_vec()
}

/// The rumor as it is written, and the other fields of an opened wrap.
#[derive(Debug, PartialEq)]
struct Opened {
    rumor: Vec<u8>,
    expiration: Option<u64>,
    lifetime: Lifetime,
}

/// Opens a wrap. If it is refused, the buffer must be in the state that the specification demands.
fn unwrapped(wrap: &[u8]) -> Result<Opened, UnwrapError> {
    static RECEIVER: LazyLock<endseal_nostr::key::SecretKey> =
        LazyLock::new(|| secret_key("receiver"));
    let mut json = wrap.to_vec();
    let error = match gift_wrap::unwrap(&mut json, &RECEIVER) {
        Ok(opened) => {
            assert_eq!(opened.rumor.verify_id(), Ok(()));
            let (expiration, lifetime) = (opened.expiration, opened.lifetime);
            return Ok(Opened { rumor: written(&opened.rumor), expiration, lifetime });
        }
        Err(error) => error,
    };
    let is_wiped = json.iter().all(|byte| *byte == 0);
    assert!(match error {
        UnwrapError::Wrap | UnwrapError::Kind => json == wrap,
        UnwrapError::Authentication => is_wiped || json == wrap,
        _ => is_wiped,
    });
    Err(error)
}

/// A sealed rumor must be returned if its id is right and its author is the author of the seal.
fn rumor(data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let result = unwrapped(&ONCE.event(plain(GIFT_WRAP), &AUTHOR.event(plain(SEAL), data)));
    let expected = match Rumor::parse(data) {
        Ok(rumor) if rumor.verify_id().is_err() => Err(UnwrapError::Rumor),
        Ok(rumor) if rumor.pubkey != AUTHOR.public_key() => Err(UnwrapError::Author),
        Ok(rumor) => {
            Ok(Opened { rumor: written(&rumor), expiration: None, lifetime: Lifetime::Stored })
        }
        Err(_) => Err(UnwrapError::Rumor),
    };
    assert_eq!(result, expected);
}

fn seal(data: &[u8]) {
    let Ok(template) = Template::parse(data) else { return };
    let result = unwrapped(&ONCE.event(plain(GIFT_WRAP), &AUTHOR.event(template, &SEALED.0)));
    let tags = texts(&template.tags);
    let expiration = tags.first().and_then(|tag| time(tag));
    let is_allowed = match &tags[..] {
        [] => true,
        [tag] => tag.len() == 2 && expiration.is_some(),
        _ => false,
    };
    let expected = if template.kind == SEAL && is_allowed {
        Ok(Opened { rumor: SEALED.0.clone(), expiration, lifetime: Lifetime::Stored })
    } else {
        Err(UnwrapError::Seal)
    };
    assert_eq!(result, expected);
}

fn wrap(data: &[u8]) {
    let Ok(template) = Template::parse(data) else { return };
    let result = unwrapped(&ONCE.event(template, &SEALED.1));
    let expiration = texts(&template.tags).iter().find_map(|tag| time(tag));
    let opened = |lifetime| Ok(Opened { rumor: SEALED.0.clone(), expiration, lifetime });
    let expected = match template.kind {
        GIFT_WRAP => opened(Lifetime::Stored),
        EPHEMERAL_GIFT_WRAP => opened(Lifetime::Ephemeral),
        _ => Err(UnwrapError::Kind),
    };
    assert_eq!(result, expected);
}

fn texts(tags: &Tags<'_>) -> Vec<Vec<String>> {
    tags.iter().map(|tag| tag.values().map(|it| it.to_string()).collect()).collect()
}

/// Returns the time of an expiration tag: a number below 2^53 in its shortest form.
fn time(tag: &[String]) -> Option<u64> {
    let [name, time, ..] = tag else { return None };
    let number: u64 = time.parse().ok().filter(|number| *number < 1 << 53)?;
    (name == "expiration" && number.to_string() == *time).then_some(number)
}

/// Each four bytes are an edit: position, kind and byte. A wrap that still opens must have the same
/// rumor.
fn edited(data: &[u8]) {
    let mut json = WRAP.clone();
    for [high, low, kind, byte] in data.as_chunks::<4>().0.iter().take(64) {
        let place = usize::from(u16::from_be_bytes([*high, *low])) % json.len().max(1);
        match kind % 3 {
            0 if !json.is_empty() => json[place] ^= byte,
            1 if !json.is_empty() => drop(json.remove(place)),
            _ => json.insert(place, *byte),
        }
    }
    if let Ok(opened) = unwrapped(&json) {
        let rumor = SEALED.0.clone();
        assert_eq!(opened, Opened { rumor, expiration: None, lifetime: Lifetime::Stored });
    } else {
        assert!(json != *WRAP);
    }
}

/// A rumor that is wrapped must be returned when the wrap is opened. `form` selects the times and
/// the kind of the wrap.
fn wrapped(form: usize, data: &[u8]) {
    let Ok(template) = Template::parse(data) else { return };
    let layer = |bit: usize| Layer {
        created_at: 1_699_990_000,
        expiration: (form & bit != 0).then_some(1_700_000_000 + bit as u64),
    };
    let lifetime = if form & 4 == 0 { Lifetime::Stored } else { Lifetime::Ephemeral };
    let wrapping = Wrapping { seal: layer(1), wrap: layer(2), lifetime };
    let rumor = template.rumor(AUTHOR.key.public_key());
    let len = written(&rumor).len();
    let len = gift_wrap::max_wrapped_len(len).expect("an input is short");
    let (mut scratch, mut out) = (vec![0; len], vec![0; len]);
    let mut random = Repeatable(SplitMix64::new(44));
    let receiver = secret_key("receiver").public_key();
    let result = gift_wrap::wrap(
        &template,
        &AUTHOR.key,
        &receiver,
        &wrapping,
        &mut random,
        &mut scratch,
        &mut out,
    );
    match result {
        Ok(wrap) => {
            let rumor = written(&rumor);
            let expiration = [wrapping.seal.expiration, wrapping.wrap.expiration];
            let expiration = expiration.into_iter().flatten().min();
            assert_eq!(unwrapped(wrap), Ok(Opened { rumor, expiration, lifetime }));
        }
        Err(error) => {
            assert_eq!(error, WrapError::OtherAuthor);
            assert!(template.pubkey.is_some_and(|it| it != AUTHOR.public_key()));
        }
    }
}

/// A generator with the same bytes in each run.
struct Repeatable(SplitMix64);

impl Random for Repeatable {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill_with(|| self.0.byte());
        Ok(())
    }
}
