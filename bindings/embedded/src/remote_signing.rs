//! From an event with a request of NIP-46 to the event with its answer.
//!
//! The steps and their order are those of `docs/spec/nostr-connect.md`. The caller keeps what must
//! outlive a call: clients, connection secret, event ids and requests that were executed.

use core::fmt::Write as _;

use endseal_crypto::secp256k1::{PublicKey, SigningKey};
use endseal_nostr::connect::{
    Answer, Call, ConnectSecret, Encryption, Incoming, MAX_CONTENT, MAX_NAME, MAX_REFUSAL, Method,
    Refusal, Request, RespondError, ResponseKeys, Scope, Stamp, aux, execute, execute_len,
    is_fresh, respond_with, response_len, sanitise,
};
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Cache, Conversation};
use endseal_nostr::output::Output;

use crate::arena::Arena;
use crate::keys;
use crate::platform::{Platform, draw};
use crate::status::{Failure, WriteFailure};

/// Result of `connect` and `logout`.
const ACK: &str = "ack";

/// Keys and state of the signer.
pub(crate) struct Signer<'s> {
    /// Secret key that signs events for the user.
    pub(crate) user: &'s [u8; 32],
    /// Secret key that requests are encrypted to. It can be the same.
    pub(crate) transport: &'s [u8; 32],
    /// Public keys of the clients that are paired.
    pub(crate) clients: &'s [[u8; 32]],
    /// Secret by which a new client can connect.
    pub(crate) secret: Option<&'s [u8]>,
    /// The time now, in seconds since 1970.
    pub(crate) now: u64,
    /// Greatest `created_at` among the event ids that the caller has forgotten.
    pub(crate) floor: u64,
}

/// A request that is to be allowed or refused.
pub(crate) struct Question<'q> {
    pub(crate) method: Method<'q>,
    /// Kind of the event that would be signed.
    pub(crate) kind: Option<u16>,
    pub(crate) client: &'q [u8; 32],
    /// The other side of an encryption.
    pub(crate) peer: Option<[u8; 32]>,
    pub(crate) event_id: &'q [u8; 32],
    pub(crate) digest: &'q [u8; 32],
    pub(crate) created_at: u64,
    /// Event, plaintext or payload, as the client sent it.
    pub(crate) text: &'q str,
    /// Text for a display.
    pub(crate) shown: &'q str,
}

/// Decision of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    Refuse,
    /// No answer at all.
    Ignore,
}

/// Key of the request's encryption, which is that of its answer.
enum Key {
    Nip44(Conversation),
    Nip04(nip04::Key),
}

impl Key {
    const fn encryption(&self) -> Encryption<'_> {
        match self {
            Self::Nip44(conversation) => Encryption::Nip44(conversation),
            Self::Nip04(key) => Encryption::Nip04(key),
        }
    }
}

