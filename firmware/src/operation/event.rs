//! The published "full flow": an event in JSON whose content is encrypted. Unlike the published
//! one, it verifies id and signature before anything is decrypted.

use core::hint::black_box;
use core::ops::Range;

use endseal_crypto::secp256k1::SigningKey;
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::Text;
use endseal_nostr::nip04::Key;
use endseal_nostr::nip44::Conversation;

use super::{NIP04_DECRYPT, NIP44_DECRYPT, Operation};
use crate::payload::secret;
use crate::workbench::Workbench;

const KIND_NIP04: u16 = 4;
const KIND_NIP46: u16 = 24133;
const CREATED_AT: u64 = 1_234_567_890;

pub(crate) const FULL_NIP04: Operation = Operation {
    name: "full_nip04",
    setup: |it| {
        (NIP04_DECRYPT.setup)(it);
        wrap(it, KIND_NIP04);
    },
    prepare: Workbench::restore,
    run: |it| {
        black_box(nip04(it)).expect("an authentic event");
    },
    check: |it| {
        it.restore();
        let message = it.message;
        let bytes = it.bytes;
        nip04(it).is_some_and(|text| text == &message[..bytes]) && forgery_is_refused(it)
    },
    is_long: true,
};

pub(crate) const FULL_NIP44: Operation = Operation {
    name: "full_nip44",
    setup: |it| {
        (NIP44_DECRYPT.setup)(it);
        wrap(it, KIND_NIP46);
    },
    prepare: Workbench::restore,
    run: |it| {
        black_box(nip44(it)).expect("an authentic event");
    },
    check: |it| {
        it.restore();
        let message = it.message;
        let bytes = it.bytes;
        nip44(it).is_some_and(|text| text == &message[..bytes]) && forgery_is_refused(it)
    },
    is_long: true,
};

/// Replaces the input by an event with the input as its content.
fn wrap(it: &mut Workbench, kind: u16) {
    let author = SigningKey::new(secret(2));
    let content = str::from_utf8(&it.input[..it.input_len]).expect("Base64 is ASCII");
    let template = Template {
        pubkey: None,
        created_at: CREATED_AT,
        kind,
        tags: Tags::List(&[&[
            "p",
            "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        ]]),
        content: Text::Plain(content),
    };
    let event = template.sign(&author, &[0; 32]).expect("no other author is named");
    let len = event.write(&mut it.work).expect("the buffer is large enough").len();
    it.keep(len);
}

/// Returns the range of the content in the work buffer, if its event is authentic.
fn verified(it: &Workbench) -> Option<Range<usize>> {
    let (event, content) = Event::parse_located(&it.work[..it.input_len]).ok()?;
    event.verify().ok()?;
    Some(content)
}

fn nip04(it: &mut Workbench) -> Option<&mut [u8]> {
    let content = verified(it)?;
    Key::new(&it.own, &it.peer).decrypt(&mut it.work[content]).ok()
}

fn nip44(it: &mut Workbench) -> Option<&mut [u8]> {
    let content = verified(it)?;
    Conversation::new(&it.own, &it.peer).open(&mut it.work[content]).ok()
}

/// Returns true if the event is refused after a change of its time.
fn forgery_is_refused(it: &mut Workbench) -> bool {
    it.restore();
    let digits = b"1234567890";
    let place = it.work.windows(digits.len()).position(|part| part == digits);
    let Some(place) = place else { return false };
    it.work[place] = b'2';
    verified(it).is_none()
}
