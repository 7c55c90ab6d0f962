//! NIP-04 under a cached key, and with a key derived for each message as in the published
//! benchmark.

use core::hint::black_box;

use endseal_nostr::nip04::Key;

use super::{Operation, nothing};
use crate::workbench::Workbench;

/// One initialisation vector for all messages here.
const IV: [u8; 16] = [7; 16];

pub(crate) const NIP04_ENCRYPT: Operation = Operation {
    name: "nip04_encrypt",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        let message = &it.message[..it.bytes];
        black_box(it.nip04.encrypt(message, &IV, &mut it.work))
            .expect("the buffer is large enough");
    },
    check: is_right,
    is_long: false,
};

pub(crate) const NIP04_DECRYPT: Operation = Operation {
    name: "nip04_decrypt",
    setup,
    prepare: Workbench::restore,
    run: |it| {
        let content = &mut it.work[..it.input_len];
        black_box(it.nip04.decrypt(content)).expect("sound padding");
    },
    check: is_right,
    is_long: false,
};

pub(crate) const NIP04_ENCRYPT_KEY: Operation = Operation {
    name: "nip04_encrypt_key",
    run: |it| {
        it.nip04 = Key::new(black_box(&it.own), &it.peer);
        (NIP04_ENCRYPT.run)(it);
    },
    is_long: true,
    ..NIP04_ENCRYPT
};

pub(crate) const NIP04_DECRYPT_KEY: Operation = Operation {
    name: "nip04_decrypt_key",
    run: |it| {
        it.nip04 = Key::new(black_box(&it.own), &it.peer);
        (NIP04_DECRYPT.run)(it);
    },
    is_long: true,
    ..NIP04_DECRYPT
};

/// Encrypts and decrypts, with a key derivation for each.
pub(crate) const NIP04_ROUND_KEY: Operation = Operation {
    name: "nip04_round_key",
    run: |it| {
        (NIP04_ENCRYPT_KEY.run)(it);
        (NIP04_DECRYPT_KEY.run)(it);
    },
    is_long: true,
    ..NIP04_DECRYPT
};

fn setup(it: &mut Workbench) {
    let message = &it.message[..it.bytes];
    let len =
        it.nip04.encrypt(message, &IV, &mut it.work).expect("the buffer is large enough").len();
    it.keep(len);
}

fn is_right(it: &mut Workbench) -> bool {
    setup(it);
    let message = &it.message[..it.bytes];
    it.nip04.decrypt(&mut it.work[..it.input_len]).is_ok_and(|text| text == message)
}
