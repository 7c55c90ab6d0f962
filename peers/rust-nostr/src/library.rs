//! Subject `rust-nostr`: the functions of the crate `nostr` that take keys.
//!
//! Follows <https://docs.rs/nostr/0.45.6/nostr/nips/nip44/fn.encrypt.html>,
//! <https://docs.rs/nostr/0.45.6/nostr/nips/nip04/fn.encrypt.html>, and for events the traits of
//! <https://docs.rs/nostr/0.45.6/nostr/event/index.html>. `finalize` verifies the signature that it
//! has made.

use std::fmt::Display;

use aes::Aes256;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use nostr::event::{
    Event, EventBuilder, FinalizeEvent, FinalizeUnsignedEvent, Kind, UnsignedEvent,
};
use nostr::key::{Keys, SecretKey};
use nostr::nips::nip44::v2::ConversationKey;
use nostr::nips::nip44::{Nip44, Nonce, Version};
use nostr::nips::nip46::{
    NostrConnectEventBuilder, NostrConnectMessage, NostrConnectRequest, NostrConnectResponse,
    ResponseResult,
};
use nostr::nips::{nip04, nip44};
use nostr::types::Timestamp;
use rand::Rng;

use crate::case::{Asked, Checked, Job, Work, changed, vector};
use crate::protocol::Refusal;

pub(crate) fn prepare(asked: Asked) -> Result<Job, Refusal> {
    let refused = asked.unsupported();
    let Asked { work, texts } = asked;
    match work {
        Work::AesEncrypt => Ok(aes_encrypt(texts)),
        Work::AesDecrypt => Ok(aes_decrypt(texts)),
        Work::Nip04Encrypt => Ok(nip04_encrypt(texts)),
        Work::Nip04Decrypt => nip04_decrypt(texts).map_err(Refusal::failed),
        Work::Nip44Encrypt { cached: false } => Ok(nip44_encrypt(texts)),
        Work::Nip44Decrypt { cached: false } => nip44_decrypt(texts).map_err(Refusal::failed),
        Work::ConversationKey => Ok(conversation_key(texts.len())),
        Work::Sign => Ok(sign(&texts)),
        Work::Verify => verify(texts).map_err(Refusal::failed),
        Work::Flow => flow(&texts, answer).map_err(Refusal::failed),
        Work::Nip44Encrypt { cached: true } | Work::Nip44Decrypt { cached: true } => Err(refused),
    }
}

pub(crate) fn text(error: impl Display) -> String {
    error.to_string()
}

// AES as `nostr::nips::nip04` uses it.

fn aes_seal(key: &[u8; 32], iv: &[u8; 16], text: &[u8]) -> Vec<u8> {
    cbc::Encryptor::<Aes256>::new(key.into(), iv.into()).encrypt_padded_vec_mut::<Pkcs7>(text)
}

fn aes_open(key: &[u8; 32], iv: &[u8; 16], sealed: &[u8]) -> Result<Vec<u8>, String> {
    let cipher = cbc::Decryptor::<Aes256>::new(key.into(), iv.into());
    cipher.decrypt_padded_vec_mut::<Pkcs7>(sealed).map_err(text)
}

fn aes_checked(opened: &[u8], text: &[u8], sealed: usize) -> Checked {
    let known = aes_seal(&vector::AES_KEY, &vector::AES_IV, &vector::AES_TEXT);
    let round_trip = opened == text && known.starts_with(&vector::AES_SEALED);
    Checked { round_trip, tamper_refused: None, sealed_bytes: Some(sealed) }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

fn aes_encrypt(texts: Vec<String>) -> Job {
    let (key, iv) = (random(), random());
    Job::new(
        texts,
        move |text: &String| Ok(aes_seal(&key, &iv, text.as_bytes())),
        move |text, sealed| {
            Ok(aes_checked(&aes_open(&key, &iv, &sealed)?, text.as_bytes(), sealed.len()))
        },
    )
}

fn aes_decrypt(texts: Vec<String>) -> Job {
    let (key, iv) = (random(), random());
    let sealed = texts.iter().map(|text| aes_seal(&key, &iv, text.as_bytes())).collect();
    Job::new(
        sealed,
        move |sealed: &Vec<u8>| aes_open(&key, &iv, sealed),
        move |sealed, opened| {
            let first = texts.first().ok_or("no text")?;
            Ok(aes_checked(&opened, first.as_bytes(), sealed.len()))
        },
    )
}

fn vector_keys(secrets: [&str; 2]) -> Result<[Keys; 2], String> {
    let [one, other] = secrets.map(|secret| SecretKey::from_hex(secret).map(Keys::new));
    Ok([one.map_err(text)?, other.map_err(text)?])
}

fn nip04_checked(opened: &str, sent: &str, sealed: usize) -> Result<Checked, String> {
    let [one, other] = vector_keys(vector::LEGACY_SECRETS)?;
    let known = nip04::decrypt(other.secret_key(), &one.public_key(), vector::LEGACY_PAYLOAD);
    let round_trip = opened == sent && known.map_err(text)? == vector::LEGACY_TEXT;
    Ok(Checked { round_trip, tamper_refused: None, sealed_bytes: Some(sealed) })
}

fn nip04_encrypt(texts: Vec<String>) -> Job {
    let (own, other) = (Keys::generate(), Keys::generate());
    let (sender, public) = (own.public_key(), other.public_key());
    Job::new(
        texts,
        move |plain: &String| nip04::encrypt(own.secret_key(), &public, plain).map_err(text),
        move |plain, sealed| {
            let opened = nip04::decrypt(other.secret_key(), &sender, &*sealed).map_err(text)?;
            nip04_checked(&opened, plain, sealed.len())
        },
    )
}

fn nip04_decrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (Keys::generate(), Keys::generate());
    let public = own.public_key();
    let seal = |plain: &String| nip04::encrypt(other.secret_key(), &public, plain);
    let sealed = texts.iter().map(seal).collect::<Result<Vec<_>, _>>().map_err(text)?;
    let sender = other.public_key();
    Ok(Job::new(
        sealed,
        move |sealed: &String| nip04::decrypt(own.secret_key(), &sender, sealed).map_err(text),
        move |sealed, opened| nip04_checked(&opened, texts.first().ok_or("no text")?, sealed.len()),
    ))
}

