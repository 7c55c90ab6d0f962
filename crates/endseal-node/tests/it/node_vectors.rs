//! The vectors of docs/spec/node.md, through the readers of payloads, texts and records.

use std::fs;
use std::path::Path;

use endseal_codec::ReceiptKind;
use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::Address;
use endseal_node::messages::{
    Conversation, HistoryRow, Membership, Payload, PayloadKind, Problem, RuleNote, Text,
    TextReceipt,
};
use endseal_testing::hex;
use serde_json::Value;

/// Outputs of a vector by name, or the class of its refusal.
type Found = Result<Vec<(&'static str, String)>, &'static str>;

#[test]
fn every_vector_is_read_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/node");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let (inputs, found) = read(&vector);
        assert_eq!(vector["expect"], found.as_ref().err().copied().unwrap_or("ok"), "{path:?}");
        for (field, value) in found.iter().flatten() {
            assert_eq!(&vector[field], value, "{field} of {}", path.display());
        }
        let fields = 3 + inputs + found.as_ref().map_or(0, Vec::len);
        assert_eq!(vector.as_object().unwrap().len(), fields, "fields of {}", path.display());
        counts[usize::from(found.is_ok())] += 1;
    }
    assert_eq!(counts, [118, 41], "refusals and successes");
}

/// Returns the number of inputs of the kind, and the outputs.
fn read(vector: &Value) -> (usize, Found) {
    match text(vector, "kind") {
        "payload" => (1, payload(vector).ok_or("frame")),
        "text" => (3, said(vector).ok_or("text")),
        "receipt" => (3, receipt(ReceiptKind::DELIVERED, vector).ok_or("receipt")),
        "read-mark" => (3, receipt(ReceiptKind::READ, vector).ok_or("receipt")),
        "rules" => (2, rules(vector).ok_or("rules")),
        "hub" => (2, hub(vector).ok_or("record")),
        "history" => (2, row(vector).ok_or("record")),
        "problem" => (2, problem(vector).ok_or("record")),
        other => panic!("{other}"),
    }
}

type Outputs = Vec<(&'static str, String)>;

fn payload(vector: &Value) -> Option<Outputs> {
    let bytes = bytes(vector, "bytes");
    let payload = Payload::read(&bytes)?;
    let content = match payload.kind {
        PayloadKind::Message => "message",
        PayloadKind::Welcome => "welcome",
    };
    Some(vec![
        ("content", content.to_owned()),
        ("group", hex(payload.group)),
        ("body", hex(payload.body)),
    ])
}

fn said(vector: &Value) -> Option<Outputs> {
    let key = |field| PublicKey::from_bytes(&bytes(vector, field).try_into().unwrap()).unwrap();
    let plaintext = bytes(vector, "bytes");
    let text = Text::read(&plaintext, &key("sender"), &Conversation::Person(key("receiver")))?;
    Some(vec![("text", text.text.to_owned()), ("time", text.time.to_string())])
}

fn rules(vector: &Value) -> Option<Outputs> {
    let own = PublicKey::from_bytes(&bytes(vector, "sender").try_into().unwrap()).unwrap();
    let note = RuleNote::read(&bytes(vector, "bytes"), &own)?;
    let rules: Vec<_> = note.rules().map(|it| hex(&it)).collect();
    Some(vec![("rules", rules.join(" "))])
}

fn receipt(kind: ReceiptKind, vector: &Value) -> Option<Outputs> {
    let key = |field| PublicKey::from_bytes(&bytes(vector, field).try_into().unwrap()).unwrap();
    let receipt =
        TextReceipt::read(kind, &bytes(vector, "bytes"), &key("sender"), &key("receiver"))?;
    let runs = receipt.runs().map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    let runs = runs.collect::<Vec<_>>().join(" ");
    Some(vec![("series", hex(&receipt.series())), ("runs", runs)])
}

fn hub(vector: &Value) -> Option<Outputs> {
    assert_eq!(text(vector, "name"), "");
    let membership = Membership::read(&bytes(vector, "value"))?;
    Some(vec![
        ("peer", hex(membership.hub.as_bytes())),
        ("sequence", membership.sequence.to_string()),
        ("time", membership.time.to_string()),
        ("addresses", membership.addresses),
    ])
}

fn row(vector: &Value) -> Option<Outputs> {
    let row = HistoryRow::read(&bytes(vector, "name"), &bytes(vector, "value"))?;
    let mut outputs = address(&row.writer);
    outputs.extend([
        ("number", row.number.to_string()),
        ("direction", u8::from(!row.is_sent).to_string()),
        ("time", row.time.to_string()),
        ("plaintext", hex(&row.plaintext)),
    ]);
    Some(outputs)
}

fn problem(vector: &Value) -> Option<Outputs> {
    let problem = Problem::read(&bytes(vector, "name"), &bytes(vector, "value"))?;
    Some(vec![
        ("number", problem.number.to_string()),
        ("time", problem.time.to_string()),
        ("position", problem.position.to_string()),
        ("peer", hex(problem.peer.as_bytes())),
        ("class", problem.class.to_string()),
    ])
}

fn address(address: &Address) -> Outputs {
    vec![
        ("identity", hex(address.identity.as_bytes())),
        ("device", address.device.number().to_string()),
    ]
}

fn text<'v>(vector: &'v Value, field: &str) -> &'v str {
    vector[field].as_str().unwrap()
}

pub(crate) fn bytes(vector: &Value, field: &str) -> Vec<u8> {
    let (pairs, []) = text(vector, field).as_bytes().as_chunks::<2>() else { panic!("{field}") };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| byte(pair).unwrap()).collect()
}
