//! A device as groups know it: its certificate and the key that signs for it.

use alloc::sync::Arc;
use core::time::Duration;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use mls_rs::crypto::SignatureSecretKey;
use mls_rs::mls_rs_codec::{MlsDecode, MlsEncode};
use mls_rs::time::MlsTime;
use mls_rs::{Client, ExtensionList, MlsMessage};
use mls_rs_core::key_package::KeyPackageData;

use super::config::Config;
use super::credential::{self, Credentials};
use super::error::{GroupError, StateError};
use super::mls_state::MlsState;
use super::provider::Provider;
use super::rules::Rules;
use super::state::GroupMeta;
use super::storage_adapter::{Epochs, StorageAdapter, Table};
use super::suite::Suite;
use super::{EpochState, Group, header};

/// Lifetime of a key package. Other implementations refuse longer ones.
pub(super) const LIFETIME: Duration = Duration::from_secs(84 * 24 * 60 * 60);
const VERSION: u8 = 1;

/// The key with which a device signs in groups. Its public key stands in the certificate.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct GroupKey(SigningKey);

impl GroupKey {
    /// A new key.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Seed::generate(random).map(Self::from_seed)
    }

    /// The key of a seed.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        Self(SigningKey::from_seed(seed))
    }

    /// The public key, for the certificate.
    #[must_use]
    pub fn public_key(&self) -> &endseal_crypto::ed25519::PublicKey {
        self.0.public_key()
    }

    /// The seed.
    pub(crate) fn seed(&self) -> &Seed {
        self.0.seed()
    }

    /// Seed and public key, as the library wants it.
    fn to_mls(&self) -> SignatureSecretKey {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(self.0.seed().expose_secret());
        bytes.extend_from_slice(self.0.public_key().as_bytes());
        bytes.into()
    }
}

/// The secrets of a key package: what opens the one welcome that was made for it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct KeyPackageSecret {
    /// Id by which a welcome names it: a digest of the public key package.
    pub id: Vec<u8>,
    /// The secrets. The caller MUST delete them with the join that used them.
    pub data: Zeroizing<Vec<u8>>,
}

/// A group that was joined by a welcome.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct Joined {
    /// The group.
    pub group: Group,
    /// Id of the key package that was used.
    pub key_package: Vec<u8>,
    /// Member who signed the welcome.
    pub inviter: Address,
}

/// A device in groups: makes key packages, creates, joins and loads groups.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct GroupDevice {
    certificate: Certificate,
    key: GroupKey,
    suites: Vec<Suite>,
}

impl GroupDevice {
    /// A device that understands [`Suite::DEFAULT`].
    ///
    /// # Errors
    /// [`StateError`] if the certificate is for another key.
    pub fn new(certificate: Certificate, key: GroupKey) -> Result<Self, StateError> {
        if certificate.keys().group != *key.public_key() {
            return Err(StateError);
        }
        Ok(Self { certificate, key, suites: Suite::DEFAULT.to_vec() })
    }

    /// The same device with other suites, the preferred first.
    #[must_use]
    pub fn with_suites(mut self, suites: &[Suite]) -> Self {
        self.suites = suites.to_vec();
        self
    }

    /// Returns the certificate by which others know the device.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns the address of the device.
    #[must_use]
    pub fn address(&self) -> Address {
        self.certificate.address()
    }

    /// The key.
    pub(crate) fn key(&self) -> &GroupKey {
        &self.key
    }

