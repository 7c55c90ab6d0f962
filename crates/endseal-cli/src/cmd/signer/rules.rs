//! Options and formatting of an app's rules.

use core::time::Duration;

use endseal_nostr::policy::{Pattern, SENSITIVE_KINDS, Subject, parse_list};
use endseal_signer::control::{Grant, GrantEffect, Rate, RuleView};
use endseal_signer::kind_name;

use crate::ctx::Ctx;
use crate::duration::{self, SECOND, WEEK};
use crate::printable::printable;
use crate::time;

/// Rules that a command adds.
#[derive(clap::Args, Debug)]
#[group(id = "rules", multiple = true)]
pub(super) struct Rules {
    /// Answer these without asking, for example sign:1,nip44_decrypt:NPUB; repeatable
    ///
    /// sign, nip04_encrypt, nip04_decrypt, nip44_encrypt, nip44_decrypt and unwrap, separated by
    /// commas. sign and unwrap take a kind or two joined by -, the others a public key. What no
    /// rule names is refused. sign does not include kinds that act elsewhere (13, 62, 23194, 24133,
    /// 24242): allow each by its number. Log-ins to relays and tokens over HTTP need their place:
    /// sign:22242:RELAY, sign:27235:https://SITE or sign:27235:METHOD URL, for 90d at most.
    #[arg(long, value_name = "LIST")]
    allow: Vec<String>,
    /// Refuse these, whatever else allows them; repeatable
    #[arg(long, value_name = "LIST")]
    deny: Vec<String>,
    /// Let these wait for endseal signer approve or deny; repeatable
    #[arg(long, value_name = "LIST")]
    ask: Vec<String>,
    /// Rules for what the app is used for; they are printed first
    #[arg(long, value_name = "USE")]
    trust: Option<Trust>,
}

/// Rules for a use of an app. A person is asked for everything else.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Notes, comments, reactions, reposts, pictures and articles
    Notes,
    /// Notes, and private messages
    Chat,
    /// Everything but kinds that act elsewhere
    Full,
    /// Nothing without being asked
    Ask,
}

/// Kinds of notes.
const NOTES: &str = "sign:1,sign:6,sign:7,sign:16,sign:20-22,sign:1111,sign:9802,sign:30023-30024";
/// Kinds and methods of private messages.
const CHAT: &str = "sign:4,sign:13,sign:10050";
const CIPHERS: &str = "nip44_encrypt,nip44_decrypt,nip04_encrypt,nip04_decrypt";

impl Trust {
    /// Returns what is allowed, and what is asked for.
    fn rules(self) -> (String, String) {
        match self {
            Self::Notes => (NOTES.to_owned(), format!("sign,{CIPHERS}")),
            Self::Chat => (format!("{NOTES},{CHAT},{CIPHERS}"), "sign".to_owned()),
            Self::Full => (format!("sign,{CIPHERS}"), "sign".to_owned()),
            Self::Ask => (String::new(), format!("sign,{CIPHERS}")),
        }
    }
}

/// Limits of rules that a command adds.
#[derive(clap::Args, Debug)]
pub(super) struct Limits {
    /// Each rule of --allow serves this number of times
    #[arg(short, long, value_name = "N", requires = "allow")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Each rule of --allow serves this number of times in such a time, as 10/1h
    #[arg(long, value_name = "N/TIME", requires = "allow", value_parser = rate)]
    rate: Option<Rate>,
}

/// Longest lifetime of an app or a rule, in weeks.
pub(super) const LONGEST: u32 = 520;

/// Returns the parser of a lifetime.
pub(super) fn lifetime() -> impl Fn(&str) -> Result<Duration, String> + Clone {
    duration::between(SECOND, LONGEST * WEEK)
}

impl Rules {
    /// Returns true if no rule was given.
    pub(super) fn is_empty(&self) -> bool {
        self.trust.is_none()
            && [&self.allow, &self.deny, &self.ask].iter().all(|lists| lists.is_empty())
    }

