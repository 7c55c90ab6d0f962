//! The functions that JavaScript calls. Their attributes are the only unsafe code of this crate.

use endseal_wasm_abi::exports;
#[cfg(feature = "test-vectors")]
use endseal_wasm_abi::more_exports;

use crate::module::Module;

exports! {
    Module:
    key_generate() => Module::generate;
    key_unlock_input(max_log_n: u32) => |it| it.unlock_input(max_log_n);
    key_unlock(text_len: usize) => |it| it.unlock(text_len);
    key_lock_input(log_n: u32) => |it| it.lock_input(log_n);
    key_lock(key: u32, log_n: u32) => |it| it.lock(key, log_n);
    key_share(key: u32) => |it| it.share(key);
    key_public(key: u32) => |it| it.public(key);
    key_free(key: u32) => |it| it.keys.remove(key);
    key_encrypt(key: u32, peer_len: usize) => |it| it.encrypt(key, peer_len);
    key_decrypt(key: u32, peer_len: usize) => |it| it.decrypt(key, peer_len);
    key_sign(key: u32) => |it| it.sign(key);
    key_receivers(key: u32) => |it| it.receivers(key);
    key_rumor(key: u32) => |it| it.rumor(key);
    key_wrap(key: u32, receiver_len: usize, is_ephemeral: u32, expires_after: f64, now: f64) =>
        |it| it.wrap(key, receiver_len, is_ephemeral != 0, expires_after, now);
    key_unwrap(key: u32) => |it| it.unwrap(key);
    key_request(key: u32, signer_len: usize, created_at: f64) =>
        |it| it.request(key, signer_len, created_at);
    key_response(key: u32, signer_len: usize) => |it| it.response(key, signer_len);
    key_invitation(key: u32, permissions_len: usize, name_len: i32) =>
        |it| it.invitation(key, permissions_len, name_len);
    key_accepted(key: u32, secret_len: usize) => |it| it.accepted(key, secret_len);

    stretch(log_n: u32, salt_len: usize) => |it| it.stretch(log_n, salt_len);
    public_key() => Module::public_key;
    verify() => Module::verify;
    bunker() => Module::bunker;
}

#[cfg(feature = "test-vectors")]
more_exports! {
    key_from_bytes() => Module::key_from_bytes;
    conversation_key() => Module::conversation_key;
    conversation_seal(is_short: u32) => |it| it.conversation_seal(is_short != 0);
    conversation_open() => Module::conversation_open;
}
