//! Records of apps.

use endseal_crypto::secret::{Zeroizing, constant_time_eq};
use endseal_crypto::sha256;
use endseal_nostr::connect::ConnectSecret;
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};

use super::name;
use crate::bytes::{Fields, RecordWriter, codes};
use crate::error::RecordError;
use crate::text::{BoundedText, MAX_NAME, MAX_TEXT};

/// Maximum length in bytes of the permissions that a client asks for.
pub(crate) const MAX_WISHES: usize = 1_024;

/// Maximum number of relays of one app, and of the signer.
pub const MAX_RELAYS: usize = 8;

/// App: one client's access to one user's key. Its transport public key is the name of its record.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct App {
    number: u32,
    state: AppState,
    flow: Flow,
    user: PublicKey,
    // Boxed, so that a move leaves no copy.
    transport: Box<SigningKey>,
    secret_digest: [u8; sha256::LEN],
    made: u64,
    /// Time in seconds since 1970 after which requests are refused; 0 for never.
    pub expires: u64,
    /// Name that the user gave to the app.
    pub name: BoundedText<MAX_NAME>,
    /// Name that the client claims. It is not verified.
    pub claimed_name: BoundedText<MAX_NAME>,
    /// URL that the client claims. It is not verified.
    pub claimed_url: BoundedText<MAX_TEXT>,
    /// True if the client encrypts with NIP-04, and is answered so.
    pub is_legacy: bool,
    /// True if the client reaches the signer by the user's key instead of the transport key.
    pub is_at_user_key: bool,
    wishes: Box<str>,
    relays: Vec<BoundedText<MAX_TEXT>>,
}

/// State of an app in its life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a change of the format changes it")]
pub enum AppState {
    /// The app waits for its client.
    Invited,
    /// One client is paired, and no other can connect.
    Paired {
        /// Public key of the client.
        client: PublicKey,
    },
    /// The app was revoked by a command.
    Revoked {
        /// Public key of the client, if one was paired.
        client: Option<PublicKey>,
        /// Time of the revocation in seconds since 1970, not 0.
        ended: u64,
    },
    /// The client ended the app with `logout`.
    LoggedOut {
        /// Public key of the client.
        client: PublicKey,
        /// Time of the logout in seconds since 1970, not 0.
        ended: u64,
    },
}

/// Side that started the connection between client and signer (NIP-46).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "NIP-46 has these")]
pub enum Flow {
    /// The signer issued a `bunker://` URI.
    Bunker {
        /// Time in seconds since 1970 at which the invitation expires, not 0.
        until: u64,
    },
    /// The client issued a `nostrconnect://` URI.
    NostrConnect,
}

codes! {
    /// Code of an [`AppState`] in records.
    pub(super) enum StateCode {
        Invited = 1,
        Paired = 2,
        Revoked = 3,
        LoggedOut = 4,
    }
}

/// Error of [`App::pair`]: the app is already paired, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the app is already paired or has ended")]
pub struct NotInvited;

impl App {
    pub(crate) const KIND: u32 = 3;

    /// Creates an app that waits for a client until `until` (`bunker://`). `number` is
    /// [`Settings::next_app`](crate::Settings::next_app), and `transport` a new key. Times are in
    /// seconds since 1970; an `until` of 0 is recorded as 1.
    #[must_use]
    pub fn invite(
        number: u32,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        now: u64,
        until: u64,
    ) -> Self {
        let flow = Flow::Bunker { until: until.max(1) };
        Self::new(number, AppState::Invited, flow, user, transport, secret, now)
    }

    /// Creates an app that is paired with the client of a `nostrconnect://` URI. The other
    /// parameters are those of [`Self::invite`].
    #[must_use]
    pub fn connect(
        number: u32,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        now: u64,
        client: PublicKey,
    ) -> Self {
        let state = AppState::Paired { client };
        Self::new(number, state, Flow::NostrConnect, user, transport, secret, now)
    }

    fn new(
        number: u32,
        state: AppState,
        flow: Flow,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        made: u64,
    ) -> Self {
        Self {
            number,
            state,
            flow,
            user,
            transport: Box::new(SigningKey::new(transport)),
            secret_digest: sha256::digest(secret.expose_secret().as_bytes()),
            made,
            expires: 0,
            name: BoundedText::default(),
            claimed_name: BoundedText::default(),
            claimed_url: BoundedText::default(),
            is_legacy: false,
            is_at_user_key: false,
            wishes: Box::default(),
            relays: Vec::new(),
        }
    }

    /// Number of the app in the log, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// State of the app in its life cycle.
    #[must_use]
    pub const fn state(&self) -> &AppState {
        &self.state
    }

    /// Side that started the connection.
    #[must_use]
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Public key of the user whose key the app may use.
    #[must_use]
    pub const fn user(&self) -> &PublicKey {
        &self.user
    }