/// Checks a payload: it must open with the other side's keys, and the official vector must match.
pub(crate) fn nip44_checked(
    opened: impl Fn(&str) -> Result<String, String>,
    sealed: &str,
    sent: &str,
) -> Result<Checked, String> {
    let [one, other] = vector_keys(vector::SECRETS)?;
    let nonce = Nonce::V2(vector::NONCE);
    let known =
        nip44::encrypt_with_nonce(one.secret_key(), &other.public_key(), vector::TEXT, nonce);
    Ok(Checked {
        round_trip: opened(sealed)? == sent && known.map_err(text)? == vector::PAYLOAD,
        tamper_refused: Some(opened(&changed(sealed)).is_err()),
        sealed_bytes: Some(sealed.len()),
    })
}

fn nip44_encrypt(texts: Vec<String>) -> Job {
    let (own, other) = (Keys::generate(), Keys::generate());
    let (sender, public) = (own.public_key(), other.public_key());
    Job::new(
        texts,
        move |plain: &String| {
            nip44::encrypt(own.secret_key(), &public, plain, Version::V2).map_err(text)
        },
        move |plain, sealed| {
            let open = |sealed: &str| nip44::decrypt(other.secret_key(), &sender, sealed);
            nip44_checked(|sealed| open(sealed).map_err(text), &sealed, plain)
        },
    )
}

fn nip44_decrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (Keys::generate(), Keys::generate());
    let (public, sender) = (own.public_key(), other.public_key());
    let seal = |plain| nip44::encrypt(other.secret_key(), &public, plain, Version::V2);
    let sealed = texts.iter().map(seal).collect::<Result<Vec<_>, _>>().map_err(text)?;
    let open = move |sealed: &str| nip44::decrypt(own.secret_key(), &sender, sealed).map_err(text);
    let work = open.clone();
    Ok(Job::new(
        sealed,
        move |sealed: &String| work(sealed),
        move |sealed, _| nip44_checked(&open, sealed, texts.first().ok_or("no text")?),
    ))
}

fn conversation_key(inputs: usize) -> Job {
    let pairs = (0..inputs).map(|_| (Keys::generate(), Keys::generate())).collect();
    let derive = |own: &Keys, other: &Keys| {
        ConversationKey::derive(own.secret_key(), &other.public_key()).map_err(text)
    };
    Job::new(
        pairs,
        move |(own, other): &(Keys, Keys)| derive(own, other),
        move |(own, other), key| {
            let [one, two] = vector_keys(vector::SECRETS)?;
            let known: String =
                derive(&one, &two)?.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            let round_trip = key == derive(other, own)? && known == vector::CONVERSATION_KEY;
            Ok(Checked { round_trip, tamper_refused: None, sealed_bytes: None })
        },
    )
}

pub(crate) fn draft(content: &str, author: &Keys) -> UnsignedEvent {
    let builder = EventBuilder::new(Kind::TextNote, content);
    builder.custom_created_at(Timestamp::now()).finalize_unsigned(author.public_key())
}

