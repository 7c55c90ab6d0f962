//! Slots: they carry the key material to one recipient each, who finds its own by the tag.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::iter;
#[cfg(feature = "parallel")]
use core::num::NonZeroUsize;

use endseal_crypto::secret::{Zeroize, Zeroizing, declassify};
use endseal_crypto::segment::{InputKey, KeySource, RawKeys};
use endseal_crypto::{hash, hazmat, label, mlkem768, x25519};

use crate::error::SealError;
use crate::header::Header;
use crate::kem::Kem;
use crate::steps::Step;
use crate::suite::{Suite, TAG_LEN};

/// Bodies that a reader tries at most.
pub(crate) const MAX_TRIES: usize = 16;
/// The part of the mask by which slots are sorted.
const SORT_LEN: usize = 12;
/// Offset of the pad in the mask.
const PAD_START: usize = 32;

endseal_crypto::secret_bytes! {
    /// Key material of a slot: a content key, or the seed of one in its first 16 bytes.
    pub(crate) struct Material[32];
}

impl Material {
    /// Derives the key of the content from the secret of the slot.
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

/// `BLAKE3-keyed(H, X || u)[..64]`: the sort key, which begins with the tag, and the pad.
///
/// It is filled in its final place. Moving a filled one would leave a copy that nothing wipes.
struct Mask([u8; 64]);

impl Drop for Mask {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Mask {
    const EMPTY: Self = Self([0; 64]);

    fn fill(&mut self, header_digest: &[u8; hash::LEN], shared: &[u8; 32], u: &x25519::PublicKey) {
        hash::keyed_into(header_digest, &[shared, u.as_bytes()], &mut self.0);
    }

    fn tag(&self) -> [u8; TAG_LEN] {
        let [a, b, c, d, ..] = self.0;
        [a, b, c, d]
    }

    fn pad(&self) -> &[u8] {
        &self.0[PAD_START..]
    }
}

/// Fills `pad` with `BLAKE3-keyed(H, X || u || S || ct || BLAKE3(ek))`.
fn hybrid_pad(
    header_digest: &[u8; hash::LEN],
    shared: &[u8; 32],
    u: &x25519::PublicKey,
    kem_shared: &mlkem768::SharedSecret,
    ciphertext: &[u8],
    key_digest: &[u8; hash::LEN],
    pad: &mut [u8; 32],
) {
    let parts: [&[u8]; 5] =
        [shared, u.as_bytes(), kem_shared.expose_secret(), ciphertext, key_digest];
    hash::keyed_into(header_digest, &parts, pad);
}

/// Inputs of the slots of one envelope.
pub(crate) struct Slots<'a> {
    pub(crate) suite: Suite,
    pub(crate) header_digest: &'a [u8; hash::LEN],
    pub(crate) material: &'a Material,
    pub(crate) keys: &'a [x25519::PublicKey],
    pub(crate) shared: &'a x25519::SharedSecrets,
    /// Keys for encapsulation: one for each recipient in the hybrid suite, otherwise none.
    pub(crate) kems: &'a [&'a Kem],
    /// Slots in all; those beyond the keys are decoys.
    pub(crate) total: usize,
    /// Randomness of encapsulations and decoys.
    pub(crate) stream: &'a StreamSeed,
    #[cfg(feature = "parallel")]
    pub(crate) threads: NonZeroUsize,
}

endseal_crypto::secret_bytes! {
    /// Source of the randomness of encapsulations and decoys.
    pub(crate) struct StreamSeed[32];
}

impl StreamSeed {
    fn expand(&self, purpose: u8, index: usize, out: &mut [u8]) {
        let index = (index as u64).to_le_bytes();
        hash::keyed_into(self.expose_secret(), &[&[purpose], &index], out);
    }
}

