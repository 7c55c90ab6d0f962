//! Subject `baseline-method`: the method of the published benchmark's device, implemented again
//! from its description and behaviour (<https://github.com/lnbits/nsec-remote-signer>, in C++ for
//! an ESP32-S3).
//!
//! Every key and hash is passed as a hexadecimal string, every message derives its shared secret
//! and conversation key again, every step creates new strings and vectors, and events are JSON
//! documents when read and concatenated strings when written. AES and ChaCha20 are the plain
//! algorithms, because the device runs them in software; SHA-256, which the device has in hardware,
//! is a crate that uses special instructions. The curve is k256, in plain Rust, because the
//! device's is portable code as well. Errors of the original are not reproduced: padding is
//! removed, authentication tags and incoming signatures are verified, and text is escaped.

use nostr::key::Keys;
use rand::Rng;

use crate::case::{Asked, Checked, Job, Work, changed, vector};
use crate::protocol::Refusal;

mod aes;
mod chacha20;
mod event;
mod flow;
mod hex;
mod legacy;
mod message;
mod shared;

pub(crate) fn prepare(asked: Asked) -> Result<Job, Refusal> {
    let refused = asked.unsupported();
    let Asked { work, texts } = asked;
    let job = match work {
        Work::AesEncrypt => aes_encrypt(texts),
        Work::AesDecrypt => aes_decrypt(texts),
        Work::Nip04Encrypt => nip04_encrypt(texts),
        Work::Nip04Decrypt => nip04_decrypt(texts),
        Work::Nip44Encrypt { cached: false } => nip44_encrypt(texts),
        Work::Nip44Decrypt { cached: false } => nip44_decrypt(texts),
        Work::ConversationKey => Ok(conversation_key(texts.len())),
        Work::Sign => Ok(sign(texts)),
        Work::Verify => verify(texts),
        Work::Flow => flow::prepare(texts),
        Work::Nip44Encrypt { cached: true } | Work::Nip44Decrypt { cached: true } => {
            return Err(refused);
        }
    };
    job.map_err(Refusal::failed)
}

/// A key pair as the device stores it: two hexadecimal strings.
#[derive(Clone)]
struct KeyText {
    secret: String,
    public: String,
}

impl KeyText {
    fn generate() -> Self {
        let keys = Keys::generate();
        Self { secret: keys.secret_key().to_secret_hex(), public: keys.public_key().to_hex() }
    }

    fn of(secret: &str) -> Result<Self, String> {
        Ok(Self { secret: secret.to_owned(), public: event::public_key(secret)? })
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

fn aes_checked(opened: &str, text: &str, sealed: usize) -> Result<Checked, String> {
    let mut blocks = vector::AES_TEXT;
    aes::Cipher::new(&vector::AES_KEY).encrypt_cbc(&vector::AES_IV, &mut blocks);
    let round_trip = opened == text && blocks == vector::AES_SEALED;
    Ok(Checked { round_trip, tamper_refused: None, sealed_bytes: Some(sealed) })
}

fn aes_encrypt(texts: Vec<String>) -> Result<Job, String> {
    let (key, iv) = (random(), random());
    Ok(Job::new(
        texts,
        move |text: &String| Ok(legacy::encrypt_data(&key, &iv, text)),
        move |text, sealed| {
            let bytes = hex::decode(&sealed)?;
            aes_checked(&legacy::decrypt_data(&key, &iv, &bytes)?, text, bytes.len())
        },
    ))
}

fn aes_decrypt(texts: Vec<String>) -> Result<Job, String> {
    let (key, iv) = (random(), random());
    let seal = |text: &String| hex::decode(&legacy::encrypt_data(&key, &iv, text));
    let sealed = texts.iter().map(seal).collect::<Result<Vec<_>, _>>()?;
    Ok(Job::new(
        sealed,
        move |sealed: &Vec<u8>| legacy::decrypt_data(&key, &iv, sealed),
        move |sealed, opened| aes_checked(&opened, texts.first().ok_or("no text")?, sealed.len()),
    ))
}

fn nip04_checked(opened: &str, text: &str, sealed: usize) -> Result<Checked, String> {
    let [one, other] = vector::LEGACY_SECRETS;
    let one = KeyText::of(one)?;
    let known = legacy::decrypt(vector::LEGACY_PAYLOAD, other, &one.public)?;
    let round_trip = opened == text && known == vector::LEGACY_TEXT;
    Ok(Checked { round_trip, tamper_refused: None, sealed_bytes: Some(sealed) })
}

fn nip04_encrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (KeyText::generate(), KeyText::generate());
    let sender = own.public.clone();
    let public = other.public.clone();
    Ok(Job::new(
        texts,
        move |text: &String| legacy::encrypt(text, &own.secret, &public),
        move |text, sealed| {
            let opened = legacy::decrypt(&sealed, &other.secret, &sender)?;
            nip04_checked(&opened, text, sealed.len())
        },
    ))
}

fn nip04_decrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (KeyText::generate(), KeyText::generate());
    let seal = |text: &String| legacy::encrypt(text, &other.secret, &own.public);
    let sealed = texts.iter().map(seal).collect::<Result<Vec<_>, _>>()?;
    Ok(Job::new(
        sealed,
        move |sealed: &String| legacy::decrypt(sealed, &own.secret, &other.public),
        move |sealed, opened| nip04_checked(&opened, texts.first().ok_or("no text")?, sealed.len()),
    ))
}

