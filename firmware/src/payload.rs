//! The official vector: the payload of "a" between the secret keys 1 and 2 under the nonce 1
//! (`encrypt_decrypt`, first entry, of the vectors of NIP-44).

use endseal_crypto::secp256k1::SecretKey;
use endseal_nostr::nip44::Lengths;

use crate::workbench::Workbench;

const PLAINTEXT: &[u8] = b"a";
const PAYLOAD: &str = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb";
/// Nonce of the vector, which all messages here use.
pub(crate) const NONCE: [u8; 32] = number(1);

/// Prints the payload and returns true if it is the official one and opens to the plaintext.
pub(crate) fn print(bench: &Workbench) -> bool {
    let mut out = [0; PAYLOAD.len()];
    let payload = bench.conversation.seal(PLAINTEXT, &NONCE, Lengths::Extended, &mut out);
    let is_official = payload == Ok(PAYLOAD);
    say!("Payload of \"a\": {}", payload.unwrap_or("none"));
    let opens = bench.conversation.open(&mut out).is_ok_and(|text| text == PLAINTEXT);
    say!("{}", if is_official && opens { "It is the official one." } else { "It is WRONG." });
    is_official && opens
}

/// Returns the secret key with that value.
pub(crate) fn secret(value: u8) -> SecretKey {
    SecretKey::from_bytes(&number(value)).expect("a small number is in 1..n")
}

/// Returns `value` as a number of 32 bytes, big-endian.
pub(crate) const fn number(value: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[31] = value;
    bytes
}
