//! Wycheproof's vectors for every back end. Each test asserts the number of vectors that it ran.

use endseal_crypto::ed25519::{PublicKey, Signature};
use endseal_crypto::{hazmat, hkdf, mldsa65, mlkem768, x25519};
use serde_json::Value;

#[test]
fn x25519_agreement() {
    let (mut shared, mut refused) = (0, 0);
    for (test, _) in tests("x25519_test", 518) {
        let secret = x25519::SecretKey::from_bytes(&array(&test["private"]));
        let secret = x25519::PreparedKey::new(secret);
        let public: [u8; 32] = array(&test["public"]);
        // Our policy for 'acceptable' keys: only canonical ones, and no all-zero result.
        let outcome = x25519::PublicKey::from_bytes(&public).ok().and_then(|public| {
            let one = secret.agree(&public).ok();
            for platform in x25519::Platform::all() {
                let many = secret.agree_many_on(platform, &[public; 9]);
                for outcome in many.expose_secrets() {
                    assert_eq!(outcome.ok(), one.as_ref().map(|one| one.expose_secret()), "{test}");
                }
            }
            one
        });
        match outcome {
            Some(outcome) => {
                assert_ne!(test["result"], "invalid", "{test}");
                assert_eq!(outcome.expose_secret(), &array(&test["shared"]), "{test}");
                shared += 1;
            }
            None => {
                assert_eq!(test["result"], "acceptable", "{test}");
                let flags = test["flags"].to_string();
                assert!(
                    ["NonCanonicalPublic", "LowOrderPublic", "ZeroSharedSecret"]
                        .iter()
                        .any(|flag| flags.contains(flag)),
                    "{test}"
                );
                refused += 1;
            }
        }
    }
    assert!(shared >= 450 && refused >= 20, "{shared} {refused}");
}

#[test]
fn ed25519_verification() {
    for (test, group) in tests("ed25519_test", 151) {
        let message = unhex(&test["msg"]);
        let public = PublicKey::from_bytes(&array(&group["publicKey"]["pk"])).unwrap();
        let signature = <[u8; 64]>::try_from(&unhex(&test["sig"])[..]);
        let verdict = signature
            .is_ok_and(|bytes| public.verify(&message, &Signature::from_bytes(&bytes)).is_ok());
        assert_eq!(verdict, test["result"] == "valid", "{test}");
    }
}

/// [`hkdf`] and [`segment`](endseal_crypto::segment) use the same code for derivation.
#[test]
fn hkdf_sha512() {
    for (test, _) in tests("hkdf_sha512_test", 83) {
        let size = usize::try_from(test["size"].as_u64().unwrap()).unwrap();
        let mut out = vec![0; size];
        let (ikm, salt) = (unhex(&test["ikm"]), unhex(&test["salt"]));
        let done = hkdf::extract_and_expand(&salt, &ikm, &[&unhex(&test["info"])], &mut out);
        assert_eq!(done.is_ok(), test["result"] == "valid", "{test}");
        if done.is_ok() {
            assert_eq!(out, unhex(&test["okm"]), "{test}");
        }
    }
}

#[test]
fn mlkem768_key_generation() {
    for (test, _) in tests("mlkem_768_keygen_seed_test", 100) {
        let secret = mlkem768_secret(&test).unwrap();
        assert_eq!(secret.public_key().as_bytes()[..], unhex(&test["ek"]), "{test}");
        assert_eq!(test["result"], "valid");
    }
}

#[test]
fn mlkem768_encapsulation() {
    for (test, _) in tests("mlkem_768_encaps_test", 265) {
        let key = <&[u8; mlkem768::PUBLIC_LEN]>::try_from(&unhex(&test["ek"])[..])
            .ok()
            .and_then(|bytes| mlkem768::PublicKey::from_bytes(bytes).ok());
        assert_eq!(key.is_some(), test["result"] == "valid", "{test}");
        let Some(key) = key else { continue };
        let mut ciphertext = [0; mlkem768::CIPHERTEXT_LEN];
        let shared = hazmat::mlkem768_encapsulate(&key, &array(&test["m"]), &mut ciphertext);
        assert_eq!(ciphertext[..], unhex(&test["c"]), "{test}");
        assert_eq!(shared.expose_secret()[..], unhex(&test["K"]), "{test}");
    }
}