impl Slots<'_> {
    /// Writes tags and bodies into `out`. Returns, for each key, the index of its slot.
    pub(crate) fn write(
        &self,
        out: &mut [u8],
        mark: &mut impl FnMut(Step),
    ) -> Result<Vec<u32>, SealError> {
        let (tags, bodies) = out.split_at_mut(self.total * TAG_LEN);
        let (tags, _) = tags.as_chunks_mut::<TAG_LEN>();
        let masks = self.masks()?;
        mark(Step::Wrap);
        let mut order: Vec<(u128, u32)> =
            (0..).zip(&masks).map(|(i, m)| (sort_key(m), i)).collect();
        // The order of the slots shows in the envelope, and not whose they are.
        order.iter_mut().for_each(|entry| *entry = declassify(*entry));
        order.sort_unstable();
        mark(Step::Sort);
        let mut positions = vec![0; self.keys.len()];
        for ((position, (_, index)), tag) in (0..).zip(&order).zip(tags) {
            let index = *index as usize;
            *tag = masks[index].tag();
            if let Some(entry) = positions.get_mut(index) {
                *entry = position;
            }
        }
        self.write_bodies(&order, &masks, bodies);
        mark(Step::Wrap);
        Ok(positions)
    }

    /// Writes the bodies in the order of the slots.
    fn write_bodies(&self, order: &[(u128, u32)], masks: &[Mask], bodies: &mut [u8]) {
        let decoy_kem = self.decoy_kem();
        let body_len = self.suite.body_len();
        let write = |(order, bodies): (&[(u128, u32)], &mut [u8])| {
            for ((_, index), body) in order.iter().zip(bodies.chunks_exact_mut(body_len)) {
                let index = *index as usize;
                self.write_body(index, &masks[index], decoy_kem.as_ref(), body);
            }
        };
        #[cfg(feature = "parallel")]
        if self.threads.get() > 1 && !self.kems.is_empty() {
            /// Encapsulations that are worth a thread.
            const PART: usize = 16;
            let parts = order.chunks(PART).zip(bodies.chunks_mut(PART * body_len));
            let threads = self.threads.get().min(parts.len());
            endseal_crypto::threads::share(threads, parts, write);
            return;
        }
        write((order, bodies));
    }

    /// Masks of the recipients, then random ones for the decoys.
    fn masks(&self) -> Result<Vec<Mask>, SealError> {
        let mut masks = Vec::new();
        masks.resize_with(self.total, || Mask::EMPTY);
        let (recipients, decoys) = masks.split_at_mut(self.keys.len());
        let shared = self.shared.expose_secrets();
        for ((mask, shared), u) in recipients.iter_mut().zip(shared).zip(self.keys) {
            // Keys of low order were refused when the list was made.
            mask.fill(self.header_digest, shared.map_err(|_| SealError::Random)?, u);
        }
        for (index, mask) in (self.keys.len()..).zip(decoys) {
            self.stream.expand(b'd', index, &mut mask.0);
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
        let mut own = Zeroizing::new([0; 32]);
        let shared = self.shared.expose_secret(index).and_then(Result::ok);
        let pad = match hybrid.zip(shared) {
            Some(((kem, kem_shared, ciphertext), shared)) => {
                let (h, u) = (self.header_digest, &self.keys[index]);
                hybrid_pad(h, shared, u, &kem_shared, ciphertext, &kem.digest, &mut own);
                &own[..]
            }
            None => mask.pad(),
        };
        for ((out, material), pad) in wrapped.iter_mut().zip(material).zip(pad) {
            *out = material ^ pad;
        }
    }

    /// A key without an owner, to which decoys of the hybrid suite are encapsulated.
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

/// Checks the order of tags, and finds the longest run of equal ones.
///
/// Every reader of an envelope tries that many bodies: the number is public and the same for all,
/// so that slots which a relay adds do not tell by the work whose tag they carry. Tags that a
/// sealer wrote are different but for chance.
#[derive(Default)]
pub(crate) struct TagRuns {
    previous: [u8; TAG_LEN],
    run: usize,
    longest: usize,
}

impl TagRuns {
    /// Returns the number of tries for these tags. `None` if they are not in non-decreasing order.
    pub(crate) fn tries_of(tags: &[[u8; TAG_LEN]]) -> Option<usize> {
        let number = |tag: &[u8; TAG_LEN]| u32::from_be_bytes(*tag);
        if tags.is_sorted_by(|a, b| number(a) < number(b)) {
            return Some(1);
        }
        let mut runs = Self::default();
        tags.iter().all(|tag| runs.push(*tag)).then(|| runs.tries())
    }

    /// Takes the next tag. Returns false if it is less than the one before.
    pub(crate) fn push(&mut self, tag: [u8; TAG_LEN]) -> bool {
        if tag < self.previous {
            return false;
        }
        self.run = if tag == self.previous { self.run + 1 } else { 1 };
        self.longest = self.longest.max(self.run);
        self.previous = tag;
        true
    }

    /// Bodies that each reader tries.
    pub(crate) fn tries(&self) -> usize {
        self.longest.min(MAX_TRIES)
    }
}

/// Finds and unwraps the slot of one reader.
pub(crate) struct Unwrapper<'a> {
    header: &'a Header,
    header_digest: [u8; hash::LEN],
    u: &'a x25519::PublicKey,
    shared: &'a [u8; 32],
    kem: Option<(&'a mlkem768::SecretKey, &'a [u8; hash::LEN])>,
    mask: Box<Mask>,
    #[cfg(test)]
    pub(crate) work: core::cell::Cell<Work>,
}

