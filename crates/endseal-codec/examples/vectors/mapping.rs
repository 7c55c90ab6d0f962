//! The JSON mapping of Protocol Buffers, computed only from the bytes and the contract.

use endseal_codec::contract::{self, FieldContract, Presence, Type};
use serde_json::{Map, Value, json};

/// Returns the value of an encoding of message `name`. Unknown fields are skipped.
pub(crate) fn value(name: &str, mut bytes: &[u8]) -> Value {
    let messages = contract::messages();
    let fields = &messages.iter().find(|message| message.name == name).unwrap().fields;
    let mut object = Map::new();
    while !bytes.is_empty() {
        let (number, wire, number_value, payload) = field(&mut bytes);
        let Some(field) = fields.iter().find(|field| u64::from(field.number) == number) else {
            continue;
        };
        let wanted = if number_value.is_some() { 0 } else { 2 };
        assert_eq!(wire, wanted, "{} is of another type", field.name);
        add(&mut object, field, number_value.unwrap_or(0), payload);
    }
    Value::Object(object)
}

fn add(object: &mut Map<String, Value>, field: &FieldContract, number: u64, payload: &[u8]) {
    let key = camel(field.name);
    if let Type::Map { .. } = field.r#type {
        let (mut name, mut content) = (String::new(), String::new());
        let mut rest = payload;
        while !rest.is_empty() {
            match self::field(&mut rest) {
                (1, _, _, text) => name = String::from_utf8(text.to_vec()).unwrap(),
                (2, _, _, bytes) => content = base64(bytes),
                _ => {}
            }
        }
        let map = object.entry(key).or_insert_with(|| json!({}));
        map.as_object_mut().unwrap().insert(name, json!(content));
        return;
    }
    let value = match field.r#type {
        Type::Bytes { .. } => json!(base64(payload)),
        Type::String { .. } => json!(String::from_utf8(payload.to_vec()).unwrap()),
        Type::Uint64 => json!(number.to_string()),
        Type::Uint32 => json!(number),
        Type::Bool => json!(number == 1),
        Type::Enum { values, .. } => {
            let named = values.iter().find(|(_, value)| u64::from(*value) == number);
            named.map_or(json!(number), |(name, _)| json!(name))
        }
        Type::Message { name } => value(name, payload),
        _ => panic!("{} is of an unknown type", field.name),
    };
    match field.presence {
        Presence::Repeated { .. } => {
            let list = object.entry(key).or_insert_with(|| json!([]));
            list.as_array_mut().unwrap().push(value);
        }
        // A field without presence has its default value, which JSON omits.
        Presence::Implicit if number == 0 && payload.is_empty() => {}
        _ => assert_eq!(object.insert(key, value), None),
    }
}

/// Splits off a field: number, wire type, and the value of that wire type.
fn field<'a>(bytes: &mut &'a [u8]) -> (u64, u64, Option<u64>, &'a [u8]) {
    let tag = varint(bytes);
    let (number, payload): (_, &[u8]) = match tag & 7 {
        0 => (Some(varint(bytes)), &[]),
        1 => (None, bytes.split_off(..8).unwrap()),
        2 => {
            let len = usize::try_from(varint(bytes)).unwrap();
            (None, bytes.split_off(..len).unwrap())
        }
        5 => (None, bytes.split_off(..4).unwrap()),
        other => panic!("wire type {other}"),
    };
    (tag >> 3, tag & 7, number, payload)
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let len = bytes.iter().position(|byte| *byte < 0x80).unwrap() + 1;
    let groups = bytes.split_off(..len).unwrap();
    groups.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (first, rest) = part.split_at(1);
        out.push_str(&first.to_uppercase());
        out.push_str(rest);
    }
    out
}

/// Encodes Base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_u32, |bits, i| bits << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let sextet = bits >> (18 - 6 * i) & 63;
            out.push(if i <= chunk.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    out
}