    /// Certificate and key, to store them encrypted.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(1 + Certificate::LEN + Seed::LEN));
        bytes.push(VERSION);
        bytes.extend_from_slice(self.certificate.as_bytes());
        bytes.extend_from_slice(self.key.0.seed().expose_secret());
        bytes
    }

    /// The device of such bytes, with [`Suite::DEFAULT`].
    ///
    /// # Errors
    /// [`StateError`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let bytes = bytes.strip_prefix(&[VERSION]).ok_or(StateError)?;
        let (certificate, seed) = bytes.split_at_checked(Certificate::LEN).ok_or(StateError)?;
        let certificate = Certificate::from_bytes(certificate).map_err(|_| StateError)?;
        let seed = Seed::from_bytes(seed.try_into().map_err(|_| StateError)?);
        Self::new(certificate, GroupKey::from_seed(seed))
    }

    /// A key package for one who wants to add this device to a group of `suite`, and its secrets.
    /// `now` is the time since 1970; the key package is valid from an hour before for 84 days.
    ///
    /// The caller MUST store the secrets before it hands out the public part, and hands each out
    /// once.
    ///
    /// # Errors
    /// [`GroupError::UnknownSuite`], [`GroupError::Internal`].
    pub fn key_package(
        &self,
        suite: Suite,
        now: Duration,
    ) -> Result<(Vec<u8>, KeyPackageSecret), GroupError> {
        let storage_adapter = StorageAdapter::new();
        let client = self.client(suite, &storage_adapter)?;
        let now = MlsTime::from_duration_since_epoch(now);
        let (message, table) = storage_adapter.with(Table::default(), || {
            let (none, no) = (ExtensionList::new(), ExtensionList::new());
            client.generate_key_package_message(none, no, Some(now))
        });
        let message = message.and_then(|message| message.to_bytes());
        let message = message.map_err(|_| GroupError::Internal)?;
        let (id, data) = table.key_package.ok_or(GroupError::Internal)?;
        let data = data.mls_encode_to_vec().map_err(|_| GroupError::Internal)?;
        Ok((message, KeyPackageSecret { id, data: Zeroizing::new(data) }))
    }

    /// A new group with this device alone, of the preferred suite.
    ///
    /// # Errors
    /// [`GroupError::InvalidId`], [`GroupError::UnknownSuite`], [`GroupError::Internal`].
    pub fn create(&self, id: &[u8], now: Duration) -> Result<Group, GroupError> {
        check_id(id)?;
        let suite = *self.suites.first().ok_or(GroupError::UnknownSuite)?;
        let storage_adapter = StorageAdapter::new();
        let client = self.client(suite, &storage_adapter)?;
        let (none, no) = (ExtensionList::new(), ExtensionList::new());
        let now = MlsTime::from_duration_since_epoch(now);
        let mls = client
            .create_group_with_id(id.to_vec(), none, no, Some(now))
            .map_err(|_| GroupError::Internal)?;
        let membership = MlsState::new(mls, storage_adapter).map_err(|_| GroupError::Internal)?;
        Ok(Group::new(membership))
    }

    /// Certificate of the device that a key package adds. It proves nothing of the rest, which
    /// [`Group::add`] checks.
    ///
    /// # Errors
    /// [`GroupError::InvalidKeyPackage`] if the bytes are no key package, or its certificate is not
    /// valid.
    pub fn certificate_in(key_package: &[u8]) -> Result<Certificate, GroupError> {
        let message = MlsMessage::from_bytes(key_package).ok();
        let package = message.and_then(MlsMessage::into_key_package);
        let package = package.ok_or(GroupError::InvalidKeyPackage)?;
        credential::certificate(package.signing_identity())
            .map_err(|_| GroupError::InvalidKeyPackage)
    }

    /// End of the lifetime of a key package, since 1970, from the data of its [`KeyPackageSecret`].
    ///
    /// # Errors
    /// [`StateError`] if the bytes are damaged.
    pub fn key_package_expiry(data: &[u8]) -> Result<Duration, StateError> {
        let data = KeyPackageData::mls_decode(&mut &data[..]).map_err(|_| StateError)?;
        Ok(Duration::from_secs(data.expiration))
    }

    /// Joins the group of a welcome. `find` gives the data of a [`KeyPackageSecret`] by its id. The
    /// caller MUST delete the secrets of [`Joined::key_package`] in the transaction that stores the
    /// group.
    ///
    /// # Errors
    /// [`GroupError`]; nothing has changed.
    pub fn join(
        &self,
        welcome: &[u8],
        mut find: impl FnMut(&[u8]) -> Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Joined, GroupError> {
        let welcome = MlsMessage::from_bytes(welcome).map_err(|_| GroupError::InvalidWelcome)?;
        let suite = welcome.cipher_suite().ok_or(GroupError::InvalidWelcome)?;
        let suite = Suite::from_number(suite.into()).ok_or(GroupError::UnknownSuite)?;
        let (id, data) = welcome
            .welcome_key_package_references()
            .into_iter()
            .find_map(|id| Some((id.to_vec(), find(id)?)))
            .ok_or(GroupError::NoKeyPackage)?;
        let data = KeyPackageData::mls_decode(&mut &data[..]);
        let data = data.map_err(|_| GroupError::NoKeyPackage)?;
        let storage_adapter = StorageAdapter::new();
        let client = self.client(suite, &storage_adapter)?;
        let table = Table { key_package: Some((id.clone(), data)), ..Table::default() };
        let (joined, _) = storage_adapter.with(table, || client.join_group(None, &welcome, None));
        let (mls, info) = joined.map_err(|_| GroupError::InvalidWelcome)?;
        check_id(mls.group_id())?;
        if !self.is_in(&mls) {
            return Err(GroupError::NoKeyPackage);
        }
        let membership =
            MlsState::new(mls, storage_adapter).map_err(|_| GroupError::InvalidWelcome)?;
        if membership.is_too_large() {
            return Err(GroupError::TooLarge);
        }
        let inviter = membership.member(info.sender).ok_or(GroupError::InvalidWelcome)?;
        Ok(Joined { group: Group::new(membership), key_package: id, inviter })
    }

    /// The group that was saved, with the past epochs that were stored beside it.
    ///
    /// # Errors
    /// [`StateError`] if the state is damaged, or another device's.
    pub fn load(
        &self,
        state: &[u8],
        epochs: impl IntoIterator<Item = EpochState>,
    ) -> Result<Group, StateError> {
        let (group_meta, mls) = GroupMeta::decode(state)?;
        let epochs: Epochs =
            epochs.into_iter().map(|past| (past.epoch, Arc::new(past.state))).collect();
        let storage_adapter = StorageAdapter::new();
        // The suite stands in the state; that of the client is for what it makes.
        let suite = *self.suites.first().ok_or(StateError)?;
        let client = self.client(suite, &storage_adapter).map_err(|_| StateError)?;
        let state = Some(Zeroizing::new(mls.to_vec()));
        let (mls, table) = storage_adapter
            .with(Table { state, epochs, ..Table::default() }, || client.load_group(&[]));
        let mls = mls.map_err(|_| StateError)?;
        if !self.is_in(&mls) {
            return Err(StateError);
        }
        MlsState::with(mls, storage_adapter, group_meta, table.epochs).map(Group::new)
    }

    /// Returns true if the group knows the member by this device's key. Otherwise other members
    /// could not verify its signatures.
    fn is_in(&self, mls: &mls_rs::Group<Config>) -> bool {
        let own = mls.current_member_signing_identity();
        own.is_ok_and(|own| own.signature_key[..] == self.key.public_key().as_bytes()[..])
    }

    fn client(
        &self,
        suite: Suite,
        storage_adapter: &StorageAdapter,
    ) -> Result<Client<Config>, GroupError> {
        if !self.suites.contains(&suite) {
            return Err(GroupError::UnknownSuite);
        }
        Ok(Client::builder()
            .crypto_provider(Provider::new(&self.suites, storage_adapter))
            .identity_provider(Credentials)
            .mls_rules(Rules)
            .group_state_storage(storage_adapter.clone())
            .key_package_repo(storage_adapter.clone())
            .key_package_lifetime(LIFETIME)
            .signing_identity(
                credential::signing_identity(&self.certificate),
                self.key.to_mls(),
                suite.to_mls(),
            )
            .build())
    }
}

/// The name of its conversation in the store is a byte longer.
fn check_id(id: &[u8]) -> Result<(), GroupError> {
    let is_valid = (1..=header::MAX_GROUP_ID_LEN).contains(&id.len());
    if is_valid { Ok(()) } else { Err(GroupError::InvalidId) }
}