#[test]
fn mlkem768_decapsulation() {
    for (test, _) in tests("mlkem_768_test", 201) {
        let ciphertext = <[u8; mlkem768::CIPHERTEXT_LEN]>::try_from(&unhex(&test["c"])[..]).ok();
        // Seeds and ciphertexts of a wrong length cannot be passed to the function, because of its
        // types.
        let shared = mlkem768_secret(&test)
            .zip(ciphertext)
            .map(|(secret, ciphertext)| secret.decapsulate(&ciphertext));
        assert_eq!(shared.is_some(), test["result"] == "valid", "{test}");
        if let Some(shared) = shared {
            assert_eq!(shared.expose_secret()[..], unhex(&test["K"]), "{test}");
        }
    }
}

#[test]
fn mldsa65_verification() {
    let mut valid = 0;
    for (test, group) in tests("mldsa_65_verify_test", 210) {
        // Keys and signatures of a wrong length cannot be passed to the function, because of its
        // types.
        let key = <[u8; mldsa65::PUBLIC_LEN]>::try_from(&unhex(&group["publicKey"])[..]).ok();
        let signature = <[u8; mldsa65::SIGNATURE_LEN]>::try_from(&unhex(&test["sig"])[..]).ok();
        let verdict = key.zip(signature).is_some_and(|(key, signature)| {
            mldsa65::PublicKey::from_bytes(&key)
                .verify(
                    &unhex(&test["msg"]),
                    &unhex(&test["ctx"]),
                    &mldsa65::Signature::from_bytes(&signature),
                )
                .is_ok()
        });
        assert_eq!(verdict, test["result"] == "valid", "{}", test["tcId"]);
        if let (Some(key), true) = (key, verdict) {
            let key = mldsa65::PublicKey::from_bytes(&key);
            let spki = unhex(&group["publicKeyDer"]);
            assert_eq!(key.to_spki(), spki);
            assert_eq!(mldsa65::PublicKey::from_spki(&spki).as_ref(), Ok(&key));
            valid += 1;
        }
    }
    assert!(valid >= 70, "{valid}");
}

#[test]
fn mldsa65_keys_and_signatures() {
    let mut signed = 0;
    for (test, group) in tests("mldsa_65_sign_seed_test", 105) {
        let Ok(seed) = <[u8; 32]>::try_from(&unhex(&group["privateSeed"])[..]) else {
            assert_eq!(test["result"], "invalid", "{}", test["tcId"]);
            continue;
        };
        let key = mldsa65::SigningKey::from_seed(mldsa65::Seed::from_bytes(&seed));
        assert_eq!(key.public_key().as_bytes()[..], unhex(&group["publicKey"]), "{}", test["tcId"]);
        // Vectors of the internal function have a message representative instead of a message.
        if test["flags"].to_string().contains("Internal") {
            continue;
        }
        let (message, context) = (unhex(&test["msg"]), unhex(&test["ctx"]));
        let rnd = if test["rnd"].is_null() { [0; 32] } else { array(&test["rnd"]) };
        let own = hazmat::mldsa65_sign(&key, &message, &context, &rnd);
        assert_eq!(own.is_ok(), test["result"] == "valid", "{}", test["tcId"]);
        if let Ok(own) = own {
            let theirs = mldsa65::Signature::from_bytes(&array(&test["sig"]));
            for signature in [&own, &theirs] {
                let verdict = key.public_key().verify(&message, &context, signature);
                assert_eq!(verdict, Ok(()), "{}", test["tcId"]);
            }
            assert_eq!(own, theirs, "{}", test["tcId"]);
            signed += 1;
        }
    }
    assert_eq!(signed, 84);
}

#[cfg(feature = "aws-lc")]
#[test]
fn rsa_oaep() {
    use endseal_crypto::rsa_oaep::PrivateKey;

    for bits in [2048, 3072, 4096] {
        let mut opened = 0;
        for (test, group) in tests(&format!("rsa_oaep_{bits}_sha256_mgf1sha256_test"), 37) {
            let key = PrivateKey::from_pkcs8(&unhex(&group["privateKeyPkcs8"])).ok().unwrap();
            let (label, message) = (unhex(&test["label"]), unhex(&test["msg"]));
            let outcome = key.decrypt(&label, &unhex(&test["ct"]));
            assert_eq!(outcome.is_ok(), test["result"] == "valid", "{test}");
            let Ok(plaintext) = outcome else { continue };
            assert_eq!(plaintext[..], message, "{test}");
            let own = key.public().encrypt(&label, &message).unwrap();
            assert_eq!(own.len(), bits / 8);
            assert_eq!(key.decrypt(&label, &own).unwrap()[..], message, "{test}");
            opened += 1;
        }
        assert!(opened >= 15, "{opened}");
    }
}

