//! NIP-44 under a cached conversation key, and with a key derived for each message as in the
//! published benchmark.

use core::hint::black_box;

use endseal_nostr::nip44::{Conversation, Lengths};

use super::{Operation, nothing};
use crate::payload::NONCE;
use crate::workbench::Workbench;

pub(crate) const NIP44_ENCRYPT: Operation = Operation {
    name: "nip44_encrypt",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        let message = &it.message[..it.bytes];
        let out = &mut it.work;
        black_box(it.conversation.seal(message, &NONCE, Lengths::Extended, out))
            .expect("the buffer is large enough");
    },
    check: is_right,
    is_long: false,
};

pub(crate) const NIP44_DECRYPT: Operation = Operation {
    name: "nip44_decrypt",
    setup,
    prepare: Workbench::restore,
    run: |it| {
        let payload = &mut it.work[..it.input_len];
        black_box(it.conversation.open(payload)).expect("an authentic payload");
    },
    check: is_right,
    is_long: false,
};

pub(crate) const NIP44_ENCRYPT_KEY: Operation = Operation {
    name: "nip44_encrypt_key",
    run: |it| {
        it.conversation = Conversation::new(black_box(&it.own), &it.peer);
        (NIP44_ENCRYPT.run)(it);
    },
    is_long: true,
    ..NIP44_ENCRYPT
};

pub(crate) const NIP44_DECRYPT_KEY: Operation = Operation {
    name: "nip44_decrypt_key",
    run: |it| {
        it.conversation = Conversation::new(black_box(&it.own), &it.peer);
        (NIP44_DECRYPT.run)(it);
    },
    is_long: true,
    ..NIP44_DECRYPT
};

fn setup(it: &mut Workbench) {
    let message = &it.message[..it.bytes];
    let payload = it.conversation.seal(message, &NONCE, Lengths::Extended, &mut it.work);
    let len = payload.expect("the buffer is large enough").len();
    it.keep(len);
}

/// Encrypts and decrypts. A changed payload must be refused.
fn is_right(it: &mut Workbench) -> bool {
    setup(it);
    let len = it.input_len;
    let opened = it.conversation.open(&mut it.work[..len]);
    if opened.is_ok_and(|text| text == &it.message[..it.bytes]) {
        it.restore();
        // The last group holds the end of the MAC. Replaced by `A`, it is still valid Base64.
        it.work[len - 8] = if it.work[len - 8] == b'A' { b'B' } else { b'A' };
        return it.conversation.open(&mut it.work[..len]).is_err();
    }
    false
}
