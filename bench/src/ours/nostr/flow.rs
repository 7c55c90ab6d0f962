//! The case of a signer's whole answer to a request.

use core::hint::black_box;

use endseal_nostr::connect::{Answer, Call, Request, Response};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{PublicKey, SigningKey, public_to_hex};
use endseal_nostr::nip44::{Cache, Conversation, Lengths, payload_len};
use endseal_nostr::policy::Rule;

use super::event::{CREATED_AT, signed, unescaped, verified};
use super::{Pair, Work, checked, random, text};
use crate::subject::{Checked, Failure};

mod decided;

/// Event kind of requests and responses.
const CONNECT: u16 = 24_133;
/// Number of conversations that a signer caches.
const CLIENTS: usize = 16;
/// Bytes of a response's plaintext in addition to the event's content.
const MARGIN: usize = 1024;

/// Parses, verifies and decrypts a request event, parses the request, signs the event in it,
/// encrypts the response, and signs and writes the event of the response.
pub(super) struct Flow {
    key: SigningKey,
    client: SigningKey,
    conversations: Cache<CLIENTS>,
    /// Rules of the app; empty in the variant without a decision.
    rules: Vec<Rule>,
    content: String,
    request: Vec<u8>,
    buffer: Vec<u8>,
    plaintext: Vec<u8>,
    payload: Vec<u8>,
    response: Vec<u8>,
    len: usize,
}

impl Flow {
    pub(super) fn new(bytes: usize, decides: bool) -> Result<Self, Failure> {
        let pair = Pair::new()?;
        let (client, key) = (SigningKey::new(pair.own), SigningKey::new(pair.peer));
        let content = String::from_utf8(text(bytes))?;
        let request = request(&client, key.public_key(), &content)?;
        let capacity = 4 * (bytes + MARGIN);
        Ok(Self {
            key,
            client,
            conversations: Cache::new(),
            rules: if decides { decided::rules()? } else { Vec::new() },
            content,
            buffer: request.clone(),
            request,
            plaintext: vec![0; capacity],
            payload: vec![0; 2 * capacity],
            response: vec![0; 3 * capacity],
            len: 0,
        })
    }

    fn answer(&mut self) -> Result<&[u8], Failure> {
        self.buffer.copy_from_slice(&self.request);
        self.len = if self.rules.is_empty() { self.undecided()? } else { self.decided()? };
        Ok(&self.response[..self.len])
    }

    /// Answers the request in the buffer without rules. Returns the length of the response.
    fn undecided(&mut self) -> Result<usize, Failure> {
        let (client, mut place) = verified(&self.buffer)?;
        place.end = place.start + unescaped(&mut self.buffer[place.clone()])?;
        let Self { key, conversations, .. } = self;
        let with = conversations.get_or_insert_with(key.public_key(), &client, || {
            Conversation::new(key.secret_key(), &client)
        });

        let opened = with.open(&mut self.buffer[place])?;
        let request = Request::parse(opened)?;
        let Call::SignEvent(template) = request.call()? else {
            return Err("another request".into());
        };
        let event = template.sign(key, &random()?)?;

        let answer = Answer::Event(&event);
        let plaintext = answer.write(request.id, &mut self.plaintext)?;
        let payload = with.seal(plaintext, &random()?, Lengths::Extended, &mut self.payload)?;
        let receiver = public_to_hex(&client);
        let receiver = str::from_utf8(&receiver)?;
        let response = Template {
            pubkey: None,
            created_at: CREATED_AT,
            kind: CONNECT,
            tags: Tags::List(&[&["p", receiver]]),
            content: payload.into(),
        };
        let response = response.sign(key, &random()?)?;
        Ok(response.write(&mut self.response)?.len())
    }

    /// Opens the response as the client does. Returns true if it is authentic and answers the
    /// request.
    fn received(&self) -> Result<bool, Failure> {
        let mut response = self.response[..self.len].to_vec();
        let (signer, place) = verified(&response)?;
        let with = Conversation::new(self.client.secret_key(), &signer);
        let opened = with.open(&mut response[place])?;
        let response = Response::parse(opened)?;
        let Answer::Text(event) = response.answer else { return Ok(false) };
        let event = Event::parse(event.as_bytes())?;
        Ok(response.id == ID && event.verify().is_ok() && event.content.is(&self.content))
    }
}

const ID: &str = "7";

/// Builds the request to sign a text note.
fn request(client: &SigningKey, signer: &PublicKey, content: &str) -> Result<Vec<u8>, Failure> {
    let template = Template {
        pubkey: None,
        created_at: CREATED_AT,
        kind: 1,
        tags: Tags::List(&[]),
        content: content.into(),
    };
    let mut plaintext = vec![0; 2 * content.len() + MARGIN];
    let plaintext = Call::SignEvent(template).write(ID, &mut plaintext)?;
    let len = payload_len(plaintext.len(), Lengths::Extended)?;
    let mut payload = vec![0; len];
    let payload = Conversation::new(client.secret_key(), signer).seal(
        plaintext,
        &random()?,
        Lengths::Extended,
        &mut payload,
    )?;
    let receiver = public_to_hex(signer);
    let receiver = str::from_utf8(&receiver)?;
    signed(client, CONNECT, &[&["p", receiver]], payload)
}

impl Work for Flow {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        black_box(self.answer()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
        self.answer()?;
        let round_trip = self.received()?;
        let at = self.request.len() / 2;
        self.request[at] ^= 1;
        let refused = self.answer().is_err();
        self.request[at] ^= 1;
        Ok(checked(round_trip, Some(refused), Some(self.len)))
    }
}