/// Every other hash and every other length of the modulus must be refused.
#[cfg(feature = "aws-lc")]
#[test]
fn rsa_oaep_misc() {
    use endseal_crypto::rsa_oaep::{BITS, PrivateKey};

    let (mut opened, mut acceptable, mut other_hash, mut other_len) = (0, 0, 0, 0);
    for (test, group) in tests("rsa_oaep_misc_test", 395) {
        let bits = usize::try_from(group["keySize"].as_u64().unwrap()).unwrap();
        let key = PrivateKey::from_pkcs8(&unhex(&group["privateKeyPkcs8"]));
        assert_eq!(key.is_ok(), BITS.contains(&bits), "{}", test["tcId"]);
        let Ok(key) = key else {
            other_len += 1;
            continue;
        };
        let plaintext = key.decrypt(&unhex(&test["label"]), &unhex(&test["ct"]));
        if group["sha"] == "SHA-256" && group["mgfSha"] == "SHA-256" {
            // 'Acceptable' are ciphertexts that are small numbers, which AWS-LC refuses.
            assert_eq!(plaintext.is_ok(), test["result"] == "valid", "{}", test["tcId"]);
            let Ok(plaintext) = plaintext else {
                acceptable += 1;
                continue;
            };
            assert_eq!(plaintext[..], unhex(&test["msg"]), "{}", test["tcId"]);
            opened += 1;
        } else {
            assert!(plaintext.is_err(), "{}", test["tcId"]);
            other_hash += 1;
        }
    }
    assert_eq!((opened, acceptable, other_hash, other_len), (23, 2, 205, 165));
}

/// Tags of 128 bits are the first half of the MAC.
#[test]
fn hmac_sha256() {
    use endseal_crypto::secret::constant_time_eq;
    use endseal_crypto::sha256::{HmacKey, hmac};

    let mut valid = 0;
    for (test, group) in tests("hmac_sha256_test", 174) {
        let (key, message, tag) = (unhex(&test["key"]), unhex(&test["msg"]), unhex(&test["tag"]));
        let len = usize::try_from(group["tagSize"].as_u64().unwrap()).unwrap() / 8;
        let mac = hmac(&key, &[&message]);
        let verdict = constant_time_eq(&mac[..len], &tag);
        assert_eq!(verdict, test["result"] == "valid", "{test}");
        let (head, tail) = message.split_at(message.len() / 3);
        let prepared = HmacKey::new(&key);
        for _ in 0..2 {
            assert_eq!(prepared.mac(&[head, &[], tail]), mac, "{test}");
        }
        if let Ok(tag) = <[u8; 32]>::try_from(&tag[..]) {
            assert_eq!(prepared.verify(&[head, tail], &tag), verdict, "{test}");
        }
        valid += u32::from(verdict);
    }
    assert_eq!(valid, 66);
}

/// Keys of 256 and 384 bits are for AES-128 and AES-192; the type has another length.
#[test]
fn aes_256_siv() {
    use endseal_crypto::aes_siv::{self, SivKey};

    let (mut valid, mut refused) = (0, 0);
    for (test, _) in tests("aes_siv_cmac_test", 442) {
        let Ok(key) = <[u8; 64]>::try_from(&unhex(&test["key"])[..]) else { continue };
        let key = SivKey::from_bytes(&key);
        let (data, message) = (unhex(&test["aad"]), unhex(&test["msg"]));
        let sealed = unhex(&test["ct"]);
        let opened = aes_siv::open(&key, &data, &sealed);
        assert_eq!(opened.is_ok(), test["result"] == "valid", "{test}");
        if let Ok(opened) = opened {
            assert_eq!(opened, message, "{test}");
            assert_eq!(aes_siv::seal(&key, &data, &message), sealed, "{test}");
            valid += 1;
        } else {
            refused += 1;
        }
    }
    assert_eq!((valid, refused), (39, 108));
}

fn mlkem768_secret(test: &Value) -> Option<mlkem768::SecretKey> {
    let seed = <[u8; 64]>::try_from(&unhex(&test["seed"])[..]).ok()?;
    Some(mlkem768::SecretKey::from_seed(mlkem768::Seed::from_bytes(&seed)))
}

/// Returns the tests of a file, each with the fields of its group.
pub(crate) fn tests(file: &str, expected: usize) -> Vec<(Value, Value)> {
    let path =
        format!("{}/../../vectors/third-party/wycheproof/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let mut set: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut tests = Vec::new();
    for group in set["testGroups"].as_array_mut().unwrap() {
        // The tests are taken out of the group: otherwise the copy of the group for each test would
        // contain all tests.
        let Value::Array(own) = group["tests"].take() else { panic!("{group}") };
        tests.extend(own.into_iter().map(|test| (test, group.clone())));
    }
    assert_eq!(tests.len(), expected);
    tests
}

pub(crate) fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    unhex(value).try_into().unwrap()
}
