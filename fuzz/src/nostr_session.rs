//! Nostr: events of unknown senders at a remote signer, and its answers at the client.

use std::sync::LazyLock;

use endseal_crypto::sha256;
use endseal_nostr::connect::{
    Answer, Call, Encryption, Incoming, KIND, MAX_REFUSAL, Refusal, Request, Response,
    ResponseKeys, Stamp, UnwrapBatch, UnwrapResults, aux, execute, execute_len, is_fresh, respond,
    response_len, unwrap_item,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{SecretKey, SigningKey, public_to_hex};
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Cache, Conversation, Lengths, payload_len};
use endseal_nostr::policy::{Action, Bound, Effect, Kinds, Pattern, Rule, Verdict, decide};
use serde_json::Value;

use crate::choice;

/// Time of the vectors, in seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// Returns the input that the target gets in addition to the vectors.
pub(crate) fn batch() -> Vec<u8> {
    let request = br#"{"id":"1","method":"nip17_unwrap_batch","params":["[{},1]"]}"#;
    [b"\x01", &request[..]].concat()
}

/// Keys of the vectors, and the secrets that two of them share.
struct Parties {
    user: SigningKey,
    transport: SigningKey,
    client: SigningKey,
    conversation: Conversation,
    legacy: nip04::Key,
}

static PARTIES: LazyLock<Parties> = LazyLock::new(|| {
    let key = |n| SigningKey::new(SecretKey::from_bytes(&[n; 32]).expect("a number below n"));
    let [user, transport, client] = [1, 2, 3].map(key);
    let (own, peer) = (transport.secret_key(), client.public_key());
    let (conversation, legacy) = (Conversation::new(own, peer), nip04::Key::new(own, peer));
    Parties { user, transport, client, conversation, legacy }
});

/// Fuzzes a remote signer. The first byte modulo 4 selects the form of the rest: an event; a
/// request, by NIP-44 and by NIP-04; the content of an event. If bit 2 is set, rules allow
/// everything that can be allowed. An event that is answered must have an answer that the client
/// opens.
pub fn nostr_session(data: &[u8]) {
    let (form, data) = choice(data);
    let is_allowed = form & 4 != 0;
    let parties = &*PARTIES;
    let mut json = match form % 4 {
        0 => data.to_vec(),
        1 if data.is_empty() => return,
        1 => parties.event(&parties.sealed(data)),
        2 => parties.event(&parties.encrypted(data)),
        _ => match str::from_utf8(data) {
            Ok(content) => parties.event(content),
            Err(_) => return,
        },
    };
    let is_answered = parties.answered(&mut json, is_allowed);
    if form % 4 == 1 {
        // The event is valid, so the outcome depends on its request alone.
        assert_eq!(is_answered, Request::parse(&mut data.to_vec()).is_ok());
    }
}

impl Parties {
    fn sealed(&self, plaintext: &[u8]) -> String {
        let len = payload_len(plaintext.len(), Lengths::Extended).expect("1 to 2^32 - 1 bytes");
        let (nonce, mut out) = (sha256::digest(plaintext), vec![0; len]);
        let payload = self.conversation.seal(plaintext, &nonce, Lengths::Extended, &mut out);
        payload.expect("it has space").to_owned()
    }

    fn encrypted(&self, plaintext: &[u8]) -> String {
        let mut out = vec![0; nip04::content_len(plaintext.len())];
        self.legacy.encrypt(plaintext, &[9; 16], &mut out).expect("it has space").to_owned()
    }

    /// Returns the JSON of an event of the client.
    fn event(&self, content: &str) -> Vec<u8> {
        let receiver = public_to_hex(self.transport.public_key());
        let receiver = str::from_utf8(&receiver).expect("digits");
        let template = Template {
            pubkey: None,
            created_at: NOW,
            kind: KIND,
            tags: Tags::List(&[&["p", receiver]]),
            content: content.into(),
        };
        written(&template.sign(&self.client, &[7; 32]).expect("no author is named"))
    }

    /// Returns true if the event was answered. It takes the steps of the specification at a signer
    /// whose paired app is the client.
    fn answered(&self, json: &mut [u8], is_allowed: bool) -> bool {
        let Ok(incoming) = Incoming::read(json) else { return false };
        if *incoming.recipient() != self.transport.public_key().to_bytes()
            || *incoming.author() != self.client.public_key().to_bytes()
        {
            return false;
        }
        let is_fresh = is_fresh(incoming.created_at(), NOW, 0);
        let Ok(verified) = incoming.verify() else { return false };
        let is_legacy = verified.is_nip04();
        let opened = if is_legacy {
            verified.open_nip04(&self.legacy).ok()
        } else {
            verified.open(&self.conversation).ok()
        };
        let Some(Ok(request)) = opened.map(|opened| opened.request()) else { return false };
        let result = if is_legacy {
            Err(Refusal::Nip04Transport)
        } else if is_fresh {
            self.executed(&request, is_allowed)
        } else {
            Err(Refusal::Stale)
        };
        let mut buffer = [0; MAX_REFUSAL];
        let answer = match &result {
            Ok(text) => Answer::Text(text),
            Err(refusal) => Answer::Error(refusal.text(&mut buffer)),
        };
        self.exchange(&request, &answer, is_legacy);
        true
    }

