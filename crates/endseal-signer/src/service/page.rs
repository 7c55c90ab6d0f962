//! Approval page, to which the `auth_url` of a request leads.
//!
//! The URL of a request is sent through the app that made it, so knowing it grants nothing: a
//! browser must be signed in.

mod html;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_service::browser_page::{Form, Site, Visit, see_other};
use http::{Response, StatusCode};
use tokio::net::TcpListener;

use super::handle::Handle;
use crate::control::{Command, CommandError, Remember, Reply, Requested, WaitingView};

/// Name of the cookie of signed-in browsers.
pub(super) const COOKIE: &str = "endseal_signer";

/// Seconds for which all that an app asks for is allowed if no other time was chosen.
const ALL_LIFETIME: u64 = 30 * 86_400;

/// Serves the page until the future is dropped.
pub(super) async fn serve(site: Site, handle: Handle, listeners: Vec<TcpListener>) {
    site.serve(listeners, move |site, visit| {
        let handle = handle.clone();
        async move { answer(&site, &handle, visit).await }
    })
    .await;
}

async fn answer(site: &Arc<Site>, handle: &Handle, visit: Visit) -> Response<String> {
    match visit {
        Visit::Show { path, token } => match (path.as_str(), number(&path)) {
            ("/", _) => list(site, handle).await,
            ("/allowed" | "/denied", _) => html::decided(site, path == "/allowed"),
            (_, Some(id)) => show(site, handle, id, &token).await,
            (_, None) => site.notice(StatusCode::NOT_FOUND, "There is no such page."),
        },
        Visit::Submit { path, form } => match number(&path) {
            Some(id) => decide(site, handle, id, &form).await,
            None => site.notice(StatusCode::NOT_FOUND, "There is no such page."),
        },
        _ => site.notice(StatusCode::NOT_FOUND, "There is no such page."),
    }
}

/// Returns one waiting request, or all of them.
async fn waiting(handle: &Handle, id: Option<u32>) -> Result<Vec<WaitingView>, CommandError> {
    match handle.call(Command::Waiting { id }).await? {
        Reply::Waiting(waiting) => Ok(waiting),
        _ => Ok(Vec::new()),
    }
}

async fn list(site: &Arc<Site>, handle: &Handle) -> Response<String> {
    match waiting(handle, None).await {
        Ok(waiting) => html::list(site, &waiting),
        Err(error) => site.notice(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

async fn show(site: &Arc<Site>, handle: &Handle, id: u32, token: &str) -> Response<String> {
    let found = waiting(handle, Some(id)).await.ok().and_then(|mut it| it.pop());
    match found {
        Some(request) => html::request(site, &request, token, now()),
        None => site.notice(
            StatusCode::NOT_FOUND,
            "This request no longer waits: it was decided, or five minutes have passed. Let the \
             app ask again.",
        ),
    }
}

async fn decide(site: &Arc<Site>, handle: &Handle, id: u32, form: &Form) -> Response<String> {
    let malformed = || site.notice(StatusCode::BAD_REQUEST, "This form is malformed.");
    let remember = match form.get("remember").unwrap_or_default() {
        "" => None,
        "always" => Some(Remember { lifetime: None }),
        seconds => match seconds.parse() {
            Ok(seconds) => Some(Remember { lifetime: Some(seconds) }),
            Err(_) => return malformed(),
        },
    };
    let (command, then) = match form.get("decision") {
        Some("all" | "allow") if !is_confirmed(handle, id, form).await => {
            return site.notice(
                StatusCode::BAD_REQUEST,
                "Nothing was allowed: go back and check the box above the button first.",
            );
        }
        Some("all") => {
            // What the page has shown; the app may ask for more meanwhile.
            let shown = form.get("requested").unwrap_or_default();
            let rules = shown.split('\n').map(|it| it.trim_end_matches('\r').to_owned()).collect();
            let lifetime = remember.map_or(Some(ALL_LIFETIME), |it| it.lifetime);
            let requested = Some(Requested { rules, lifetime });
            (Command::Approve { id, remember: None, requested }, "/allowed")
        }
        Some("allow") => (Command::Approve { id, remember, requested: None }, "/allowed"),
        Some("deny") => (Command::Deny { id, remember }, "/denied"),
        _ => return malformed(),
    };
    match handle.call(command).await {
        Ok(_) => see_other(then),
        Err(error) => site.notice(StatusCode::CONFLICT, &error.to_string()),
    }
}

/// Returns true if a person has confirmed what a form allows, or if it needs no confirmation.
async fn is_confirmed(handle: &Handle, id: u32, form: &Form) -> bool {
    form.get("confirmed").is_some()
        || (form.get("decision") == Some("allow")
            // A request that no longer waits is refused afterwards.
            && waiting(handle, Some(id)).await.is_ok_and(|it| !it.iter().any(html::is_sensitive)))
}

/// Returns the number in the path of a request, for instance `/request/7`.
fn number(path: &str) -> Option<u32> {
    path.strip_prefix("/request/")?.parse().ok()
}

/// Returns the system time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
