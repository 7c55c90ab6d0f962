//! Creation of apps, by invitation or from a client's URI.

use base16ct::lower::encode_string as hex;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::Relays;
use endseal_nostr::connect::{
    Bunker, ConnectSecret, MAX_NAME as SHOWN, MAX_URI, NostrConnect, is_invisible, sanitise,
};
use endseal_nostr::key::{self, PublicKey, SecretKey};
use endseal_nostr::policy::Pattern;
use unicode_security::confusable_detection::skeleton;

use super::rules::patterns;
use super::{Outcome, address, addresses, find};
use crate::control::{CommandError, Grant, GreetedRelay, Reply, SecretText};
use crate::engine::batch::Batch;
use crate::engine::{self, entry_of, is_live, wishes};
use crate::error::{StateError, StateLimit};
use crate::limit::MAX_RELAYS;
use crate::records::app::{App, AppState};
use crate::records::line::Matter;
use crate::state::{AppRules, MAX_RULES};
use crate::text::{BoundedText, MAX_NAME};

impl Batch<'_> {
    pub(super) fn invite(
        &mut self,
        wish: &Wish<'_>,
        invitation: u64,
        relays: &[String],
    ) -> Result<Outcome, StateError> {
        let checked = (|| {
            let own = engine::relays(self.transaction.settings());
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
        let signer = if wish.as_user_key { user } else { transport.public_key() };
        let until = self.now.saturating_add(invitation.max(1));
        let mut app = App::invite(number, user, transport, &secret, self.now, until);
        wish.fill(&mut app, self.now);
        let uri = match bunker(signer, if relays.is_empty() { &own } else { relays }, secret) {
            Ok(uri) => uri,
            Err(error) => return Ok(Err(error)),
        };
        // The relays were checked above and are at most eight.
        let _ = app.set_relays(named);
        Ok(self.add(app, Matter::AppInvited, &patterns)?.map(|()| Reply::Invited {
            app: number,
            uri: Some(uri),
            greeted: Vec::new(),
            ignored_relays: 0,
        }))
    }

    pub(super) fn connect(
        &mut self,
        wish: &Wish<'_>,
        client: &NostrConnect<'_>,
        allow_private: bool,
        grant_requested: bool,
    ) -> Result<Outcome, StateError> {
        let (relays, refused) = acceptable(client.relays, allow_private);
        let checked = (|| {
            if let ([], [first, ..]) = (&relays[..], &refused[..]) {
                let reason = first.failure.as_deref().unwrap_or_default();
                return Err(CommandError::Invalid(format!("'{}': {reason}", first.relay)));
            }
            let (user, patterns) = wish.check(self)?;
            let is_of_client = |it: &&AppRules| {
                it.app().is_at_user_key
                    && it.app().user() == &user
                    && matches!(it.app().state(), AppState::Paired { client: it } if *it == client.client)
            };
            if wish.as_user_key
                && let Some(other) = self.transaction.apps().find(is_of_client)
            {
                return Err(CommandError::Invalid(format!(
                    "app {} is connected with this client already: revoke it first",
                    other.app().number()
                )));
            }
            Ok((user, patterns, self.random_key()?))
        })();
        let (user, patterns, transport) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        let number = self.transaction.settings().next_app;
        let name = transport.public_key().to_bytes();
        let secret = ConnectSecret::new(client.secret.expose_secret());
        let mut app =
            App::connect(number, user, transport, &client.secret, self.now, client.client);
        wish.fill(&mut app, self.now);
        if let Some(url) = client.metadata.url {
            app.claimed_url = BoundedText::cut(&sanitise(url, SHOWN).to_string());
        }
        if let Some(name) = client.metadata.name {
            app.claimed_name = BoundedText::cut(&sanitise(name, SHOWN).to_string());
        }
        app.set_wishes(client.permissions.as_str());
        if grant_requested && patterns.len() + wishes::rules(&app).count() > MAX_RULES {
            return Ok(Err(CommandError::Limit(StateLimit::Rules.to_string())));
        }
        // The relays were checked above and are at most eight.
        let _ = app.set_relays(relays);
        if let Err(error) = self.add(app, Matter::AppConnected, &patterns)? {
            return Ok(Err(error));
        }
        if grant_requested && let Err(error) = self.add_requested(&name, wish.lifetime)? {
            return Ok(Err(error));
        }
        if let (Some(id), Ok(secret)) = (fresh_id(&mut self.parts.random), secret) {
            self.parts.greetings.add(name, hex(&id), secret, self.now);
        }
        Ok(Ok(Reply::Invited {
            app: number,
            uri: None,
            greeted: refused,
            ignored_relays: client.ignored_relays,
        }))
    }

    /// Makes a new invitation for an app. Its rules stay, and its client is refused.
    pub(super) fn reinvite(&mut self, name: &str, invitation: u64) -> Result<Outcome, StateError> {
        let checked = (|| {
            let app = find(self.transaction.apps(), name)?.app();
            if app.expires != 0 && app.expires <= self.now {
                return Err(CommandError::Invalid(
                    "the app has expired: invite another".to_owned(),
                ));
            }
            let others = self.transaction.apps().filter(|it| is_live(it));
            let others = others.filter(|it| it.app().number() != app.number());
            check_name(app.name.as_str(), others)?;
            let own = engine::relays(self.transaction.settings());
            let named: Vec<_> = app.relays().iter().map(|it| it.as_str().to_owned()).collect();
            let relays = if named.is_empty() { own } else { named };
            if relays.is_empty() {
                return Err(CommandError::NoRelays);
            }
            let signer =
                if app.is_at_user_key { *app.user() } else { *app.transport().public_key() };
            Ok((app.record_name(), app.number(), signer, relays, self.random_secret()?))
        })();
        let (transport, number, signer, relays, secret) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        self.refuse_waiting(&transport);
        self.parts.greetings.answered(&transport);
        let (now, until) = (self.now, self.now.saturating_add(invitation.max(1)));
        let line = self.transaction.update_app(&transport, |app| {
            app.reinvite(&secret, until);
            entry_of(app, Matter::AppReinvited, now)
        })?;
        self.append(line)?;
        self.parts.has_new_subscriptions = true;
        Ok(bunker(signer, &relays, secret).map(|uri| Reply::Invited {
            app: number,
            uri: Some(uri),
            greeted: Vec::new(),
            ignored_relays: 0,
        }))
    }

    /// Gives an app another name.
    pub(super) fn rename(&mut self, app: &str, name: &str) -> Result<Outcome, StateError> {
        let checked = (|| {
            let found = find(self.transaction.apps(), app)?.app();
            let is_other = |it: &&AppRules| it.app().number() != found.number();
            let others = self.transaction.apps().filter(|it| is_live(it)).filter(is_other);
            check_name(name, others)?;
            Ok(found.record_name())
        })();
        let transport = match checked {
            Ok(transport) => transport,
            Err(error) => return Ok(Err(error)),
        };
        let now = self.now;
        let line = self.transaction.update_app(&transport, |app| {
            app.name = BoundedText::cut(name);
            entry_of(app, Matter::AppRenamed, now)
        })?;
        self.append(line)?;
        Ok(Ok(Reply::Done))
    }

    /// Logs what the client of an app asks for.
    pub(in crate::engine) fn log_wishes(&mut self, transport: &[u8; 32]) -> Result<(), StateError> {
        let Some(app) = self.transaction.app(transport).map(AppRules::app) else { return Ok(()) };
        if app.wishes().is_empty() {
            return Ok(());
        }
        let mut line = entry_of(app, Matter::PermissionsAsked, self.now);
        line.text = BoundedText::cut(app.wishes());
        self.append(line)
    }

    /// Records an app with its rules and its log line.
    fn add(
        &mut self,
        app: App,
        matter: Matter,
        patterns: &[(Pattern, &Grant)],
    ) -> Result<Result<(), CommandError>, StateError> {
        if patterns.len() > MAX_RULES {
            return Ok(Err(CommandError::Limit(StateLimit::Rules.to_string())));
        }
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
        self.log_wishes(&transport)?;
        self.add_rules(&transport, patterns).map(|added| added.map(drop))
    }

    fn random_key(&mut self) -> Result<SecretKey, CommandError> {
        SecretKey::generate(&mut self.parts.random)
            .map_err(|error| CommandError::Store(error.to_string()))
    }

    /// Returns 128 random bits in hexadecimal, which every client accepts in a URL.
    fn random_secret(&mut self) -> Result<ConnectSecret, CommandError> {
        let bytes = fresh_id(&mut self.parts.random)
            .ok_or_else(|| CommandError::Store("the system has no randomness".to_owned()))?;
        let text = Zeroizing::new(hex(&bytes));
        ConnectSecret::new(&text).map_err(|error| CommandError::Invalid(error.to_string()))
    }
}

/// Properties of an app as the user requested them.
pub(super) struct Wish<'w> {
    pub(super) name: &'w str,
    pub(super) user: Option<&'w str>,
    pub(super) grants: &'w [Grant],
    pub(super) lifetime: Option<u64>,
    pub(super) as_user_key: bool,
}

