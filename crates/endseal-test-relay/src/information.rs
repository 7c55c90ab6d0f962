//! Information document (NIP-11), and answers to requests that are not for WebSocket.

use endseal_nostr::json::write;
use endseal_nostr::output::Sink as _;
use endseal_relay::message::{MAX_FILTERS, MAX_SUBSCRIPTION_LEN};

use crate::head::Head;
use crate::settings::Settings;

/// Response to a request without an upgrade.
pub(crate) fn response(head: &Head<'_>, settings: &Settings) -> Vec<u8> {
    let wants_document = head.headers("accept").any(|v| v.contains("application/nostr+json"));
    let (status, kind, body) = if wants_document {
        ("200 OK", "application/nostr+json", document(settings))
    } else {
        ("426 Upgrade Required", "text/plain", b"This is a Nostr relay.\n".to_vec())
    };
    let mut response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nAccess-Control-Allow-Origin: *\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    response.extend_from_slice(&body);
    response
}

fn document(settings: &Settings) -> Vec<u8> {
    let limits = &settings.limits;
    let mut out = b"{\"name\":".to_vec();
    write::text(&mut out, settings.name.as_str().into());
    out.put(b",\"supported_nips\":[1,11,42],\"limitation\":{\"auth_required\":");
    out.put(if settings.auth { b"true" } else { b"false" });
    for (name, value) in [
        ("max_message_length", limits.message),
        ("max_subscriptions", limits.subscriptions),
        ("max_filters", MAX_FILTERS),
        ("max_limit", limits.answers),
        ("max_subid_length", MAX_SUBSCRIPTION_LEN),
    ] {
        out.put(format!(",\"{name}\":{value}").as_bytes());
    }
    out.put(b"}}");
    out
}
