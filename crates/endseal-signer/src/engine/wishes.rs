//! Permissions that a client asks for, as rules that a person can grant.

use endseal_nostr::connect::{Method, Permissions, sanitise};
use endseal_nostr::policy::{Bound, Pattern};

use crate::records::app::App;

/// Returns the rules for what the client of an app asks for, each once, as patterns and as a person
/// reads them. The place of a log-in or a token is in the words of the client, since the pattern
/// has its digest alone.
pub(super) fn rules(app: &App) -> impl Iterator<Item = (Pattern, String)> {
    let mut all: Vec<(Pattern, String)> = Vec::new();
    for wish in wishes(app) {
        if let Ok(pattern) = Pattern::parse(wish)
            && all.iter().all(|(known, _)| *known != pattern)
        {
            let text = match pattern.bound {
                Bound::Scope(_) => sanitise(wish, MAX_SHOWN).to_string(),
                _ => pattern.to_string(),
            };
            all.push((pattern, text));
        }
    }
    all.into_iter()
}

/// Most characters of a wish that are shown. The record has no longer ones.
const MAX_SHOWN: usize = 1_024;

/// Returns the permissions that are no rules, as the client has written them.
pub(super) fn others(app: &App) -> impl Iterator<Item = &str> {
    wishes(app).filter(|wish| Pattern::parse(wish).is_err())
}

/// Returns the permissions without those for methods that need no rule.
fn wishes(app: &App) -> impl Iterator<Item = &str> {
    let needs_rule = |wish: &&str| {
        let found = Permissions::new(wish).iter().next();
        !found.is_some_and(|it| {
            it.is_ok_and(|it| {
                matches!(
                    it.method,
                    Method::Connect
                        | Method::Ping
                        | Method::GetPublicKey
                        | Method::SwitchRelays
                        | Method::Logout
                )
            })
        })
    };
    app.wishes().split(',').map(str::trim).filter(|it| !it.is_empty()).filter(needs_rule)
}