impl<'w> Wish<'w> {
    #[allow(clippy::type_complexity, reason = "the user and its rules")]
    fn check(
        &self,
        batch: &Batch<'_>,
    ) -> Result<(PublicKey, Vec<(Pattern, &'w Grant)>), CommandError> {
        check_name(self.name, batch.transaction.apps().filter(|it| is_live(it)))?;
        let user = self.user(batch)?;
        if self.as_user_key && batch.transaction.user(&user).is_some_and(crate::User::is_on_device)
        {
            let cause = "the user's key is on a device, by which no client can reach the signer";
            return Err(CommandError::Invalid(cause.to_owned()));
        }
        Ok((user, patterns(self.grants, batch.now)?))
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
        app.is_at_user_key = self.as_user_key;
        app.expires = self.lifetime.map_or(0, |seconds| now.saturating_add(seconds.max(1)));
    }
}

/// Checks the name of an app that is to be added: a person tells apps apart by it.
pub(super) fn check_name<'a>(
    name: &str,
    mut others: impl Iterator<Item = &'a AppRules>,
) -> Result<(), CommandError> {
    let invalid = |cause: &str| Err(CommandError::Invalid(cause.to_owned()));
    if name.is_empty() {
        return invalid("the app has no name: give it one");
    }
    if BoundedText::<MAX_NAME>::new(name).is_err() {
        return invalid("a name has 64 bytes at most");
    }
    if name.parse::<u32>().is_ok() || name.chars().any(char::is_control) {
        return invalid("a name must not be a number or have control characters");
    }
    if name.trim() != name || name.contains("  ") || name.chars().any(is_invisible) {
        return invalid("a name must not have letters that cannot be seen");
    }
    let seen = appearance(name);
    match others.find(|it| appearance(it.app().name.as_str()) == seen) {
        None => Ok(()),
        Some(other) => Err(CommandError::NameTaken(other.app().name.as_str().to_owned())),
    }
}

