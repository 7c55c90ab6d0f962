//! Slots: how the key material reaches one recipient, and how that recipient finds it.

use alloc::vec;
use alloc::vec::Vec;

use endseal_crypto::secret::{Zeroize, Zeroizing, declassify};
use endseal_crypto::segment::{ChunkKeys, InputKey};
use endseal_crypto::{hash, hazmat, label, mlkem768, x25519};

use crate::error::SealError;
use crate::header::Header;
use crate::kem::Kem;
use crate::suite::{Suite, TAG_LEN};

/// Slots with a recipient's tag that it tries at most.
pub(crate) const MAX_TRIES: usize = 16;
/// The part of the mask by which slots are sorted.
const SORT_LEN: usize = 12;
/// Where the pad begins in the mask.
const PAD_START: usize = 32;

endseal_crypto::secret_bytes! {
    /// What a slot carries: a content key, or the seed of one in its first 16 bytes.
    pub(crate) struct Material[32];
}

impl Material {
    /// The content key.
    pub(crate) fn content_key(&self, suite: Suite, header_digest: &[u8; hash::LEN]) -> InputKey {
        let bytes = &self.expose_secret()[..suite.material_len()];
        InputKey::init_with(|key| match suite {
            Suite::X25519Compact => {
                hash::derive_into(label::ENVELOPE_COMPACT, &[bytes, header_digest], key);
            }
            Suite::X25519 | Suite::X25519MlKem768 => key.copy_from_slice(bytes),
        })
    }
}

/// `BLAKE3-keyed(H, X || u)[..64]`: what is sorted by, with the tag first, then the pad.
struct Mask([u8; 64]);

impl Drop for Mask {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Mask {
    fn new(header_digest: &[u8; hash::LEN], shared: &[u8; 32], u: &x25519::PublicKey) -> Self {
        let mut mask = Self([0; 64]);
        hash::keyed_into(header_digest, &[shared, u.as_bytes()], &mut mask.0);
        mask
    }

    fn tag(&self) -> [u8; TAG_LEN] {
        let [a, b, c, d, ..] = self.0;
        [a, b, c, d]
    }

    fn pad(&self) -> &[u8] {
        &self.0[PAD_START..]
    }
}

/// `BLAKE3-keyed(H, X || u || S || ct || BLAKE3(ek))`
fn hybrid_pad(
    header_digest: &[u8; hash::LEN],
    shared: &[u8; 32],
    u: &x25519::PublicKey,
    kem_shared: &mlkem768::SharedSecret,
    ciphertext: &[u8],
    key_digest: &[u8; hash::LEN],
) -> Zeroizing<[u8; 32]> {
    let mut pad = Zeroizing::new([0; 32]);
    let parts: [&[u8]; 5] =
        [shared, u.as_bytes(), kem_shared.expose_secret(), ciphertext, key_digest];
    hash::keyed_into(header_digest, &parts, &mut pad[..]);
    pad
}

/// All that goes into the slots of one envelope.
pub(crate) struct Slots<'a> {
    pub(crate) suite: Suite,
    pub(crate) header_digest: &'a [u8; hash::LEN],
    pub(crate) material: &'a Material,
    pub(crate) keys: &'a [x25519::PublicKey],
    pub(crate) shared: &'a x25519::SharedSecrets,
    /// As many as keys in the hybrid suite, otherwise none.
    pub(crate) kems: &'a [&'a Kem],
    /// Slots in all; those beyond the keys are decoys.
    pub(crate) total: usize,
    /// Randomness of encapsulations and decoys.
    pub(crate) stream: &'a StreamSeed,
}

endseal_crypto::secret_bytes! {
    /// From which encapsulations and decoys take their randomness.
    pub(crate) struct StreamSeed[32];
}

impl StreamSeed {
    fn expand(&self, purpose: u8, index: usize, out: &mut [u8]) {
        let index = (index as u64).to_le_bytes();
        hash::keyed_into(self.expose_secret(), &[&[purpose], &index], out);
    }
}

