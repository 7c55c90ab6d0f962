//! Test vectors of the MLS working group (vectors/third-party/README.md), run with our provider:
//! AWS-LC ciphers, our Ed25519, and the library's key schedule, tree and framing.

use std::path::Path;

use mls_rs::client_builder::ClientBuilder;
use mls_rs::crypto::{HpkeCiphertext, HpkePublicKey, HpkeSecretKey};
use mls_rs::group::ExportedTree;
use mls_rs::identity::basic::BasicIdentityProvider;
use mls_rs::mls_rs_codec::MlsEncode;
use mls_rs::psk::ExternalPskId;
use mls_rs::storage_provider::in_memory::InMemoryKeyPackageStorage;
use mls_rs::{CipherSuite, CipherSuiteProvider as _, CryptoProvider as _, MlsMessage};
use mls_rs_core::key_package::KeyPackageData;
use serde_json::Value;

use super::framing::vector;
use super::provider::{Provider, SuiteProvider};
use super::storage_adapter::StorageAdapter;
use super::suite::Suite;

fn vectors(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/third-party/mls");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn suite(value: &Value) -> CipherSuite {
    CipherSuite::from(u16::try_from(value["cipher_suite"].as_u64().unwrap()).unwrap())
}

fn provider() -> Provider {
    Provider::new(Suite::ALL, &StorageAdapter::new())
}

/// Encodes `opaque<V>`.
fn opaque(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec().mls_encode_to_vec().unwrap()
}

/// Expands a secret with a `KDFLabel` (RFC 9420, section 8).
fn expand(
    suite: &SuiteProvider,
    secret: &[u8],
    label: &str,
    context: &[u8],
    len: usize,
) -> Vec<u8> {
    let mut info = u16::try_from(len).unwrap().to_be_bytes().to_vec();
    info.extend(labelled(label, context));
    suite.kdf_expand(secret, &info, len).unwrap().to_vec()
}

/// Encodes `SignContent` or `EncryptContext` (RFC 9420, sections 5.1.2 and 5.1.3).
fn labelled(label: &str, content: &[u8]) -> Vec<u8> {
    [opaque(format!("MLS 1.0 {label}").as_bytes()), opaque(content)].concat()
}

/// Computes the reference of a key package (RFC 9420, section 5.2).
fn reference(suite: &SuiteProvider, label: &str, value: &[u8]) -> Vec<u8> {
    suite.hash(&[opaque(label.as_bytes()), opaque(value)].concat()).unwrap()
}

#[test]
fn ciphers_are_those_of_the_working_group() {
    let vectors = vectors("crypto-basics.json");
    assert_eq!(vectors.len(), 2);
    for all in vectors {
        let suite = provider().cipher_suite_provider(suite(&all)).unwrap();
        let label = |of: &Value| of["label"].as_str().unwrap().to_owned();

        let one = &all["ref_hash"];
        assert_eq!(reference(&suite, &label(one), &hex(&one["value"])), hex(&one["out"]));

        let one = &all["expand_with_label"];
        let (secret, context) = (hex(&one["secret"]), hex(&one["context"]));
        let out = expand(&suite, &secret, &label(one), &context, number(&one["length"]));
        assert_eq!(out, hex(&one["out"]));

        let one = &all["derive_secret"];
        let len = suite.kdf_extract_size();
        let out = expand(&suite, &hex(&one["secret"]), &label(one), &[], len);
        assert_eq!(out, hex(&one["out"]));

        let one = &all["derive_tree_secret"];
        let generation = u32::try_from(number(&one["generation"])).unwrap().to_be_bytes();
        let secret = hex(&one["secret"]);
        let out = expand(&suite, &secret, &label(one), &generation, number(&one["length"]));
        assert_eq!(out, hex(&one["out"]));

        let one = &all["sign_with_label"];
        let content = labelled(&label(one), &hex(&one["content"]));
        let (public, mut signature) = (hex(&one["pub"]), hex(&one["signature"]));
        suite.verify(&public.clone().into(), &signature, &content).unwrap();
        // Ed25519 is deterministic.
        let secret = [hex(&one["priv"]), public.clone()].concat();
        assert_eq!(suite.sign(&secret.into(), &content).unwrap(), signature);
        signature[0] ^= 1;
        assert!(suite.verify(&public.into(), &signature, &content).is_err());

        let one = &all["encrypt_with_label"];
        let info = labelled(&label(one), &hex(&one["context"]));
        let sealed = HpkeCiphertext {
            kem_output: hex(&one["kem_output"]),
            ciphertext: hex(&one["ciphertext"]),
        };
        let (secret, public) =
            (HpkeSecretKey::from(hex(&one["priv"])), HpkePublicKey::from(hex(&one["pub"])));
        let opened = suite.hpke_open(&sealed, &secret, &public, &info, None).unwrap();
        assert_eq!(opened.to_vec(), hex(&one["plaintext"]));
        let mut damaged = sealed;
        damaged.ciphertext[0] ^= 1;
        assert!(suite.hpke_open(&damaged, &secret, &public, &info, None).is_err());
    }
}

