//! Commands of people.

use std::path::Path;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::Relays;
use endseal_nostr::connect::{
    Bunker, ConnectSecret, ConnectUri, MAX_NAME as SHOWN, MAX_URI, NostrConnect, sanitise,
};
use endseal_nostr::key::{self, PublicKey, SecretKey};
use endseal_nostr::policy::{
    Action, Bound, Effect, MAX_SCOPE_LIFETIME, Pattern, Rate, Rule, Subject, decide, explain,
    parse_list,
};
use endseal_relay::address::Address;

use super::batch::{Batch, record, rules};
use super::{Engine, Outgoing, answer, entry_of, is_live, view};
use crate::control::{
    self, Command, CommandError, Grant, GrantEffect, Reply, SecretText, Status, UserView,
};
use crate::error::{ImportError, StateError, UnlockError};
use crate::log::{Verification, VerifyError};
use crate::records::app::App;
use crate::records::line::{LogEntry, Matter};
use crate::state::AppRules;
use crate::text::{BoundedText, MAX_NAME};

/// Most lines of one reply.
const MAX_LINES: u32 = 1_000;

type Outcome = Result<Reply, CommandError>;

impl Engine {
    /// Executes a command. Returns its reply, and events that leave because of it.
    pub(crate) fn command(
        &mut self,
        now: u64,
        request: control::Request,
    ) -> (Outcome, Vec<Outgoing>) {
        let control::Request { command, secret } = request;
        let mut outgoing = Vec::new();
        let outcome = match command {
            Command::Status => Ok(Reply::Status(self.status())),
            Command::Import { label } => self.import(now, &label, &secret),
            Command::Unlock => self.unlock(now, &secret),
            Command::Lock => self.lock(now),
            Command::Apps => Ok(Reply::Apps(self.apps(now))),
            Command::Waiting => Ok(Reply::Waiting(self.parts.waiting.views(now))),
            Command::Explain { app, action } => self.explain(now, &app, &action),
            Command::Log { after, limit } => self.lines(after, limit),
            Command::Verify => self.verify(),
            Command::Backup { directory } => self.backup(&directory),
            Command::SignIn => Err(CommandError::NotRunning),
            command => {
                let mut outcome = None;
                let transacted = self.transact(now, |batch| {
                    outcome = Some(batch.command(command)?);
                    Ok(())
                });
                outgoing = transacted.outgoing;
                let outcome = outcome.filter(|_| transacted.is_committed);
                outcome.unwrap_or_else(|| Err(unwritten()))
            }
        };
        self.count_apps();
        (outcome, outgoing)
    }

    fn status(&self) -> Status {
        let state = self.store.state();
        let user = |user: &crate::User| UserView {
            public_key: view::key(user.key()),
            label: user.label().as_str().to_owned(),
        };
        Status {
            unlocked: self.parts.keys.is_some(),
            users: state.users().map(user).collect(),
            relays: self.relays(),
            apps: state.apps().filter(|it| is_live(it)).count(),
            waiting: self.parts.waiting.len(),
        }
    }

    fn import(&mut self, now: u64, label: &str, secret: &[u8]) -> Outcome {
        let invalid = || CommandError::Invalid("the key is malformed".to_owned());
        let (key, passphrase) = secret.split_first_chunk().ok_or_else(invalid)?;
        let key = SecretKey::from_bytes(key).map_err(|_| invalid())?;
        let label = BoundedText::new(label)
            .map_err(|_| CommandError::Invalid("the label is longer than 64 bytes".to_owned()))?;
        let passphrase = str::from_utf8(passphrase).map_err(|_| CommandError::Passphrase)?;
        let public = view::key(&key.public_key());
        let random = &mut self.parts.random;
        match self.store.import(&key, passphrase, label, now, random) {
            Ok(_) => {}
            Err(ImportError::Unlock(UnlockError::Passphrase)) => {
                return Err(CommandError::Passphrase);
            }
            Err(ImportError::State(StateError::UserExists)) => {
                return Err(CommandError::Exists(public));
            }
            Err(error) => return Err(CommandError::Store(error.to_string())),
        }
        if self.parts.keys.is_some() {
            self.parts.keys = self.store.unlock(passphrase).ok();
        }
        Ok(Reply::Imported(public))
    }

