//! Vectors of stored frames.

use core::convert::Infallible;
use std::path::Path;

use ed25519_dalek::{Signer as _, SigningKey};
use endseal_codec::frame::{SignatureScheme, Stamp, StoredFrame};
use endseal_codec::{Limits, Message, Sealed, SealedMessage};

use crate::json::Vector;
use crate::ml_dsa::{CONTEXT, Sender};
use crate::samples as sample;

const SEED: [u8; 32] = [0x5e; 32];

fn frame(message: SealedMessage, sequence: u64, timestamp: u64) -> Vec<u8> {
    let key = SigningKey::from_bytes(&SEED);
    let stamp = Stamp { sequence, timestamp, sender: key.verifying_key().to_bytes() };
    let sealed = Sealed::<Message>::from_message(message);
    let sign = |signed: &[u8]| Ok::<_, Infallible>(key.sign(signed).to_bytes().to_vec());
    StoredFrame::build(&sealed, stamp, SignatureScheme::Ed25519, Limits::default(), sign).unwrap()
}

fn vouched_frame(sequence: u64) -> Vec<u8> {
    let sender = Sender::from_seed(SEED).id();
    let stamp = Stamp { sequence, timestamp: 1_770_000_000_000, sender };
    let sealed = Sealed::<Message>::from_message(sample::sealed());
    StoredFrame::vouched(&sealed, stamp, Limits::default()).unwrap()
}

/// Returns a frame with the same sequence and time as the first one of Ed25519.
fn ml_dsa_frame(context: &[u8]) -> Vec<u8> {
    let key = Sender::from_seed(SEED);
    let stamp = Stamp { sequence: 0, timestamp: 1_770_000_000_000, sender: key.id() };
    let sealed = Sealed::<Message>::from_message(sample::sealed());
    let sign = |signed: &[u8]| Ok::<_, Infallible>(key.sign(signed, context));
    StoredFrame::build(&sealed, stamp, SignatureScheme::MlDsa65, Limits::default(), sign).unwrap()
}

pub(crate) fn write(dir: &Path) {
    accepted(dir);
    refused(dir);
}

fn accepted(dir: &Path) {
    let accept = |scenario: &str, comment: &str, hex: &[u8], sequence: u64, timestamp: u64| {
        let part = |at: usize| u32::from_le_bytes(hex[at..at + 4].try_into().unwrap());
        Vector::new(&format!("stored_{scenario}"), comment, "ok")
            .with("form", "stored")
            .with_hex("hex", hex)
            .with("version", 1)
            .with("protocol", 1)
            .with("flags", 0)
            .with("length", part(4))
            // Written as text, because numbers of JSON above 2^53 lose digits in some languages.
            .with("sequence", sequence.to_string())
            .with("timestamp", timestamp.to_string())
            .with_hex("sender", &hex[24..56])
            .with("checksum", part(56))
            .with("scheme", hex[60])
            .with_hex("payload", &hex[64..64 + usize::try_from(part(4)).unwrap()])
            .with_hex("seed", &SEED)
            .write(dir);
    };
    let time = 1_770_000_000_000;
    accept("first", "the first of a sender", &frame(sample::sealed(), 0, time), 0, time);
    let last = frame(sample::sealed(), u64::MAX, u64::MAX);
    accept("last", "the largest sequence and time", &last, u64::MAX, u64::MAX);
    let message = SealedMessage { ciphertext: [0xc2; 1000].into(), ..sample::sealed() };
    accept("longer", "a longer payload", &frame(message, 7, time), 7, time);
    accept("ml_dsa", "signed with ML-DSA-65", &ml_dsa_frame(CONTEXT), 0, time);
    accept("vouched", "without a signature", &vouched_frame(5), 5, time);
}

