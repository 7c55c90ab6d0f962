//! The functions that JavaScript calls. Their attributes are the only unsafe code of this crate.

use endseal_wasm_abi::exports;
#[cfg(feature = "test-vectors")]
use endseal_wasm_abi::more_exports;

use crate::module::Module;
use crate::open::Opening;
use crate::seal::Sealing;

exports! {
    Module:
    identity_generate() => Module::generate;
    identity_unlock(file_len: usize, passphrase_len: usize) =>
        |it| it.unlock(file_len, passphrase_len);
    identity_lock(identity: u32, passphrase_len: usize, is_cheap: u32) =>
        |it| it.lock(identity, passphrase_len, is_cheap != 0);
    identity_public(identity: u32) => |it| it.public(identity);
    identity_share(identity: u32) => |it| it.share(identity);
    identity_free(identity: u32) => |it| it.identities.remove(identity);

    public_parse() => Module::parse;
    public_text(public: u32) => |it| it.text(public);
    public_key(public: u32) => |it| it.key(public);
    public_short(public: u32) => |it| it.short(public);
    public_is_post_quantum(public: u32) => |it| it.public_is_post_quantum(public);
    public_free(public: u32) => |it| it.publics.remove(public);

    recipients_new() => Module::prepare;
    recipients_len(recipients: u32) => |it| it.recipients_len(recipients);
    recipients_is_post_quantum(recipients: u32) => |it| it.recipients_are_post_quantum(recipients);
    recipients_free(recipients: u32) => |it| it.recipients.remove(recipients);

    inspect() => Module::inspect;

    seal(
        sender: u32, recipients: u32, context_len: usize, time: f64, hybrid: u32, hides_count: u32,
    ) => |it| it.seal(sealing(sender, recipients, context_len, time, hybrid, hides_count));
    seal_stream(
        sender: u32, recipients: u32, context_len: usize, time: f64, hybrid: u32, hides_count: u32,
    ) => |it| it.seal_stream(sealing(sender, recipients, context_len, time, hybrid, hides_count));
    seal_detached(
        sender: u32, recipients: u32, context_len: usize, time: f64, hybrid: u32, hides_count: u32,
    ) => |it| it.seal_detached(sealing(sender, recipients, context_len, time, hybrid, hides_count));
    seal_push(stream: u32) => |it| it.push(stream);
    seal_finish(stream: u32) => |it| it.finish_sealing(stream);
    seal_free(stream: u32) => |it| it.seal_streams.remove(stream);

    open(
        identity: u32, context_len: usize, senders_len: i32, max_age: f64, now: f64, hybrid: u32,
    ) => |it| it.open(opening(identity, context_len, senders_len, max_age, now, hybrid));
    open_many(
        identity: u32, context_len: usize, senders_len: i32, max_age: f64, now: f64, hybrid: u32,
        count: usize,
    ) => |it| {
        it.open_many(opening(identity, context_len, senders_len, max_age, now, hybrid), count)
    };
    open_stream(
        identity: u32, context_len: usize, senders_len: i32, max_age: f64, now: f64, hybrid: u32,
    ) => |it| it.open_stream(opening(identity, context_len, senders_len, max_age, now, hybrid));
    open_feed(stream: u32) => |it| it.feed(stream);
    open_finish(stream: u32) => |it| it.finish_opening(stream);
    open_facts(stream: u32) => |it| it.facts(stream);
    open_free(stream: u32) => |it| it.open_streams.remove(stream);

    detached_open(
        identity: u32, context_len: usize, senders_len: i32, max_age: f64, now: f64, hybrid: u32,
    ) => |it| it.open_detached(opening(identity, context_len, senders_len, max_age, now, hybrid));
    detached_feed(stream: u32) => |it| it.feed_detached(stream);
    detached_take(stream: u32) => |it| it.take_detached(stream);
    detached_finish(stream: u32) => |it| it.finish_detached(stream);
    detached_facts(stream: u32) => |it| it.detached_facts(stream);
    detached_free(stream: u32) => |it| it.detached_streams.remove(stream);
}

#[cfg(feature = "test-vectors")]
more_exports! {
    identity_from_seeds() => Module::from_seeds;
}

fn sealing(
    sender: u32,
    recipients: u32,
    context_len: usize,
    time: f64,
    hybrid: u32,
    hides_count: u32,
) -> Sealing {
    let (hybrid, hides_count) = (hybrid != 0, hides_count != 0);
    Sealing { sender, recipients, context_len, time, hybrid, hides_count }
}

/// A negative length is for no list of senders.
fn opening(
    identity: u32,
    context_len: usize,
    senders_len: i32,
    max_age: f64,
    now: f64,
    hybrid: u32,
) -> Opening {
    let senders_len = usize::try_from(senders_len).ok();
    let requires_post_quantum = hybrid != 0;
    Opening { identity, context_len, senders_len, max_age, now, requires_post_quantum }
}
