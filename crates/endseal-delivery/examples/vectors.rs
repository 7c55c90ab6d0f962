//! Writes the test vectors of docs/spec/delivery.md:
//! `cargo run -p endseal-delivery --example endseal-delivery-vectors -- vectors`.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

use std::env;
use std::path::{Path, PathBuf};

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{
    Acknowledge, Answer, By, CaughtUp, Code, Commit, Conversation, Credit, Deliver, Find, Gap,
    GapReason, Hello, HubAnswer, HubRequest, Person, Prekey, Publish, Put, Recover, Refused,
    Register, Request, Stored, Subscribe, Take, Welcome,
};
use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::{hash, label, mldsa65};
use endseal_delivery::{MessageId, RecoveryProof, payload_limits, stored_limits};
use endseal_keyring::AddressNote;
use endseal_testing::Vector;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    let dir = dir.join("delivery");
    requests(&dir);
    refused_requests(&dir);
    answers(&dir);
    refused_answers(&dir);
    ids(&dir);
    windows(&dir);
    positions(&dir);
    targets(&dir);
    members(&dir);
    recoveries(&dir);
    address_notes(&dir);
}

/// Address notes, as a node reads them.
fn address_notes(dir: &Path) {
    let key = mldsa_key(1);
    let hub = PeerId::of_spki(&key.public_key().to_spki());
    let sign = |key: &mldsa65::SigningKey, time, addresses: &[&str]| {
        let note = AddressNote::sign(key, time, addresses, &mut Repeated(9)).unwrap();
        note.as_bytes().to_vec()
    };
    // A note whose list `sign` refuses.
    let forced = |list: &[u8]| {
        let time = 1_790_000_000_000_u64.to_le_bytes();
        let message = [&[1][..], &time, list].concat();
        let context = label::DELIVERY_ADDRESS.as_str().as_bytes();
        let signature = key.sign(&message, context, &mut Repeated(9)).unwrap();
        let public = key.public_key().as_bytes();
        [&message[..9], public, signature.as_bytes(), list].concat()
    };
    let one = ["hub.example.org:4433"];
    let ok = sign(&key, 1_790_000_000_000, &one);
    let changed = |at: usize| {
        let mut bytes = ok.clone();
        bytes[at] ^= 1;
        bytes
    };
    let longest = format!("{}:4433", "h".repeat(250));
    for (name, comment, expect, bytes) in [
        ("ok", "one address", "ok", ok.clone()),
        ("four", "four addresses, the last time", "ok", {
            sign(&key, u64::MAX, &["a:1", "[2001:db8::1]:65535", "[fe80::1%eth0]:4433", "b:2"])
        }),
        ("longest", "255 bytes of addresses", "ok", sign(&key, 0, &[&longest])),
        ("version", "version 2", "version", [&[2][..], &ok[1..]].concat()),
        ("empty", "nothing", "length", Vec::new()),
        ("cut", "without the last byte of the signature", "length", {
            ok[..ok.len() - one[0].len() - 1].to_vec()
        }),
        ("too-long", "256 bytes of addresses", "length", {
            forced(format!("{}:4433", "h".repeat(251)).as_bytes())
        }),
        ("key", "another hub's note", "key", sign(&mldsa_key(2), 1_790_000_000_000, &one)),
        ("none", "no address", "addresses", forced(b"")),
        ("five", "five addresses", "addresses", forced(b"a:1 b:1 c:1 d:1 e:1")),
        ("port", "no port", "addresses", forced(b"hub.example.org")),
        ("port-0", "port 0", "addresses", forced(b"hub.example.org:0")),
        ("spaces", "two spaces", "addresses", forced(b"a:1  b:1")),
        ("control", "a line end in a host", "addresses", forced(b"a\nb:1")),
        ("utf-8", "a host that is no ASCII", "addresses", forced("h\u{fc}b:1".as_bytes())),
        ("time", "another time than the signed one", "signature", changed(1)),
        ("address", "another port than the signed one", "signature", changed(ok.len() - 1)),
        ("signature", "a changed bit of the signature", "signature", changed(2_000)),
    ] {
        let vector = Vector::new(&format!("address-{name}"), comment, expect)
            .with("kind", "address")
            .with_hex("hub", hub.as_bytes())
            .with_hex("bytes", &bytes);
        let vector = match AddressNote::open(&bytes, &hub) {
            Ok(note) => {
                vector.with("time", &note.time().to_string()).with("addresses", note.addresses())
            }
            Err(_) => vector,
        };
        vector.write(dir);
    }
}

