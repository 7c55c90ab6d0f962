//! Device as a member of groups: its certificate and its signing key.

use alloc::sync::Arc;
use core::time::Duration;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use mls_rs::crypto::SignatureSecretKey;
use mls_rs::group::ExportedTree;
use mls_rs::mls_rs_codec::{MlsDecode, MlsEncode};
use mls_rs::time::MlsTime;
use mls_rs::{Client, Extension, ExtensionList, KeyPackage, MlsMessage};
use mls_rs_core::key_package::KeyPackageData;

use super::config::Config;
use super::credential::{self, Credentials};
use super::error::{GroupError, StateError};
use super::membership_state::MembershipState;
use super::mls_state::MlsState;
use super::provider::Provider;
use super::rules::{LAST_RESORT, Rules, STATE, STATE_DIGEST, context_extensions};
use super::state::GroupMeta;
use super::storage_adapter::{Epochs, StorageAdapter, Table};
use super::suite::Suite;
use super::{EpochState, Group, framing};

/// Lifetime of a key package. Other implementations refuse longer ones.
pub(super) const LIFETIME: Duration = Duration::from_secs(84 * 24 * 60 * 60);
const VERSION: u8 = 1;
/// Latest epoch in which a group is joined. A store cannot keep an epoch from 2^63 on, so that a
/// commit into it would end each batch; this leaves more epochs than a group can have.
const MAX_JOINED_EPOCH: u64 = u64::MAX >> 2;

/// Ed25519 key with which a device signs in groups. Its public key is in the certificate.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct GroupKey(SigningKey);

impl GroupKey {
    /// Generates a new key.
    ///
    /// # Errors
    /// [`RandomError`] if the random source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Seed::generate(random).map(Self::from_seed)
    }

    /// Derives the key from a seed.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        Self(SigningKey::from_seed(seed))
    }

    /// Returns the public key, for the certificate.
    #[must_use]
    pub fn public_key(&self) -> &endseal_crypto::ed25519::PublicKey {
        self.0.public_key()
    }

    /// Returns the signing key.
    pub(super) fn signing(&self) -> &SigningKey {
        &self.0
    }

    /// Returns the seed of the key.
    pub(crate) fn seed(&self) -> &Seed {
        self.0.seed()
    }

    /// Returns seed and public key in the library's format.
    fn to_mls(&self) -> SignatureSecretKey {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(self.0.seed().expose_secret());
        bytes.extend_from_slice(self.0.public_key().as_bytes());
        bytes.into()
    }
}

/// Secrets of a key package. They open the one welcome that was made for it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct KeyPackageSecret {
    /// Id by which a welcome names the key package: a digest of its public part.
    pub id: Vec<u8>,
    /// Encoded secrets. The caller MUST delete them in the transaction of the join that used them.
    pub data: Zeroizing<Vec<u8>>,
}

/// Group that was joined by a welcome.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct Joined {
    /// State of the joined group.
    pub group: Group,
    /// Id of the key package that was used.
    pub key_package: Vec<u8>,
    /// Member who signed the welcome.
    pub inviter: Address,
}

/// A device that makes key packages, and creates, joins and loads groups.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct GroupDevice {
    certificate: Certificate,
    key: GroupKey,
    suites: Vec<Suite>,
}

impl GroupDevice {
    /// Makes a device that supports all suites.
    ///
    /// # Errors
    /// [`StateError`] if the certificate is for another key.
    pub fn new(certificate: Certificate, key: GroupKey) -> Result<Self, StateError> {
        if certificate.keys().group != *key.public_key() {
            return Err(StateError);
        }
        Ok(Self { certificate, key, suites: Suite::ALL.to_vec() })
    }

    /// Sets the supported suites, the preferred one first.
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

    /// Returns the signing key.
    pub(crate) fn key(&self) -> &GroupKey {
        &self.key
    }

