//! Runs `vectors/nostr-connect/session.json`: the steps of the table, with the functions of the
//! crate.

use endseal_nostr::connect::{
    Answer, Call, CallError, ConnectSecret, Encryption, Incoming, Method, Refusal, Request,
    ResponseKeys, Stamp, aux, execute, execute_len, is_fresh, respond, response_len,
};
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Cache, Conversation};
use endseal_nostr::policy::{Action, Verdict, decide};

use crate::policy::rules;
use crate::vectors::{Case, cases_in};
use crate::{hex, key};

const FOLDER: &str = "nostr-connect";

#[test]
fn digests_are_those_of_the_vectors() {
    for case in cases_in(FOLDER, "session", "digest", 4) {
        let mut input = case.input();
        let digest = Request::parse(&mut input).unwrap_or_else(|e| panic!("{e}")).digest();
        assert_eq!(hex(&digest), case.text("digest"));
        assert_eq!(hex(&aux(&secret(&case, "secret"), &digest)), case.text("aux"));
    }
}

#[test]
fn sessions_are_those_of_the_vectors() {
    for case in cases_in(FOLDER, "session", "session", 80) {
        let mut json = case.text("event").as_bytes().to_vec();
        if let Some(padding) = case.value("padding").as_u64() {
            json.resize(json.len() + usize::try_from(padding).unwrap(), b' ');
        }
        let (class, answer) = match session(&case, &mut json) {
            Some((class, answer)) => (class, answer),
            None => ("ignored", None),
        };
        case.meets(if class == "ok" { Ok(()) } else { Err(class) });
        assert_eq!(answer.as_deref(), case.value("answer").as_str(), "{}", case.text("comment"));
    }
}

fn secret(case: &Case, field: &str) -> SecretKey {
    key::secret_from_hex(case.text(field)).unwrap()
}

fn number(case: &Case, field: &str) -> u64 {
    case.value(field).as_u64().unwrap()
}

/// Returns the class, and the answer if there is one; `None` if the event is ignored.
fn session(case: &Case, json: &mut [u8]) -> Option<(&'static str, Option<String>)> {
    let transport = SigningKey::new(secret(case, "transport_secret"));
    let paired = case.value("paired").as_str();
    let incoming = Incoming::read(json).ok()?;
    if *incoming.recipient() != transport.public_key().to_bytes()
        || paired.is_some_and(|client| hex(incoming.author()) != client)
        || case.value("seen").as_array()?.iter().any(|id| hex(incoming.id()) == *id)
    {
        return None;
    }
    let created_at = incoming.created_at();
    let verified = incoming.verify().ok()?;
    let client = *verified.author();
    let reply = |request: &Request<'_>, answer: &Answer<'_>, encryption: Encryption<'_>| {
        let keys = ResponseKeys { transport: &transport, client: &client, encryption };
        let nonce = key::secret_from_hex(case.text("nonce")).unwrap();
        let stamp =
            Stamp { created_at: number(case, "time"), nonce: *nonce.expose_secret(), aux: [0; 32] };
        let len = response_len(answer, request.id, &keys.encryption).unwrap();
        let (mut scratch, mut out) = (vec![0xee; len.scratch], vec![0; len.event]);
        let event =
            respond(answer, request.id, &keys, &stamp, &mut scratch, &mut out).unwrap().to_owned();
        let mut plaintext = vec![0; len.scratch];
        let plaintext = answer.write(request.id, &mut plaintext).unwrap();
        if let Some(expected) = case.value("plaintext").as_str() {
            assert_eq!(str::from_utf8(plaintext).unwrap(), expected);
        }
        assert_eq!(scratch[..plaintext.len()], vec![0; plaintext.len()], "it is wiped");
        event
    };
    let refuse = |request: &Request<'_>, refusal: Refusal, encryption: Encryption<'_>| {
        let text = refusal.to_string();
        Some((refusal.class(), Some(reply(request, &Answer::Error(&text), encryption))))
    };

    if verified.is_nip04() {
        paired?;
        let key = nip04::Key::new(transport.secret_key(), &client);
        let request = verified.open_nip04(&key).ok()?.request().ok()?;
        return refuse(&request, Refusal::Nip04Transport, Encryption::Nip04(&key));
    }
    let conversation = Conversation::new(transport.secret_key(), &client);
    let encryption = Encryption::Nip44(&conversation);
    let request = verified.open(&conversation).ok()?.request().ok()?;
    let call = request.call();
    let own = ConnectSecret::new(case.text("secret")).unwrap();
    let has_secret = request
        .params()
        .get(1)
        .is_some_and(|text| ConnectSecret::new(text).is_ok_and(|secret| secret == own));
    if paired.is_none() && (request.method != Method::Connect || !has_secret) {
        return None;
    }
    if !is_fresh(created_at, number(case, "now"), number(case, "floor")) {
        paired?;
        return refuse(&request, Refusal::Stale, encryption);
    }
    if paired.is_none() {
        return Some(("ok", Some(reply(&request, &Answer::Text("ack"), encryption))));
    }
    match judged(case, &request, call, &own) {
        Err(None) => Some(("ask", None)),
        Err(Some(refusal)) => refuse(&request, refusal, encryption),
        Ok(call) => {
            let mut out = vec![0; execute_len(&call).unwrap_or_default()];
            let outcome = match call {
                Call::Connect(_) => {
                    return Some(("ok", Some(reply(&request, &Answer::Text("ack"), encryption))));
                }
                call => executed(case, &request, &call, &transport, &mut out),
            };
            match outcome {
                Ok(text) => Some(("ok", Some(reply(&request, &Answer::Text(&text), encryption)))),
                Err(refusal) => refuse(&request, refusal, encryption),
            }
        }
    }
}