fn mldsa_key(seed: u8) -> mldsa65::SigningKey {
    mldsa65::SigningKey::from_seed(mldsa65::Seed::from_bytes(&[seed; 32]))
}

/// A source of one byte, so that signatures are the same each time.
struct Repeated(u8);

impl Random for Repeated {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(self.0);
        Ok(())
    }
}

/// Digests of the members of groups.
fn members(dir: &Path) {
    let ids = [[1; 32], [2; 32], [0xff; 32]];
    for count in [1, 3] {
        let members = ids[..count].concat();
        Vector::new(&format!("members-{count}"), "the digest of a list of peer ids", "ok")
            .with("kind", "members")
            .with_hex("members", &members)
            .with_hex("digest", &hash::derive(label::DELIVERY_MEMBERS, &[&members]))
            .write(dir);
    }
}

/// Proofs of a root key, as a hub reads them.
fn recoveries(dir: &Path) {
    let root = SigningKey::from_seed(Seed::from_bytes(&[1; 32]));
    let other = SigningKey::from_seed(Seed::from_bytes(&[2; 32]));
    let (hub, peer) = (PeerId::from_bytes(&[3; 32]), PeerId::from_bytes(&[4; 32]));
    let another = PeerId::from_bytes(&[5; 32]);
    for (name, comment, expect, proof) in [
        ("ok", "a root for this hub and this peer", "ok", RecoveryProof::sign(&root, &hub, &peer)),
        ("key", "another key", "certificate", RecoveryProof::sign(&other, &hub, &peer)),
        ("hub", "for another hub", "certificate", RecoveryProof::sign(&root, &another, &peer)),
        ("peer", "for another peer", "certificate", RecoveryProof::sign(&root, &hub, &another)),
        ("exchanged", "hub and peer exchanged", "certificate", {
            RecoveryProof::sign(&root, &peer, &hub)
        }),
    ] {
        Vector::new(&format!("recovery-{name}"), comment, expect)
            .with("kind", "recovery")
            .with_hex("identity", root.public_key().as_bytes())
            .with_hex("hub", hub.as_bytes())
            .with_hex("peer", peer.as_bytes())
            .with_hex("signature", proof.as_bytes())
            .write(dir);
    }
}

fn sender() -> [u8; 32] {
    [7; 32]
}

fn frame() -> Vec<u8> {
    frame_of(3)
}

fn frame_of(sequence: u64) -> Vec<u8> {
    let ciphertext = [0xc3; 20].into();
    let message =
        SealedMessage { scheme: Scheme::PAIRWISE, ciphertext, ..SealedMessage::default() };
    let stamp = Stamp { sequence, timestamp: 1_790_000_000_000, sender: sender() };
    let sealed = Sealed::<Message>::from_message(message);
    StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap()
}

fn put(targets: &[u8], frame: &[u8]) -> Vec<u8> {
    let put = Put { targets: targets.into(), frame: frame.into(), conversation: None };
    request(Request::Put(put))
}

/// A frame for the members of a group, and perhaps a commit: its members and its welcome.
fn group_put(targets: &[u8], commit: Option<(&[u8], &[u8])>) -> Put {
    let commit = commit
        .map(|(members, welcome)| Commit { members: members.into(), welcome: welcome.into() });
    let conversation = Conversation { group: [0xc3; 16], epoch: 5, members: [0xd4; 32], commit };
    Put { targets: targets.into(), frame: frame().into(), conversation: Some(conversation) }
}