/// Checks that the event verifies, and that a change of any field is detected.
pub(crate) fn event_checked(event: &Event, content: &str) -> Checked {
    let mut others = [event.clone(), event.clone(), event.clone()];
    others[0].content.push('.');
    others[1].created_at = Timestamp::from_secs(event.created_at.as_secs() + 1);
    others[2].pubkey = Keys::generate().public_key();
    Checked {
        round_trip: event.verify().is_ok() && event.content == content,
        tamper_refused: Some(others.iter().all(|event| event.verify().is_err())),
        sealed_bytes: Some(event.as_json().len()),
    }
}

fn sign(texts: &[String]) -> Job {
    let author = Keys::generate();
    let drafts: Vec<_> = texts.iter().map(|content| draft(content, &author)).collect();
    Job::new(
        drafts,
        move |draft: &UnsignedEvent| draft.clone().finalize(&author).map_err(text),
        |draft, event: Event| Ok(event_checked(&event, &draft.content)),
    )
}

fn verify(texts: Vec<String>) -> Result<Job, String> {
    let author = Keys::generate();
    let signed = |content: &String| draft(content, &author).finalize(&author);
    let events = texts.iter().map(signed).collect::<Result<Vec<_>, _>>().map_err(text)?;
    Ok(Job::new(
        events,
        |event: &Event| event.verify().map_err(text),
        move |event, ()| Ok(event_checked(event, texts.first().ok_or("no text")?)),
    ))
}

/// Keys of `flow`: the client, the signer that answers it, and the user whose events are signed.
#[derive(Clone)]
pub(crate) struct Roles {
    pub(crate) client: Keys,
    pub(crate) signer: Keys,
    pub(crate) user: Keys,
}

/// Returns a NIP-46 request to sign an event with that content, as the client sends it.
fn request(roles: &Roles, content: &str) -> Result<String, String> {
    let request = NostrConnectRequest::SignEvent(draft(content, &roles.user));
    let message = NostrConnectMessage::request(&request);
    let event = NostrConnectEventBuilder::new(roles.signer.public_key(), message);
    Ok(event.finalize(&roles.client).map_err(text)?.as_json())
}

/// Signs and answers a request.
fn answer(roles: &Roles, request: &str) -> Result<String, String> {
    let event = Event::from_json(request).map_err(text)?;
    event.verify().map_err(text)?;
    if event.kind != Kind::NostrConnect {
        return Err("not a request".into());
    }
    let message = roles.signer.nip44_decrypt(&event.pubkey, &event.content).map_err(text)?;
    let message = NostrConnectMessage::from_json(message).map_err(text)?;
    let id = message.id().to_owned();
    let NostrConnectRequest::SignEvent(unsigned) = message.to_request().map_err(text)? else {
        return Err("not a request to sign".into());
    };
    let signed = unsigned.finalize(&roles.user).map_err(text)?;
    let response = NostrConnectResponse::with_result(ResponseResult::SignEvent(Box::new(signed)));
    let response = NostrConnectMessage::response(id, response);
    let response = NostrConnectEventBuilder::new(event.pubkey, response);
    Ok(response.finalize(&roles.signer).map_err(text)?.as_json())
}

/// Returns the event that the client finds in a response.
fn accepted(roles: &Roles, response: &str) -> Result<Event, String> {
    let event = Event::from_json(response).map_err(text)?;
    event.verify().map_err(text)?;
    if event.pubkey != roles.signer.public_key() || event.kind != Kind::NostrConnect {
        return Err("not a response of this signer".into());
    }
    if !event.tags.public_keys().any(|receiver| receiver == roles.client.public_key()) {
        return Err("not a response to this client".into());
    }
    let message = roles.client.nip44_decrypt(&event.pubkey, &event.content).map_err(text)?;
    let NostrConnectMessage::Response { result: Some(result), .. } =
        NostrConnectMessage::from_json(message).map_err(text)?
    else {
        return Err("no result".into());
    };
    let event = Event::from_json(result).map_err(text)?;
    event.verify().map_err(text)?;
    Ok(event)
}

/// Creates the case `flow` of a signer that answers by `answer`. Requests and checks are the same
/// for all.
pub(crate) fn flow(
    texts: &[String],
    answer: impl Fn(&Roles, &str) -> Result<String, String> + Clone + 'static,
) -> Result<Job, String> {
    let roles =
        Roles { client: Keys::generate(), signer: Keys::generate(), user: Keys::generate() };
    let requests = texts.iter().map(|content| request(&roles, content));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let content = texts.first().cloned().unwrap_or_default();
    let (own, again) = (roles.clone(), answer.clone());
    Ok(Job::new(
        requests,
        move |request: &String| answer(&own, request),
        move |request, response| {
            let event = accepted(&roles, &response)?;
            Ok(Checked {
                round_trip: event.content == content && event.pubkey == roles.user.public_key(),
                tamper_refused: Some(again(&roles, &changed(request)).is_err()),
                sealed_bytes: Some(response.len()),
            })
        },
    ))
}
