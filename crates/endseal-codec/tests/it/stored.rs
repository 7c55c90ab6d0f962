//! Stored frames: signatures, checksums, and frames without a signature.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use endseal_codec::frame::{
    BuildError, FrameError, SignatureScheme, Stamp, StoredFrame, UnverifiedFrame,
};
use endseal_codec::{EncodeError, Limits, Message, Scheme, Sealed, SealedMessage};
use serde_json::{Value, json};

use crate::ml_dsa::Sender;
use crate::random::Random;
use crate::vectors::{hex, limits};

const SEED: [u8; 32] = [0x5e; 32];

/// Verifies a signature of the sender of all vectors.
fn verify(signed: &[u8], signature: &[u8]) -> bool {
    let key: VerifyingKey = SigningKey::from_bytes(&SEED).verifying_key();
    Signature::from_slice(signature).is_ok_and(|it| key.verify_strict(signed, &it).is_ok())
}

fn build(sealed: &Sealed<Message>, stamp: Stamp) -> Vec<u8> {
    build_with(SignatureScheme::Ed25519, sealed, stamp)
}

fn build_with(scheme: SignatureScheme, sealed: &Sealed<Message>, stamp: Stamp) -> Vec<u8> {
    let sign = |signed: &[u8]| {
        Ok::<_, ()>(match scheme {
            SignatureScheme::MlDsa65 => Sender::from_seed(SEED).sign(signed, scheme.context()),
            SignatureScheme::Vouched => Vec::new(),
            _ => SigningKey::from_bytes(&SEED).sign(signed).to_bytes().to_vec(),
        })
    };
    StoredFrame::build(sealed, stamp, scheme, Limits::default(), sign).unwrap()
}

pub(crate) fn vector(vector: &Value) -> Result<(), FrameError> {
    let bytes = hex(&vector["hex"]);
    let unverified = StoredFrame::parse(&bytes, limits(vector))?;
    let scheme = unverified.scheme();
    let frame = match scheme {
        SignatureScheme::Vouched => unverified.vouched_by(&Sender::from_seed(SEED).id()),
        SignatureScheme::MlDsa65 => unverified.verify_with(|signed, signature| {
            let sender = Sender::from_seed(SEED);
            unverified.sender() == sender.id() && sender.verify(signed, signature)
        }),
        _ => unverified.verify_with(|signed, signature| {
            let sender = SigningKey::from_bytes(&SEED).verifying_key().to_bytes();
            unverified.sender() == sender && verify(signed, signature)
        }),
    }?;
    assert_eq!(hex(&vector["seed"]), SEED);
    assert_eq!(vector["sequence"], json!(frame.stamp().sequence.to_string()));
    assert_eq!(vector["timestamp"], json!(frame.stamp().timestamp.to_string()));
    assert_eq!(hex(&vector["sender"]), frame.stamp().sender);
    assert_eq!(hex(&vector["payload"]), frame.payload());
    assert_eq!(vector["length"], json!(frame.payload().len()));
    assert_eq!(frame.scheme(), scheme);
    let number = match scheme {
        SignatureScheme::MlDsa65 => 2,
        SignatureScheme::Vouched => 3,
        _ => 1,
    };
    assert_eq!(vector["scheme"], number);
    let sealed = frame.message::<Message>(Limits::default()).unwrap();
    assert_eq!(build_with(scheme, &sealed, *frame.stamp()), bytes, "made anew");
    Ok(())
}

fn sealed(len: usize) -> Sealed<Message> {
    Sealed::from_message(SealedMessage {
        scheme: Scheme::MLS,
        ciphertext: vec![0xc3; len].into(),
        ..SealedMessage::default()
    })
}

fn stamp() -> Stamp {
    let sender = SigningKey::from_bytes(&SEED).verifying_key().to_bytes();
    Stamp { sequence: 3, timestamp: 4, sender }
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = build(&sealed(40), stamp());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(StoredFrame::parse(&flipped, Limits::default()).is_err(), "bit {bit}");
    }
}

/// A connection authenticates unsigned frames of its own peer, and no other frames. A signature
/// cannot replace that.
#[test]
fn frames_are_vouched_for_by_the_connection_they_name() {
    let sender = Sender::from_seed(SEED).id();
    let stamp = Stamp { sender, ..stamp() };
    let bytes = StoredFrame::vouched(&sealed(40), stamp, Limits::default()).unwrap();
    fn parse(bytes: &[u8]) -> UnverifiedFrame<'_> {
        StoredFrame::parse(bytes, Limits::default()).unwrap()
    }
    assert_eq!(parse(&bytes).vouched_by(&sender).unwrap().stamp(), &stamp);
    assert_eq!(parse(&bytes).vouched_by(&[7; 32]).err(), Some(FrameError::Authentication));
    assert_eq!(parse(&bytes).verify_with(|_, _| true).err(), Some(FrameError::Authentication));
    let signed = build(&sealed(40), stamp);
    assert_eq!(parse(&signed).vouched_by(&sender).err(), Some(FrameError::Authentication));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(StoredFrame::parse(&flipped, Limits::default()).is_err(), "bit {bit}");
    }
}

#[test]
fn mutated_frames_never_panic_and_never_verify() {
    let mut random = Random::new(3);
    let bytes = build(&sealed(40), stamp());
    let other = build(&sealed(90), stamp());
    for _ in 0..100_000 {
        let mutant = random.mutant(&bytes, &other);
        if mutant != bytes
            && mutant != other
            && let Ok(frame) = StoredFrame::parse(&mutant, Limits::default())
        {
            assert!(frame.verify_with(verify).is_err());
        }
    }
}

#[test]
fn a_frame_that_a_reader_refuses_is_not_built() {
    let scheme = SignatureScheme::Ed25519;
    let build = |sealed: &Sealed<Message>, signature: Result<usize, ()>| {
        let sign = |_: &[u8]| signature.map(|len| vec![0; len]);
        StoredFrame::build(sealed, stamp(), scheme, Limits::default(), sign).unwrap_err()
    };
    assert_eq!(build(&sealed(1), Ok(63)), BuildError::Signature);
    assert_eq!(build(&sealed(1), Err(())), BuildError::Sign(()));
    assert_eq!(build(&sealed(1 << 20), Ok(64)), BuildError::Encode(EncodeError::Limit));
    let empty = EncodeError::Length { field: "ciphertext" };
    assert_eq!(build(&sealed(0), Ok(64)), BuildError::Encode(empty));
}
