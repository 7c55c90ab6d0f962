//! Subject `rust-nostr-cached`: the fastest calls of the crate `nostr` that are public.
//!
//! Follows <https://docs.rs/nostr/0.45.6/nostr/nips/nip44/v2/index.html>: a conversation key is
//! cached, and payloads are encoded by the caller, here with the crate that `nostr` itself uses.
//! Nonces come from a generator in the process, which `encrypt_with_rng` allows and `encrypt` does
//! not do. Events are signed without verifying the signature.

use std::cell::OnceCell;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nostr::event::{Event, EventBuilder, EventId, FinalizeUnsignedEvent, Kind, Tag, UnsignedEvent};
use nostr::key::Keys;
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::nips::nip46::{
    NostrConnectMessage, NostrConnectRequest, NostrConnectResponse, ResponseResult,
};
use rand::Rng;

use crate::case::{Asked, Job, Work};
use crate::library::{Roles, draft, event_checked, flow, nip44_checked, text};
use crate::protocol::Refusal;

pub(crate) fn prepare(asked: Asked) -> Result<Job, Refusal> {
    let refused = asked.unsupported();
    let Asked { work, texts } = asked;
    match work {
        Work::Nip44Encrypt { cached: true } => encrypt(texts).map_err(Refusal::failed),
        Work::Nip44Decrypt { cached: true } => decrypt(texts).map_err(Refusal::failed),
        Work::Sign => Ok(sign(&texts)),
        Work::Flow => flow_cached(&texts).map_err(Refusal::failed),
        _ => Err(refused),
    }
}

/// Returns the keys of both sides of a conversation, which are equal. Each side derives its own.
fn sides() -> Result<[ConversationKey; 2], String> {
    let (own, other) = (Keys::generate(), Keys::generate());
    let derive = |own: &Keys, other: &Keys| {
        ConversationKey::derive(own.secret_key(), &other.public_key()).map_err(text)
    };
    Ok([derive(&own, &other)?, derive(&other, &own)?])
}

fn seal(key: &ConversationKey, plain: &str) -> Result<String, String> {
    let mut nonce = [0; 32];
    rand::rng().fill_bytes(&mut nonce);
    let payload = v2::encrypt_to_bytes_with_nonce(key, plain.as_bytes(), nonce).map_err(text)?;
    Ok(STANDARD.encode(payload))
}

fn open(key: &ConversationKey, sealed: &str) -> Result<String, String> {
    let payload = STANDARD.decode(sealed).map_err(text)?;
    String::from_utf8(v2::decrypt_to_bytes(key, &payload).map_err(text)?).map_err(text)
}

fn encrypt(texts: Vec<String>) -> Result<Job, String> {
    let [own, other] = sides()?;
    Ok(Job::new(
        texts,
        move |plain: &String| seal(&own, plain),
        move |plain, sealed| nip44_checked(|sealed| open(&other, sealed), &sealed, plain),
    ))
}

fn decrypt(texts: Vec<String>) -> Result<Job, String> {
    let [own, other] = sides()?;
    let sealed = texts.iter().map(|plain| seal(&other, plain)).collect::<Result<Vec<_>, _>>()?;
    Ok(Job::new(
        sealed,
        move |sealed: &String| open(&own, sealed),
        move |sealed, _| {
            let first = texts.first().ok_or("no text")?;
            nip44_checked(|sealed| open(&own, sealed), sealed, first)
        },
    ))
}

fn signed(author: &Keys, draft: UnsignedEvent) -> Event {
    let UnsignedEvent { pubkey, created_at, kind, tags, content, .. } = draft;
    let id = EventId::compute(&pubkey, &created_at, &kind, &tags, &content);
    let signature = author.sign_schnorr(id.as_bytes());
    Event::new(id, pubkey, created_at, kind, tags, content, signature)
}

fn sign(texts: &[String]) -> Job {
    let author = Keys::generate();
    let drafts: Vec<_> = texts.iter().map(|content| draft(content, &author)).collect();
    Job::new(
        drafts,
        move |draft: &UnsignedEvent| Ok(signed(&author, draft.clone())),
        |draft, event: Event| Ok(event_checked(&event, &draft.content)),
    )
}

fn flow_cached(texts: &[String]) -> Result<Job, String> {
    let derived = Rc::new(OnceCell::new());
    flow(texts, move |roles, request| answer(roles, &derived, request))
}

/// Signs and answers a request. From the second request on, the client's conversation key is
/// cached.
fn answer(
    roles: &Roles,
    derived: &OnceCell<ConversationKey>,
    request: &str,
) -> Result<String, String> {
    let event = Event::from_json(request).map_err(text)?;
    event.verify().map_err(text)?;
    if event.kind != Kind::NostrConnect || event.pubkey != roles.client.public_key() {
        return Err("not a request of this client".into());
    }
    let key = match derived.get() {
        Some(key) => key,
        None => {
            let key = ConversationKey::derive(roles.signer.secret_key(), &event.pubkey);
            let key = key.map_err(text)?;
            derived.get_or_init(|| key)
        }
    };
    let message = NostrConnectMessage::from_json(open(key, &event.content)?).map_err(text)?;
    let id = message.id().to_owned();
    let NostrConnectRequest::SignEvent(unsigned) = message.to_request().map_err(text)? else {
        return Err("not a request to sign".into());
    };
    if unsigned.pubkey != roles.user.public_key() {
        return Err("another author".into());
    }
    let result = ResponseResult::SignEvent(Box::new(signed(&roles.user, unsigned)));
    let response = NostrConnectMessage::response(id, NostrConnectResponse::with_result(result));
    let response = EventBuilder::new(Kind::NostrConnect, seal(key, &response.as_json())?)
        .tag(Tag::public_key(event.pubkey))
        .finalize_unsigned(roles.signer.public_key());
    Ok(signed(&roles.signer, response).as_json())
}
