//! Commands that only read: status, apps, log lines, log verification and reasons of a decision.

use base16ct::lower::encode_string as hex;
use endseal_nostr::policy::{Action, Bound, Pattern, Subject, decide, explain};

use super::{Outcome, find, unwritten};
use crate::control::{AppRelays, AppView, CommandError, IgnoredView, Reply, Status, UserView};
use crate::engine::batch::rules;
use crate::engine::{Engine, is_live, view};
use crate::error::LoadError;
use crate::log::{Verification, VerifyError};
use crate::records::head::LogHead;
use crate::records::line::{LogEntry, Matter};
use crate::text::BoundedText;

/// Maximum number of log lines in one reply.
const MAX_LINES: u32 = 1_000;

impl Engine {
    pub(super) fn status(&self) -> Status {
        let state = self.store.state();
        let user = |user: &crate::User| UserView {
            public_key: view::key(user.key()),
            on_device: user.is_on_device(),
            device_connected: self.parts.devices.is_connected(user.key()),
            label: user.label().as_str().to_owned(),
        };
        let ignored = |(cause, count): (&str, u64)| IgnoredView { cause: cause.to_owned(), count };
        Status {
            unlocked: self.parts.keys.is_some(),
            users: state.users().map(user).collect(),
            app_relays: self.app_relays(),
            relays: self.relays(),
            connected: Vec::new(),
            apps: state.apps().filter(|it| is_live(it)).count(),
            waiting: self.parts.waiting.len(),
            ignored: self.parts.metrics.ignored_counts().map(ignored).collect(),
        }
    }

    /// Returns the relays of apps that are not relays of the signer.
    fn app_relays(&self) -> Vec<AppRelays> {
        let own = self.relays();
        let mut found: Vec<AppRelays> = Vec::new();
        for app in self.store.state().apps().filter(|it| is_live(it)).map(|it| it.app()) {
            let name = || app.name.as_str().to_owned();
            for relay in app.relays().iter().map(|it| it.as_str()) {
                if own.iter().any(|it| it == relay) {
                    continue;
                }
                match found.iter_mut().find(|it| it.relay == relay) {
                    Some(known) => known.apps.push(name()),
                    None => found.push(AppRelays { relay: relay.to_owned(), apps: vec![name()] }),
                }
            }
        }
        found
    }

    pub(super) fn apps(&self, now: u64) -> Vec<AppView> {
        let own = self.relays();
        let mut apps: Vec<_> =
            self.store.state().apps().map(|it| view::app(it, &own, now)).collect();
        apps.sort_by_key(|app| app.number);
        apps
    }

    pub(super) fn explain(&self, now: u64, app: &str, action: &str) -> Outcome {
        let entry = find(self.store.state().apps(), app)?;
        let action = action_of(action)?;
        let rules = rules(entry);
        let decision = decide(&rules, &action, now);
        Ok(Reply::Explained {
            verdict: format!("{:?}", decision.verdict).to_ascii_lowercase(),
            rule: decision.rule,
            reasons: explain(&rules, &action, now).to_string(),
        })
    }

    pub(super) fn lines(&mut self, after: u64, limit: u32) -> Outcome {
        let limit = usize::try_from(limit.min(MAX_LINES)).unwrap_or_default();
        let lines = self.store.log_lines(after, limit);
        let lines = lines.map_err(|error| CommandError::Store(error.to_string()))?;
        Ok(Reply::Lines(lines.iter().map(view::line).collect()))
    }

    /// Returns lines from which nothing is remembered.
    pub(super) fn old_lines(&mut self, now: u64, after: u64, limit: u32) -> Outcome {
        if !self.transact(now, |batch| batch.prune()).is_committed {
            return Err(unwritten());
        }
        let limit = usize::try_from(limit.min(MAX_LINES)).unwrap_or_default();
        let first_kept = self.store.state().settings().first_line;
        let lines = self.store.log_lines(after, limit);
        let lines = lines.map_err(|error| CommandError::Store(error.to_string()))?;
        let old = lines.iter().filter(|line| line.number < first_kept);
        Ok(Reply::OldLines(old.map(|line| hex(&line.to_bytes())).collect()))
    }

