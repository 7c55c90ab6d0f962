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
use super::{Outcome, addresses};
use crate::control::{CommandError, Grant, Reply, SecretText};
use crate::engine::batch::Batch;
use crate::engine::{self, entry_of, is_live};
use crate::error::{StateError, StateLimit};
use crate::records::app::App;
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
        // The relays were checked above and are at most eight.
        let _ = app.set_relays(named);
        Ok(self.add(app, Matter::AppInvited, &patterns)?.map(|()| Reply::Invited {
            app: number,
            uri: Some(uri),
            greeted: Vec::new(),
        }))
    }

    pub(super) fn connect(
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
        // The relays were checked above and are at most eight.
        let _ = app.set_relays(relays);
        if let Err(error) = self.add(app, Matter::AppConnected, &patterns)? {
            return Ok(Err(error));
        }
        if let (Some(id), Ok(secret)) = (fresh_id(&mut self.parts.random), secret) {
            self.parts.greetings.add(name, hex(&id), secret, self.now);
        }
        Ok(Ok(Reply::Invited { app: number, uri: None, greeted: Vec::new() }))
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
        if self.name.is_empty() || BoundedText::<64>::new(self.name).is_err() {
            return Err(CommandError::Invalid("a name has 1 to 64 bytes".to_owned()));
        }
        check_name(self.name, batch.transaction.apps().filter(|it| is_live(it)))?;
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
    if name.parse::<u32>().is_ok() || name.chars().any(char::is_control) {
        return invalid("a name must not be a number or have control characters");
    }
    if name.trim() != name || name.chars().any(is_invisible) {
        return invalid("a name must not have letters that cannot be seen");
    }
    let seen = appearance(name);
    match others.find(|it| appearance(it.app().name.as_str()) == seen) {
        None => Ok(()),
        Some(other) => Err(CommandError::NameTaken(other.app().name.as_str().to_owned())),
    }
}

/// Returns the same text for names that look alike: their skeleton (UTS 39) in lower case.
fn appearance(name: &str) -> String {
    skeleton(&skeleton(name).collect::<String>().to_lowercase()).collect()
}

/// Turns a client's claimed name into a valid app name: cut to the maximum length, not a number,
/// and without letters that cannot be seen.
pub(super) fn valid_name(claimed: &str) -> String {
    let prefix = if claimed.parse::<u32>().is_ok() { "app " } else { "" };
    let seen: String = claimed.chars().filter(|single| !is_invisible(*single)).collect();
    let name = BoundedText::<MAX_NAME>::cut(&format!("{prefix}{}", seen.trim()));
    name.as_str().trim().to_owned()
}

fn fresh_id(random: &mut impl endseal_crypto::random::Random) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes).ok().map(|()| bytes)
}
