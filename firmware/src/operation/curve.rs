//! Operations of the curve: keys and signatures.

use core::hint::black_box;

use endseal_crypto::secp256k1::{PublicKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths};

use super::{Operation, nothing};
use crate::payload::{NONCE, number, secret};

/// BIP-340, test vector 0: secret key 3, message and auxiliary bytes of zeros.
const PUBLIC: [u8; 32] = hex(b"f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9");
const MESSAGE: [u8; 32] = [0; 32];
const AUX: [u8; 32] = [0; 32];
const SIGNATURE: [u8; 64] =
    hex(b"e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca8215\
      25f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0");
/// x coordinate of 2 * G.
const PEER: [u8; 32] = hex(b"c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5");
/// Conversation key of the secret keys 1 and 2, from the vectors of NIP-44.
const KEY: [u8; 32] = hex(b"c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d");

/// From the peer's 32 bytes to a conversation that is ready to seal.
pub(crate) const CONVERSATION_KEY: Operation = Operation {
    name: "conversation_key",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        let conversation = Conversation::with_bytes(black_box(&it.own), black_box(&PEER));
        black_box(&conversation.expect("a point on the curve"));
    },
    check: |it| {
        let (mut ours, mut official) = ([0; 132], [0; 132]);
        let Ok(new) = Conversation::with_bytes(&it.own, &PEER) else { return false };
        // No point has the x-coordinate 5.
        if Conversation::with_bytes(&it.own, &number(5)).is_ok() {
            return false;
        }
        let ours = new.seal(b"a", &NONCE, Lengths::Extended, &mut ours);
        let known = Conversation::from_key(&KEY);
        ours.is_ok() && ours == known.seal(b"a", &NONCE, Lengths::Extended, &mut official)
    },
    is_long: true,
};

/// From a secret key to one that is ready to sign.
pub(crate) const PUBLIC_KEY: Operation = Operation {
    name: "public_key",
    setup: nothing,
    prepare: nothing,
    run: |_| {
        black_box(&SigningKey::new(black_box(secret(3))));
    },
    check: |_| SigningKey::new(secret(3)).public_key().to_bytes() == PUBLIC,
    is_long: true,
};

pub(crate) const SIGN: Operation = Operation {
    name: "sign",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        black_box(it.signing.sign(black_box(&MESSAGE), &AUX));
    },
    check: |it| it.signing.sign(&MESSAGE, &AUX) == SIGNATURE,
    is_long: true,
};

/// From the author's 32 bytes to a verdict.
pub(crate) const VERIFY: Operation = Operation {
    name: "verify",
    setup: nothing,
    prepare: nothing,
    run: |_| {
        let author = PublicKey::from_bytes(black_box(&PUBLIC)).expect("a point on the curve");
        black_box(author.verify(black_box(&MESSAGE), &SIGNATURE)).expect("a valid signature");
    },
    check: |_| {
        let author = PublicKey::from_bytes(&PUBLIC).expect("a point on the curve");
        author.verify(&MESSAGE, &SIGNATURE).is_ok()
            && author.verify(&number(1), &SIGNATURE).is_err()
    },
    is_long: true,
};

/// Bytes of lower-case hexadecimal digits.
pub(super) const fn hex<const N: usize>(digits: &[u8]) -> [u8; N] {
    const fn value(digit: u8) -> u8 {
        if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 }
    }
    assert!(digits.len() == 2 * N);
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = value(digits[2 * at]) << 4 | value(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}