    /// Encodes certificate and key. The caller MUST store them encrypted.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(1 + Certificate::LEN + Seed::LEN));
        bytes.push(VERSION);
        bytes.extend_from_slice(self.certificate.as_bytes());
        bytes.extend_from_slice(self.key.0.seed().expose_secret());
        bytes
    }

    /// Decodes a device, which supports all suites.
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

    /// Makes a key package, with which others can add this device to a group of `suite`, and its
    /// secrets. `now` is the time since 1970. The key package is valid for 84 days, from an hour
    /// before.
    ///
    /// The caller MUST store the secrets before it publishes the public part, and MUST publish each
    /// key package for one use only.
    ///
    /// # Errors
    /// [`GroupError::UnknownSuite`] if this device does not support the suite,
    /// [`GroupError::Internal`] if the library fails.
    pub fn key_package(
        &self,
        suite: Suite,
        now: Duration,
    ) -> Result<(Vec<u8>, KeyPackageSecret), GroupError> {
        self.key_package_with(ExtensionList::new(), suite, now)
    }

    /// Makes a key package like [`Self::key_package`] that a directory gives out when it has no
    /// other one, to any number of askers (draft-ietf-mls-extensions, "last resort"). A leaf that
    /// came from it SHOULD be renewed by [`Group::update`] as soon as the device has joined.
    ///
    /// The caller MUST keep the secrets until the lifetime has ended.
    ///
    /// # Errors
    /// Those of [`Self::key_package`].
    pub fn last_resort_key_package(
        &self,
        suite: Suite,
        now: Duration,
    ) -> Result<(Vec<u8>, KeyPackageSecret), GroupError> {
        let mark = Extension::new(LAST_RESORT, Vec::new());
        self.key_package_with([mark].into_iter().collect(), suite, now)
    }

    fn key_package_with(
        &self,
        extensions: ExtensionList,
        suite: Suite,
        now: Duration,
    ) -> Result<(Vec<u8>, KeyPackageSecret), GroupError> {
        let storage_adapter = StorageAdapter::new();
        let client = self.client(suite, &storage_adapter)?;
        let now = MlsTime::from_duration_since_epoch(now);
        let (message, table) = storage_adapter.with(Table::default(), || {
            client.generate_key_package_message(extensions, ExtensionList::new(), Some(now))
        });
        let message = message.and_then(|message| message.to_bytes());
        let message = message.map_err(|_| GroupError::Internal)?;
        let (id, data) = table.key_package.ok_or(GroupError::Internal)?;
        let data = data.mls_encode_to_vec().map_err(|_| GroupError::Internal)?;
        Ok((message, KeyPackageSecret { id, data: Zeroizing::new(data) }))
    }

    /// Makes a group of the preferred suite, with this device as its only member.
    ///
    /// # Errors
    /// [`GroupError::InvalidId`] if the id is not 1 to 63 bytes long, [`GroupError::UnknownSuite`]
    /// if no suite is set, [`GroupError::Internal`] if the library fails.
    pub fn create(&self, id: &[u8], now: Duration) -> Result<Group, GroupError> {
        let suite = *self.suites.first().ok_or(GroupError::UnknownSuite)?;
        self.create_with(id, suite, None, now)
    }

    /// Makes the group of a conversation in the hybrid suite, with this device as its only member.
    /// [`Group::change`] adds the others.
    ///
    /// # Errors
    /// [`GroupError::Membership`] if this device is not in the state, and the errors of
    /// [`Self::create`].
    pub fn create_conversation(
        &self,
        id: &[u8],
        state: MembershipState,
        now: Duration,
    ) -> Result<Group, GroupError> {
        if !state.has_device(&self.address()) {
            return Err(GroupError::Membership);
        }
        self.create_with(id, Suite::MlKem768X25519, Some(Arc::new(state)), now)
    }

    pub(super) fn create_with(
        &self,
        id: &[u8],
        suite: Suite,
        conversation: Option<Arc<MembershipState>>,
        now: Duration,
    ) -> Result<Group, GroupError> {
        check_id(id)?;
        let storage_adapter = StorageAdapter::new();
        let client = self.client(suite, &storage_adapter)?;
        let extensions = conversation.as_deref().map(context_extensions).unwrap_or_default();
        let now = MlsTime::from_duration_since_epoch(now);
        let mls = client
            .create_group_with_id(id.to_vec(), extensions, ExtensionList::new(), Some(now))
            .map_err(|_| GroupError::Internal)?;
        let meta = GroupMeta { conversation, ..GroupMeta::default() };
        let state = MlsState::with(mls, storage_adapter, meta, Epochs::new());
        state.map(Group::new).map_err(|_| GroupError::Internal)
    }

    /// Returns the certificate of the device that a key package adds. The other fields of the key
    /// package are not checked; [`Group::add`] does that.
    ///
    /// # Errors
    /// [`GroupError::InvalidKeyPackage`] if the bytes are not a key package, or its certificate is
    /// invalid.
    pub fn certificate_in(key_package: &[u8]) -> Result<Certificate, GroupError> {
        let message = MlsMessage::from_bytes(key_package).ok();
        let package = message.and_then(MlsMessage::into_key_package);
        let package = package.ok_or(GroupError::InvalidKeyPackage)?;
        credential::certificate(package.signing_identity())
            .map_err(|_| GroupError::InvalidKeyPackage)
    }

    /// Returns true if the secrets are those of a
    /// [`last_resort_key_package`](Self::last_resort_key_package), which stay after a use.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are damaged.
    pub fn is_last_resort(data: &[u8]) -> Result<bool, StateError> {
        let data = KeyPackageData::mls_decode(&mut &data[..]).map_err(|_| StateError)?;
        let package = KeyPackage::mls_decode(&mut &data.key_package_bytes[..]);
        Ok(package.map_err(|_| StateError)?.extensions.has_extension(LAST_RESORT))
    }

    /// Returns the end of a key package's lifetime, since 1970, from the data of its
    /// [`KeyPackageSecret`].
    ///
    /// # Errors
    /// [`StateError`] if the bytes are damaged.
    pub fn key_package_expiry(data: &[u8]) -> Result<Duration, StateError> {
        let data = KeyPackageData::mls_decode(&mut &data[..]).map_err(|_| StateError)?;
        Ok(Duration::from_secs(data.expiration))
    }

    /// Joins the group of a welcome. `find` returns the data of a [`KeyPackageSecret`] by its id.
    /// The caller MUST delete the secrets of [`Joined::key_package`] in the transaction that stores
    /// the group.
    ///
    /// # Errors
    /// [`GroupError`] if the welcome is invalid, is for another device, or leads to a group that
    /// exceeds a limit.
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
        if mls.current_epoch() > MAX_JOINED_EPOCH {
            return Err(GroupError::InvalidWelcome);
        }
        if !self.is_in(&mls) {
            return Err(GroupError::NoKeyPackage);
        }
        let conversation = match info.group_info_extensions.get(STATE) {
            Some(state) => {
                let state = MembershipState::from_bytes(&state.extension_data);
                Some(Arc::new(state.map_err(|_| GroupError::InvalidWelcome)?))
            }
            None => None,
        };
        let is_hybrid = suite == Suite::MlKem768X25519;
        #[cfg(test)]
        let is_hybrid = is_hybrid || super::classical::is_allowed();
        let meta = GroupMeta { conversation, ..GroupMeta::default() };
        let membership = MlsState::with(mls, storage_adapter, meta, Epochs::new())
            .map_err(|_| GroupError::InvalidWelcome)?;
        if membership.is_too_large() {
            return Err(GroupError::TooLarge);
        }
        // The state is that on which all members agree, and the tree keeps to it.
        let is_right = membership.has_its_state()
            && membership.conversation().is_none_or(|state| {
                let is_fit =
                    |(leaf, it): (u32, Address)| state.has_device(&it) && membership.is_fit(leaf);
                is_hybrid && membership.members().all(is_fit)
            });
        if !is_right {
            return Err(GroupError::Membership);
        }
        let inviter = membership.member(info.sender).ok_or(GroupError::InvalidWelcome)?;
        Ok(Joined { group: Group::new(membership), key_package: id, inviter })
    }

    /// Loads a group from its saved state, the last saved tree and its stored past epochs.
    ///
    /// # Errors
    /// [`StateError`] if the state is damaged, or belongs to another device.
    pub fn load(
        &self,
        state: &[u8],
        tree: &[u8],
        epochs: impl IntoIterator<Item = EpochState>,
    ) -> Result<Group, StateError> {
        let (mut group_meta, mls) = GroupMeta::decode(state)?;
        let tree = ExportedTree::from_bytes(group_meta.decode_tree(tree)?);
        let tree = tree.map_err(|_| StateError)?;
        let epochs: Epochs =
            epochs.into_iter().map(|past| (past.epoch, Arc::new(past.state))).collect();
        let storage_adapter = StorageAdapter::new();
        // The state contains the suite of the group; the client's suite is used for new objects
        // only.
        let suite = *self.suites.first().ok_or(StateError)?;
        let client = self.client(suite, &storage_adapter).map_err(|_| StateError)?;
        let state = Some(Zeroizing::new(mls.to_vec()));
        let (mls, table) = storage_adapter
            .with(Table { state, epochs, ..Table::default() }, || {
                client.load_group_with_ratchet_tree(&[], tree)
            });
        let mls = mls.map_err(|_| StateError)?;
        if !self.is_in(&mls) {
            return Err(StateError);
        }
        let mut state = MlsState::with(mls, storage_adapter, group_meta, table.epochs)?;
        if !state.has_its_state() {
            return Err(StateError);
        }
        state.is_saved();
        Ok(Group::new(state))
    }

    /// Returns true if the group has this device's key for its member. Otherwise other members
    /// could not verify this device's signatures.
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
        let proposals = [super::rules::EVIDENCE];
        #[cfg(test)]
        let proposals = super::hostile::capabilities(&proposals);
        Ok(Client::builder()
            .crypto_provider(Provider::new(&self.suites, storage_adapter))
            .identity_provider(Credentials)
            .mls_rules(Rules(storage_adapter.clone()))
            .extension_type(STATE_DIGEST)
            .extension_type(LAST_RESORT)
            .custom_proposal_types(proposals)
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

/// Checks the length of a group id. Its conversation name in the store is one byte longer.
pub(crate) fn check_id(id: &[u8]) -> Result<(), GroupError> {
    let is_valid = (1..=framing::MAX_GROUP_ID_LEN).contains(&id.len());
    if is_valid { Ok(()) } else { Err(GroupError::InvalidId) }
}
