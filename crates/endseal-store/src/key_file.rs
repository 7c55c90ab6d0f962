//! The key file: the key of the database under a protection (docs/spec/store.md, "Key file").

use endseal_crypto::argon2id::{KdfParams, NoMemory, SALT_LEN};
use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{self, InputKey, KeySource, SliceSealer};
use endseal_crypto::{hash, hazmat, label};

use crate::error::{CreateStoreError, OpenStoreError};

endseal_crypto::secret_bytes! {
    /// A key from elsewhere that protects the key file: of a keychain, of an identity.
    pub struct OuterKey[32];
}

endseal_crypto::secret_bytes! {
    /// Store key (32) || salt (16): what SQLCipher takes.
    pub(crate) struct StoreKey[48];
}

/// Protection of a new key file.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub enum Protection<'a> {
    /// Nothing: a reader of the key file has the store.
    None,
    /// A passphrase, from which Argon2id derives the key of the file.
    Passphrase {
        /// Bytes of the passphrase, which are used as they are.
        passphrase: &'a [u8],
        /// Cost of a guess, which is also the cost of opening.
        params: KdfParams,
    },
    /// A key that is kept elsewhere.
    OuterKey(&'a OuterKey),
}

/// Secret that opens a key file; of the kind that protects it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Unlock<'a> {
    /// The key file needs no secret.
    None,
    /// The passphrase, as its bytes.
    Passphrase(&'a [u8]),
    /// The key that is kept elsewhere.
    OuterKey(&'a OuterKey),
}

/// Kind of the secret that a key file needs, so that a program can ask for it. Not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtectionKind {
    /// The key file is not protected by a secret.
    None,
    /// A passphrase, with the work that it will take.
    Passphrase(KdfParams),
    /// A key that is kept outside the key file.
    OuterKey,
}

/// Length of a key file.
pub(crate) const LEN: usize = HEADER_LEN + SEALED_LEN;

/// Seals the store key `key` under `protection`, and returns the key file.
pub(crate) fn seal(
    key: &StoreKey,
    protection: &Protection<'_>,
    random: &mut impl Random,
) -> Result<[u8; LEN], CreateStoreError> {
    let (mut salt, mut chunk_salt) = ([0; SALT_LEN], [0; segment::SALT_LEN]);
    random.fill(&mut salt)?;
    random.fill(&mut chunk_salt)?;
    Ok(seal_with(key, protection, &salt, &chunk_salt)?)
}

/// [`seal`] without randomness. Neither salt may repeat.
pub(crate) fn seal_with(
    key: &StoreKey,
    protection: &Protection<'_>,
    salt: &[u8; SALT_LEN],
    chunk_salt: &[u8; segment::SALT_LEN],
) -> Result<[u8; LEN], NoMemory> {
    let mut file = [0; LEN];
    let (header, sealed) = file.split_at_mut(HEADER_LEN);
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header[KIND] = match protection {
        Protection::None => NONE,
        Protection::Passphrase { .. } => PASSPHRASE,
        Protection::OuterKey(_) => OUTER_KEY,
    };
    if let Protection::Passphrase { params, .. } = protection {
        header[MEMORY..PASSES].copy_from_slice(&params.memory_kib().to_le_bytes());
        header[PASSES..LANES].copy_from_slice(&params.passes().to_le_bytes());
        // At most KdfParams::MAX_LANES, which is 4.
        header[LANES] = params.lanes().to_le_bytes()[0];
        header[SALT..].copy_from_slice(salt);
    }
    let secret = match protection {
        Protection::None => Zeroizing::new([0; 32]),
        Protection::Passphrase { passphrase, params } => {
            Zeroizing::new(*params.stretch(passphrase, salt)?.expose_secret())
        }
        Protection::OuterKey(key) => Zeroizing::new(*key.expose_secret()),
    };
    let source = KeySource::new(&file_key(&secret, header));
    let (keys, commitment) = hazmat::seal_keys(&source, chunk_salt, &[]);
    let (prefix, chunk) = sealed.split_at_mut(segment::PREFIX_LEN);
    prefix[..segment::SALT_LEN].copy_from_slice(chunk_salt);
    prefix[segment::SALT_LEN..].copy_from_slice(&commitment);
    let mut sealer = SliceSealer::new(keys, chunk);
    sealer.push(key.expose_secret());
    sealer.finish();
    Ok(file)
}

