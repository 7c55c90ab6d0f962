//! Prints one line of JSON for each measurement, which `cargo xtask firmware` reads.

use crate::meter;
use crate::operation::{
    AES_DECRYPT, AES_ENCRYPT, BASE64_DECODE, BASE64_ENCODE, CHACHA20, CONVERSATION_KEY,
    HKDF_EXPAND, HMAC, NIP04_DECRYPT, NIP04_ENCRYPT, NIP44_DECRYPT, NIP44_DECRYPT_KEY,
    NIP44_ENCRYPT, NIP44_ENCRYPT_KEY, Operation, PUBLIC_KEY, SHA256, SIGN, VERIFY,
};
use crate::platform::{ISA, image_bytes};
use crate::workbench::Workbench;

/// Operations of one size, with that size in bytes.
const FIXED: &[(&Operation, usize)] =
    &[(&CONVERSATION_KEY, 32), (&PUBLIC_KEY, 32), (&SIGN, 32), (&VERIFY, 32), (&HKDF_EXPAND, 76)];
/// Operations of NIP-44 at the sizes of its goals: under a cached key, and with a key that is
/// derived for each message.
const NIP44: &[(&Operation, &[usize])] = &[
    (&NIP44_ENCRYPT, &[16, 32, 64, 256, 1024, 4096, 8192]),
    (&NIP44_DECRYPT, &[16, 32, 64, 256, 1024, 4096, 8192]),
    (&NIP44_ENCRYPT_KEY, &[16, 32, 1024]),
    (&NIP44_DECRYPT_KEY, &[16, 32, 1024]),
];
const SIZED: &[&Operation] = &[
    &NIP04_ENCRYPT,
    &NIP04_DECRYPT,
    &AES_ENCRYPT,
    &AES_DECRYPT,
    &CHACHA20,
    &SHA256,
    &HMAC,
    &BASE64_ENCODE,
    &BASE64_DECODE,
];
const SIZES: &[usize] = &[16, 64, 256, 1024, 4096, 8192];

/// Prints all lines; returns true if each operation passed its check.
pub(crate) fn print(bench: &mut Workbench) -> bool {
    say!("\n=== MEASUREMENTS ===");
    let mut passed = true;
    for (operation, bytes) in FIXED {
        passed &= line(bench, operation, *bytes);
    }
    for (operation, sizes) in NIP44 {
        for bytes in *sizes {
            passed &= line(bench, operation, *bytes);
        }
    }
    for operation in SIZED {
        for bytes in SIZES {
            passed &= line(bench, operation, *bytes);
        }
    }
    passed
}

fn line(bench: &mut Workbench, operation: &Operation, bytes: usize) -> bool {
    let cost = meter::measure(bench, operation, bytes);
    let (op, instructions, stack, image) =
        (operation.name, cost.instructions, cost.stack, image_bytes());
    say!(
        r#"{{"isa":"{ISA}","op":"{op}","bytes":{bytes},"instructions":{instructions},"stack":{stack},"image":{image}}}"#
    );
    if !cost.passed {
        say!("{op} of {bytes} bytes FAILED its check");
    }
    cost.passed
}