    /// Transport key, which encrypts and signs the responses to the client.
    #[must_use]
    pub fn transport(&self) -> &SigningKey {
        &self.transport
    }

    /// Public key of the client that is or was paired.
    #[must_use]
    pub const fn client(&self) -> Option<&PublicKey> {
        match &self.state {
            AppState::Invited => None,
            AppState::Paired { client } | AppState::LoggedOut { client, .. } => Some(client),
            AppState::Revoked { client, .. } => client.as_ref(),
        }
    }

    /// Time of creation in seconds since 1970.
    #[must_use]
    pub const fn made(&self) -> u64 {
        self.made
    }

    /// Permissions that the client asks for (NIP-46). They grant nothing.
    #[must_use]
    pub const fn wishes(&self) -> &str {
        &self.wishes
    }

    /// Sets the permissions that the client asks for. Those beyond 1,024 bytes are
    /// dropped.
    pub fn set_wishes(&mut self, wishes: &str) {
        self.wishes = cut_wishes(wishes).into();
    }

    /// Relays of the app's client. If the list is empty, the signer's relays are used.
    #[must_use]
    pub fn relays(&self) -> &[BoundedText<MAX_TEXT>] {
        &self.relays
    }

    /// Sets the relays of the app.
    ///
    /// # Errors
    /// [`RecordError::Value`] if there are more than [`MAX_RELAYS`] or one is empty. The app is not
    /// changed then.
    pub fn set_relays(&mut self, relays: Vec<BoundedText<MAX_TEXT>>) -> Result<(), RecordError> {
        check_relays(&relays)?;
        self.relays = relays;
        Ok(())
    }

    /// Compares `secret` with the app's secret in constant time and returns true if it is the same.
    #[must_use]
    pub fn has_secret(&self, secret: &ConnectSecret) -> bool {
        let digest = sha256::digest(secret.expose_secret().as_bytes());
        constant_time_eq(&digest, &self.secret_digest)
    }