    /// Prints the rules of `--trust`, before they take effect, and what `--allow` means where it is
    /// less or more than it may seem.
    pub(super) fn tell(&self, ctx: &mut Ctx) {
        let allowed = self.allow.iter().flat_map(|list| parse_list(list)).filter_map(Result::ok);
        let signed: Vec<_> = allowed.filter(|it| it.subject == Subject::Sign).collect();
        for kind in SENSITIVE_KINDS {
            let names = |it: &&Pattern| it.kinds.first == kind && it.kinds.last == kind;
            if signed.iter().any(|it| names(&it)) {
                let name = kind_name(kind).unwrap_or("a kind that acts elsewhere");
                ctx.note(&format!("warning: kind {kind} acts for you elsewhere: {name}"));
            }
        }
        let covers = |it: &Pattern| {
            let (first, last) = (it.kinds.first, it.kinds.last);
            first < last && SENSITIVE_KINDS.iter().any(|kind| (first..=last).contains(kind))
        };
        if signed.iter().any(covers) {
            let kinds: Vec<_> = SENSITIVE_KINDS.iter().map(u16::to_string).collect();
            ctx.note(&format!(
                "note: kinds that act for you elsewhere are not included ({}): each is allowed by \
                 its number",
                kinds.join(", ")
            ));
        }
        let Some((allow, ask)) = self.trust.map(Trust::rules) else { return };
        for (effect, rules) in [("allow", allow), ("ask", ask)] {
            if !rules.is_empty() {
                ctx.note(&format!("note: {effect} {rules}"));
            }
        }
    }

    /// Returns the rules, which expire after `lifetime`.
    pub(super) fn grants(mut self, limits: &Limits, lifetime: Option<Duration>) -> Vec<Grant> {
        if let Some((allow, ask)) = self.trust.map(Trust::rules) {
            self.allow.extend(Some(allow).filter(|it| !it.is_empty()));
            self.ask.push(ask);
        }
        let lifetime = lifetime.map(|it| it.as_secs());
        let allow = |rules| Grant {
            effect: GrantEffect::Allow,
            rules,
            lifetime,
            uses: limits.count,
            rate: limits.rate,
        };
        let other = |effect| move |rules| Grant { effect, rules, lifetime, uses: None, rate: None };
        let deny = self.deny.into_iter().map(other(GrantEffect::Deny));
        let ask = self.ask.into_iter().map(other(GrantEffect::Ask));
        self.allow.into_iter().map(allow).chain(deny).chain(ask).collect()
    }
}

/// Parses a rate: a number of uses and a duration.
fn rate(typed: &str) -> Result<Rate, String> {
    let wrong = || "expected a number and a time, for example 10/1h".to_owned();
    let (uses, window) = typed.split_once('/').ok_or_else(wrong)?;
    let uses = uses.parse().ok().filter(|uses| *uses > 0).ok_or_else(wrong)?;
    let window = duration::between(SECOND, 52 * WEEK)(window)?;
    Ok(Rate { uses, window: u32::try_from(window.as_secs()).map_err(|_| wrong())? })
}

/// Formats a rate in the syntax of the option.
pub(super) fn rate_text(rate: Rate) -> String {
    format!("{}/{}", rate.uses, duration::text(Duration::from_secs(rate.window.into())))
}

/// Returns the name of an effect.
pub(super) fn effect(effect: GrantEffect) -> &'static str {
    match effect {
        GrantEffect::Allow => "allow",
        GrantEffect::Deny => "deny",
        GrantEffect::Ask => "ask",
    }
}

/// Formats a rule in one line, without its number.
pub(super) fn line(rule: &RuleView) -> String {
    let mut line = format!("{:5} {}", effect(rule.effect), printable(&rule.text));
    if let Some(uses) = rule.uses {
        line.push_str(&format!(", used {} of {uses}", rule.used));
    } else if rule.used > 0 {
        line.push_str(&format!(", used {}", rule.used));
    }
    if let Some(rate) = rule.rate {
        line.push_str(&format!(", {}", rate_text(rate)));
    }
    if let Some(expires) = rule.expires {
        line.push_str(&format!(", until {}", local_date(expires)));
    }
    line
}

/// Formats seconds since 1970 in local time, for text that people read.
pub(super) fn local_date(seconds: u64) -> String {
    time::local(seconds.saturating_mul(1000))
}

/// Formats seconds since 1970 as RFC 3339 in UTC.
pub(super) fn date(seconds: u64) -> String {
    time::rfc3339(seconds.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        for typed in ["1/1s", "10/1h", "4294967295/52w"] {
            assert_eq!(rate(typed).map(rate_text).as_deref(), Ok(typed));
        }
        for bad in ["", "10", "/", "0/1h", "10/", "10/0s", "10/1", "-1/1h", "10/53w", "x/1h"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