/// Writes frames that must be refused. Their checksums are right, so that another check refuses
/// them.
fn refused(dir: &Path) {
    let right = frame(sample::sealed(), 3, 1_770_000_000_000);
    let refuse = |class: &str, scenario: &str, comment: &str, hex: &[u8]| {
        Vector::new(&format!("stored_{scenario}"), comment, class)
            .with("form", "stored")
            .with_hex("hex", hex)
    };
    let changed = |at: usize, value: &[u8]| {
        let mut hex = right.clone();
        hex[at..at + value.len()].copy_from_slice(value);
        with_checksum(hex)
    };
    refuse("truncated", "empty", "nothing", &[]).write(dir);
    refuse("truncated", "63_bytes", "one byte less than a header", &right[..63]).write(dir);
    refuse("truncated", "header_only", "a header alone", &right[..64]).write(dir);
    refuse("truncated", "last_byte", "one byte less", &right[..right.len() - 1]).write(dir);
    refuse("version", "0", "version 0", &changed(0, &[0])).write(dir);
    refuse("version", "2", "version 2", &changed(0, &[2])).write(dir);
    refuse("version", "live", "a live frame", &changed(0, &[0x11])).write(dir);
    refuse("protocol", "0", "protocol 0", &changed(1, &[0])).write(dir);
    refuse("protocol", "2", "protocol 2", &changed(1, &[2])).write(dir);
    refuse("flags", "low", "the lowest flag", &changed(2, &[1])).write(dir);
    refuse("flags", "high", "the highest flag", &changed(3, &[0x80])).write(dir);
    for at in 61..64 {
        let comment = format!("reserved byte {at}");
        refuse("flags", &format!("reserved_{at}"), &comment, &changed(at, &[1])).write(dir);
    }
    refuse("scheme", "0", "scheme 0", &changed(60, &[0])).write(dir);
    refuse("scheme", "4", "scheme 4", &changed(60, &[4])).write(dir);
    refuse("trailing", "vouched", "scheme 3 with a signature", &changed(60, &[3])).write(dir);
    let vouched = vouched_frame(5);
    let comment = "a byte less than a vouched frame";
    refuse("truncated", "vouched", comment, &vouched[..vouched.len() - 1]).write(dir);
    let mut hex = vouched.clone();
    hex[24] ^= 1;
    let comment = "vouched, of another sender than the connection's";
    refuse("authentication", "vouched_sender", comment, &with_checksum(hex)).write(dir);
    let mut hex = vouched;
    *hex.last_mut().unwrap() ^= 1;
    refuse("checksum", "vouched", "a bit of a vouched payload", &hex).write(dir);
    refuse("truncated", "ml_dsa", "scheme 2 with a signature of 64 bytes", &changed(60, &[2]))
        .write(dir);
    let length = u32::try_from(right.len() - 128).unwrap();
    let lengths = |length: u32| changed(4, &length.to_le_bytes());
    refuse("limit", "default", "one byte more than without agreement", &lengths((1 << 20) + 1))
        .write(dir);
    refuse("limit", "bomb", "a length of 2^32 - 1", &lengths(u32::MAX)).write(dir);
    refuse("limit", "agreed", "one byte more than was agreed", &right)
        .with("maximum", length - 1)
        .write(dir);
    refuse("truncated", "length", "a length of one more", &lengths(length + 1)).write(dir);
    refuse("trailing", "length", "a length of one less", &lengths(length - 1)).write(dir);
    refuse("trailing", "byte", "a byte behind the frame", &[&right[..], &[0]].concat()).write(dir);
    for (at, what) in [(8, "sequence"), (24, "sender"), (56, "checksum"), (64, "payload")] {
        let mut hex = right.clone();
        hex[at] ^= 1;
        refuse("checksum", what, &format!("a bit of the {what}"), &hex).write(dir);
    }
    let mut hex = right.clone();
    *hex.last_mut().unwrap() ^= 1;
    refuse("checksum", "signature", "a bit of the signature", &hex).write(dir);
    for (at, what) in [(8, "sequence"), (16, "timestamp"), (24, "sender"), (64, "payload")] {
        let comment = format!("another {what}, with its checksum");
        let value = [right[at] ^ 1];
        refuse("authentication", what, &comment, &changed(at, &value)).write(dir);
    }
    let end = right.len() - 64;
    let comment = "another signature, with its checksum";
    refuse("authentication", "signature", comment, &changed(end, &[right[end] ^ 1])).write(dir);
    let key = SigningKey::from_bytes(&SEED);
    let mut signed = right[..end].to_vec();
    signed[56..60].fill(0);
    let unlabelled = changed(end, &key.sign(&signed).to_bytes());
    refuse("authentication", "no_label", "signed without the label", &unlabelled).write(dir);
    let outsider = SigningKey::from_bytes(&[0x5f; 32]);
    let labelled = [&b"endseal/frame@v1 signature"[..], &signed].concat();
    let strange = changed(end, &outsider.sign(&labelled).to_bytes());
    refuse("authentication", "outsider", "signed by another", &strange).write(dir);
    let ml_dsa = ml_dsa_frame(CONTEXT);
    for (at, what) in [(8, "sequence"), (24, "sender"), (ml_dsa.len() - 1, "signature")] {
        let mut hex = ml_dsa.clone();
        hex[at] ^= 1;
        let comment = format!("another {what}, signed with ML-DSA-65");
        refuse("authentication", &format!("ml_dsa_{what}"), &comment, &with_checksum(hex))
            .write(dir);
    }
    let comment = "signed with ML-DSA-65 and another context";
    let context = ml_dsa_frame(b"endseal/frame@v2 signature");
    refuse("authentication", "ml_dsa_context", comment, &context).write(dir);
    let comment = "signed with ML-DSA-65 and an empty context, as in TLS";
    refuse("authentication", "ml_dsa_no_context", comment, &ml_dsa_frame(&[])).write(dir);
}

fn with_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    frame[56..60].fill(0);
    let checksum = crc32c(&frame);
    frame[56..60].copy_from_slice(&checksum.to_le_bytes());
    frame
}

/// Computes the checksum bit by bit, so that an error of the crate is not repeated.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}