    fn unlock(&mut self, now: u64, passphrase: &[u8]) -> Outcome {
        let passphrase = str::from_utf8(passphrase).map_err(|_| CommandError::Passphrase)?;
        self.open_keys(now, passphrase).map(|()| Reply::Done).map_err(|error| match error {
            UnlockError::Passphrase => CommandError::Passphrase,
            error => CommandError::Store(error.to_string()),
        })
    }

    /// Decrypts the users' keys.
    pub(crate) fn open_keys(&mut self, now: u64, passphrase: &str) -> Result<(), UnlockError> {
        let keys = self.store.unlock(passphrase)?;
        if self.parts.keys.is_none() && !self.line(LogEntry::new(Matter::Unlocked, now)) {
            return Err(UnlockError::Unwritten);
        }
        self.parts.keys = Some(keys);
        self.count_apps();
        Ok(())
    }

    fn lock(&mut self, now: u64) -> Outcome {
        // The keys go first, whatever becomes of the line.
        if self.parts.keys.take().is_some() {
            *self.parts.user_conversations = Default::default();
            if !self.line(LogEntry::new(Matter::Locked, now)) {
                let cause = "the signer is locked, but its log has no line of it";
                return Err(CommandError::Store(cause.to_owned()));
            }
        }
        Ok(Reply::Done)
    }

    /// Writes a line. Returns false if it was not written.
    fn line(&mut self, entry: LogEntry) -> bool {
        let time = entry.time;
        self.transact(time, |batch| batch.append(entry)).is_committed
    }

    fn apps(&self, now: u64) -> Vec<control::AppView> {
        let own = self.relays();
        let mut apps: Vec<_> =
            self.store.state().apps().map(|it| view::app(it, &own, now)).collect();
        apps.sort_by_key(|app| app.number);
        apps
    }

    fn explain(&self, now: u64, app: &str, action: &str) -> Outcome {
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

    fn lines(&mut self, after: u64, limit: u32) -> Outcome {
        let limit = usize::try_from(limit.min(MAX_LINES)).unwrap_or_default();
        let lines = self.store.log_lines(after, limit);
        let lines = lines.map_err(|error| CommandError::Store(error.to_string()))?;
        Ok(Reply::Lines(lines.iter().map(view::line).collect()))
    }

    fn verify(&mut self) -> Outcome {
        let mut verification = Verification::new(None);
        loop {
            if let Some(outcome) = self.verify_page(&mut verification) {
                return outcome;
            }
        }
    }

    /// Verifies the next page of the log. Returns the reply after the last one.
    pub(crate) fn verify_page(&mut self, verification: &mut Verification) -> Option<Outcome> {
        let head = match self.store.verify_page(verification) {
            Ok(head) => head?,
            Err(VerifyError::Broken(broken)) => {
                return Some(Err(CommandError::Broken(broken.at, broken.to_string())));
            }
            Err(error) => return Some(Err(CommandError::Store(error.to_string()))),
        };
        Some(Ok(Reply::Verified { lines: head.number, hash: view::hex(&head.hash) }))
    }

    fn backup(&mut self, directory: &Path) -> Outcome {
        let copied = self.store.store().backup(directory);
        copied.map(|_| Reply::Done).map_err(|error| CommandError::Store(error.to_string()))
    }

    /// Sets the relays of new apps.
    pub(crate) fn set_relays(&mut self, now: u64, relays: &[String]) -> Result<(), CommandError> {
        let relays = addresses(relays, true)?;
        let mut outcome = None;
        let transacted = self.transact(now, |batch| {
            outcome = Some(batch.transaction.set_relays(relays));
            Ok(())
        });
        self.parts.has_new_subscriptions = true;
        match outcome.filter(|_| transacted.is_committed) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(CommandError::Limit(error.to_string())),
            None => Err(unwritten()),
        }
    }
}