/// Reads the request in `event`, asks `decide`, and writes the event with the answer to the front
/// of `out`. Returns its length.
pub(crate) fn answer(
    arena: &mut Arena,
    platform: &mut impl Platform,
    signer: &Signer<'_>,
    event: &[u8],
    decide: &mut impl FnMut(&Question<'_>) -> Decision,
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let (small, large) = arena.parts();
    let (json, free) = large.split_at_mut_checked(event.len()).ok_or(Failure::Length)?;
    json.copy_from_slice(event);
    platform.between_steps();
    let incoming = Incoming::read(json).map_err(|_| Failure::Ignored)?;
    let client = *incoming.author();
    let is_paired = signer.clients.contains(&client);
    if !is_paired && signer.secret.is_none() {
        return Err(Failure::Ignored.into());
    }
    let (event_id, created_at) = (*incoming.id(), incoming.created_at());
    let transport = SigningKey::new(keys::secret(signer.transport)?);
    if *incoming.recipient() != transport.public_key().to_bytes() {
        return Err(Failure::Ignored.into());
    }
    platform.between_steps();
    let verified = incoming.verify().map_err(|_| Failure::Ignored)?;
    platform.between_steps();
    let author: PublicKey = *verified.author();
    let (key, opened) = if verified.is_nip04() {
        let key = verified.nip04_key(transport.secret_key());
        let opened = verified.open_nip04(&key).map_err(|_| Failure::Ignored)?;
        (Key::Nip04(key), opened)
    } else {
        let key = Conversation::new(transport.secret_key(), &author);
        let opened = verified.open(&key).map_err(|_| Failure::Ignored)?;
        (Key::Nip44(key), opened)
    };
    platform.between_steps();
    let request = opened.request().map_err(|_| Failure::Ignored)?;
    let digest = request.digest();
    let aux = aux(transport.secret_key(), &digest);
    let call = request.call();
    let nonce = draw(platform)?;

    let verdict = judge(signer, is_paired, matches!(key, Key::Nip04(_)), created_at, &call)?;
    let user;
    let mut cache = Cache::<1>::new();
    let outcome;
    let mut text = [0; MAX_REFUSAL];
    let answer = match (verdict, &call) {
        (Some(refusal), _) => Answer::Error(refusal.text(&mut text)),
        (None, Err(error)) => Answer::Error(Refusal::Request(*error).text(&mut text)),
        (None, Ok(Call::SwitchRelays)) => Answer::Unchanged,
        (None, Ok(call)) => {
            let question = Question {
                method: call.method(),
                kind: kind(call),
                client: &client,
                peer: peer(call),
                event_id: &event_id,
                digest: &digest,
                created_at,
                text: sent(&request, call),
                shown: shown(call, small),
            };
            let decision =
                if matches!(call, Call::Ping) { Decision::Allow } else { decide(&question) };
            platform.between_steps();
            match decision {
                Decision::Ignore => return Err(Failure::Ignored.into()),
                Decision::Refuse => Answer::Error(Refusal::Denied.text(&mut text)),
                Decision::Allow => match call {
                    Call::Connect(_) | Call::Logout => Answer::Text(ACK),
                    _ if execute_len(call).is_ok_and(|needed| needed > free.len()) => {
                        Answer::Error(Refusal::TooLarge.text(&mut text))
                    }
                    _ => {
                        user = SigningKey::new(keys::secret(signer.user)?);
                        platform.between_steps();
                        match execute(call, &user, &mut cache, &aux, &draw(platform)?, free) {
                            Ok(executed) => {
                                outcome = executed;
                                outcome.answer()
                            }
                            Err(error) => Answer::Error(Refusal::Failed(error).text(&mut text)),
                        }
                    }
                },
            }
        }
    };
    platform.between_steps();

    // The plaintext goes to the small part; then the request and its result are needed no more.
    let id = request.id;
    let encryption = key.encryption();
    let fits = response_len(&answer, id, &encryption).is_ok_and(|len| len.event <= out.len());
    let written = if fits { answer.write(id, small).map(|it| it.len()).ok() } else { None };
    let plaintext_len = match written {
        Some(len) => len,
        None => {
            let mut text = [0; MAX_REFUSAL];
            let error = Answer::Error(Refusal::TooLarge.text(&mut text));
            error.write(id, small).map_err(|_| Failure::Length)?.len()
        }
    };
    let plaintext = small.get(..plaintext_len).ok_or(Failure::Length)?;
    let keys = ResponseKeys { transport: &transport, client: &author, encryption };
    let stamp = Stamp { created_at: signer.now, nonce, aux };
    let event =
        respond_with(plaintext, &keys, &stamp, large, out).map_err(|error| match error {
            RespondError::Output(error) => WriteFailure::TooSmall(error.needed),
            _ => Failure::Length.into(),
        })?;
    platform.between_steps();
    Ok(event.len())
}

/// Returns the refusal of a request that is not to be decided.
///
/// # Errors
/// [`Failure::Ignored`] for requests that get no answer.
fn judge<E>(
    signer: &Signer<'_>,
    is_paired: bool,
    is_nip04: bool,
    created_at: u64,
    call: &Result<Call<'_>, E>,
) -> Result<Option<Refusal>, Failure> {
    let sent = match call {
        Ok(Call::Connect(connect)) => connect.secret.as_ref(),
        _ => None,
    };
    let expected = signer.secret.and_then(|it| str::from_utf8(it).ok());
    let expected = expected.and_then(|it| ConnectSecret::new(it).ok());
    // Both comparisons are of secrets, in constant time.
    let is_invited = match (sent, &expected) {
        (Some(sent), Some(expected)) => sent == expected,
        _ => false,
    };
    if !is_paired && !is_invited {
        return Err(Failure::Ignored);
    }
    if is_nip04 {
        return Ok(Some(Refusal::Nip04Transport));
    }
    if !is_fresh(created_at, signer.now, signer.floor) {
        return if is_paired { Ok(Some(Refusal::Stale)) } else { Err(Failure::Ignored) };
    }
    if sent.is_some() && expected.is_some() && !is_invited {
        return Ok(Some(Refusal::Secret));
    }
    let Ok(Call::SignEvent(template)) = call else { return Ok(None) };
    Ok(Scope::of(template).err().map(Refusal::Scope))
}

const fn kind(call: &Call<'_>) -> Option<u16> {
    match call {
        Call::SignEvent(template) => Some(template.kind),
        _ => None,
    }
}

fn peer(call: &Call<'_>) -> Option<[u8; 32]> {
    match call {
        Call::Nip04Encrypt(message)
        | Call::Nip04Decrypt(message)
        | Call::Nip44Encrypt(message)
        | Call::Nip44Decrypt(message) => Some(message.peer.to_bytes()),
        _ => None,
    }
}

/// The parameter that the decision is about.
fn sent<'a>(request: &Request<'a>, call: &Call<'a>) -> &'a str {
    match call {
        Call::SignEvent(_) => request.params().first().copied().unwrap_or_default(),
        Call::Nip04Encrypt(message)
        | Call::Nip04Decrypt(message)
        | Call::Nip44Encrypt(message)
        | Call::Nip44Decrypt(message) => message.text,
        _ => "",
    }
}

/// Writes the text for a display to the front of `buffer`: the scope of a log-in, the content of
/// another event, the plaintext that would be encrypted, or the name that a new client claims.
fn shown<'b>(call: &Call<'_>, buffer: &'b mut [u8]) -> &'b str {
    let mut out = Output::new(buffer);
    let written = match call {
        Call::SignEvent(template) => match Scope::of(template) {
            Ok(Some(scope)) => write!(out, "{scope}"),
            _ => write!(out, "{}", sanitise(template.content, MAX_CONTENT).keep_lines()),
        },
        Call::Nip04Encrypt(message) | Call::Nip44Encrypt(message) => {
            write!(out, "{}", sanitise(message.text, MAX_CONTENT).keep_lines())
        }
        Call::Connect(connect) => {
            let name = connect.metadata.name.unwrap_or("".into());
            write!(out, "{}", sanitise(name, MAX_NAME))
        }
        _ => Ok(()),
    };
    // A scope can be longer than the buffer. It is then shown as a text that was cut.
    let text = out.finish().ok().and_then(|bytes| str::from_utf8(bytes).ok());
    text.filter(|_| written.is_ok()).unwrap_or("\u{2026}")
}
