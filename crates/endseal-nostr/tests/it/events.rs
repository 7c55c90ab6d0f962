//! Events beyond the vectors: every changed bit, random contents, sizes.

use endseal_nostr::event::{Event, ParseError, Tags, Template};
use endseal_nostr::json::{JsonError, Text};
use endseal_testing::SplitMix64;

use crate::{hex, signing_key, utf8};

fn template(content: &str) -> Template<'_> {
    Template {
        pubkey: None,
        created_at: 1_700_000_000,
        kind: 1,
        tags: Tags::List(&[&["p", "x\n"], &["-"]]),
        content: Text::Plain(content),
    }
}

#[test]
fn every_bit_of_id_key_and_signature_matters() {
    let event = template("hello").sign(&signing_key(), &[0; 32]).unwrap();
    assert_eq!(event.verify().as_ref(), Ok(signing_key().public_key()));
    for bit in 0..256 {
        let flip = |mut bytes: [u8; 32]| {
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        };
        let id = Event { id: flip(event.id), ..event };
        assert!(id.verify().is_err());
        let pubkey = Event { pubkey: flip(event.pubkey), ..event };
        assert!(pubkey.verify().is_err());
    }
    for bit in 0..512 {
        let mut changed = event;
        changed.sig[bit / 8] ^= 1 << (bit % 8);
        assert!(changed.verify().is_err());
    }
}

#[test]
fn every_bit_of_the_json_is_seen() {
    let event = template("hello").sign(&signing_key(), &[0; 32]).unwrap();
    let mut out = [0; 600];
    let json = event.write(&mut out).unwrap().to_vec();
    let mut refused = 0;
    for bit in 0..8 * json.len() {
        let mut changed = json.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        match Event::parse(&changed) {
            Ok(other) => assert!(other.verify().is_err(), "{}", utf8(&changed)),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > json.len());
}

#[test]
fn every_cut_is_refused() {
    let event = template("a\n\"é").sign(&signing_key(), &[0; 32]).unwrap();
    let mut out = [0; 600];
    let json = event.write(&mut out).unwrap();
    assert_eq!(Event::parse(json), Ok(event));
    for len in 0..json.len() {
        assert!(matches!(
            Event::parse(&json[..len]),
            Err(ParseError::Json(JsonError::Unexpected | JsonError::Utf8))
        ));
    }
}

#[test]
fn a_template_of_another_author_is_not_signed() {
    let key = signing_key();
    let own = Template { pubkey: Some(key.public_key().to_bytes()), ..template("x") };
    assert!(own.sign(&key, &[0; 32]).unwrap().verify().is_ok());
    let other = Template { pubkey: Some([7; 32]), ..own };
    assert!(other.sign(&key, &[0; 32]).is_err());
}

/// Computes the id by `serde_json`, as other libraries do.
fn id_by_serde(event: &Event<'_>) -> String {
    let tags: Vec<Vec<String>> =
        event.tags.iter().map(|tag| tag.values().map(|it| it.to_string()).collect()).collect();
    let array = serde_json::json!([
        0,
        hex(&event.pubkey),
        event.created_at,
        event.kind,
        tags,
        event.content.to_string()
    ]);
    hex(&endseal_crypto::sha256::digest(array.to_string().as_bytes()))
}

#[test]
fn ids_are_those_of_serde_json_for_random_contents() {
    let mut random = SplitMix64::new(1);
    for _ in 0..200 {
        let len = random.below(60_usize);
        let text: String = (0..len)
            .map(|_| match random.below(4_u8) {
                0 => char::from(random.below(0x80_u8)),
                1 => *[b'"', b'\\', b'/', 0x7f].map(char::from).get(random.below(4_usize)).unwrap(),
                2 => char::from_u32(random.below(0xd800_u32)).unwrap(),
                _ => char::from_u32(0x1_0000 + random.below(0x10_0000_u32)).unwrap(),
            })
            .collect();
        let tag: &[&str] = &["t", &text];
        let tags: &[&[&str]] = &[tag, tag];
        let template = Template { tags: Tags::List(tags), ..template(&text) };
        let event = template.sign(&signing_key(), &[0; 32]).unwrap();
        assert_eq!(hex(&event.id), id_by_serde(&event));
        // The same event, written by serde_json in another form.
        let mut out = [0; 4_000];
        let written = event.write(&mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(written).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let escaped: String = pretty
            .chars()
            .map(|c| match c {
                '\u{80}'..='\u{ffff}' => format!("\\u{:04X}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        let parsed = Event::parse(escaped.as_bytes()).unwrap();
        assert_eq!(parsed, event);
        assert_eq!(parsed.rumor().verify_id(), Ok(()));
    }
}

#[test]
fn a_large_event_needs_one_pass_and_no_more_space() {
    let content = "0123456789abcde\n".repeat(65_536);
    let event = template(&content).sign(&signing_key(), &[0; 32]).unwrap();
    let mut out = vec![0; content.len() * 2];
    let written = event.write(&mut out).unwrap();
    let len = written.len();
    let (parsed, place) = Event::parse_located(written).unwrap();
    assert!(parsed.verify().is_ok());
    assert_eq!(parsed.content.unescaped_len(), content.len());
    assert_eq!(place.len(), content.len() + 65_536);
    let mut small = vec![0xee; len - 1];
    assert_eq!(event.write(&mut small).unwrap_err().needed, len);
    assert!(small.iter().all(|byte| *byte == 0));
}

#[test]
fn mutants_of_an_event_are_refused_or_not_authentic() {
    let event = template("hello \"you\"\n").sign(&signing_key(), &[0; 32]).unwrap();
    let mut out = [0; 600];
    let json = event.write(&mut out).unwrap();
    let mut random = SplitMix64::new(2);
    let mut parsed = 0;
    for _ in 0..20_000 {
        let mutant = random.mutant(json);
        if let Ok(other) = Event::parse(&mutant) {
            parsed += 1;
            // An event that still verifies must be the same event in another form.
            assert_eq!(other.rumor().verify_id().is_ok(), other.rumor() == event.rumor());
        }
    }
    assert!(parsed > 100, "{parsed}");
}