impl Batch<'_> {
    fn command(&mut self, command: Command) -> Result<Outcome, StateError> {
        match command {
            Command::Invite { name, user, grants, lifetime, invitation, relays } => {
                let wish = Wish { name: &name, user: user.as_deref(), grants: &grants, lifetime };
                self.invite(&wish, invitation, &relays)
            }
            Command::Connect { uri, name, user, grants, lifetime, allow_private } => {
                let mut buffer = Zeroizing::new(vec![0; MAX_URI]);
                let parsed = ConnectUri::parse(uri.expose_secret(), &mut buffer);
                let Ok(ConnectUri::NostrConnect(client)) = parsed else {
                    let cause = "this is no nostrconnect:// URI".to_owned();
                    return Ok(Err(CommandError::Invalid(cause)));
                };
                let claimed = client.metadata.name.map(|it| sanitise(it, SHOWN).to_string());
                let name = name.or_else(|| claimed.map(|it| valid_name(&it))).unwrap_or_default();
                let wish = Wish { name: &name, user: user.as_deref(), grants: &grants, lifetime };
                self.connect(&wish, &client, allow_private)
            }
            Command::Grant { app, grants } => self.grant(&app, &grants),
            Command::RemoveRule { app, rule } => self.remove_rule(&app, rule),
            Command::Revoke { app } => self.revoke(&app),
            Command::Approve { id, remember } => {
                Ok(self.resolve(id, Effect::Allow, remember)?.map(|()| Reply::Done))
            }
            Command::Deny { id, remember } => {
                Ok(self.resolve(id, Effect::Deny, remember)?.map(|()| Reply::Done))
            }
            _ => Ok(Err(CommandError::Invalid("the command is not known".to_owned()))),
        }
    }

    fn invite(
        &mut self,
        wish: &Wish<'_>,
        invitation: u64,
        relays: &[String],
    ) -> Result<Outcome, StateError> {
        let checked = (|| {
            let own = super::relays(self.transaction.settings());
            if relays.is_empty() && own.is_empty() {
                return Err(CommandError::NoRelays);
            }
            let named = addresses(if relays.is_empty() { &own } else { relays }, true)?;
            let (user, patterns) = wish.check(self)?;
            let secret = self.random_secret()?;
            let transport = self.random_key()?;
            Ok((own, named, user, patterns, secret, transport))
        })();
        let (own, named, user, patterns, secret, transport) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        let number = self.transaction.settings().next_app;
        let signer = transport.public_key();
        let until = self.now.saturating_add(invitation.max(1));
        let mut app = App::invite(number, user, transport, &secret, self.now, until);
        wish.fill(&mut app, self.now);
        let listed: Vec<&str> = match relays {
            [] => own.iter().map(String::as_str).collect(),
            relays => relays.iter().map(String::as_str).collect(),
        };
        let bunker = Bunker { signer, relays: Relays::new(&listed), secret: Some(secret) };
        let mut buffer = Zeroizing::new([0; MAX_URI]);
        let uri = match bunker.write(&mut buffer[..]) {
            Ok(uri) => SecretText::new(uri.to_owned()),
            Err(error) => return Ok(Err(CommandError::Limit(error.to_string()))),
        };
        // They were checked, and are at most eight.
        let _ = app.set_relays(named);
        Ok(self
            .add(app, Matter::AppInvited, &patterns)?
            .map(|()| Reply::Invited { app: number, uri: Some(uri) }))
    }

    fn connect(
        &mut self,
        wish: &Wish<'_>,
        client: &NostrConnect<'_>,
        allow_private: bool,
    ) -> Result<Outcome, StateError> {
        let checked = (|| {
            let relays: Vec<_> = client.relays.iter().map(str::to_owned).collect();
            let relays = addresses(&relays, allow_private)?;
            let (user, patterns) = wish.check(self)?;
            Ok((relays, user, patterns, self.random_key()?))
        })();
        let (relays, user, patterns, transport) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        let number = self.transaction.settings().next_app;
        let name = transport.public_key().to_bytes();
        let mut app =
            App::connect(number, user, transport, &client.secret, self.now, client.client);
        wish.fill(&mut app, self.now);
        if let Some(url) = client.metadata.url {
            app.claimed_url = BoundedText::cut(&sanitise(url, SHOWN).to_string());
        }
        if let Some(name) = client.metadata.name {
            app.claimed_name = BoundedText::cut(&sanitise(name, SHOWN).to_string());
        }
        // As above.
        let _ = app.set_relays(relays);
        if let Err(error) = self.add(app, Matter::AppConnected, &patterns)? {
            return Ok(Err(error));
        }
        let greeting = self.transaction.app(&name).and_then(|entry| {
            let id = view::hex(&fresh_id(&mut self.parts.random)?);
            let secret = endseal_nostr::connect::Answer::Text(client.secret.expose_secret());
            answer::write(entry.app(), &id, &secret, self.parts, self.now)
        });
        self.parts.sent.greetings.extend(greeting);
        Ok(Ok(Reply::Invited { app: number, uri: None }))
    }

    /// Records an app with its rules and its line.
    fn add(
        &mut self,
        app: App,
        matter: Matter,
        patterns: &[(Pattern, &Grant)],
    ) -> Result<Result<(), CommandError>, StateError> {
        let transport = app.record_name();
        let entry = entry_of(&app, matter, self.now);
        match self.transaction.add_app(app) {
            Ok(()) => {}
            Err(StateError::Limit(limit)) => {
                return Ok(Err(CommandError::Limit(limit.to_string())));
            }
            Err(error) => return Err(error),
        }
        self.append(entry)?;
        self.parts.has_new_subscriptions = true;
        self.add_rules(&transport, patterns).map(|added| added.map(drop))
    }

    fn grant(&mut self, name: &str, grants: &[Grant]) -> Result<Outcome, StateError> {
        let checked = (|| {
            let transport = find(self.transaction.apps(), name)?.app().record_name();
            Ok((transport, patterns(grants, self.now)?))
        })();
        match checked {
            Ok((transport, patterns)) => {
                Ok(self.add_rules(&transport, &patterns)?.map(Reply::Granted))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    fn add_rules(
        &mut self,
        transport: &[u8; 32],
        patterns: &[(Pattern, &Grant)],
    ) -> Result<Result<Vec<u32>, CommandError>, StateError> {
        let last = self.rules(transport).iter().map(|it| it.number).max();
        let first = last.unwrap_or_default().saturating_add(1);
        let mut numbers = Vec::new();
        for (number, (pattern, grant)) in (first..).zip(patterns) {
            let rule = rule_of(pattern, grant, number, self.now);
            let Some(record) = record(&rule) else { continue };
            match self.transaction.put_rule(transport, record) {
                Ok(()) => {}
                Err(StateError::Limit(limit)) => {
                    // What was added is taken back: a grant is whole or not at all.
                    for number in numbers {
                        self.transaction.remove_rule(transport, number)?;
                    }
                    return Ok(Err(CommandError::Limit(limit.to_string())));
                }
                Err(error) => return Err(error),
            }
            numbers.push(number);
        }
        for (number, (pattern, grant)) in numbers.iter().zip(patterns) {
            let Some(app) = self.transaction.app(transport) else { continue };
            let mut line = entry_of(app.app(), Matter::RuleAdded, self.now);
            line.rule = *number;
            line.text = BoundedText::cut(&format!("{} {pattern}", effect(grant.effect)));
            self.append(line)?;
        }
        Ok(Ok(numbers))
    }

    fn remove_rule(&mut self, name: &str, number: u32) -> Result<Outcome, StateError> {
        let entry = match find(self.transaction.apps(), name) {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(error)),
        };
        let transport = entry.app().record_name();
        let mut line = entry_of(entry.app(), Matter::RuleRemoved, self.now);
        line.rule = number;
        if let Some(record) = entry.rule(number) {
            let rule = record.rule();
            line.text = BoundedText::cut(&format!("{} {}", rule.effect, rule.pattern()));
        }
        if !self.transaction.remove_rule(&transport, number)? {
            return Ok(Err(CommandError::NoRule(number)));
        }
        self.append(line)?;
        Ok(Ok(Reply::Done))
    }

    fn revoke(&mut self, name: &str) -> Result<Outcome, StateError> {
        let transport = match find(self.transaction.apps(), name) {
            Ok(entry) => entry.app().record_name(),
            Err(error) => return Ok(Err(error)),
        };
        self.refuse_waiting(&transport);
        let now = self.now;
        let line = self.transaction.update_app(&transport, |app| {
            app.revoke(now).then(|| entry_of(app, Matter::AppRevoked, now))
        })?;
        if let Some(line) = line {
            self.append(line)?;
        }
        Ok(Ok(Reply::Done))
    }

    fn random_key(&mut self) -> Result<SecretKey, CommandError> {
        SecretKey::generate(&mut self.parts.random)
            .map_err(|error| CommandError::Store(error.to_string()))
    }

    /// 128 random bits in hexadecimal, which every client takes in a URL.
    fn random_secret(&mut self) -> Result<ConnectSecret, CommandError> {
        let bytes = fresh_id(&mut self.parts.random)
            .ok_or_else(|| CommandError::Store("the system has no randomness".to_owned()))?;
        let text = Zeroizing::new(view::hex(&bytes));
        ConnectSecret::new(&text).map_err(|error| CommandError::Invalid(error.to_string()))
    }
}

/// The claimed name of an app, so that it may be the app's name: no number, and not too long.
fn valid_name(claimed: &str) -> String {
    let prefix = if claimed.parse::<u32>().is_ok() { "app " } else { "" };
    BoundedText::<MAX_NAME>::cut(&format!("{prefix}{claimed}")).as_str().to_owned()
}

fn unwritten() -> CommandError {
    CommandError::Store("the change was not written".to_owned())
}

fn fresh_id(random: &mut impl endseal_crypto::random::Random) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes).ok().map(|()| bytes)
}