fn refused_put(targets: &[u8], commit: Option<(&[u8], &[u8])>) -> Vec<u8> {
    request(Request::Put(group_put(targets, commit)))
}

fn request(request: Request) -> Vec<u8> {
    HubRequest::from(request).to_vec(payload_limits()).unwrap()
}

/// Writes requests with the verdict of a hub that gets each as the first request of a registered
/// peer.
fn requests(dir: &Path) {
    let two = [[1; 32], [2; 32]].concat();
    let put = Put { targets: two.as_slice().into(), frame: frame().into(), conversation: None };
    for (name, comment, member) in [
        ("hello", "a greeting", Request::Hello(Hello { version: 1, ..Hello::default() })),
        (
            "hello-noted",
            "a greeting of a node that has an address note",
            Request::Hello(Hello { version: 1, address_time: 1_790_000_000_000 }),
        ),
        (
            "register",
            "a registration, whose fields are verified later",
            Request::Register(Register {
                token: Some([4; 32]),
                certificate: [5; 237].into(),
                person: (*b"endseal roster v1\n").into(),
            }),
        ),
        ("put", "a frame for two mailboxes", Request::Put(put)),
        ("put-group", "a frame for all members", Request::Put(group_put(&[], None))),
        ("put-member", "a frame for one member", Request::Put(group_put(&[1; 32], None))),
        (
            "put-commit",
            "a commit without new members",
            Request::Put(group_put(&[], Some((&two, &[])))),
        ),
        (
            "put-welcome",
            "a commit with a welcome",
            Request::Put(group_put(&[], Some((&two, &frame_of(4))))),
        ),
        (
            "subscribe",
            "everything behind a position",
            Request::Subscribe(Subscribe { after: 1_790_000_000_000_001, frames: 5_000, bytes: 9 }),
        ),
        ("find-identity", "a person", Request::Find(Find { by: By::Identity([6; 32]) })),
        ("find-peer", "the person of a device", Request::Find(Find { by: By::Peer([6; 32]) })),
        (
            "publish",
            "two prekeys and one of last resort",
            Request::Publish(Publish {
                prekeys: vec![[1; 343].into(), [2; 2_660].into()],
                last_resort: [3; 343].into(),
                ..Publish::default()
            }),
        ),
        ("take", "a prekey", Request::Take(Take { peer: [8; 32] })),
        (
            "register-known",
            "a registration without a token",
            Request::Register(Register {
                token: None,
                certificate: [5; 237].into(),
                person: (*b"endseal roster v1\n").into(),
            }),
        ),
        (
            "recover",
            "one's own person record, whose proof is verified later",
            Request::Recover(Recover { identity: [6; 32], signature: [7; 64].into() }),
        ),
    ] {
        Vector::new(&format!("request-{name}"), comment, "ok")
            .with("kind", "request")
            .with("member", name.split('-').next().unwrap_or_default())
            .with_hex("peer", &sender())
            .with_hex("bytes", &request(member))
            .write(dir);
    }
}