impl Slots<'_> {
    /// Writes tags and bodies into `out`; gives, for each key, the index of its slot.
    pub(crate) fn write(&self, out: &mut [u8]) -> Result<Vec<u32>, SealError> {
        let (tags, bodies) = out.split_at_mut(self.total * TAG_LEN);
        let (tags, _) = tags.as_chunks_mut::<TAG_LEN>();
        let masks = self.masks()?;
        let mut order: Vec<(u128, u32)> =
            (0..).zip(&masks).map(|(i, m)| (sort_key(m), i)).collect();
        // The order of the slots shows in the envelope, and not whose they are.
        order.iter_mut().for_each(|entry| *entry = declassify(*entry));
        order.sort_unstable();
        let decoy_kem = self.decoy_kem();
        let mut positions = vec![0; self.keys.len()];
        let slots = tags.iter_mut().zip(bodies.chunks_exact_mut(self.suite.body_len()));
        for ((position, (_, index)), (tag, body)) in (0..).zip(order).zip(slots) {
            let index = index as usize;
            let mask = &masks[index];
            *tag = mask.tag();
            if let Some(entry) = positions.get_mut(index) {
                *entry = position;
            }
            self.write_body(index, mask, decoy_kem.as_ref(), body);
        }
        Ok(positions)
    }

    /// Masks of the recipients, then random ones for the decoys.
    fn masks(&self) -> Result<Vec<Mask>, SealError> {
        let mut masks = Vec::with_capacity(self.total);
        for (shared, u) in self.shared.expose_secrets().zip(self.keys) {
            // Keys of low order were refused when the list was made.
            let shared = shared.map_err(|_| SealError::Random)?;
            masks.push(Mask::new(self.header_digest, shared, u));
        }
        for decoy in masks.len()..self.total {
            let mut mask = Mask([0; 64]);
            self.stream.expand(b'd', decoy, &mut mask.0);
            masks.push(mask);
        }
        Ok(masks)
    }

    fn write_body(&self, index: usize, mask: &Mask, decoy_kem: Option<&Kem>, body: &mut [u8]) {
        let (ciphertext, wrapped) = body.split_at_mut(body.len() - self.suite.material_len());
        let is_decoy = index >= self.keys.len();
        let kem = self.kems.get(index).copied().or(decoy_kem);
        let hybrid = kem.zip(ciphertext.first_chunk_mut()).map(|(kem, ciphertext)| {
            let mut m = Zeroizing::new([0; 32]);
            self.stream.expand(b'm', index, &mut m[..]);
            let kem_shared = hazmat::mlkem768_encapsulate(&kem.key, &m, ciphertext);
            (kem, kem_shared, &*ciphertext)
        });
        if is_decoy {
            // A mask of random bytes: so is the pad.
            wrapped.copy_from_slice(&mask.pad()[..wrapped.len()]);
            return;
        }
        let material = self.material.expose_secret();
        let pad = hybrid.and_then(|(kem, kem_shared, ciphertext)| {
            let shared = self.shared.expose_secret(index)?.ok()?;
            let u = &self.keys[index];
            Some(hybrid_pad(self.header_digest, shared, u, &kem_shared, ciphertext, &kem.digest))
        });
        let pad = pad.as_ref().map_or(mask.pad(), |pad| &pad[..]);
        for ((out, material), pad) in wrapped.iter_mut().zip(material).zip(pad) {
            *out = material ^ pad;
        }
    }

    /// A key that nobody has, to which decoys of the hybrid suite are encapsulated.
    fn decoy_kem(&self) -> Option<Kem> {
        (!self.kems.is_empty() && self.total > self.keys.len()).then(|| {
            let seed = mlkem768::Seed::init_with(|seed| self.stream.expand(b'k', 0, seed));
            Kem::new(mlkem768::SecretKey::from_seed(seed).public_key())
        })
    }
}

fn sort_key(mask: &Mask) -> u128 {
    let mut key = [0; 16];
    key[..SORT_LEN].copy_from_slice(&mask.0[..SORT_LEN]);
    u128::from_be_bytes(key)
}

/// Whether tags are in non-decreasing order.
pub(crate) fn tags_in_order(tags: &[[u8; TAG_LEN]]) -> bool {
    tags.iter().map(|tag| u32::from_be_bytes(*tag)).is_sorted()
}

/// What one reader needs to find and unwrap its slot.
pub(crate) struct Unwrapper<'a> {
    header: &'a Header,
    header_digest: [u8; hash::LEN],
    u: &'a x25519::PublicKey,
    shared: &'a [u8; 32],
    kem: Option<(&'a mlkem768::SecretKey, &'a [u8; hash::LEN])>,
    mask: Mask,
}

impl<'a> Unwrapper<'a> {
    pub(crate) fn new(
        header: &'a Header,
        header_digest: [u8; hash::LEN],
        u: &'a x25519::PublicKey,
        shared: &'a [u8; 32],
        kem: (&'a mlkem768::SecretKey, &'a [u8; hash::LEN]),
    ) -> Self {
        let mask = Mask::new(&header_digest, shared, u);
        let kem = (header.suite == Suite::X25519MlKem768).then_some(kem);
        Self { header, header_digest, u, shared, kem, mask }
    }

    pub(crate) fn tag(&self) -> [u8; TAG_LEN] {
        self.mask.tag()
    }

    pub(crate) fn header_digest(&self) -> &[u8; hash::LEN] {
        &self.header_digest
    }

    /// The keys, if `body` is the body of this reader's slot.
    pub(crate) fn try_body(&self, body: &[u8]) -> Option<ChunkKeys> {
        let suite = self.header.suite;
        let (ciphertext, wrapped) = body.split_at_checked(body.len() - suite.material_len())?;
        let pad = match self.kem {
            None => None,
            Some((kem, key_digest)) => {
                let ciphertext = ciphertext.first_chunk()?;
                let kem_shared = kem.decapsulate(ciphertext);
                Some(hybrid_pad(
                    &self.header_digest,
                    self.shared,
                    self.u,
                    &kem_shared,
                    ciphertext,
                    key_digest,
                ))
            }
        };
        let pad = pad.as_ref().map_or(self.mask.pad(), |pad| &pad[..]);
        let material = Material::init_with(|material| {
            for ((out, wrapped), pad) in material.iter_mut().zip(wrapped).zip(pad) {
                *out = wrapped ^ pad;
            }
        });
        self.keys(&material)
    }

    /// As much work as a slot that is not this reader's, for a reader without any.
    pub(crate) fn no_slot(&self) {
        let _refused = self.keys(&Material::init_with(|_| ()));
    }

    fn keys(&self, material: &Material) -> Option<ChunkKeys> {
        let Header { suite, salt, commitment, .. } = self.header;
        let key = material.content_key(*suite, &self.header_digest);
        ChunkKeys::derive_committed(&key, salt, &self.header_digest, commitment).ok()
    }
}