/// An app as a person wishes for it.
struct Wish<'w> {
    name: &'w str,
    user: Option<&'w str>,
    grants: &'w [Grant],
    lifetime: Option<u64>,
}

impl<'w> Wish<'w> {
    #[allow(clippy::type_complexity, reason = "the user and its rules")]
    fn check(
        &self,
        batch: &Batch<'_>,
    ) -> Result<(PublicKey, Vec<(Pattern, &'w Grant)>), CommandError> {
        if self.name.is_empty() || BoundedText::<64>::new(self.name).is_err() {
            return Err(CommandError::Invalid("a name has 1 to 64 bytes".to_owned()));
        }
        if self.name.parse::<u32>().is_ok() || self.name.chars().any(char::is_control) {
            let cause = "a name is no number and has no control characters";
            return Err(CommandError::Invalid(cause.to_owned()));
        }
        let mut live = batch.transaction.apps().filter(|it| is_live(it));
        if live.any(|it| it.app().name.as_str() == self.name) {
            return Err(CommandError::NameTaken(self.name.to_owned()));
        }
        Ok((self.user(batch)?, patterns(self.grants, batch.now)?))
    }

    fn user(&self, batch: &Batch<'_>) -> Result<PublicKey, CommandError> {
        let mut users = batch.transaction.users().map(|user| *user.key());
        let Some(text) = self.user else {
            let only = users.next().filter(|_| users.next().is_none());
            let cause = "the signer has no user key, or several: name one";
            return only.ok_or_else(|| CommandError::User(cause.to_owned()));
        };
        let parsed = key::public_from_hex(text).or_else(|_| key::public_from_npub(text));
        let found = parsed.ok().filter(|user| users.any(|it| it == *user));
        found.ok_or_else(|| CommandError::User(format!("the signer has no user key '{text}'")))
    }

    fn fill(&self, app: &mut App, now: u64) {
        app.name = BoundedText::cut(self.name);
        app.expires = self.lifetime.map_or(0, |seconds| now.saturating_add(seconds.max(1)));
    }
}

/// Patterns of grants, each with a rule that may be written.
fn patterns(grants: &[Grant], now: u64) -> Result<Vec<(Pattern, &Grant)>, CommandError> {
    let mut all = Vec::new();
    for grant in grants {
        let mut add = |pattern: Pattern| {
            let text = pattern.to_string();
            rule_of(&pattern, grant, 1, now).check().map_err(|_| {
                CommandError::Invalid(format!(
                    "'{text}' cannot be granted so: kinds 22242 and 27235 are allowed for a relay or \
                     a method with its URL, for {MAX_SCOPE_LIFETIME} seconds; rules that deny or ask \
                     have no limits"
                ))
            })?;
            all.push((pattern, grant));
            Ok::<(), CommandError>(())
        };
        let list: Result<Vec<_>, _> = parse_list(&grant.rules).collect();
        match (list, Pattern::parse(&grant.rules)) {
            (Ok(list), _) if list.len() != 1 => list.into_iter().try_for_each(&mut add)?,
            // A scope alone reaches to the end of the text, commas in it too.
            (_, Ok(pattern)) => add(pattern)?,
            (Ok(list), _) => list.into_iter().try_for_each(&mut add)?,
            (Err(error), _) => {
                return Err(CommandError::Invalid(format!("'{}': {error}", grant.rules)));
            }
        }
    }
    Ok(all)
}

fn rule_of(pattern: &Pattern, grant: &Grant, number: u32, now: u64) -> Rule {
    let mut rule = pattern.rule(effect(grant.effect), number, now);
    rule.expires = grant.lifetime.map(|seconds| now.saturating_add(seconds.max(1)));
    rule.uses = grant.uses;
    rule.rate = grant.rate.map(|rate| Rate { uses: rate.uses, window: rate.window });
    rule
}

const fn effect(effect: GrantEffect) -> Effect {
    match effect {
        GrantEffect::Allow => Effect::Allow,
        GrantEffect::Deny => Effect::Deny,
        GrantEffect::Ask => Effect::Ask,
    }
}

/// The action that a text names: one kind, or one peer.
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
        Subject::Sign => Action::Sign { kind, scope },
        Subject::Unwrap => Action::Unwrap { kind },
        Subject::Nip04Encrypt => Action::Nip04Encrypt { peer },
        Subject::Nip04Decrypt => Action::Nip04Decrypt { peer },
        Subject::Nip44Encrypt => Action::Nip44Encrypt { peer },
        Subject::Nip44Decrypt => Action::Nip44Decrypt { peer },
    })
}

/// The app of a number, or the one of a name that has not ended, or else the last of this name.
fn find<'a>(
    apps: impl Iterator<Item = &'a AppRules>,
    name: &str,
) -> Result<&'a AppRules, CommandError> {
    let number = name.parse::<u32>().ok();
    let named = apps.filter(|it| match number {
        Some(number) => it.app().number() == number,
        None => it.app().name.as_str() == name,
    });
    let found = named.max_by_key(|it| (is_live(it), it.app().number()));
    found.ok_or_else(|| CommandError::NoApp(name.to_owned()))
}

/// Checks relays.
fn addresses(
    relays: &[String],
    allow_private: bool,
) -> Result<Vec<BoundedText<255>>, CommandError> {
    let relay = |text: &String| {
        let parsed = match allow_private {
            true => Address::parse_insecure(text),
            false => Address::parse(text),
        };
        parsed.map_err(|error| CommandError::Invalid(format!("'{text}': {error}")))?;
        BoundedText::new(text).map_err(|error| CommandError::Invalid(error.to_string()))
    };
    if relays.len() > crate::limit::MAX_RELAYS {
        return Err(CommandError::Limit("more than 8 relays".to_owned()));
    }
    relays.iter().map(relay).collect()
}
