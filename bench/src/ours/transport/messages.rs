//! Bytes of a TLS handshake by message (RFC 8446, 4).

use endseal_transport::HandshakeMessages;

/// Types of handshake messages.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
/// Type of the extension with the public keys or ciphertexts of the key exchange.
const KEY_SHARE: u16 = 51;
/// Bytes of version and random value at the start of a hello.
const HELLO_START: usize = 2 + 32;

/// Bytes of both sides together, unless a field names a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Key exchange in the ClientHello: public keys.
    pub(super) client_share: u64,
    /// Key exchange in the ServerHello: ciphertext and public key.
    pub(super) server_share: u64,
    /// Messages that contain the long-term keys.
    pub(super) raw_keys: u64,
    /// Messages that contain signatures.
    pub(super) signatures: u64,
    /// All other bytes of the handshake.
    pub(super) rest: u64,
}

/// Divides the bytes of the messages by their purpose. `None` if they are not those of a handshake.
pub(super) fn lengths(messages: &HandshakeMessages) -> Option<Lengths> {
    let mut found = Lengths::default();
    for mut said in [&messages.from_client[..], &messages.from_server[..]] {
        while !said.is_empty() {
            let (head, rest) = said.split_first_chunk::<4>()?;
            let length =
                usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
            let (body, rest) = rest.split_at_checked(length)?;
            let bytes = (head.len() + body.len()) as u64;
            match head[0] {
                CLIENT_HELLO => {
                    found.client_share = share(body, true)?;
                    found.rest += bytes - found.client_share;
                }
                SERVER_HELLO => {
                    found.server_share = share(body, false)?;
                    found.rest += bytes - found.server_share;
                }
                CERTIFICATE => found.raw_keys += bytes,
                CERTIFICATE_VERIFY => found.signatures += bytes,
                _ => found.rest += bytes,
            }
            said = rest;
        }
    }
    Some(found)
}

/// Returns the bytes of the key exchange in a hello.
fn share(hello: &[u8], of_client: bool) -> Option<u64> {
    let mut at = hello.get(HELLO_START..)?;
    take_vector::<1>(&mut at)?;
    if of_client {
        take_vector::<2>(&mut at)?;
        take_vector::<1>(&mut at)?;
    } else {
        at = at.get(2 + 1..)?;
    }
    let mut extensions = take_vector::<2>(&mut at)?;
    while !extensions.is_empty() {
        let (kind, rest) = extensions.split_first_chunk::<2>()?;
        extensions = rest;
        let content = take_vector::<2>(&mut extensions)?;
        if u16::from_be_bytes(*kind) == KEY_SHARE {
            return entries(content, of_client);
        }
    }
    None
}

/// Returns the bytes of the keys in a list of entries, or in the one entry of a server.
fn entries(content: &[u8], of_client: bool) -> Option<u64> {
    let mut list = content;
    if of_client {
        list = take_vector::<2>(&mut list)?;
    }
    let mut sum = 0;
    while !list.is_empty() {
        list = list.get(2..)?;
        sum += take_vector::<2>(&mut list)?.len() as u64;
    }
    Some(sum)
}

/// Takes a vector that is preceded by its length in `N` bytes.
fn take_vector<'a, const N: usize>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_first_chunk::<N>()?;
    let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let (vector, rest) = rest.split_at_checked(length)?;
    *from = rest;
    Some(vector)
}

#[cfg(test)]
mod tests {
    use endseal_crypto::identity::Identity;
    use endseal_crypto::random::OsRandom;
    use endseal_transport::{Policy, TransportKey, handshake_in_memory};

    use super::*;

    #[test]
    fn shares_keys_and_signatures_have_the_lengths_of_their_standards() {
        let mut keys = Vec::new();
        for _ in 0..2 {
            keys.push(Identity::generate(&mut OsRandom).unwrap());
        }
        // FIPS 203: 1,184 and 1,088; RFC 7748: 32. FIPS 204: 1,952 and 3,309; RFC 8032: 32 and 64.
        for (policy, client, server, key, signature) in [
            (Policy::Hybrid, 1184 + 32, 1088 + 32, 1952, 3309),
            (Policy::MlKem768Only, 1184, 1088, 1952, 3309),
            (Policy::Classical, 32, 32, 32, 64),
        ] {
            let own = |identity| match policy {
                Policy::Classical => TransportKey::classical(identity),
                _ => TransportKey::new(identity),
            };
            let [one, two] = [own(&keys[0]), own(&keys[1])];
            let messages = handshake_in_memory(policy, &one, &two).unwrap();
            let found = lengths(&messages).unwrap();
            assert_eq!((found.client_share, found.server_share), (client, server));
            assert!((2 * key..2 * key + 100).contains(&found.raw_keys), "{found:?}");
            assert!((2 * signature..2 * signature + 20).contains(&found.signatures), "{found:?}");
            assert!((100..600).contains(&found.rest), "{found:?}");
            let Lengths { client_share, server_share, raw_keys, signatures, rest } = found;
            let all = client_share + server_share + raw_keys + signatures + rest;
            assert_eq!(all, (messages.from_client.len() + messages.from_server.len()) as u64);
            let mut cut = messages.clone();
            cut.from_server.pop();
            assert_eq!(lengths(&cut), None);
        }
    }
}
