//! Cases of events: signed, verified, and opened from their JSON.

use core::hint::black_box;
use core::ops::Range;

use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json;
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::{Pair, Work, checked, random, text};
use crate::subject::{Checked, Failure};

/// Time of all events of the suite, in seconds since 1970.
pub(super) const CREATED_AT: u64 = 1_700_000_000;

/// Returns the JSON of an event that is signed with fresh randomness.
pub(super) fn signed(
    key: &SigningKey,
    kind: u16,
    tags: &[&[&str]],
    content: &str,
) -> Result<Vec<u8>, Failure> {
    let template = Template {
        pubkey: None,
        created_at: CREATED_AT,
        kind,
        tags: Tags::List(tags),
        content: content.into(),
    };
    let event = template.sign(key, &random()?)?;
    // An escape makes at most six bytes of one.
    let mut out = vec![0; 512 + 6 * content.len()];
    let len = event.write(&mut out)?.len();
    out.truncate(len);
    Ok(out)
}

/// Returns a key and the content of a text note.
fn note(bytes: usize) -> Result<(SigningKey, String), Failure> {
    let key = SigningKey::new(Pair::new()?.own);
    Ok((key, String::from_utf8(text(bytes))?))
}

/// Computes id and signature of a text note.
pub(super) struct Sign {
    key: SigningKey,
    content: String,
}

impl Sign {
    pub(super) fn new(bytes: usize) -> Result<Self, Failure> {
        let (key, content) = note(bytes)?;
        Ok(Self { key, content })
    }

    fn sign(&self) -> Result<Event<'_>, Failure> {
        let template = Template {
            pubkey: None,
            created_at: CREATED_AT,
            kind: 1,
            tags: Tags::List(&[]),
            content: self.content.as_str().into(),
        };
        Ok(template.sign(&self.key, &random()?)?)
    }
}

impl Work for Sign {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        black_box(self.sign()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
        let event = self.sign()?;
        Ok(checked(event.verify().is_ok(), Some(refuses_change(event)), None))
    }
}

/// Returns true if the event with a changed time is refused.
fn refuses_change(mut event: Event<'_>) -> bool {
    event.created_at += 1;
    event.verify().is_err()
}

/// Verifies id and signature of a parsed text note.
pub(super) struct Verify {
    json: Vec<u8>,
}

impl Verify {
    pub(super) fn new(bytes: usize) -> Result<Self, Failure> {
        let (key, content) = note(bytes)?;
        Ok(Self { json: signed(&key, 1, &[], &content)? })
    }
}

impl Work for Verify {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        Event::parse(black_box(&self.json))?.verify()?;
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
        self.once(0)?;
        let event = Event::parse(&self.json)?;
        Ok(checked(true, Some(refuses_change(event)), None))
    }
}

/// Parses an event and decrypts its content with a key that is derived for it, as in the published
/// method. It also verifies the signature, which the published method does not.
pub(super) struct Full {
    receiver: SecretKey,
    plaintext: Vec<u8>,
    json: Vec<u8>,
    buffer: Vec<u8>,
}

impl Full {
    pub(super) fn new(bytes: usize) -> Result<Self, Failure> {
        let pair = Pair::new()?;
        let plaintext = text(bytes);
        let mut out = vec![0; 2 * bytes + 1024];
        let len = payload_len(bytes, Lengths::Extended)?;
        let with = Conversation::new(&pair.own, &pair.peer_public());
        let sealed = with.seal(&plaintext, &random()?, Lengths::Extended, &mut out[..len]);
        let json = signed(&SigningKey::new(pair.own), 14, &[], sealed?)?;
        Ok(Self { receiver: pair.peer, plaintext, buffer: json.clone(), json })
    }

    fn open(&mut self) -> Result<&[u8], Failure> {
        self.buffer.copy_from_slice(&self.json);
        let (author, mut place) = verified(&self.buffer)?;
        place.end = place.start + unescaped(&mut self.buffer[place.clone()])?;
        let content = &mut self.buffer[place];
        let with = Conversation::new(&self.receiver, &author);
        Ok(with.open(content)?)
    }
}

/// Verifies an event. Returns its author and the range of its content.
pub(super) fn verified(json: &[u8]) -> Result<(PublicKey, Range<usize>), Failure> {
    let (event, place) = Event::parse_located(json)?;
    Ok((event.verify()?, place))
}

/// Removes the escapes of a content in place. Returns its length without them.
pub(super) fn unescaped(content: &mut [u8]) -> Result<usize, Failure> {
    Ok(json::unescape::in_place(content)?)
}

impl Work for Full {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        black_box(self.open()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
        let expected = self.plaintext.clone();
        let round_trip = self.open()? == expected;
        let at = self.json.len() / 2;
        self.json[at] ^= 1;
        let refused = self.open().is_err();
        self.json[at] ^= 1;
        Ok(checked(round_trip, Some(refused), None))
    }
}
