//! Conversion of records and rules into the views that commands return.

use base16ct::lower::encode_string as hex;
use endseal_nostr::connect::{MAX_NAME as SHOWN, sanitise};
use endseal_nostr::key::PublicKey;
use endseal_nostr::policy::{Effect, Rule};

use super::batch::rules;
use super::wishes;
use crate::control::{
    AppState as StateView, AppView, Flow as FlowView, GrantEffect, LineView, Rate, RuleView,
};
use crate::records::app::{AppState, Flow};
use crate::records::line::{LogLine, LogMethod, LogVerdict, Matter};
use crate::state::AppRules;

fn some_hex(bytes: &[u8; 32]) -> Option<String> {
    (*bytes != [0; 32]).then(|| hex(bytes))
}

fn some<T: Default + PartialEq>(value: T) -> Option<T> {
    (value != T::default()).then_some(value)
}

pub(super) fn key(key: &PublicKey) -> String {
    hex(&key.to_bytes())
}

pub(super) fn effect(effect: Effect) -> GrantEffect {
    match effect {
        Effect::Allow => GrantEffect::Allow,
        Effect::Deny => GrantEffect::Deny,
        Effect::Ask => GrantEffect::Ask,
    }
}

pub(super) fn rule(rule: &Rule) -> RuleView {
    RuleView {
        number: rule.number,
        effect: effect(rule.effect),
        text: rule.pattern().to_string(),
        expires: rule.expires,
        uses: rule.uses,
        rate: rule.rate.map(|rate| Rate { uses: rate.uses, window: rate.window }),
        used: rule.usage.used,
    }
}

pub(super) fn app(entry: &AppRules, own: &[String], now: u64) -> AppView {
    let app = entry.app();
    let state = match app.state() {
        AppState::Revoked { .. } => StateView::Revoked,
        AppState::LoggedOut { .. } => StateView::LoggedOut,
        _ if app.end().is_some_and(|end| end <= now) => StateView::Expired,
        AppState::Invited => StateView::Invited,
        AppState::Paired { .. } => StateView::Paired,
    };
    let named: Vec<_> = app.relays().iter().map(|it| it.as_str().to_owned()).collect();
    AppView {
        number: app.number(),
        name: app.name.as_str().to_owned(),
        state,
        flow: match app.flow() {
            Flow::Bunker { .. } => FlowView::Bunker,
            Flow::NostrConnect => FlowView::Nostrconnect,
        },
        user: key(app.user()),
        signer: hex(&app.address()),
        client: app.client().map(key),
        claimed_name: app.claimed_name.as_str().to_owned(),
        claimed_url: app.claimed_url.as_str().to_owned(),
        legacy: app.is_legacy,
        at_user_key: app.is_at_user_key,
        requested: wishes::rules(app).map(|(_, text)| text).collect(),
        not_understood: wishes::others(app).map(|it| sanitise(it, SHOWN).to_string()).collect(),
        made: app.made(),
        expires: some(app.expires),
        relays: if named.is_empty() { own.to_vec() } else { named },
        rules: rules(entry).iter().map(rule).collect(),
    }
}

pub(super) fn line(line: &LogLine) -> LineView {
    let entry = &line.entry;
    LineView {
        number: line.number,
        time: entry.time,
        matter: matter(entry.matter).to_owned(),
        name: entry.text.as_str().to_owned(),
        app: some(entry.app),
        method: method(entry.method).map(str::to_owned),
        kind: entry.kind,
        peer: some_hex(&entry.peer),
        verdict: verdict(entry.verdict).map(str::to_owned),
        rule: some(entry.rule),
        signed: some_hex(&entry.signed),
        request: some_hex(&entry.request),
        hash: hex(&line.hash),
    }
}

const fn matter(matter: Matter) -> &'static str {
    match matter {
        Matter::Request => "request",
        Matter::AppInvited => "app_invited",
        Matter::AppConnected => "app_connected",
        Matter::RuleAdded => "rule_added",
        Matter::RuleRemoved => "rule_removed",
        Matter::AppRevoked => "app_revoked",
        Matter::AppLoggedOut => "app_logged_out",
        Matter::UserImported => "user_imported",
        Matter::Unlocked => "unlocked",
        Matter::Locked => "locked",
        Matter::Approved => "approved",
        Matter::Denied => "denied",
        Matter::AppRenamed => "app_renamed",
        Matter::AppReinvited => "app_reinvited",
        Matter::UserRemoved => "user_removed",
        Matter::PermissionsAsked => "permissions_asked",
        Matter::LogArchived => "log_archived",
    }
}

const fn verdict(verdict: LogVerdict) -> Option<&'static str> {
    Some(match verdict {
        LogVerdict::None => return None,
        LogVerdict::Allowed => "allowed",
        LogVerdict::Denied => "denied",
        LogVerdict::Limit => "limit",
        LogVerdict::Asks => "asks",
        LogVerdict::Timeout => "timeout",
        LogVerdict::Failed => "failed",
    })
}

const fn method(method: LogMethod) -> Option<&'static str> {
    Some(match method {
        LogMethod::None => return None,
        LogMethod::Connect => "connect",
        LogMethod::SignEvent => "sign_event",
        LogMethod::Ping => "ping",
        LogMethod::GetPublicKey => "get_public_key",
        LogMethod::Nip04Encrypt => "nip04_encrypt",
        LogMethod::Nip04Decrypt => "nip04_decrypt",
        LogMethod::Nip44Encrypt => "nip44_encrypt",
        LogMethod::Nip44Decrypt => "nip44_decrypt",
        LogMethod::SwitchRelays => "switch_relays",
        LogMethod::Logout => "logout",
        LogMethod::Nip17UnwrapBatch => "nip17_unwrap_batch",
    })
}
