//! The case `flow`: a NIP-46 request to sign an event, from its JSON to the JSON of the response.

use serde_json::Value;

use super::{CREATED_AT, KeyText, event, message};
use crate::case::{Checked, Job, changed};

const KIND: u64 = 24_133;

/// Keys of the client, of the device that answers it, and of the user whose events are signed.
#[derive(Clone)]
struct Roles {
    client: KeyText,
    device: KeyText,
    user: KeyText,
}

pub(super) fn prepare(texts: Vec<String>) -> Result<Job, String> {
    let roles = Roles {
        client: KeyText::generate(),
        device: KeyText::generate(),
        user: KeyText::generate(),
    };
    let requests = texts.iter().map(|content| request(&roles, content));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let own = roles.clone();
    Ok(Job::new(
        requests,
        move |request: &String| answer(&own, request),
        move |request, response| {
            let signed = accepted(&roles, &response)?;
            event::verify(&signed)?;
            let signed = document(&signed)?;
            let same = Some(&event::string(&signed, "content")?) == texts.first()
                && event::string(&signed, "pubkey")? == roles.user.public;
            Ok(Checked {
                round_trip: same,
                tamper_refused: Some(answer(&roles, &changed(request)).is_err()),
                sealed_bytes: Some(response.len()),
            })
        },
    ))
}

fn document(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Encrypts a NIP-46 message and returns it as a signed event.
fn sent(from: &KeyText, to: &KeyText, text: &str) -> Result<String, String> {
    let content = message::encrypt(text, &from.secret, &to.public)?;
    let tags = "[[\"p\",\"".to_owned() + &to.public + "\"]]";
    event::signed(&from.secret, &from.public, CREATED_AT, &content, KIND, &tags)
}

fn request(roles: &Roles, content: &str) -> Result<String, String> {
    let event = serde_json::json!({
        "pubkey": roles.user.public, "created_at": CREATED_AT, "kind": 1, "tags": [],
        "content": content,
    });
    let request =
        serde_json::json!({"id": "1", "method": "sign_event", "params": [event.to_string()]});
    sent(&roles.client, &roles.device, &request.to_string())
}

fn answer(roles: &Roles, request: &str) -> Result<String, String> {
    event::verify(request)?;
    // Like the device, it parses the document once for the sender and again for the content.
    let sender = event::string(&document(request)?, "pubkey")?;
    let content = event::string(&document(request)?, "content")?;
    let text = message::decrypt(&content, &roles.device.secret, &sender)?;
    let request = document(&text)?;
    if event::string(&request, "method")? != "sign_event" || sender != roles.client.public {
        return Err("not a request to sign of this client".into());
    }
    let id = event::string(&request, "id")?;
    let params = request.get("params").and_then(|params| params.get(0)).and_then(Value::as_str);
    let draft = document(params.ok_or("no event")?)?;
    let number = |name: &str| draft.get(name).and_then(Value::as_u64).ok_or("no number");
    let content = event::string(&draft, "content")?;
    let tags = draft.get("tags").ok_or("no tags")?.to_string();
    let signed = event::signed(
        &roles.user.secret,
        &roles.user.public,
        number("created_at")?,
        &content,
        number("kind")?,
        &tags,
    )?;
    let signed = signed.replace('\\', "\\\\").replace('"', "\\\"");
    let response = "{\"id\":\"".to_owned() + &id + "\",\"result\":\"" + &signed + "\"}";
    sent(&roles.device, &roles.client, &response)
}

/// Returns the event that the client finds in a response.
fn accepted(roles: &Roles, response: &str) -> Result<String, String> {
    event::verify(response)?;
    let event = document(response)?;
    if event::string(&event, "pubkey")? != roles.device.public {
        return Err("not a response of this device".into());
    }
    let content = event::string(&event, "content")?;
    let text = message::decrypt(&content, &roles.client.secret, &roles.device.public)?;
    event::string(&document(&text)?, "result")
}
