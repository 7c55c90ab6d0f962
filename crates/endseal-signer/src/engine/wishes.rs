//! Permissions that a client asks for, as rules that a person can grant.

use endseal_nostr::connect::{Method, Permissions};
use endseal_nostr::policy::Pattern;

use crate::records::app::App;

/// Returns the rules for what the client of an app asks for, each once.
pub(super) fn rules(app: &App) -> impl Iterator<Item = Pattern> {
    let mut all: Vec<Pattern> = Vec::new();
    for wish in wishes(app) {
        if let Ok(pattern) = Pattern::parse(wish)
            && !all.contains(&pattern)
        {
            all.push(pattern);
        }
    }
    all.into_iter()
}

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
