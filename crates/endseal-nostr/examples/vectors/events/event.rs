//! Cases of events, rumors and templates.

use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::Text;
use endseal_nostr::key::SecretKey;
use serde_json::{Value, json};

use super::published;
use super::{accepted, hex, public_key, refused, signing_key};

pub(super) fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    for json in published::EVENTS {
        cases.push(event("printed in NIP-59", json));
    }
    own(&mut cases);
    forms(&mut cases);
    malformed_json(&mut cases);
    malformed_members(&mut cases);
    not_authentic(&mut cases);
    cases
}

/// Returns a valid event with its members and its one written form.
fn event(comment: &str, json: &str) -> Value {
    let event = Event::parse(json.as_bytes()).expect("a valid event");
    event.verify().expect("an authentic event");
    let tags: Vec<Vec<String>> =
        event.tags.iter().map(|tag| tag.values().map(|text| text.to_string()).collect()).collect();
    let mut out = vec![0; 2 * json.len() + 500];
    let written = str::from_utf8(event.write(&mut out).expect("it fits")).expect("it is UTF-8");
    let fields = json!({
        "id": hex(&event.id),
        "pubkey": hex(&event.pubkey),
        "created_at": event.created_at,
        "kind": event.kind,
        "tags": tags,
        "content": event.content.to_string(),
        "written": written,
    });
    accepted("event", comment, json, fields)
}

fn signed(created_at: u64, kind: u16, tags: &[&[&str]], content: &str) -> String {
    let template = Template {
        pubkey: None,
        created_at,
        kind,
        tags: Tags::List(tags),
        content: Text::Plain(content),
    };
    let event = template.sign(&signing_key(), &[0; 32]).expect("it names no author");
    let mut out = vec![0; 10_000];
    let written = event.write(&mut out).expect("it fits");
    str::from_utf8(written).expect("it is UTF-8").to_owned()
}

/// Returns the event that the refused ones are derived from.
fn plain() -> String {
    signed(1_700_000_000, 1, &[&["t", "a"]], "hello")
}

fn own(cases: &mut Vec<Value>) {
    let controls: String =
        (0..0x20).chain([0x7f, 0x80, 0x2028]).filter_map(char::from_u32).collect();
    let key = public_key();
    for (comment, text) in [
        ("a note", plain()),
        ("the least", signed(0, 0, &[], "")),
        ("the greatest numbers", signed((1 << 53) - 1, 65_535, &[], "x")),
        ("all control characters", signed(1, 1, &[&[&controls]], &controls)),
        ("escapes and characters of four bytes", signed(1, 1, &[&["t", "\"\\/"]], "é\"\\/😀")),
        ("tags of one text and of empty texts", signed(1, 1, &[&["-"], &["", ""]], "")),
        ("a request of NIP-46", signed(1_714_078_911, 24_133, &[&["p", &key]], "AgAA")),
    ] {
        cases.push(event(comment, &text));
    }
}