/// Operations of an [`Unwrapper`], counted in tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) decapsulations: u32,
    pub(crate) hybrid_pads: u32,
    pub(crate) commitments: u32,
}

impl<'a> Unwrapper<'a> {
    pub(crate) fn new(
        header: &'a Header,
        header_digest: [u8; hash::LEN],
        u: &'a x25519::PublicKey,
        shared: &'a [u8; 32],
        kem: (&'a mlkem768::SecretKey, &'a [u8; hash::LEN]),
    ) -> Self {
        let mut mask = Box::new(Mask::EMPTY);
        mask.fill(&header_digest, shared, u);
        let kem = (header.suite == Suite::X25519MlKem768).then_some(kem);
        Self {
            header,
            header_digest,
            u,
            shared,
            kem,
            mask,
            #[cfg(test)]
            work: core::cell::Cell::default(),
        }
    }

    pub(crate) fn tag(&self) -> [u8; TAG_LEN] {
        self.mask.tag()
    }

    pub(crate) fn header_digest(&self) -> &[u8; hash::LEN] {
        &self.header_digest
    }

    /// Tries `tries` bodies, of which `own` are those with this reader's tag, and the others are
    /// fixed. Returns the keys of the first that is the reader's.
    ///
    /// All are tried, also behind the right one: the work depends on `tries` alone, which is the
    /// same for every reader. Decapsulation takes the same time for every ciphertext.
    pub(crate) fn find<'b>(
        &self,
        own: impl Iterator<Item = &'b [u8]>,
        tries: usize,
    ) -> Option<RawKeys> {
        const BODY: [u8; Suite::X25519MlKem768.body_len()] = [0; Suite::X25519MlKem768.body_len()];
        let fixed = &BODY[..self.header.suite.body_len()];
        let mut found = None;
        for body in own.chain(iter::repeat(fixed)).take(tries) {
            let keys = self.try_body(body);
            if found.is_none() {
                found = keys;
            }
        }
        found
    }

    /// The keys, if `body` is the body of this reader's slot.
    fn try_body(&self, body: &[u8]) -> Option<RawKeys> {
        let suite = self.header.suite;
        let ciphertext_len = body.len().checked_sub(suite.material_len())?;
        let (ciphertext, wrapped) = body.split_at_checked(ciphertext_len)?;
        let mut own = Zeroizing::new([0; 32]);
        let pad = match self.kem {
            None => self.mask.pad(),
            Some((kem, key_digest)) => {
                let ciphertext = ciphertext.first_chunk()?;
                let kem_shared = kem.decapsulate(ciphertext);
                let (h, u) = (&self.header_digest, self.u);
                hybrid_pad(h, self.shared, u, &kem_shared, ciphertext, key_digest, &mut own);
                #[cfg(test)]
                self.count(|work| {
                    work.decapsulations += 1;
                    work.hybrid_pads += 1;
                });
                &own[..]
            }
        };
        let material = Material::init_with(|material| {
            for ((out, wrapped), pad) in material.iter_mut().zip(wrapped).zip(pad) {
                *out = wrapped ^ pad;
            }
        });
        self.keys(&material)
    }

    #[cfg(test)]
    fn count(&self, add: impl FnOnce(&mut Work)) {
        let mut work = self.work.get();
        add(&mut work);
        self.work.set(work);
    }

    fn keys(&self, material: &Material) -> Option<RawKeys> {
        #[cfg(test)]
        self.count(|work| work.commitments += 1);
        let Header { suite, salt, commitment, .. } = self.header;
        let key = material.content_key(*suite, &self.header_digest);
        let source = KeySource::new(&key);
        hazmat::committed_raw_keys(&source, salt, &self.header_digest, commitment).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_with_equal_tags_are_in_the_order_of_their_masks() {
        let mask = |at: usize, byte: u8| {
            let mut mask = Mask::EMPTY;
            mask.0[at] = byte;
            mask
        };
        // The index of a recipient decides nothing: a difference in any of the 12 bytes comes
        // first.
        for at in 0..12 {
            assert!(sort_key(&mask(at, 1)) < sort_key(&mask(at, 0x80)), "{at}");
        }
        assert_eq!(sort_key(&mask(12, 1)), sort_key(&Mask::EMPTY));
    }
}