/// Checks the examples of RFC 9420, section 2.1.2.
#[test]
fn lengths_of_vectors_are_read_as_in_the_rfc() {
    let examples: [(&[u8], usize); 2] = [(&[0x7b, 0xbd], 15_293), (&[0x25], 37)];
    for (header, len) in examples {
        let bytes = [header, &vec![7; len][..]].concat();
        let mut rest = bytes.as_slice();
        assert_eq!(vector(&mut rest).map(<[u8]>::len), Some(len));
        assert!(rest.is_empty());
        let mut short = &bytes[..bytes.len() - 1];
        assert_eq!(vector(&mut short), None);
    }
    // 37 in two bytes is not the shortest form; 494,878,333 exceeds the length of a message.
    for header in [&[0x40, 0x25][..], &[0x9d, 0x7f, 0x3e, 0x7d]] {
        assert_eq!(vector(&mut [header, &[7; 40]].concat().as_slice()), None);
    }
}

/// Joins by a welcome and follows the commits. The authenticator of each epoch must equal that of
/// the vector.
fn follow(case: &Value) -> usize {
    let provider = provider();
    let suite_number = suite(case);
    let suite = provider.cipher_suite_provider(suite_number).unwrap();
    let encoded = hex(&case["key_package"]);
    let key_package = MlsMessage::from_bytes(&encoded).unwrap().into_key_package().unwrap();
    let identity = key_package.signing_identity().clone();
    let public = identity.signature_key.to_vec();
    let bytes = key_package.mls_encode_to_vec().unwrap();
    let id = reference(&suite, "MLS 1.0 KeyPackage Reference", &bytes);
    let storage = InMemoryKeyPackageStorage::new();
    let (init, leaf) = (hex(&case["init_priv"]), hex(&case["encryption_priv"]));
    storage.insert(id, KeyPackageData::new(bytes, init.into(), leaf.into(), u64::MAX));

    let mut builder = ClientBuilder::new()
        .crypto_provider(provider)
        .identity_provider(BasicIdentityProvider::new())
        .key_package_repo(storage);
    for psk in case["external_psks"].as_array().unwrap() {
        builder = builder.psk(ExternalPskId::new(hex(&psk["psk_id"])), hex(&psk["psk"]).into());
    }
    let secret = [hex(&case["signature_priv"]), public].concat();
    let client = builder.signing_identity(identity, secret.into(), suite_number).build();
    let welcome = MlsMessage::from_bytes(&hex(&case["welcome"])).unwrap();
    let tree = &case["ratchet_tree"];
    let tree =
        (!tree.is_null()).then(|| ExportedTree::from_bytes(&hex(tree)).unwrap().into_owned());
    let (mut group, _) = client.join_group(tree, &welcome, None).unwrap();
    let authenticator = group.epoch_authenticator().unwrap();
    assert_eq!(authenticator.to_vec(), hex(&case["initial_epoch_authenticator"]));
    let epochs = case["epochs"].as_array().unwrap();
    for epoch in epochs {
        let proposals = epoch["proposals"].as_array().unwrap();
        for message in proposals.iter().chain([&epoch["commit"]]) {
            let message = MlsMessage::from_bytes(&hex(message)).unwrap();
            group.process_incoming_message(message).unwrap();
        }
        let authenticator = group.epoch_authenticator().unwrap();
        assert_eq!(authenticator.to_vec(), hex(&epoch["epoch_authenticator"]));
    }
    1 + epochs.len()
}

#[test]
fn a_passive_client_follows_the_groups_of_the_working_group() {
    let mut epochs = 0;
    for name in ["welcome", "handling-commit"] {
        for case in vectors(&format!("passive-client-{name}.json")) {
            epochs += follow(&case);
        }
    }
    assert!(epochs > 60, "{epochs}");
}
