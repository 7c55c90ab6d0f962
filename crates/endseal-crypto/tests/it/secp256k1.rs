//! BIP-340 and Wycheproof for every back end, and properties that users rely on.

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secp256k1::{PublicKey, SecretKey, SigningKey};

use crate::wycheproof::{tests, unhex};

fn vectors(name: &str) -> String {
    format!("{}/../../vectors/third-party/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn hex<const N: usize>(text: &str) -> [u8; N] {
    from_hex(text).try_into().unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

/// Runs all vectors of BIP-340, including those with messages of 0, 1, 17 and 100 bytes.
#[test]
fn bip_340() {
    let table = std::fs::read_to_string(vectors("bip-0340/test-vectors.csv")).unwrap();
    let (mut signed, mut valid, mut invalid, mut no_key) = (0, 0, 0, 0);
    for (i, line) in table.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let [index, secret, public, aux, message, signature, verdict, _] = fields[..] else {
            panic!("{line}")
        };
        assert_eq!(index, i.to_string());
        let (message, signature) = (from_hex(message), hex(signature));
        if !secret.is_empty() {
            let key = SigningKey::new(SecretKey::from_bytes(&hex(secret)).unwrap());
            assert_eq!(key.public_key().to_bytes(), hex(public), "{line}");
            assert_eq!(key.secret_key().public_key(), *key.public_key());
            assert_eq!(key.sign(&message, &hex(aux)), signature, "{line}");
            assert_eq!(key.public_key().verify(&message, &signature), Ok(()), "{line}");
            signed += 1;
        }
        let Ok(key) = PublicKey::from_bytes(&hex(public)) else {
            assert_eq!(verdict, "FALSE", "{line}");
            no_key += 1;
            continue;
        };
        assert_eq!(key.verify(&message, &signature).is_ok(), verdict == "TRUE", "{line}");
        *if verdict == "TRUE" { &mut valid } else { &mut invalid } += 1;
    }
    assert_eq!((signed, valid, invalid, no_key), (8, 9, 8, 2));
}

/// Prefix of a SubjectPublicKeyInfo of a point on secp256k1, uncompressed and compressed, up to the
/// tag.
const UNCOMPRESSED: &str = "3056301006072a8648ce3d020106052b8104000a034200";
const COMPRESSED: &str = "3036301006072a8648ce3d020106052b8104000a032200";

/// Wycheproof encodes whole points in many ways; those in the usual encoding are run here. Both
/// points with the same x-coordinate have the same result. An invalid y is not noticed, because our
/// keys have no y.
#[test]
fn agreement() {
    let (mut shared, mut refused, mut other_y, mut wrapped) = (0, 0, 0, 0);
    for (test, _) in tests("ecdh_secp256k1_test", 752) {
        let public = test["public"].as_str().unwrap();
        let point = public.strip_prefix(UNCOMPRESSED).or(public.strip_prefix(COMPRESSED));
        let Some(x) =
            point.filter(|point| [66, 130].contains(&point.len())).map(|point| hex(&point[2..66]))
        else {
            wrapped += 1;
            continue;
        };
        // A number without leading zeros, or with one for its sign.
        let number = unhex(&test["private"]);
        let number = number.strip_prefix(&[0]).unwrap_or(&number);
        let mut secret = [0; 32];
        secret[32 - number.len()..].copy_from_slice(number);
        let secret = SecretKey::from_bytes(&secret).unwrap();
        match PublicKey::from_bytes(&x) {
            Ok(public) if test["result"] != "invalid" => {
                let outcome = secret.ecdh_x(&public);
                assert_eq!(outcome.expose_secret()[..], unhex(&test["shared"]), "{test}");
                shared += 1;
            }
            Ok(_) => other_y += 1,
            Err(_) => {
                assert_eq!(test["result"], "invalid", "{test}");
                refused += 1;
            }
        }
    }
    assert_eq!((shared, refused, other_y, wrapped), (475, 16, 5, 256));
}

/// Numbers around the order and the prime.
#[test]
fn numbers_out_of_range_are_refused() {
    let order = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD03641";
    for (last, is_secret) in [("40", true), ("41", false), ("42", false)] {
        let verdict = SecretKey::from_bytes(&hex(&format!("{order}{last}")));
        assert_eq!(verdict.is_ok(), is_secret, "{last}");
    }
    for wrong in [[0; 32], [0xff; 32]] {
        assert!(SecretKey::from_bytes(&wrong).is_err());
        assert!(PublicKey::from_bytes(&wrong).is_err());
    }
    // 1 is the x-coordinate of a point, and p + 1 is another encoding of it.
    let mut one = [0; 32];
    one[31] = 1;
    assert!(PublicKey::from_bytes(&one).is_ok());
    let prime = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC";
    for last in ["2F", "30"] {
        let key = PublicKey::from_bytes(&hex(&format!("{prime}{last}")));
        assert!(key.is_err(), "{last}");
    }
}

struct Fixed([u8; 32]);

impl Random for Fixed {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.copy_from_slice(&self.0);
        Ok(())
    }
}

#[test]
fn a_key_is_what_the_source_gives_or_none() {
    let key = SecretKey::generate(&mut Fixed([7; 32])).unwrap();
    assert_eq!(key.expose_secret(), &[7; 32]);
    // A random source that always returns the same bytes must not cause an endless loop.
    for stuck in [[0; 32], [0xff; 32]] {
        assert_eq!(SecretKey::generate(&mut Fixed(stuck)).err(), Some(RandomError::default()));
    }
}

#[test]
fn both_sides_agree_and_keys_compare() {
    let secret = |byte| SecretKey::from_bytes(&[byte; 32]).unwrap();
    let (alice, bob) = (secret(1), secret(2));
    assert!(alice == secret(1) && alice != bob);
    let (one, other) = (alice.ecdh_x(&bob.public_key()), bob.ecdh_x(&alice.public_key()));
    assert!(one == other && one != alice.ecdh_x(&alice.public_key()));
    assert_eq!(PublicKey::from_bytes(&bob.public_key().to_bytes()), Ok(bob.public_key()));
    assert_ne!(alice.public_key(), bob.public_key());
    let shown = format!("{:?}", alice.public_key());
    let x: String = alice.public_key().to_bytes().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(shown, format!("secp256k1::PublicKey({x})"));
}