    /// Returns the text of the result.
    fn executed(&self, request: &Request<'_>, is_allowed: bool) -> Result<String, Refusal> {
        if let Some(batch) = UnwrapBatch::of(request) {
            return Ok(self.unwrapped(&batch?));
        }
        let call = request.call()?;
        if let Some(action) = Action::of(&call)? {
            let rules = if is_allowed { vec![allowance(&action)] } else { Vec::new() };
            let decision = decide(&rules, &action, NOW);
            assert_eq!(decision.verdict == Verdict::Allow, is_allowed);
            decision.refusal().map_or(Ok(()), Err)?;
        }
        if matches!(call, Call::Connect(_) | Call::SwitchRelays | Call::Logout) {
            return Ok("ack".to_owned());
        }
        let mut out = vec![0; execute_len(&call)?];
        let aux = aux(self.transport.secret_key(), &request.digest());
        let mut conversations = Cache::<1>::new();
        let outcome = execute(&call, &self.user, &mut conversations, &aux, &[8; 32], &mut out)?;
        Ok(match outcome.answer() {
            Answer::Text(text) => text.to_owned(),
            Answer::Event(event) => {
                assert_eq!(event.verify().ok().as_ref(), Some(self.user.public_key()));
                String::from_utf8(written(event)).expect("an event is a text")
            }
            _ => panic!("a method has another outcome"),
        })
    }

    fn unwrapped(&self, batch: &UnwrapBatch<'_>) -> String {
        // Space for the rumor's escapes, and for the JSON around it.
        let len = batch.iter().map(|wrap| 6 * wrap.len() + 200).sum::<usize>();
        let mut out = vec![0; len + 2];
        let mut results = UnwrapResults::new(&mut out);
        for wrap in batch.iter() {
            match unwrap_item(wrap, self.user.secret_key(), &mut vec![0; wrap.len()]) {
                Ok(unwrapped) => results.rumor(&unwrapped),
                Err(_) => results.error("failed"),
            }
        }
        let list = results.finish().expect("it has space");
        let value: Value = serde_json::from_str(list).expect("a list of objects");
        assert_eq!(value.as_array().map(Vec::len), Some(batch.len()));
        list.to_owned()
    }

    /// Sends the answer to the client, which must open it.
    fn exchange(&self, request: &Request<'_>, answer: &Answer<'_>, is_legacy: bool) {
        let encryption = if is_legacy {
            Encryption::Nip04(&self.legacy)
        } else {
            Encryption::Nip44(&self.conversation)
        };
        let client = self.client.public_key();
        let keys = ResponseKeys { transport: &self.transport, client, encryption };
        let stamp = Stamp { created_at: NOW, nonce: [6; 32], aux: [5; 32] };
        let len = response_len(answer, request.id, &encryption).expect("an input is short");
        let (mut scratch, mut out) = (vec![0; len.scratch], vec![0; len.event]);
        let event = respond(answer, request.id, &keys, &stamp, &mut scratch, &mut out);
        let event = Event::parse(event.expect("it has space").as_bytes()).expect("an event");

        assert_eq!(event.verify().ok().as_ref(), Some(self.transport.public_key()));
        let receiver = event.tags.value("p").map(|text| text.to_string().into_bytes());
        assert_eq!((event.kind, receiver), (KIND, Some(public_to_hex(client).to_vec())));
        let mut content = event.content.to_string().into_bytes();
        let plaintext = if is_legacy {
            self.legacy.decrypt(&mut content).expect("its own content")
        } else {
            self.conversation.open(&mut content).expect("its own payload")
        };
        let Ok(response) = Response::parse(plaintext) else { panic!("not read again") };
        assert_eq!(response.id, request.id);
        match (response.answer, answer) {
            (Answer::Text(a), Answer::Text(b)) | (Answer::Error(a), Answer::Error(b)) => {
                assert_eq!(a, *b);
            }
            _ => panic!("another answer"),
        }
    }
}

/// Returns a rule that allows exactly this action.
fn allowance(action: &Action) -> Rule {
    let bound = match (action.peer(), action.scope()) {
        (Some(peer), _) => Bound::Peer(*peer),
        (None, Some(scope)) => Bound::Scope(*scope),
        (None, None) => Bound::None,
    };
    let kinds = action.kind().map_or(Kinds::NONE, Kinds::one);
    let pattern = Pattern { subject: action.subject(), kinds, bound };
    let rule = Rule { expires: Some(NOW + 1), ..pattern.rule(Effect::Allow, 1, NOW - 1) };
    assert_eq!(rule.check(), Ok(()));
    rule
}

fn written(event: &Event<'_>) -> Vec<u8> {
    let len = event.write(&mut []).expect_err("a buffer of nothing").needed;
    let mut out = vec![0; len];
    event.write(&mut out).expect("it has space").to_vec()
}