fn refused_requests(dir: &Path) {
    let one = [1; 32];
    let mut damaged = frame();
    damaged[70] ^= 1;
    for (name, comment, expect, bytes) in [
        ("empty", "nothing", "request", Vec::new()),
        ("two", "two requests in one", "request", {
            let one = request(Request::Take(Take { peer: [8; 32] }));
            [one, request(Request::Hello(Hello { version: 1, ..Hello::default() }))].concat()
        }),
        (
            "credit",
            "credit without a subscription",
            "request",
            request(Request::Credit(Credit { frames: 1, bytes: 1 })),
        ),
        (
            "acknowledge",
            "an acknowledgement without a subscription",
            "request",
            request(Request::Acknowledge(Acknowledge { position: 1 })),
        ),
        ("frame-damaged", "a changed bit of the frame", "frame", put(&one, &damaged)),
        ("frame-cut", "a frame that is cut", "frame", put(&one, &frame()[..80])),
        ("targets-cut", "63 bytes of targets", "targets", put(&[1; 63], &frame())),
        ("targets-twice", "one mailbox twice", "targets", put(&[1; 64], &frame())),
        ("none", "no mailbox and no group", "targets", put(&[], &frame())),
        ("group-twice", "one member twice", "targets", refused_put(&[1; 64], None)),
        ("commit-targets", "a member that is replaced without a welcome", "targets", {
            refused_put(&one, Some((&one, &[])))
        }),
        ("commit-order", "members in descending order", "targets", {
            refused_put(&[], Some((&[[2; 32], [1; 32]].concat(), &[])))
        }),
        ("commit-cut", "33 bytes of members", "targets", {
            refused_put(&[], Some((&[1; 33], &[])))
        }),
        ("welcome-sequence", "a welcome with a gap before it", "frame", {
            refused_put(&[], Some((&one, &frame_of(5))))
        }),
        ("welcome-cut", "a welcome that is cut", "frame", {
            refused_put(&[], Some((&one, &frame_of(4)[..80])))
        }),
    ] {
        Vector::new(&format!("request-{expect}-{name}"), comment, expect)
            .with("kind", "request")
            .with_hex("peer", &sender())
            .with_hex("bytes", &bytes)
            .write(dir);
    }
    Vector::new("request-frame-another-peer", "a frame of another peer", "frame")
        .with("kind", "request")
        .with_hex("peer", &[8; 32])
        .with_hex("bytes", &put(&one, &frame()))
        .write(dir);
}

fn answers(dir: &Path) {
    for (name, comment, member) in [
        (
            "welcome-noted",
            "a new address of the hub, whose signature is verified later",
            Answer::Welcome(Welcome {
                epoch: 1,
                digest: [3; 32],
                address_note: [1; 5_290].into(),
                ..Welcome::default()
            }),
        ),
        (
            "welcome",
            "what there is of a node",
            Answer::Welcome(Welcome {
                epoch: 2,
                digest: [3; 32],
                prekeys: 80,
                sequence: Some(7),
                waiting: 5_000,
                acknowledged: 1_790_000_000_000_001,
                published: 120,
                dropped: 3,
                ..Welcome::default()
            }),
        ),
        ("stored", "frames are durable", Answer::Stored(Stored { sequence: 9 })),
        (
            "refused",
            "two mailboxes are full",
            Answer::Refused(Refused {
                code: Code::FULL,
                sequence: Some(0),
                mailboxes: vec![[1; 32], [2; 32]],
                ..Refused::default()
            }),
        ),
        (
            "refused-epoch",
            "the group is in another epoch",
            Answer::Refused(Refused {
                code: Code::EPOCH,
                sequence: Some(3),
                epoch: 6,
                ..Refused::default()
            }),
        ),
        (
            "deliver",
            "a frame",
            Answer::Deliver(Deliver { position: 1_790_000_000_000_001, frame: frame().into() }),
        ),
        ("caught_up", "nothing is left", Answer::CaughtUp(CaughtUp { position: 5 })),
        (
            "gap",
            "three frames expired",
            Answer::Gap(Gap { count: 3, reason: GapReason::EXPIRED, position: 4 }),
        ),
        (
            "person",
            "a person with one device",
            Answer::Person(Person {
                person: (*b"endseal roster v1\n").into(),
                certificates: vec![[5; 237].into()],
            }),
        ),
        ("prekey", "a prekey", Answer::Prekey(Prekey { prekey: [6; 343].into() })),
    ] {
        let bytes = HubAnswer::from(member).to_vec(payload_limits()).unwrap();
        Vector::new(&format!("answer-{name}"), comment, "ok")
            .with("kind", "answer")
            .with("member", name.split('-').next().unwrap_or_default())
            .with_hex("bytes", &bytes)
            .write(dir);
    }
}