    /// Removes the oldest lines, up to the one with this number and hash.
    pub(super) fn remove_old_lines(&mut self, now: u64, number: u64, hash: &str) -> Outcome {
        let unread = |error: LoadError| CommandError::Store(error.to_string());
        let start = self.store.log_start().map_err(unread)?;
        let first_kept = self.store.state().settings().first_line;
        let named = self.store.log_lines(number.saturating_sub(1), 1).map_err(unread)?;
        let is_named = named.first().is_some_and(|it| it.number == number && hex(&it.hash) == hash);
        if !is_named || number >= first_kept || number <= start.number {
            return Err(CommandError::Invalid("the log has other old lines".to_owned()));
        }
        let until = number.min(start.number.saturating_add(MAX_LINES.into()));
        let last = self.store.log_lines(until.saturating_sub(1), 1).map_err(unread)?;
        let Some(last) = last.first().map(|it| LogHead::new(until, it.hash)) else {
            return Err(CommandError::Store("a line of the log is missing".to_owned()));
        };
        let removed = self.transact(now, |batch| {
            batch.transaction.remove_lines(start.number, &last)?;
            if until < number {
                return Ok(());
            }
            let mut line = LogEntry::new(Matter::LogArchived, now);
            line.text = BoundedText::cut(&number.to_string());
            batch.append(line)
        });
        match removed.is_committed {
            true => Ok(Reply::Removed(until.saturating_add(1))),
            false => Err(unwritten()),
        }
    }

    pub(super) fn verify(&mut self) -> Outcome {
        let mut verification = Verification::new(None);
        loop {
            if let Some(outcome) = self.verify_page(&mut verification) {
                return outcome;
            }
        }
    }

    /// Verifies the next page of the log. Returns the reply once the last page is verified, and
    /// `None` before.
    pub(crate) fn verify_page(&mut self, verification: &mut Verification) -> Option<Outcome> {
        let head = match self.store.verify_page(verification) {
            Ok(head) => head?,
            Err(VerifyError::Broken(broken)) => {
                return Some(Err(CommandError::Broken(broken.at, broken.to_string())));
            }
            Err(error) => return Some(Err(CommandError::Store(error.to_string()))),
        };
        let start = match self.store.log_start() {
            Ok(start) => start,
            Err(error) => return Some(Err(CommandError::Store(error.to_string()))),
        };
        Some(Ok(Reply::Verified {
            archived: start.number,
            archived_hash: hex(&start.hash),
            lines: head.number,
            hash: hex(&head.hash),
        }))
    }
}

/// Returns the action that a text names. The text must name a single kind or a peer.
fn action_of(text: &str) -> Result<Action, CommandError> {
    let invalid = |cause: &str| CommandError::Invalid(format!("'{text}': {cause}"));
    let pattern = Pattern::parse(text).map_err(|error| invalid(&error.to_string()))?;
    let kind = pattern.kinds.first;
    if pattern.subject.has_kinds() && kind != pattern.kinds.last {
        return Err(invalid("name one kind"));
    }
    let peer = match (pattern.subject.has_kinds(), pattern.bound) {
        (true, _) => [0; 32],
        (false, Bound::Peer(peer)) => peer,
        (false, _) => return Err(invalid("name a peer")),
    };
    let scope = match pattern.bound {
        Bound::Scope(scope) => Some(scope),
        _ => None,
    };
    Ok(match pattern.subject {
        Subject::Sign => Action::Sign { kind, scope, site: None },
        Subject::Unwrap => Action::Unwrap { kind },
        Subject::Nip04Encrypt => Action::Nip04Encrypt { peer },
        Subject::Nip04Decrypt => Action::Nip04Decrypt { peer },
        Subject::Nip44Encrypt => Action::Nip44Encrypt { peer },
        Subject::Nip44Decrypt => Action::Nip44Decrypt { peer },
    })
}
