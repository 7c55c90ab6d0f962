//! An insider: a recipient, who knows the content key and encrypts bytes that the sender did not sign.

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{InputKey, KeySource, SliceOpener, SliceSealer, chunks_len};
use endseal_crypto::{hash, hazmat, label};
use endseal_envelope::hazmat::{Derandomized, seal};
use endseal_envelope::{Recipients, Sealer, Suite};

use crate::CONTEXT;

/// Changes the plaintext of an envelope in suite 1 that was sealed with these values.
pub(crate) fn rewrite(
    envelope: &mut Vec<u8>,
    values: &Derandomized<'_>,
    context: &[u8],
    edit: impl FnOnce(&mut Vec<u8>),
) {
    let slots = u32::from_le_bytes(*envelope[96..].first_chunk().unwrap());
    let chunks = 100 + Suite::X25519.slot_len() * slots as usize;
    let digest = hash::derive(label::ENVELOPE_HEADER, &[&envelope[..64], context]);
    let source = KeySource::new(&InputKey::from_bytes(values.material));
    let keys = hazmat::uncommitted_keys(&source, values.salt, &digest);
    let mut opener = SliceOpener::new(keys, &envelope[chunks..]).unwrap();
    let mut plaintext = Zeroizing::new(vec![0; opener.remaining()]);
    opener.pull(&mut plaintext).unwrap();
    edit(&mut plaintext);
    let len = usize::try_from(chunks_len(plaintext.len() as u64).unwrap()).unwrap();
    let mut out = vec![0; len];
    let keys = hazmat::seal_keys(&source, values.salt, &digest).0;
    let mut sealer = SliceSealer::new(keys, &mut out);
    sealer.push(&plaintext);
    sealer.finish();
    envelope.truncate(chunks);
    envelope.extend(out);
}

/// An envelope from `sender` in suite 1 with one bit of the plaintext changed, counted from its end
/// in bytes: the signature has the last 64.
pub(crate) fn forged(
    sender: &Identity,
    recipients: &Recipients,
    content: &[u8],
    from_end: usize,
) -> Vec<u8> {
    let values = Derandomized {
        ephemeral: &[1; 32],
        material: &[2; 32],
        salt: &[3; 24],
        message_id: &[4; 16],
        stream: &[5; 32],
    };
    let sealer = Sealer::new(sender, recipients, CONTEXT).suite(Suite::X25519);
    let mut envelope = seal(&sealer, content, &values).unwrap();
    rewrite(&mut envelope, &values, CONTEXT, |plaintext| {
        let at = plaintext.len() - from_end;
        plaintext[at] ^= 1;
    });
    envelope
}