/// Opens a key file. No work is done that is out of bounds.
pub(crate) fn open(file: &[u8], unlock: Unlock<'_>) -> Result<StoreKey, OpenStoreError> {
    let header = Header::parse(file)?;
    let secret = match (header.kind, unlock) {
        (ProtectionKind::None, Unlock::None) => Zeroizing::new([0; 32]),
        (ProtectionKind::Passphrase(params), Unlock::Passphrase(passphrase)) => {
            Zeroizing::new(*params.stretch(passphrase, &header.salt)?.expose_secret())
        }
        (ProtectionKind::OuterKey, Unlock::OuterKey(key)) => Zeroizing::new(*key.expose_secret()),
        _ => return Err(OpenStoreError::Authentication),
    };
    let (header, sealed) = file.split_at(HEADER_LEN);
    let payload = segment::open(&file_key(&secret, header), &[], sealed)
        .map(Zeroizing::new)
        .map_err(|_| OpenStoreError::Authentication)?;
    let payload = payload.as_slice().try_into().map_err(|_| OpenStoreError::Authentication)?;
    Ok(StoreKey::from_bytes(payload))
}

/// Kind of the secret that opens the key file.
pub(crate) fn kind(file: &[u8]) -> Result<ProtectionKind, OpenStoreError> {
    Header::parse(file).map(|header| header.kind)
}

struct Header {
    kind: ProtectionKind,
    salt: [u8; SALT_LEN],
}

impl Header {
    /// Fields that the kind does not use must be zero.
    fn parse(file: &[u8]) -> Result<Self, OpenStoreError> {
        let file: &[u8; LEN] = file.try_into().map_err(|_| OpenStoreError::Authentication)?;
        let salt = Self::array(file, SALT);
        let (memory, passes, lanes) = (
            u32::from_le_bytes(Self::array(file, MEMORY)),
            u32::from_le_bytes(Self::array(file, PASSES)),
            u32::from(file[LANES]),
        );
        let unused = memory == 0 && passes == 0 && lanes == 0 && salt == [0; SALT_LEN];
        let kind = match file[KIND] {
            NONE if unused => ProtectionKind::None,
            PASSPHRASE => ProtectionKind::Passphrase(
                KdfParams::new(memory, passes, lanes)
                    .map_err(|_| OpenStoreError::Authentication)?,
            ),
            OUTER_KEY if unused => ProtectionKind::OuterKey,
            _ => return Err(OpenStoreError::Authentication),
        };
        if !file.starts_with(MAGIC) {
            return Err(OpenStoreError::Authentication);
        }
        Ok(Self { kind, salt })
    }

    fn array<const N: usize>(file: &[u8; LEN], at: usize) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&file[at..at + N]);
        out
    }
}

/// Derives the key of the file: `BLAKE3-derive(label, secret || header)`.
fn file_key(secret: &[u8; 32], header: &[u8]) -> InputKey {
    InputKey::init_with(|out| hash::derive_into(label::STORE_KEY_FILE, &[secret, header], out))
}

const MAGIC: &[u8; 16] = b"endseal store k1";
const KIND: usize = 16;
const MEMORY: usize = 17;
const PASSES: usize = 21;
const LANES: usize = 25;
const SALT: usize = 26;
const HEADER_LEN: usize = SALT + SALT_LEN;
const SEALED_LEN: usize = segment::PREFIX_LEN + StoreKey::LEN + segment::TAG_LEN;

const NONE: u8 = 0;
const PASSPHRASE: u8 = 1;
const OUTER_KEY: u8 = 2;