fn refused_answers(dir: &Path) {
    let stored = HubAnswer::from(Answer::Stored(Stored { sequence: 9 }));
    let stored = stored.to_vec(payload_limits()).unwrap();
    for (name, comment, bytes) in [
        ("empty", "nothing", Vec::new()),
        ("cut", "an answer that is cut", stored[..stored.len() - 1].to_vec()),
        ("two", "two answers in one", {
            let caught_up = HubAnswer::from(Answer::CaughtUp(CaughtUp { position: 1 }));
            [stored.clone(), caught_up.to_vec(payload_limits()).unwrap()].concat()
        }),
        ("unknown", "an answer that the contract does not have", vec![0x4a, 0]),
    ] {
        Vector::new(&format!("answer-refused-{name}"), comment, "answer")
            .with("kind", "answer")
            .with_hex("bytes", &bytes)
            .write(dir);
    }
}

fn ids(dir: &Path) {
    for (name, sequence) in [("first", 0), ("third", 2), ("last", u64::MAX)] {
        let id = MessageId::of(&PeerId::from_bytes(&sender()), sequence);
        Vector::new(&format!("id-{name}"), &format!("the {name} frame of a sender"), "ok")
            .with("kind", "id")
            .with_hex("sender", &sender())
            .with("sequence", &sequence.to_string())
            .with_hex("id", id.as_bytes())
            .write(dir);
    }
}

/// Writes sequences of numbers. The verdict is that on the last number.
fn windows(dir: &Path) {
    for (name, comment, expect, sequences) in [
        ("in-order", "one after the other", "ok", "0 1 2 3"),
        ("late", "1,024 behind the highest", "ok", "1024 0"),
        ("far-ahead", "the window jumps", "ok", "5 18446744073709551614"),
        ("after-jump", "a place that was used before the jump", "ok", "3 4099 4098 4097 3076"),
        ("last-number", "2^64 - 1", "ok", "7 18446744073709551615"),
        ("twice", "the highest again", "seen", "7 7"),
        ("twice-late", "an older one again", "seen", "7 9 8 7"),
        ("twice-last", "2^64 - 1 again", "seen", "18446744073709551615 18446744073709551615"),
        ("twice-far", "1,024 behind the highest, again", "seen", "0 1024 0"),
        ("old", "1,025 behind the highest", "old", "1025 0"),
        ("very-old", "long ago", "old", "18446744073709551614 1"),
    ] {
        Vector::new(&format!("window-{name}"), comment, expect)
            .with("kind", "window")
            .with("sequences", sequences)
            .write(dir);
    }
}

fn positions(dir: &Path) {
    for (name, comment, last, now, next) in [
        (
            "first",
            "the first of a mailbox",
            0,
            1_790_000_000_000_000_u64,
            1_790_000_000_000_000_u64,
        ),
        ("same", "in the same microsecond", 8, 8, 9),
        ("back", "the clock went back", 1_790_000_000_000_000, 5, 1_790_000_000_000_001),
    ] {
        Vector::new(&format!("position-{name}"), comment, "ok")
            .with("kind", "position")
            .with("last", &u64::to_string(&last))
            .with("now", &u64::to_string(&now))
            .with("next", &u64::to_string(&next))
            .write(dir);
    }
}

fn targets(dir: &Path) {
    let ids: Vec<u8> = (0..1_025_u16)
        .flat_map(|number| {
            let mut id = [0; 32];
            id[..2].copy_from_slice(&number.to_le_bytes());
            id
        })
        .collect();
    for (name, comment, expect, targets) in [
        ("most", "1,024 mailboxes", "ok", &ids[..32 * 1_024]),
        ("too-many", "1,025 mailboxes", "targets", &ids[..]),
        ("none", "no mailbox", "targets", &[]),
        ("cut", "a peer id of 31 bytes", "targets", &ids[..63]),
    ] {
        Vector::new(&format!("targets-{name}"), comment, expect)
            .with("kind", "targets")
            .with_hex("targets", targets)
            .write(dir);
    }
}