/// Adds other JSON forms of the same events.
fn forms(cases: &mut Vec<Value>) {
    let plain = plain();
    let spaced = plain.replace(',', " ,\n").replace(':', " :\t").replace('[', "[ ");
    let reversed = {
        let value: Value = serde_json::from_str(&plain).expect("it is JSON");
        let mut members: Vec<_> = value
            .as_object()
            .expect("it is an object")
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        members.reverse();
        format!("{{{}}}", members.join(","))
    };
    let members: String = (0..25).map(|i| format!(",\"x{i}\":{i}")).collect();
    for (comment, json) in [
        ("white space", spaced),
        ("members in another order", reversed),
        ("escapes that need not be", plain.replace("hello", r"h\u0065ll\u006F")),
        ("an escaped name", plain.replace("\"kind\"", "\"k\\u0069nd\"")),
        ("a member of another name", plain.replace("{\"id\"", "{\"x\":[{\"a\":null}],\"id\"")),
        ("32 members", plain.replace('}', &format!("{members}}}"))),
    ] {
        cases.push(event(comment, &json));
    }
    let slashed = signed(1, 1, &[], "/😀\u{1f}");
    let other =
        slashed.replace('/', "\\/").replace('😀', "\\ud83d\\ude00").replace("\\u001f", "\\u001F");
    cases.push(event("escapes in other forms", &other));

    let rumor =
        plain.split(",\"sig\"").next().map(|open| format!("{open}}}")).expect("it is signed");
    cases.push(accepted("rumor", "an unsigned event", rumor.clone(), json!({"written": rumor})));
    let template = r#"{"kind":1,"content":"Hello","tags":[],"created_at":1714078911}"#;
    let id = Template::parse(template.as_bytes()).expect("valid").id(&[0; 32]);
    let fields = |pubkey: Value| json!({"id_of_zero": hex(&id), "pubkey": pubkey});
    cases.push(accepted("template", "example of NIP-46", template, fields(Value::Null)));
    let emptied = template.replace('{', r#"{"id":"","sig":null,"pubkey":"","#);
    cases.push(accepted("template", "empty members", emptied, fields(Value::Null)));
    let named = template.replace('{', &format!("{{\"pubkey\":\"{}\",", public_key()));
    cases.push(accepted("template", "an author", named.clone(), fields(public_key().into())));
    for (form, expect, comment, json) in [
        ("rumor", "signed", "a signed rumor", plain.clone()),
        ("rumor", "signed", "an empty signature", rumor.replace('}', ",\"sig\":\"\"}")),
        ("rumor", "missing", "no id", rumor.replace("\"id\"", "\"ID\"")),
        ("rumor", "authentication", "another content", rumor.replace("hello", "hullo")),
        ("template", "missing", "no time", template.replace("created_at", "time")),
        ("template", "hex", "a short author", named.replace("\"pubkey\":\"", "\"pubkey\":\"0")),
        (
            "template",
            "unexpected",
            "an author that is null",
            template.replace('{', "{\"pubkey\":null,"),
        ),
    ] {
        cases.push(refused(form, expect, comment, json));
    }
}

fn malformed_json(cases: &mut Vec<Value>) {
    let plain = plain();
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let with = |member: &str| plain.replace("{\"id\"", &format!("{{{member},\"id\""));
    let members: String = (0..26).map(|i| format!(",\"x{i}\":{i}")).collect();
    for (expect, comment, json) in [
        ("unexpected", "empty", String::new()),
        ("unexpected", "cut", plain[..plain.len() - 1].to_owned()),
        ("unexpected", "an array", format!("[{plain}]")),
        ("unexpected", "null", "null".to_owned()),
        ("unexpected", "a comma before the end", plain.replace('}', ",}")),
        ("unexpected", "a name without quotes", plain.replace("\"kind\"", "kind")),
        ("unexpected", "a byte order mark", format!("\u{feff}{plain}")),
        ("unexpected", "a line end in a string", plain.replace("hello", "hel\nlo")),
        ("unexpected", "an unknown escape", plain.replace("hello", "hel\\x6co")),
        ("unexpected", "an escape that is cut", plain.replace("hello", "hello\\u12")),
        ("trailing", "a second value", format!("{plain}{plain}")),
        ("trailing", "a byte 0", format!("{plain}\0")),
        ("duplicate", "two contents", plain.replace('}', ",\"content\":\"x\"}")),
        ("duplicate", "two equal kinds", plain.replace('}', ",\"kind\":1}")),
        ("duplicate", "a name that is escaped", plain.replace('}', ",\"\\u0069d\":\"\"}")),
        ("duplicate", "two members of another name", with("\"x\":1,\"x\":2")),
        ("members", "33 members", plain.replace('}', &format!("{members}}}"))),
        ("depth", "nine arrays in each other", with(&format!("\"x\":{}", deep(8)))),
        ("depth", "a bomb", with(&format!("\"x\":{}", "[".repeat(2_000)))),
        ("depth", "a bomb of objects", with(&format!("\"x\":{}", "{\"a\":".repeat(500)))),
        ("surrogate", "a high surrogate", plain.replace("hello", "\\ud800")),
        ("surrogate", "a low surrogate", plain.replace("hello", "\\udc00x")),
        ("surrogate", "two high surrogates", plain.replace("hello", "\\ud83d\\ud83d")),
        ("surrogate", "in a tag", plain.replace("\"a\"", "\"\\udfff\"")),
        ("surrogate", "in a member of another name", with("\"x\":\"\\ud800\"")),
    ] {
        cases.push(refused("event", expect, comment, json));
    }
    for (comment, bytes) in [
        ("not UTF-8", &b"\xff"[..]),
        ("an overlong form", b"\xc0\xaf"),
        ("an encoded surrogate", b"\xed\xa0\x80"),
    ] {
        let (head, tail) = plain.split_once("hello").expect("it has a content");
        let input = [head.as_bytes(), bytes, tail.as_bytes()].concat();
        let mut case = refused("event", "utf8", comment, Value::Null);
        case["input_hex"] = hex(&input).into();
        cases.push(case);
    }
}

fn malformed_members(cases: &mut Vec<Value>) {
    let plain = plain();
    let key = public_key();
    for name in ["id", "pubkey", "created_at", "kind", "tags", "content", "sig"] {
        let json = plain.replace(&format!("\"{name}\""), &format!("\"{name}_\""));
        cases.push(refused("event", "missing", &format!("no {name}"), json));
    }
    for (expect, comment, from, to) in [
        ("hex", "a key in upper case", key.as_str(), key.to_uppercase()),
        ("hex", "a key of 62 digits", &key, key[2..].to_owned()),
        ("hex", "a key of 66 digits", &key, format!("{key}00")),
        ("hex", "an empty key", &key, String::new()),
        ("hex", "a key with an escaped digit", &key, format!("\\u003{}{}", &key[..1], &key[1..])),
        ("unexpected", "a key that is a number", &format!("\"{key}\""), "1".to_owned()),
        ("unexpected", "a content that is null", "\"hello\"", "null".to_owned()),
        ("unexpected", "a content that is an object", "\"hello\"", "{}".to_owned()),
        ("unexpected", "a kind that is a string", "\"kind\":1", "\"kind\":\"1\"".to_owned()),
        ("unexpected", "a kind with a leading zero", "\"kind\":1", "\"kind\":01".to_owned()),
        ("integer", "kind 65,536", "\"kind\":1", "\"kind\":65536".to_owned()),
        ("integer", "a negative kind", "\"kind\":1", "\"kind\":-1".to_owned()),
        ("integer", "a kind with a fraction", "\"kind\":1", "\"kind\":1.0".to_owned()),
        ("integer", "a kind with an exponent", "\"kind\":1", "\"kind\":1e0".to_owned()),
        ("integer", "a time with a fraction", "1700000000", "1700000000.5".to_owned()),
        ("integer", "a time of minus zero", "1700000000", "-0".to_owned()),
        ("integer", "a time of 2^53", "1700000000", (1_u64 << 53).to_string()),
        ("integer", "a time beyond 64 bits", "1700000000", "99999999999999999999".to_owned()),
        ("unexpected", "tags that are an object", "[[\"t\",\"a\"]]", "{}".to_owned()),
        ("unexpected", "a tag that is a string", "[[\"t\",\"a\"]]", "[\"t\"]".to_owned()),
        ("unexpected", "a tag without texts", "[[\"t\",\"a\"]]", "[[]]".to_owned()),
        ("unexpected", "a tag with a number", "[[\"t\",\"a\"]]", "[[\"t\",1]]".to_owned()),
        ("unexpected", "a tag with null", "[[\"t\",\"a\"]]", "[[\"t\",null]]".to_owned()),
        ("unexpected", "a tag within a tag", "[[\"t\",\"a\"]]", "[[\"t\",[\"a\"]]]".to_owned()),
    ] {
        assert!(plain.contains(from), "{comment}");
        cases.push(refused("event", expect, comment, plain.replace(from, &to)));
    }
}

fn not_authentic(cases: &mut Vec<Value>) {
    let plain = plain();
    let event = Event::parse(plain.as_bytes()).expect("a valid event");
    let written = |event: Event<'_>| {
        let mut out = [0; 1_000];
        str::from_utf8(event.write(&mut out).expect("it fits")).expect("UTF-8").to_owned()
    };
    let changed = |change: fn(&mut Event<'_>)| {
        let mut event = event;
        change(&mut event);
        written(event)
    };
    // An event with a signature and the right id, but for another key.
    let renamed = |pubkey: [u8; 32]| {
        let id = event.rumor().template().id(&pubkey);
        written(Event { id, pubkey, sig: signing_key().sign(&id, &[0; 32]), ..event })
    };
    let off_curve = super::key::off_curve();
    let other = SecretKey::from_bytes(&[4; 32]).expect("in range").public_key().to_bytes();
    for (comment, json) in [
        ("another content", changed(|event| event.content = "hullo".into())),
        ("another time", changed(|event| event.created_at += 1)),
        ("another kind", changed(|event| event.kind = 7)),
        ("other tags", changed(|event| event.tags = Tags::NONE)),
        ("another id", changed(|event| event.id[31] ^= 1)),
        ("another signature: R", changed(|event| event.sig[0] ^= 1)),
        ("another signature: s", changed(|event| event.sig[63] ^= 1)),
        ("a signature of zeros", changed(|event| event.sig = [0; 64])),
        (
            "s is the order of the group",
            changed(|event| {
                event.sig[32..].copy_from_slice(&super::key::N);
            }),
        ),
        ("the key of another", renamed(other)),
        ("a key off the curve", renamed(off_curve)),
        ("a key of zeros", renamed([0; 32])),
        ("the right signature, but the id is that of another content", {
            let template = Template { content: "hullo".into(), ..event.rumor().template() };
            let other = template.sign(&signing_key(), &[0; 32]).expect("the same author");
            written(Event { content: event.content, ..other })
        }),
    ] {
        cases.push(refused("event", "authentication", comment, json));
    }
}