/// Checks a payload: it must open, a changed one must not, and the official vector must match.
fn nip44_checked(
    opened: impl Fn(&str) -> Result<String, String>,
    sealed: &str,
    text: &str,
) -> Result<Checked, String> {
    let [one, other] = vector::SECRETS;
    let other = KeyText::of(other)?;
    let secret = shared::secret(one, &other.public)?;
    let known = message::encrypt_with_nonce(vector::TEXT, &secret, vector::NONCE)?;
    Ok(Checked {
        round_trip: opened(sealed)? == text && known == vector::PAYLOAD,
        tamper_refused: Some(opened(&changed(sealed)).is_err()),
        sealed_bytes: Some(sealed.len()),
    })
}

fn nip44_encrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (KeyText::generate(), KeyText::generate());
    let sender = own.public.clone();
    let public = other.public.clone();
    Ok(Job::new(
        texts,
        move |text: &String| message::encrypt(text, &own.secret, &public),
        move |text, sealed| {
            nip44_checked(|it| message::decrypt(it, &other.secret, &sender), &sealed, text)
        },
    ))
}

fn nip44_decrypt(texts: Vec<String>) -> Result<Job, String> {
    let (own, other) = (KeyText::generate(), KeyText::generate());
    let seal = |text: &String| message::encrypt(text, &other.secret, &own.public);
    let sealed = texts.iter().map(seal).collect::<Result<Vec<_>, _>>()?;
    let open = move |sealed: &str| message::decrypt(sealed, &own.secret, &other.public);
    let work = open.clone();
    Ok(Job::new(
        sealed,
        move |sealed: &String| work(sealed),
        move |sealed, _| nip44_checked(&open, sealed, texts.first().ok_or("no text")?),
    ))
}

fn conversation_key(inputs: usize) -> Job {
    let derive = |secret: &str, public: &str| {
        Ok::<_, String>(hex::encode(&message::conversation_key(&shared::secret(secret, public)?)?))
    };
    let pairs = (0..inputs).map(|_| (KeyText::generate(), KeyText::generate())).collect();
    Job::new(
        pairs,
        move |(own, other): &(KeyText, KeyText)| derive(&own.secret, &other.public),
        move |(own, other), key| {
            let [one, two] = vector::SECRETS;
            let known = derive(one, &KeyText::of(two)?.public)?;
            let round_trip =
                key == derive(&other.secret, &own.public)? && known == vector::CONVERSATION_KEY;
            Ok(Checked { round_trip, tamper_refused: None, sealed_bytes: None })
        },
    )
}

/// Checks that the event verifies, here and in the crate `nostr`, and does not verify after a
/// change of its content.
fn event_checked(event: &str, content: &str) -> Result<Checked, String> {
    let parsed = nostr::event::Event::from_json(event).map_err(|error| error.to_string())?;
    let verified = event::verify(event).is_ok() && parsed.verify().is_ok();
    let other = event.replacen("\"content\":\"", "\"content\":\".", 1);
    Ok(Checked {
        round_trip: verified && parsed.content == content,
        tamper_refused: Some(event::verify(&other).is_err()),
        sealed_bytes: Some(event.len()),
    })
}

/// Time of all events, in the year 2026, in seconds since 1970.
const CREATED_AT: u64 = 1_790_000_000;

fn note(author: &KeyText, content: &str) -> Result<String, String> {
    event::signed(&author.secret, &author.public, CREATED_AT, content, 1, "[]")
}

fn sign(texts: Vec<String>) -> Job {
    let author = KeyText::generate();
    Job::new(
        texts,
        move |content: &String| note(&author, content),
        |content, event| event_checked(&event, content),
    )
}

fn verify(texts: Vec<String>) -> Result<Job, String> {
    let author = KeyText::generate();
    let events = texts.iter().map(|content| note(&author, content));
    let events = events.collect::<Result<Vec<_>, _>>()?;
    Ok(Job::new(
        events,
        |event: &String| event::verify(event),
        move |event, ()| event_checked(event, texts.first().ok_or("no text")?),
    ))
}
