//! Commands that arrive on the control socket and the approval page.

mod invitations;
mod keys;
mod reports;
mod rules;

use std::path::Path;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{ConnectUri, MAX_NAME as SHOWN, MAX_URI, sanitise};
use endseal_nostr::policy::Effect;
use endseal_relay::address::Address;

use self::invitations::{Wish, valid_name};
use super::batch::Batch;
use super::{Engine, Outgoing, entry_of, is_live};
use crate::control::{self, Command, CommandError, Remember, Reply, Requested};
use crate::error::StateError;
use crate::records::line::Matter;
use crate::state::AppRules;
use crate::text::BoundedText;

type Outcome = Result<Reply, CommandError>;

impl Engine {
    /// Executes a command. Returns its reply and the events that it causes.
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
            Command::ImportDevice { user, label } => self.import_device(now, &user, &label),
            Command::Unlock => self.unlock(now, &secret),
            Command::Lock => self.lock(now),
            Command::EncryptedKey { user } => self.encrypted_key(&user),
            Command::RemoveUser { user } => self.remove_user(now, &user),
            Command::Apps => Ok(Reply::Apps(self.apps(now))),
            Command::Waiting { id: None } => Ok(Reply::Waiting(self.waiting(now))),
            Command::Waiting { id: Some(id) } => match self.waiting_request(id, now) {
                Some(request) => Ok(Reply::Waiting(vec![request])),
                None => Err(CommandError::NotWaiting(id)),
            },
            Command::Explain { app, action } => self.explain(now, &app, &action),
            Command::Log { after, limit } => self.lines(after, limit),
            Command::Verify => self.verify(),
            Command::OldLines { after, limit } => self.old_lines(now, after, limit),
            Command::RemoveOldLines { number, hash } => self.remove_old_lines(now, number, &hash),
            Command::Backup { directory } => self.backup(&directory),
            Command::SignIn | Command::SignOut => Err(CommandError::NotRunning),
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

    fn backup(&mut self, directory: &Path) -> Outcome {
        let copied = self.store.store().backup(directory);
        copied.map(|_| Reply::Done).map_err(|error| CommandError::Store(error.to_string()))
    }

    /// Sets the relays that the signer listens on and that new apps get.
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

impl Engine {
    /// Refuses requests that are encrypted with NIP-04 from now on.
    pub(crate) fn refuse_nip04(&mut self, now: u64) -> Result<(), CommandError> {
        let transacted = self.transact(now, |batch| batch.transaction.refuse_nip04(true));
        if transacted.is_committed { Ok(()) } else { Err(unwritten()) }
    }
}

impl Batch<'_> {
    fn command(&mut self, command: Command) -> Result<Outcome, StateError> {
        match command {
            Command::Invite { name, user, grants, lifetime, invitation, relays, as_user_key } => {
                let user = user.as_deref();
                let wish = Wish { name: &name, user, grants: &grants, lifetime, as_user_key };
                self.invite(&wish, invitation, &relays)
            }
            Command::Connect {
                uri,
                name,
                user,
                grants,
                lifetime,
                allow_private,
                as_user_key,
                grant_requested,
            } => {
                let mut buffer = Zeroizing::new(vec![0; MAX_URI]);
                let parsed = ConnectUri::parse(uri.expose_secret(), &mut buffer);
                let client = match parsed {
                    Ok(ConnectUri::NostrConnect(client)) => client,
                    Ok(ConnectUri::Bunker(_)) => {
                        let cause = "it is the bunker:// URL of a signer, which its client needs";
                        return Ok(Err(CommandError::Invalid(cause.to_owned())));
                    }
                    Err(error) => return Ok(Err(CommandError::Invalid(error.to_string()))),
                };
                let claimed = client.metadata.name.map(|it| sanitise(it, SHOWN).to_string());
                let name = name.or_else(|| claimed.map(|it| valid_name(&it))).unwrap_or_default();
                let user = user.as_deref();
                let wish = Wish { name: &name, user, grants: &grants, lifetime, as_user_key };
                self.connect(&wish, &client, allow_private, grant_requested)
            }
            Command::Grant { app, grants } => self.grant(&app, &grants),
            Command::GrantRequested { app, requested } => self.grant_requested(&app, &requested),
            Command::Rename { app, name } => self.rename(&app, &name),
            Command::Reinvite { app, invitation } => self.reinvite(&app, invitation),
            Command::RemoveRule { app, rule } => self.remove_rule(&app, rule),
            Command::Revoke { app } => self.revoke(&app),
            Command::Approve { id, remember, requested } => self.approve(id, remember, requested),
            Command::Deny { id, remember } => {
                Ok(self.resolve(id, Effect::Deny, remember)?.map(|()| Reply::Done))
            }
            _ => Ok(Err(CommandError::Invalid("the signer does not know this command".to_owned()))),
        }
    }

    /// Allows a request that waits, and all that its app asks for if that is wanted.
    fn approve(
        &mut self,
        id: u32,
        remember: Option<Remember>,
        requested: Option<Requested>,
    ) -> Result<Outcome, StateError> {
        let app = self.parts.waiting.transport_of(id);
        let entry = app.and_then(|transport| self.transaction.app(&transport));
        if let (Some(requested), Some(entry)) = (&requested, entry)
            && !rules::asks_for(entry.app(), requested)
        {
            return Ok(Err(CommandError::Asks));
        }
        if let Err(error) = self.resolve(id, Effect::Allow, remember)? {
            return Ok(Err(error));
        }
        if let (Some(requested), Some(transport)) = (requested, app)
            && let Err(error) = self.add_requested(&transport, requested.lifetime)?
        {
            return Ok(Err(error));
        }
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
}

fn unwritten() -> CommandError {
    CommandError::Store("the change could not be written".to_owned())
}

/// Finds an app by number or by name. By name, an app that has not ended comes first, then the
/// newest one.
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

/// Checks relay URLs that the user named. Private and unencrypted relays are allowed.
pub(crate) fn check_relays(relays: &[String]) -> Result<(), CommandError> {
    addresses(relays, true).map(drop)
}

/// Parses the URL of a relay.
fn address(text: &str, allow_private: bool) -> Result<BoundedText<255>, CommandError> {
    let parsed = match allow_private {
        true => Address::parse_insecure(text),
        false => Address::parse(text),
    };
    parsed.map_err(|error| CommandError::Invalid(error.to_string()))?;
    BoundedText::new(text).map_err(|error| CommandError::Invalid(error.to_string()))
}

/// Parses relay URLs and checks their number.
fn addresses(
    relays: &[String],
    allow_private: bool,
) -> Result<Vec<BoundedText<255>>, CommandError> {
    let relay = |text: &String| {
        address(text, allow_private)
            .map_err(|error| CommandError::Invalid(format!("'{text}': {error}")))
    };
    if relays.len() > crate::limit::MAX_RELAYS {
        return Err(CommandError::Limit("more than 8 relays".to_owned()));
    }
    relays.iter().map(relay).collect()
}