/// Returns the same text for names that look alike: their skeleton (UTS 39) in lower case, without
/// marks that are set on letters and full stops at the end.
fn appearance(name: &str) -> String {
    let is_mark = |single: &char| {
        matches!(single, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
    };
    let lower = skeleton(name).collect::<String>().to_lowercase();
    let seen: String = skeleton(&lower).filter(|single| !is_mark(single)).collect();
    seen.trim_end_matches('.').to_owned()
}

/// Turns a client's claimed name into a valid app name: cut to the maximum length, not a number,
/// and without letters that cannot be seen.
pub(super) fn valid_name(claimed: &str) -> String {
    let prefix = if claimed.parse::<u32>().is_ok() { "app " } else { "" };
    let seen: String = claimed.chars().filter(|single| !is_invisible(*single)).collect();
    let words: Vec<_> = seen.split(' ').filter(|it| !it.is_empty()).collect();
    let name = BoundedText::<MAX_NAME>::cut(&format!("{prefix}{}", words.join(" ")));
    name.as_str().trim().to_owned()
}

/// Writes the `bunker://` URI of an app.
fn bunker(
    signer: PublicKey,
    relays: &[String],
    secret: ConnectSecret,
) -> Result<SecretText, CommandError> {
    let relays: Vec<&str> = relays.iter().map(String::as_str).collect();
    let relays = Relays::new(&relays);
    let bunker = Bunker { signer, relays, ignored_relays: 0, secret: Some(secret) };
    let mut buffer = Zeroizing::new([0; MAX_URI]);
    let written = bunker.write(&mut buffer[..]);
    let uri = written.map_err(|error| CommandError::Limit(error.to_string()))?;
    Ok(SecretText::new(uri.to_owned()))
}

/// Parts the relays of a client's URI into those that can be used, eight at most, and the others
/// with the reason: one relay that cannot be used prevents nothing.
fn acceptable(
    named: Relays<'_>,
    allow_private: bool,
) -> (Vec<BoundedText<255>>, Vec<GreetedRelay>) {
    let (mut relays, mut refused) = (Vec::new(), Vec::new());
    for relay in named.iter() {
        let checked = match relays.len() {
            MAX_RELAYS => Err(CommandError::Limit("more than 8 relays".to_owned())),
            _ => address(relay, allow_private),
        };
        match checked {
            Ok(relay) => relays.push(relay),
            Err(error) => refused
                .push(GreetedRelay { relay: relay.to_owned(), failure: Some(error.to_string()) }),
        }
    }
    (relays, refused)
}

fn fresh_id(random: &mut impl endseal_crypto::random::Random) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes).ok().map(|()| bytes)
}
