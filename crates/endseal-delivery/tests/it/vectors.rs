//! Runs the vectors in `vectors/delivery/`.

use std::fs;
use std::path::Path;

use endseal_codec::Codec as _;
use endseal_codec::frame::{ReplayWindow, Replayed};
use endseal_codec::hub::{AnswerView, HubAnswer};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, Kind, RegistrationState};
use endseal_delivery::{
    MembersDigest, MessageId, RecoveryProof, Targets, payload_limits, position_after,
};
use endseal_keyring::{AddressNote, OpenAddressNoteError};
use serde_json::{Value, json};

/// Outputs of a vector, or the class of its error.
type Found = Result<Vec<(&'static str, Value)>, &'static str>;

#[test]
fn every_vector_is_read_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/delivery");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let found = read(&vector);
        assert_eq!(vector["expect"], found.as_ref().err().copied().unwrap_or("ok"), "{path:?}");
        for (field, value) in found.iter().flatten() {
            assert_eq!(&vector[field], value, "{field} of {}", path.display());
        }
        counts[usize::from(found.is_ok())] += 1;
    }
    assert!(counts[0] > 15 && counts[1] > 20, "{counts:?}");
}

fn read(vector: &Value) -> Found {
    match text(&vector["kind"]) {
        "request" => request(vector),
        "answer" => {
            let bytes = hex(&vector["bytes"]);
            let answer = HubAnswer::view(&bytes, payload_limits()).map_err(|_| "answer")?;
            Ok(vec![("member", json!(name(&answer.answer)))])
        }
        "targets" => {
            Targets::read(&hex(&vector["targets"])).map_err(|_| "targets")?;
            Ok(Vec::new())
        }
        "members" => {
            let members = hex(&vector["members"]);
            let (ids, _) = members.as_chunks::<32>();
            let peers: Vec<_> = ids.iter().map(PeerId::from_bytes).collect();
            let digest = MembersDigest::of(&peers);
            let digest: String = digest.as_bytes().iter().map(|it| format!("{it:02x}")).collect();
            Ok(vec![("digest", json!(digest))])
        }
        "id" => {
            let sender = PeerId::from_bytes(&hex(&vector["sender"]).try_into().unwrap());
            let id = MessageId::of(&sender, number(&vector["sequence"]));
            let id: String = id.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(vec![("id", json!(id))])
        }
        "window" => {
            let mut window = ReplayWindow::new();
            let verdicts = text(&vector["sequences"]).split(' ');
            let last = verdicts.map(|it| window.accept(it.parse().unwrap())).last().unwrap();
            last.map(|()| Vec::new()).map_err(|refusal| match refusal {
                Replayed::Seen => "seen",
                Replayed::Old => "old",
            })
        }
        "recovery" => {
            let field = |name: &str| hex(&vector[name]);
            let peer = |name| PeerId::from_bytes(&field(name).try_into().unwrap());
            let proof = RecoveryProof::from_bytes(&field("signature").try_into().unwrap());
            let identity = field("identity").try_into().unwrap();
            match proof.verify(&identity, &peer("hub"), &peer("peer")) {
                true => Ok(Vec::new()),
                false => Err("certificate"),
            }
        }
        "address" => {
            let hub = PeerId::from_bytes(&hex(&vector["hub"]).try_into().unwrap());
            let note = AddressNote::open(&hex(&vector["bytes"]), &hub);
            let note = note.map_err(|error| match error {
                OpenAddressNoteError::Version => "version",
                OpenAddressNoteError::Length => "length",
                OpenAddressNoteError::Key => "key",
                OpenAddressNoteError::Addresses => "addresses",
                OpenAddressNoteError::Signature => "signature",
                other => panic!("{other:?}"),
            })?;
            let time = json!(note.time().to_string());
            Ok(vec![("time", time), ("addresses", json!(note.addresses()))])
        }
        "position" => {
            let next = position_after(number(&vector["last"]), number(&vector["now"]));
            Ok(vec![("next", json!(next.unwrap().to_string()))])
        }
        other => panic!("{other}"),
    }
}

fn request(vector: &Value) -> Found {
    let (bytes, peer) = (hex(&vector["bytes"]), hex(&vector["peer"]).try_into().unwrap());
    let mut exchange = Exchange::new();
    match exchange.request(&bytes, &PeerId::from_bytes(&peer), RegistrationState::Registered) {
        Action::Refuse(code) | Action::RefuseFrame(_, code) => Err(match code.value() {
            1 => "request",
            7 => "frame",
            9 => "targets",
            other => panic!("{other}"),
        }),
        _ => Ok(vec![(
            "member",
            json!(match exchange.kind().unwrap() {
                Kind::Hello => "hello",
                Kind::Register => "register",
                Kind::Put => "put",
                Kind::Subscribe => "subscribe",
                Kind::Find => "find",
                Kind::Publish => "publish",
                Kind::Take => "take",
                Kind::Recover => "recover",
            }),
        )]),
    }
}

fn name(answer: &AnswerView<'_>) -> &'static str {
    match answer {
        AnswerView::Welcome(_) => "welcome",
        AnswerView::Stored(_) => "stored",
        AnswerView::Refused(_) => "refused",
        AnswerView::Deliver(_) => "deliver",
        AnswerView::CaughtUp(_) => "caught_up",
        AnswerView::Gap(_) => "gap",
        AnswerView::Person(_) => "person",
        AnswerView::Prekey(_) => "prekey",
        other => panic!("{other:?}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    text(value).parse().unwrap()
}

fn hex(value: &Value) -> Vec<u8> {
    let (pairs, []) = text(value).as_bytes().as_chunks::<2>() else { panic!("{value}") };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| byte(pair).unwrap()).collect()
}
