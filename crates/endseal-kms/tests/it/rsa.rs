//! RSA keys from files. The keys are those of Wycheproof.

use endseal_kms::RsaProvider;
use endseal_kms::rsa::{ReadRsaKeyError, RsaKey};
use serde_json::Value;

use super::*;

fn field(bits: u32, name: &str) -> String {
    let path = format!(
        "{}/../../vectors/third-party/wycheproof/rsa_oaep_{bits}_sha256_mgf1sha256_test.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let set: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    set["testGroups"][0][name].as_str().unwrap().to_owned()
}

fn pem(bits: u32) -> String {
    field(bits, "privateKeyPem")
}

fn der(bits: u32) -> Vec<u8> {
    let hex = field(bits, "privateKeyPkcs8");
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..][..2], 16).unwrap()).collect()
}

fn private(bits: u32) -> RsaKey {
    RsaKey::read(pem(bits).as_bytes()).ok().unwrap()
}

/// Output of `openssl pkey -pubout` for the key of 2,048 bits.
const PUBLIC: &str = include_str!("rsa_2048_public.pem");

#[tokio::test]
async fn a_key_is_a_provider() {
    for (bits, stride) in [(2048, 17), (3072, 61), (4096, 127)] {
        let provider = RsaProvider::new(private(bits), Vec::new());
        let wrapped = opens_what_it_wrapped(&provider).await;
        assert_eq!(wrapped.bytes.len(), bits as usize / 8);
        refuses_changes(&provider, &wrapped, stride).await;
    }
}

#[test]
fn pem_and_der_are_one_key() {
    let (one, two) = (private(2048), RsaKey::read(&der(2048)).ok().unwrap());
    assert_eq!(one.id(), two.id());
    assert!(one.is_private() && two.is_private());
    assert_ne!(one.id(), private(3072).id());
    let (name, digits) = one.id().as_str().split_at(4);
    assert!(name == "rsa-" && digits.len() == 16, "{digits}");
}

#[tokio::test]
async fn a_public_key_wraps_and_opens_nothing() {
    let public = RsaKey::read(PUBLIC.as_bytes()).ok().unwrap();
    assert!(!public.is_private());
    assert_eq!(public.id(), private(2048).id());
    let writer = RsaProvider::new(public, Vec::new());
    let wrapped = writer.wrap(b"context", &key(3)).await.ok().unwrap();
    let outcome = writer.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
    assert_eq!(outcome.err(), Some(ProviderError::Refused));
    let reader = RsaProvider::new(private(2048), Vec::new());
    let opened = reader.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
    assert!(opened.ok().unwrap() == key(3));
}

#[tokio::test]
async fn older_keys_open() {
    let old = RsaProvider::new(private(2048), Vec::new());
    let wrapped = old.wrap(b"context", &key(4)).await.ok().unwrap();
    let new = RsaProvider::new(private(3072), vec![private(2048)]);
    assert_ne!(new.wrapping_key_id(), wrapped.key_id);
    let opened = new.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
    assert!(opened.ok().unwrap() == key(4));
}

#[test]
fn what_is_no_key_is_refused() {
    let why = |text: &str| RsaKey::read(text.as_bytes()).err().unwrap();
    let good = pem(2048);
    assert!(matches!(why(""), ReadRsaKeyError::Invalid(_)));
    assert!(matches!(why("text"), ReadRsaKeyError::Invalid(_)));
    let named = |name: &str| good.replace("PRIVATE KEY", name);
    assert_eq!(why(&named("ENCRYPTED PRIVATE KEY")), ReadRsaKeyError::Encrypted);
    assert_eq!(why(&named("RSA PRIVATE KEY")), ReadRsaKeyError::Pkcs1);
    assert_eq!(why(&named("CERTIFICATE")), ReadRsaKeyError::Pem);
    assert!(matches!(why(&named("PUBLIC KEY")), ReadRsaKeyError::Invalid(_)));
    assert_eq!(why(&good.replacen("END PRIVATE", "END PUBLIC", 1)), ReadRsaKeyError::Pem);
    assert_eq!(why(&good[..good.len() / 2]), ReadRsaKeyError::Pem);
    assert_eq!(why(&good.replacen("MII", "M!I", 1)), ReadRsaKeyError::Pem);
    assert_eq!(why(&good.replacen("MII", "MIII", 1)), ReadRsaKeyError::Pem);
    assert!(RsaKey::read(&der(2048)[1..]).is_err());
    // Text before and after the PEM block is ignored.
    let around = format!("Key of the backup\r\n{}bye\n", good.replace('\n', "\r\n"));
    assert_eq!(RsaKey::read(around.as_bytes()).ok().unwrap().id(), private(2048).id());
    for (name, bits) in
        [("1024", include_str!("rsa_1024.pem")), ("8192", include_str!("rsa_8192.pem"))]
    {
        assert!(matches!(why(bits), ReadRsaKeyError::Invalid(_)), "{name}");
    }
    assert!(matches!(why(include_str!("ec_p256.pem")), ReadRsaKeyError::Invalid(_)));
}