/// Steps 9 to 12: returns the refusal, if there is one.
fn judged<'a>(
    case: &Case,
    request: &Request<'_>,
    call: Result<Call<'a>, CallError>,
    own: &ConnectSecret,
) -> Result<Call<'a>, Option<Refusal>> {
    match case.text("state") {
        "expired" => return Err(Some(Refusal::Expired)),
        "revoked" => return Err(Some(Refusal::Revoked)),
        _ => {}
    }
    let recorded = case.value("recorded");
    let is_repeated = recorded["id"] == request.id && recorded["digest"] == hex(&request.digest());
    if is_repeated && recorded["verdict"] != "ok" {
        return Err(Some(Refusal::Denied));
    }
    let call = call.map_err(|error| Some(error.into()))?;
    if let Call::Connect(connect) = &call
        && connect.secret.as_ref().is_some_and(|secret| secret != own)
    {
        return Err(Some(Refusal::Secret));
    }
    let action = Action::of(&call).map_err(|error| Some(error.into()))?;
    let Some(action) = action else { return Ok(call) };
    if case.text("state") == "locked" {
        return Err(Some(Refusal::Locked));
    }
    if is_repeated {
        return Ok(call);
    }
    let decision = decide(&rules(case), &action, number(case, "now"));
    match decision.verdict {
        Verdict::Allow => Ok(call),
        Verdict::Ask => Err(None),
        Verdict::Deny | Verdict::Limit => Err(decision.refusal()),
    }
}

/// Step 13: returns the text of the result.
fn executed(
    case: &Case,
    request: &Request<'_>,
    call: &Call<'_>,
    transport: &SigningKey,
    out: &mut [u8],
) -> Result<String, Refusal> {
    let user = SigningKey::new(secret(case, "user_secret"));
    let nonce = secret(case, "nonce");
    let aux = aux(transport.secret_key(), &request.digest());
    let mut conversations = Cache::<2>::new();
    let outcome = execute(call, &user, &mut conversations, &aux, nonce.expose_secret(), out)?;
    Ok(match outcome.answer() {
        Answer::Text(text) => text.to_owned(),
        Answer::Event(event) => {
            event.verify().unwrap();
            let mut buffer = vec![0; 2_000];
            str::from_utf8(event.write(&mut buffer).unwrap()).unwrap().to_owned()
        }
        _ => panic!("another answer"),
    })
}
