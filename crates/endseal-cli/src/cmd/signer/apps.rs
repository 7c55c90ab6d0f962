//! `endseal signer apps`: lists the apps and their rules.

use core::fmt::Write as _;

use endseal_signer::control::{AppState, AppView, Command, CommandError, Flow, Reply, RuleView};

use super::access;
use super::rules::{self, date, local_date};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::printable;

/// List the apps with their rules
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Reply::Apps(apps) = access::ask(Command::Apps, ctx)? else {
        return Err(access::unexpected());
    };
    let json = json::object([("apps", apps.iter().map(app_json).collect())]);
    Ok(Outcome::new(table(&apps), json))
}

fn table(apps: &[AppView]) -> String {
    let widest = |cell: fn(&AppView) -> usize| apps.iter().map(cell).max().unwrap_or_default();
    let numbers = widest(|app| app.number.to_string().len());
    let names = widest(|app| printable(&app.name).chars().count());
    let states = widest(|app| state(app.state).len());
    let mut text = String::new();
    for app in apps {
        let (name, state) = (printable(&app.name), state(app.state));
        let mut line = format!("{:>numbers$}  {name:names$}  {state:states$}", app.number);
        if let Some(expires) = app.expires {
            line.push_str(&format!("  until {}", local_date(expires)));
        }
        let claims = [&app.claimed_name, &app.claimed_url];
        let claims: Vec<_> = claims.into_iter().filter(|it| !it.is_empty()).collect();
        for (at, claim) in claims.iter().enumerate() {
            line.push_str(if at == 0 { "  claims to be " } else { ", " });
            line.push_str(&printable(claim));
        }
        if app.at_user_key {
            line.push_str("  at the user's key");
        }
        if app.legacy {
            line.push_str("  encrypts with NIP-04");
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
        for asked in requested(app) {
            let _ = writeln!(text, "{:numbers$}    {asked}", "");
        }
        for rule in &app.rules {
            let _ = writeln!(text, "{:numbers$}    {:>3} {}", "", rule.number, rules::line(rule));
        }
        if app.rules.is_empty() {
            let _ = writeln!(text, "{:numbers$}    no rules: nothing is allowed", "");
        }
    }
    text
}

/// Returns lines on what the client of an app asks for.
fn requested(app: &AppView) -> impl Iterator<Item = String> {
    let of = |words: &str, list: &[String]| {
        let list: Vec<_> = list.iter().map(|it| printable(it).to_string()).collect();
        (!list.is_empty()).then(|| format!("{words} {}", list.join(", ")))
    };
    let understood = of("asks for", &app.requested);
    understood.into_iter().chain(of("asks for what is no rule:", &app.not_understood))
}

/// Finds an app by number or by name, as the signer does: one that has not ended first, then the
/// newest one.
pub(super) fn find(apps: Vec<AppView>, name: &str) -> Result<AppView, Failure> {
    let number = name.parse::<u32>().ok();
    let is_named = |it: &AppView| number.map_or(it.name == name, |number| it.number == number);
    let has_ended = |it: &AppView| matches!(it.state, AppState::Revoked | AppState::LoggedOut);
    let named = apps.into_iter().filter(is_named).max_by_key(|it| (!has_ended(it), it.number));
    named.ok_or_else(|| CommandError::NoApp(name.to_owned()).into())
}

/// Notes what the client of an app asks for.
pub(super) fn tell_requested(app: &AppView, ctx: &mut Ctx) {
    for asked in requested(app) {
        ctx.note(&format!("note: '{}' {asked}", printable(&app.name)));
    }
}

fn state(state: AppState) -> &'static str {
    match state {
        AppState::Invited => "invited",
        AppState::Paired => "paired",
        AppState::Expired => "expired",
        AppState::Revoked => "revoked",
        AppState::LoggedOut => "logged out",
    }
}

fn app_json(app: &AppView) -> Value {
    let flow = match app.flow {
        Flow::Bunker => "bunker",
        Flow::Nostrconnect => "nostrconnect",
    };
    json::object([
        ("number", app.number.into()),
        ("name", app.name.as_str().into()),
        ("state", state(app.state).replace(' ', "_").into()),
        ("flow", flow.into()),
        ("user", app.user.as_str().into()),
        ("signer", app.signer.as_str().into()),
        ("client", app.client.as_deref().into()),
        ("claimed_name", app.claimed_name.as_str().into()),
        ("claimed_url", app.claimed_url.as_str().into()),
        ("legacy", app.legacy.into()),
        ("at_user_key", app.at_user_key.into()),
        ("requested", app.requested.clone().into()),
        ("not_understood", app.not_understood.clone().into()),
        ("made", date(app.made).into()),
        ("expires", app.expires.map(date).into()),
        ("relays", app.relays.clone().into()),
        ("rules", app.rules.iter().map(rule_json).collect()),
    ])
}

fn rule_json(rule: &RuleView) -> Value {
    json::object([
        ("number", rule.number.into()),
        ("effect", rules::effect(rule.effect).into()),
        ("text", rule.text.as_str().into()),
        ("expires", rule.expires.map(date).into()),
        ("uses", rule.uses.into()),
        ("rate", rule.rate.map(rules::rate_text).into()),
        ("used", rule.used.into()),
    ])
}

#[cfg(test)]
mod tests {
    use endseal_signer::control::{GrantEffect, Rate};

    use super::*;

    fn app(number: u32, name: &str, rules: Vec<RuleView>) -> AppView {
        AppView {
            number,
            name: name.to_owned(),
            state: AppState::Paired,
            flow: Flow::Bunker,
            user: String::new(),
            signer: String::new(),
            client: None,
            claimed_name: String::new(),
            claimed_url: String::new(),
            legacy: false,
            at_user_key: false,
            requested: Vec::new(),
            not_understood: Vec::new(),
            made: 0,
            expires: None,
            relays: Vec::new(),
            rules,
        }
    }

    #[test]
    fn columns_are_aligned_and_names_command_nothing() {
        let rule = RuleView {
            number: 1,
            effect: GrantEffect::Allow,
            text: "sign:1".to_owned(),
            expires: Some(86_400),
            uses: Some(10),
            rate: Some(Rate { uses: 2, window: 3_600 }),
            used: 3,
        };
        let mut second = app(12, "a\u{1b}[2J\u{202e}", Vec::new());
        second.claimed_name = "x\ny".to_owned();
        second.claimed_url = "https://a.example".to_owned();
        second.state = AppState::LoggedOut;
        second.legacy = true;
        second.requested = vec!["sign:1".to_owned(), "nip44_encrypt".to_owned()];
        second.not_understood = vec!["sign_event:\u{1b}".to_owned()];
        let expected = [
            " 1  mail    paired",
            "        1 allow sign:1, used 3 of 10, 2/1h, until 1970-01-02T00:00:00Z",
            "12  a\u{fffd}[2J\u{fffd}  logged out  claims to be x\u{fffd}y, https://a.example  encrypts with NIP-04",
            "      asks for sign:1, nip44_encrypt",
            "      asks for what is no rule: sign_event:\u{fffd}",
            "      no rules: nothing is allowed",
        ];
        assert_eq!(table(&[app(1, "mail", vec![rule]), second]), expected.join("\n") + "\n");
    }
}