    /// Time in seconds since 1970 at which the app ends or has ended. It is the time of the
    /// revocation or logout; otherwise the expiry of the app or, if no client is paired, of its
    /// invitation, whichever is first.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        let invitation = match (&self.state, &self.flow) {
            (AppState::Revoked { ended, .. } | AppState::LoggedOut { ended, .. }, _) => {
                return Some(*ended);
            }
            (AppState::Invited, Flow::Bunker { until }) => Some(*until),
            _ => None,
        };
        let expires = Some(self.expires).filter(|time| *time != 0);
        invitation.into_iter().chain(expires).min()
    }

    /// Pairs the app with a client. The caller MUST have checked the client's secret. No other
    /// client can be paired afterwards.
    ///
    /// # Errors
    /// [`NotInvited`] if the app is already paired or has ended. The app is not changed then.
    pub fn pair(&mut self, client: PublicKey) -> Result<(), NotInvited> {
        if self.state != AppState::Invited {
            return Err(NotInvited);
        }
        self.state = AppState::Paired { client };
        Ok(())
    }

    /// Lets another client be paired with the app until `until`, by a `bunker://` URI with this
    /// secret. The client that was paired is refused from then on.
    pub fn reinvite(&mut self, secret: &ConnectSecret, until: u64) {
        self.state = AppState::Invited;
        self.flow = Flow::Bunker { until: until.max(1) };
        self.secret_digest = sha256::digest(secret.expose_secret().as_bytes());
        self.is_legacy = false;
    }

    /// Ends the app by a command of its user. Returns false if it had ended before.
    pub fn revoke(&mut self, now: u64) -> bool {
        let client = match self.state {
            AppState::Invited => None,
            AppState::Paired { client } => Some(client),
            AppState::Revoked { .. } | AppState::LoggedOut { .. } => return false,
        };
        self.state = AppState::Revoked { client, ended: now.max(1) };
        true
    }

    /// Ends the app by a request of its client. Returns false if it was not paired.
    pub fn log_out(&mut self, now: u64) -> bool {
        let AppState::Paired { client } = self.state else { return false };
        self.state = AppState::LoggedOut { client, ended: now.max(1) };
        true
    }

    /// Public key by which the client reaches the signer: the user's key or the transport key.
    #[must_use]
    pub fn address(&self) -> [u8; 32] {
        if self.is_at_user_key { self.user.to_bytes() } else { self.record_name() }
    }

    /// Name of the app's record: the transport public key.
    #[must_use]
    pub fn record_name(&self) -> [u8; 32] {
        self.transport.public_key().to_bytes()
    }

    /// Reads the record of an app.
    ///
    /// # Errors
    /// [`RecordError`] if the record is malformed, or if its name is not the transport public key.
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let record_name = name::<32>(record_name)?;
        let mut fields = Fields::versioned(value)?;
        let number = fields.u32()?;
        let state = fields.code(StateCode::from_code)?;
        let is_bunker = fields.code(|flow| match flow {
            BUNKER => Some(true),
            NOSTR_CONNECT => Some(false),
            _ => None,
        })?;
        let user = fields.public_key()?;
        let transport = SecretKey::from_bytes(fields.array()?).map_err(|_| RecordError::Value)?;
        let client = match fields.array()? {
            &NO_CLIENT => None,
            client => Some(PublicKey::from_bytes(client).map_err(|_| RecordError::Value)?),
        };
        let secret_digest = *fields.array()?;
        let (made, until, expires, ended) =
            (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        let (name, claimed_name, claimed_url) = (fields.text()?, fields.text()?, fields.text()?);
        let flags = fields.code(|flags| (flags <= LEGACY | AT_USER_KEY).then_some(flags))?;
        let wishes = fields.long_text(MAX_WISHES)?;
        let relays = fields.texts(MAX_RELAYS)?;
        fields.end()?;

        let state = match (state, client, ended) {
            (StateCode::Invited, None, 0) => AppState::Invited,
            (StateCode::Paired, Some(client), 0) => AppState::Paired { client },
            (StateCode::Revoked, client, 1..) => AppState::Revoked { client, ended },
            (StateCode::LoggedOut, Some(client), 1..) => AppState::LoggedOut { client, ended },
            _ => return Err(RecordError::Value),
        };
        let flow = match (is_bunker, until, client) {
            (true, 1.., _) => Flow::Bunker { until },
            (false, 0, Some(_)) => Flow::NostrConnect,
            _ => return Err(RecordError::Value),
        };
        let transport = Box::new(SigningKey::new(transport));
        if number == 0 || transport.public_key().to_bytes() != *record_name {
            return Err(RecordError::Value);
        }
        Ok(Self {
            number,
            state,
            flow,
            user,
            transport,
            secret_digest,
            made,
            expires,
            name,
            claimed_name,
            claimed_url,
            is_legacy: flags & LEGACY != 0,
            is_at_user_key: flags & AT_USER_KEY != 0,
            wishes,
            relays,
        })
    }

    /// Encodes the value of the record, which contains the transport secret key.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (state, ended) = match self.state {
            AppState::Invited => (StateCode::Invited, 0),
            AppState::Paired { .. } => (StateCode::Paired, 0),
            AppState::Revoked { ended, .. } => (StateCode::Revoked, ended),
            AppState::LoggedOut { ended, .. } => (StateCode::LoggedOut, ended),
        };
        let (flow, until) = match self.flow {
            Flow::Bunker { until } => (BUNKER, until),
            Flow::NostrConnect => (NOSTR_CONNECT, 0),
        };
        RecordWriter::versioned(MAX_LEN)
            .u32(self.number)
            .bytes(&[state.code(), flow])
            .bytes(&self.user.to_bytes())
            .bytes(self.transport.secret_key().expose_secret())
            .bytes(&self.client().map_or(NO_CLIENT, PublicKey::to_bytes))
            .bytes(&self.secret_digest)
            .u64(self.made)
            .u64(until)
            .u64(self.expires)
            .u64(ended)
            .text(&self.name)
            .text(&self.claimed_name)
            .text(&self.claimed_url)
            .bytes(&[if self.is_legacy { LEGACY } else { 0 }
                | if self.is_at_user_key { AT_USER_KEY } else { 0 }])
            .long_text(&self.wishes)
            .texts(&self.relays)
            .finish()
    }
}

/// Cuts permissions to 1,024 bytes, at a comma.
pub(crate) fn cut_wishes(wishes: &str) -> &str {
    let end = match wishes.len() {
        ..=MAX_WISHES => wishes.len(),
        _ => {
            let start = &wishes.as_bytes()[..MAX_WISHES];
            start.iter().rposition(|byte| *byte == b',').unwrap_or_default()
        }
    };
    &wishes[..end]
}

/// Checks the number of relays and that none is empty.
pub(crate) fn check_relays(relays: &[BoundedText<MAX_TEXT>]) -> Result<(), RecordError> {
    let is_empty = |relay: &BoundedText<MAX_TEXT>| relay.as_str().is_empty();
    if relays.len() > MAX_RELAYS || relays.iter().any(is_empty) {
        return Err(RecordError::Value);
    }
    Ok(())
}

const NO_CLIENT: [u8; 32] = [0; 32];
const BUNKER: u8 = 1;
const NOSTR_CONNECT: u8 = 2;
/// Flags of a record.
const LEGACY: u8 = 1;
const AT_USER_KEY: u8 = 2;
/// Maximum length of a value in bytes.
const MAX_LEN: usize = 8
    + 4 * 32
    + 4 * 8
    + 2 * (1 + MAX_NAME)
    + (1 + MAX_TEXT)
    + (2 + MAX_WISHES)
    + (1 + MAX_RELAYS * (1 + MAX_TEXT));
