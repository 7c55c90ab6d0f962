//! Notes: short messages from one member of a conversation to another one, which use no key of a
//! ratchet (docs/spec/conversation.md, "Notes").

use endseal_crypto::ed25519::{PublicKey, Signature, SigningKey};
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{hash, label, xchacha20poly1305};

use super::framing::{MAX_GROUP_ID_LEN, MAX_MESSAGE, vector};

/// Length limit of the text of a note, in bytes.
pub const MAX_NOTE_LEN: usize = 65_536;
/// Label of the secret that a group exports for notes.
pub(super) const EXPORTER: &[u8] = b"endseal note";
/// MLS 1.0, and a wire format for private use.
const PREFIX: [u8; 4] = [0, 1, 0xf0, 0xe4];
const SIGNATURE_LEN: usize = 64;

/// Address of a device, as notes have it: identity, then number.
pub(super) type AddressBytes = [u8; 36];

/// A note, borrowed from its bytes. Nothing of it is authenticated yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'a> {
    pub(super) group: &'a [u8],
    pub(super) epoch: u64,
    pub(super) from: &'a AddressBytes,
    nonce: &'a [u8; xchacha20poly1305::NONCE_LEN],
    /// Everything before the ciphertext, which is authenticated as it stands.
    head: &'a [u8],
    ciphertext: &'a [u8],
}

impl<'a> Note<'a> {
    /// Decodes a note. `None` if the bytes are not exactly one.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        const LEAST: usize = SIGNATURE_LEN + xchacha20poly1305::TAG_LEN;
        if body.len() > MAX_MESSAGE {
            return None;
        }
        let mut rest = body.strip_prefix(&PREFIX)?;
        let group = vector(&mut rest)?;
        let (epoch, after) = rest.split_first_chunk()?;
        let (from, after) = after.split_first_chunk()?;
        let (nonce, ciphertext) = after.split_first_chunk()?;
        let is_right = (1..=MAX_GROUP_ID_LEN).contains(&group.len())
            && (LEAST..=LEAST + MAX_NOTE_LEN).contains(&ciphertext.len());
        let head = body.get(..body.len() - ciphertext.len())?;
        let epoch = u64::from_be_bytes(*epoch);
        is_right.then_some(Self { group, epoch, from, nonce, head, ciphertext })
    }

    /// Opens the note for a member. `exported` is the group's secret for notes in its epoch, and
    /// `signer` the key of the sender's leaf.
    pub(super) fn open(
        &self,
        exported: &[u8],
        to: &AddressBytes,
        signer: &PublicKey,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let (ciphertext, tag) = self.ciphertext.split_last_chunk()?;
        let mut text = Zeroizing::new(ciphertext.to_vec());
        let key = key(exported, self.from, to);
        xchacha20poly1305::open(&key, self.nonce, self.head, &mut text, tag).ok()?;
        let (signature, text) = text.split_first_chunk()?;
        let signature = Signature::from_bytes(signature);
        signer.verify(&signed(self.head, to, &key, text), &signature).ok()?;
        Some(Zeroizing::new(text.to_vec()))
    }
}

/// Makes a note. The caller has checked the lengths of group id and text.
pub(super) fn seal(
    (group, epoch): (&[u8], u64),
    exported: &[u8],
    (from, to): (&AddressBytes, &AddressBytes),
    signer: &SigningKey,
    text: &[u8],
    random: &mut impl Random,
) -> Result<Vec<u8>, RandomError> {
    let mut nonce = [0; xchacha20poly1305::NONCE_LEN];
    random.fill(&mut nonce)?;
    let mut out = PREFIX.to_vec();
    // An id is at most 63 bytes long, so that its length is one byte.
    out.push(u8::try_from(group.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(group);
    out.extend_from_slice(&epoch.to_be_bytes());
    out.extend_from_slice(from);
    out.extend_from_slice(&nonce);
    let head = out.len();
    let key = key(exported, from, to);
    out.extend_from_slice(signer.sign(&signed(&out, to, &key, text)).as_bytes());
    out.extend_from_slice(text);
    let (data, text) = out.split_at_mut(head);
    let tag = xchacha20poly1305::seal(&key, &nonce, data, text);
    out.extend_from_slice(&tag);
    Ok(out)
}

fn key(
    exported: &[u8],
    from: &AddressBytes,
    to: &AddressBytes,
) -> Zeroizing<[u8; xchacha20poly1305::KEY_LEN]> {
    let mut key = Zeroizing::new([0; xchacha20poly1305::KEY_LEN]);
    hash::derive_into(label::CONVERSATION_NOTE_KEY, &[exported, from, to], &mut key[..]);
    key
}

/// Returns what the sender signs. The digest of the key binds the note to the branch of the epoch,
/// if the hub has shown different commits to the members.
fn signed(
    head: &[u8],
    to: &AddressBytes,
    key: &[u8; xchacha20poly1305::KEY_LEN],
    text: &[u8],
) -> Zeroizing<Vec<u8>> {
    let label = label::CONVERSATION_NOTE.as_str().as_bytes();
    Zeroizing::new([label, &[0], head, to, &hash::digest(key), text].concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use endseal_testing::{SplitMix64, hex};
    use serde_json::Value;

    use super::*;

    fn unhex(value: &Value) -> Vec<u8> {
        let digits = value.as_str().unwrap().as_bytes().chunks(2);
        digits.map(|it| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap()).collect()
    }

    fn array<const N: usize>(value: &Value) -> [u8; N] {
        unhex(value).try_into().unwrap()
    }

    #[test]
    fn note_vectors() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/conversation");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let vector: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            if vector["kind"] != "note" {
                continue;
            }
            let body = unhex(&vector["note"]);
            let found = match Note::parse(&body) {
                None => "malformed",
                Some(note) => {
                    let signer = PublicKey::from_bytes(&array(&vector["signer"])).unwrap();
                    let exported = unhex(&vector["exported"]);
                    match note.open(&exported, &array(&vector["to"]), &signer) {
                        None => "authentication",
                        Some(text) => {
                            assert_eq!(hex(&text), vector["text"], "{}", path.display());
                            assert_eq!(hex(note.group), vector["group"]);
                            assert_eq!(hex(note.from), vector["from"]);
                            assert_eq!(note.epoch.to_string(), vector["epoch"]);
                            "ok"
                        }
                    }
                }
            };
            assert_eq!(found, vector["expect"], "{}", path.display());
            count += 1;
        }
        assert!(count >= 14, "{count} vectors");
    }

    /// Every changed bit is noticed, and so is another receiver.
    #[test]
    fn a_note_opens_as_it_was_sealed_or_not_at_all() {
        struct Fixed(SplitMix64);
        impl Random for Fixed {
            fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
                out.iter_mut().for_each(|byte| *byte = self.0.next().to_le_bytes()[0]);
                Ok(())
            }
        }
        let signer = SigningKey::from_seed(endseal_crypto::ed25519::Seed::from_bytes(&[7; 32]));
        let (exported, from, to) = ([1; 32], [2; 36], [3; 36]);
        let mut random = Fixed(SplitMix64::new(1));
        let sealed =
            seal((b"group", 5), &exported, (&from, &to), &signer, b"text", &mut random).unwrap();
        let opened = |body: &[u8], to: &AddressBytes| {
            Note::parse(body).and_then(|it| it.open(&exported, to, signer.public_key()))
        };
        assert_eq!(opened(&sealed, &to).unwrap()[..], b"text"[..]);
        assert!(opened(&sealed, &from).is_none());
        for bit in 0..8 * sealed.len() {
            let mut other = sealed.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&other, &to).is_none(), "{bit}");
        }
    }
}
