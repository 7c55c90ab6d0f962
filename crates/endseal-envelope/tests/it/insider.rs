//! Attacks of an insider: a recipient, who knows the content key and can encrypt bytes that the
//! sender did not sign.

use std::io::Read;

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{InputKey, KeySource, SliceOpener, SliceSealer, chunks_len};
use endseal_crypto::{hash, hazmat, label};
use endseal_envelope::hazmat::{Derandomized, seal};
use endseal_envelope::{Envelope, OpenError, Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

/// Changes the plaintext of an envelope that was sealed with these values.
pub(crate) fn rewrite(
    envelope: &mut Vec<u8>,
    values: &Derandomized<'_>,
    context: &[u8],
    edit: impl FnOnce(&mut Vec<u8>),
) {
    let slots = u32::from_le_bytes(*envelope[96..].first_chunk().unwrap());
    let suite = Envelope::parse(envelope).unwrap().suite();
    let chunks = 100 + suite.slot_len() * slots as usize;
    let digest = hash::derive(label::ENVELOPE_HEADER, &[&envelope[..64], context]);
    let key = match suite {
        Suite::X25519Compact => {
            hash::derive(label::ENVELOPE_COMPACT, &[&values.material[..16], &digest])
        }
        _ => *values.material,
    };
    let source = KeySource::new(&InputKey::from_bytes(&key));
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

pub(crate) const VALUES: Derandomized<'_> = Derandomized {
    ephemeral: &[1; 32],
    material: &[2; 32],
    salt: &[3; 24],
    message_id: &[4; 16],
    stream: &[5; 32],
};

/// Builds an envelope from `sender` in suite 1 with one bit of the plaintext changed, at an offset
/// from its end in bytes: the signature is the last 64.
pub(crate) fn forged(
    sender: &Identity,
    recipients: &Recipients,
    content: &[u8],
    from_end: usize,
) -> Vec<u8> {
    let values = VALUES;
    let sealer = Sealer::new(sender, recipients, CONTEXT).suite(Suite::X25519);
    let mut envelope = seal(&sealer, content, &values).unwrap();
    rewrite(&mut envelope, &values, CONTEXT, |plaintext| {
        let at = plaintext.len() - from_end;
        plaintext[at] ^= 1;
    });
    envelope
}

const SUITES: [Suite; 3] = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];
const BLOCK: usize = 4 << 20;
const SIGNATURE: usize = 64;

/// Opens an envelope in every way. Returns the sender or the error, and the number of bytes that a
/// stream released.
fn open(reader: &Identity, envelope: &[u8]) -> (Result<[u8; 32], OpenError>, usize) {
    let opener = Opener::new(reader, CONTEXT);
    let sender = |opened: endseal_envelope::Opened| *opened.sender.as_bytes();
    let whole = opener.open(envelope, &mut Policy::new()).map(sender);
    let many = opener.open_many(&[envelope], &mut Policy::new()).remove(0).map(sender);
    assert_eq!(many, whole);
    let mut released = Vec::new();
    let streamed = opener.reader(envelope, Policy::new()).and_then(|mut stream| {
        stream.read_to_end(&mut released)?;
        Ok(*stream.sender().as_bytes())
    });
    let streamed =
        streamed.map_err(|error| *error.get_ref().and_then(|inner| inner.downcast_ref()).unwrap());
    assert_eq!(streamed, whole);
    (whole, released.len())
}

#[test]
fn an_envelope_that_a_recipient_readdressed_is_refused() {
    let (alice, mallory, victim) = (identity(1), identity(2), identity(3));
    let to_mallory = Recipients::from_identities([mallory.public()]).unwrap();
    let to_victim = Recipients::from_identities([victim.public()]).unwrap();
    for suite in SUITES {
        for content in [&b"yes"[..], &data("content", BLOCK + 9)] {
            let sealer = Sealer::new(&alice, &to_mallory, CONTEXT).suite(suite);
            let mut envelope = seal(&sealer, content, &VALUES).unwrap();
            let mut signed = Vec::new();
            rewrite(&mut envelope, &VALUES, CONTEXT, |plaintext| signed.clone_from(plaintext));
            // Mallory does not know the ephemeral key, so it needs one of its own to make a slot
            // for the victim.
            let values = Derandomized { ephemeral: &[7; 32], ..VALUES };
            let sealer = Sealer::new(&mallory, &to_victim, CONTEXT).suite(suite);
            let own = seal(&sealer, content, &values).unwrap();
            let mallorys = *mallory.public().ed25519().as_bytes();
            assert_eq!(open(&victim, &own), (Ok(mallorys), content.len()));
            let mut extended = signed.clone();
            let end = extended.len() - SIGNATURE;
            extended.splice(end..end, *b" and no");
            for plaintext in [signed, extended] {
                let mut readdressed = own.clone();
                rewrite(&mut readdressed, &values, CONTEXT, |own| *own = plaintext);
                let refused = (Err(OpenError::Authentication), 0);
                assert_eq!(open(&victim, &readdressed), refused, "{suite:?}");
            }
        }
    }
}

#[test]
fn content_that_a_recipient_extended_or_cut_is_refused() {
    let (alice, bob, mallory) = (identity(1), identity(2), identity(3));
    let list = Recipients::from_identities([bob.public(), mallory.public()]).unwrap();
    let content = data("content", BLOCK + 20_000);
    for suite in SUITES {
        let sealer = Sealer::new(&alice, &list, CONTEXT).suite(suite);
        let sealed = seal(&sealer, &content, &VALUES).unwrap();
        let alices = *alice.public().ed25519().as_bytes();
        assert_eq!(open(&bob, &sealed), (Ok(alices), content.len()));
        let changed = |edit: fn(&mut Vec<u8>)| {
            let mut envelope = sealed.clone();
            rewrite(&mut envelope, &VALUES, CONTEXT, edit);
            open(&bob, &envelope)
        };
        let refused = Err(OpenError::Authentication);
        let appended = changed(|plaintext| {
            let end = plaintext.len() - SIGNATURE;
            plaintext.splice(end..end, *b" and no");
        });
        assert_eq!(appended, (refused, BLOCK), "{suite:?}");
        // The first block's signature also signs the fact that another block follows. It ends in
        // the last chunk, and what the last chunk has is verified together.
        let cut = changed(|plaintext| plaintext.truncate(56 + BLOCK + SIGNATURE));
        assert_eq!(cut, (refused, 0), "{suite:?}");
        let joined = changed(|plaintext| drop(plaintext.drain(56..56 + BLOCK + SIGNATURE)));
        assert_eq!(joined, (refused, 0), "{suite:?}");
    }
}
