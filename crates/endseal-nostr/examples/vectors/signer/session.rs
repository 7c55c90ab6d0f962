//! Cases of sessions: an event, the state before it, and the answer. Each step of the table has its
//! cases.
//!
//! Answers are built by hand here, because the functions that write them are what is tested.

use endseal_crypto::sha256;
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_nostr::policy::{Effect, Kinds, Rule, Subject, Usage};
use serde_json::{Value, json};

use super::rule::RULE;
use crate::events::{accepted, hex};

const NOW: u64 = 1_800_000_000;
const NONCE: [u8; 32] = [0x77; 32];
const KIND: u16 = 24_133;

pub(super) fn cases() -> Vec<Value> {
    let mut cases = Cases(Vec::new());
    digests(&mut cases.0);
    cases.events();
    cases.contents();
    cases.connections();
    cases.times();
    cases.states();
    cases.methods();
    cases.decisions();
    cases.executions();
    cases.0
}

fn signing_key(byte: u8) -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&[byte; 32]).expect("in range"))
}

fn user() -> SigningKey {
    signing_key(1)
}

fn transport() -> SigningKey {
    signing_key(2)
}

fn client() -> SigningKey {
    signing_key(3)
}

fn public(key: &SigningKey) -> String {
    hex(&key.public_key().to_bytes())
}

fn digests(cases: &mut Vec<Value>) {
    for (comment, request, texts) in [
        ("no parameters", r#"{"id":"1","method":"ping"}"#, &["1", "ping"][..]),
        ("an unknown method", r#"{"id":"é","method":"no","params":[""]}"#, &["é", "no", ""]),
        (
            "escapes, null and a fifth parameter",
            r#"{"params":["\u0061",null,"c","d","e"],"id":"\n","method":"connect"}"#,
            &["\n", "connect", "a", "", "c", "d"],
        ),
        (
            "parameters that are no texts",
            r#"{"id":"1","method":"ping","params":["a",{}]}"#,
            &["1", "ping"],
        ),
    ] {
        let digest = digest_of(texts);
        let fields = json!({
            "secret": hex(&[2; 32]),
            "digest": hex(&digest),
            "aux": hex(&sha256::hmac(&[2; 32], &[b"aux", &digest])),
        });
        cases.push(accepted("digest", comment, request, fields));
    }
}

/// An event of the client. Everything that a case does not change is valid.
struct Sent {
    author: SigningKey,
    kind: u16,
    created_at: u64,
    tags: Vec<[String; 2]>,
    content: String,
}

impl Sent {
    fn new(plaintext: &str) -> Self {
        let content = sealed(&client(), &transport(), plaintext, [0x55; 32]);
        let tags = vec![["p".to_owned(), public(&transport())]];
        Self { author: client(), kind: KIND, created_at: NOW, tags, content }
    }

    fn json(&self) -> String {
        let tags: Vec<Vec<&str>> =
            self.tags.iter().map(|tag| tag.iter().map(String::as_str).collect()).collect();
        let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
        let template = Template {
            pubkey: None,
            created_at: self.created_at,
            kind: self.kind,
            tags: Tags::List(&tags),
            content: self.content.as_str().into(),
        };
        let event = template.sign(&self.author, &[0; 32]).expect("no author is named");
        let mut out = vec![0; 1_000 + 2 * self.content.len()];
        let json = event.write(&mut out).expect("there is space");
        String::from_utf8(json.to_vec()).expect("texts")
    }
}

fn sealed(own: &SigningKey, peer: &SigningKey, plaintext: &str, nonce: [u8; 32]) -> String {
    let len = payload_len(plaintext.len(), Lengths::Extended).expect("a short text");
    let mut out = vec![0; len];
    Conversation::new(own.secret_key(), peer.public_key())
        .seal(plaintext.as_bytes(), &nonce, Lengths::Extended, &mut out)
        .expect("there is space")
        .to_owned()
}

fn encrypted(own: &SigningKey, peer: &SigningKey, plaintext: &str, iv: [u8; 16]) -> String {
    let mut out = vec![0; nip04::content_len(plaintext.len())];
    nip04::Key::new(own.secret_key(), peer.public_key())
        .encrypt(plaintext.as_bytes(), &iv, &mut out)
        .expect("there is space")
        .to_owned()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn request(method: &str, params: &[&str]) -> String {
    json!({"id": "r1", "method": method, "params": params}).to_string()
}

fn result(text: &str) -> String {
    format!("{{\"id\":\"r1\",\"result\":{}}}", quoted(text))
}

fn error(text: &str) -> String {
    format!("{{\"id\":\"r1\",\"error\":{}}}", quoted(text))
}

/// Returns the digest of a request with these texts.
fn digest_of(texts: &[&str]) -> [u8; 32] {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    sha256::digest(&bytes)
}

/// Returns the state of a paired app that may do everything, unless a case changes it.
fn state() -> Value {
    let rules = [
        RULE,
        Rule { number: 2, subject: Subject::Nip44Encrypt, kinds: Kinds::NONE, ..RULE },
        Rule { number: 3, subject: Subject::Nip44Decrypt, kinds: Kinds::NONE, ..RULE },
        Rule { number: 4, subject: Subject::Nip04Encrypt, kinds: Kinds::NONE, ..RULE },
        Rule { number: 5, subject: Subject::Nip04Decrypt, kinds: Kinds::NONE, ..RULE },
    ];
    json!({
        "paired": public(&client()),
        "secret": "s3cret",
        "state": "ready",
        "now": NOW,
        "floor": 0,
        "seen": [],
        "recorded": null,
        "rules": rules.iter().map(|rule| hex(&rule.to_bytes())).collect::<Vec<_>>(),
    })
}

/// Returns the state with one member changed.
fn with(member: &str, value: impl Into<Value>) -> Value {
    let mut state = state();
    state[member] = value.into();
    state
}

fn unpaired() -> Value {
    with("paired", Value::Null)
}

fn with_rule(rule: Rule) -> Value {
    with("rules", vec![hex(&rule.to_bytes())])
}

struct Cases(Vec<Value>);

impl Cases {
    fn add(
        &mut self,
        expect: &str,
        comment: &str,
        event: &str,
        state: Value,
        answer: Option<String>,
    ) {
        let Value::Object(mut case) = state else { unreachable!("a state is an object") };
        for (member, value) in [
            ("form", "session"),
            ("expect", expect),
            ("comment", comment),
            ("event", event),
            ("user_secret", &hex(&[1; 32])),
            ("transport_secret", &hex(&[2; 32])),
            ("nonce", &hex(&NONCE)),
        ] {
            case.insert(member.to_owned(), value.into());
        }
        case.insert("time".to_owned(), (NOW + 1).into());
        if let Some(plaintext) = answer {
            let content = if expect == "nip04-transport" {
                encrypted(&transport(), &client(), &plaintext, [0x77; 16])
            } else {
                sealed(&transport(), &client(), &plaintext, NONCE)
            };
            let tags = vec![["p".to_owned(), public(&client())]];
            let answer =
                Sent { author: transport(), kind: KIND, created_at: NOW + 1, tags, content };
            case.insert("answer".to_owned(), answer.json().into());
            case.insert("plaintext".to_owned(), plaintext.into());
        }
        self.0.push(case.into());
    }

    fn ignored(&mut self, comment: &str, event: &str, state: Value) {
        self.add("ignored", comment, event, state, None);
    }

    fn ok(&mut self, comment: &str, request: &str, state: Value, text: &str) {
        self.add("ok", comment, &Sent::new(request).json(), state, Some(result(text)));
    }

    fn refused(&mut self, class: &str, comment: &str, request: &str, state: Value, text: &str) {
        self.add(class, comment, &Sent::new(request).json(), state, Some(error(text)));
    }

    /// Adds cases of steps 1 to 4.
    fn events(&mut self) {
        let ping = request("ping", &[]);
        let pong = |sent: Sent| sent.json();
        self.ok("a ping", &ping, state(), "pong");
        let json = pong(Sent::new(&ping));
        for (comment, event) in [
            ("step 1: nothing", String::new()),
            ("step 1: a list", format!("[{json}]")),
            ("step 1: an event that is cut", json[..json.len() - 1].to_owned()),
            ("step 1: an event without signature", json.replace("\"sig\"", "\"sign\"")),
            ("step 1: another kind", pong(Sent { kind: 24_134, ..Sent::new(&ping) })),
            ("step 1: no receiver", pong(Sent { tags: vec![], ..Sent::new(&ping) })),
            ("step 1: an unknown receiver", {
                let tags = vec![["p".to_owned(), public(&user())]];
                pong(Sent { tags, ..Sent::new(&ping) })
            }),
            ("step 1: the receiver in the second p tag", {
                let tags =
                    vec![["p".to_owned(), public(&user())], ["p".to_owned(), public(&transport())]];
                pong(Sent { tags, ..Sent::new(&ping) })
            }),
            ("step 1: a receiver in upper case", {
                let tags = vec![["p".to_owned(), public(&transport()).to_uppercase()]];
                pong(Sent { tags, ..Sent::new(&ping) })
            }),
        ] {
            self.ignored(comment, &event, state());
        }
        self.ignored("step 1: 512 KiB and a byte", &json, {
            with("padding", 512 * 1024 + 1 - json.len())
        });
        self.ignored("step 2: another client key", &json, with("paired", public(&user())));
        let id = &json[7..71];
        self.ignored("step 3: a repeated event", &json, with("seen", vec![id]));
        let flipped = |at: usize| {
            let digit = if json.as_bytes()[at] == b'0' { "1" } else { "0" };
            format!("{}{digit}{}", &json[..at], &json[at + 1..])
        };
        self.ignored("step 4: another id", &flipped(7), state());
        self.ignored("step 4: another signature", &flipped(json.len() - 4), state());
        self.ignored("step 4: another time", &json.replace("1800000000", "1800000001"), state());
    }

    /// Adds cases of steps 5 and 6.
    fn contents(&mut self) {
        let ping = request("ping", &[]);
        let event = |content: String| Sent { content, ..Sent::new(&ping) }.json();
        let nip04 = event(encrypted(&client(), &transport(), &ping, [0x55; 16]));
        let text = "NIP-04 is not accepted here: encrypt requests with NIP-44";
        self.add("nip04-transport", "NIP-04", &nip04, state(), Some(error(text)));
        self.ignored("step 5: NIP-04 from an unpaired key", &nip04, unpaired());
        let other = encrypted(&client(), &user(), &ping, [0x55; 16]);
        self.ignored("step 5: NIP-04 to another key", &event(other), state());
        for (comment, content) in [
            ("step 5: no content", String::new()),
            ("step 5: a request that is not encrypted", ping.clone()),
            ("step 5: a payload to another key", sealed(&client(), &user(), &ping, [0x55; 32])),
        ] {
            self.ignored(comment, &event(content), state());
        }
        for (comment, plaintext) in [
            ("step 6: no JSON", "ping"),
            ("step 6: no id", r#"{"method":"ping","params":[]}"#),
            ("step 6: an id that is a number", r#"{"id":1,"method":"ping","params":[]}"#),
            ("step 6: a response", r#"{"id":"r1","result":"pong"}"#),
        ] {
            self.ignored(comment, &Sent::new(plaintext).json(), state());
        }
    }

    /// Adds cases of step 7, and of `connect`.
    fn connections(&mut self) {
        let signer = public(&transport());
        let connect = |secret: &str| request("connect", &[&signer, secret]);
        self.ok("the secret pairs", &connect("s3cret"), unpaired(), "ack");
        self.ok(
            "any signer, a wish and claims",
            &request("connect", &["", "s3cret", "sign_event:4", r#"{"name":"x"}"#]),
            unpaired(),
            "ack",
        );
        let malformed = request("connect", &["", "s3cret", "sign_event:note", "[]"]);
        self.ok("a malformed wish and claims", &malformed, unpaired(), "ack");
        for (comment, request) in [
            ("step 7: a wrong secret", connect("s3creT")),
            ("step 7: no secret", request("connect", &[&signer])),
            ("step 7: an empty secret", connect("")),
            ("step 7: a longer secret", connect("s3cret ")),
            ("step 7: another method", request("ping", &[])),
        ] {
            self.ignored(comment, &Sent::new(&request).json(), unpaired());
        }
        self.ok("the spent secret again", &connect("s3cret"), state(), "ack");
        self.ok("connect again without secret", &request("connect", &[&signer]), state(), "ack");
        self.ok("connect again with an empty secret", &connect(""), state(), "ack");
        let text = "the connection secret is wrong";
        self.refused("secret", "connect again with a wrong secret", &connect("x"), state(), text);
        let wish = request("connect", &["", "", "sign_event:note", "[]"]);
        self.ok("connect again with a malformed wish", &wish, state(), "ack");
    }

    /// Adds cases of steps 8 and 10.
    fn times(&mut self) {
        let ping = request("ping", &[]);
        let at = |created_at: u64| Sent { created_at, ..Sent::new(&ping) }.json();
        let text = "the request is older or newer than five minutes";
        for (comment, created_at) in [("300 s old", NOW - 300), ("300 s ahead", NOW + 300)] {
            self.add("ok", comment, &at(created_at), state(), Some(result("pong")));
        }
        for (comment, created_at) in [
            ("step 8: 301 s old", NOW - 301),
            ("step 8: 301 s ahead", NOW + 301),
            ("step 8: of 1970", 0),
        ] {
            self.add("stale", comment, &at(created_at), state(), Some(error(text)));
        }
        self.add("stale", "step 8: at the floor", &at(NOW), with("floor", NOW), Some(error(text)));
        self.add("ok", "above the floor", &at(NOW), with("floor", NOW - 1), Some(result("pong")));
        let connect = request("connect", &["", "s3cret"]);
        let old = Sent { created_at: NOW - 301, ..Sent::new(&connect) };
        self.ignored("step 8: an old connect from an unpaired key", &old.json(), unpaired());

        let text = public(&user());
        let sealed_text = sealed(&user(), &client(), "hello", NONCE);
        let encrypt = request("nip44_encrypt", &[&public(&client()), "hello"]);
        let parts = ["r1", "nip44_encrypt", &public(&client()), "hello"];
        let digest = hex(&digest_of(&parts));
        let recorded = |digest: &str, verdict: &str| {
            let mut state = with("rules", Vec::<String>::new());
            state["recorded"] = json!({"id": "r1", "digest": digest, "verdict": verdict});
            state
        };
        self.ok("step 10: the verdict stands", &encrypt, recorded(&digest, "ok"), &sealed_text);
        self.refused(
            "denied",
            "step 10: another request of the same id",
            &encrypt,
            recorded(&hex(&[0; 32]), "ok"),
            "not allowed",
        );
        let mut denied = recorded(&digest, "denied");
        denied["rules"] = state()["rules"].clone();
        self.refused("denied", "step 10: a refusal stands", &encrypt, denied, "not allowed");
        self.ok("get_public_key", &request("get_public_key", &[]), state(), &text);
    }

    /// Adds cases of step 9, and of a locked signer.
    fn states(&mut self) {
        for (class, text) in
            [("expired", "this connection has expired"), ("revoked", "this connection was revoked")]
        {
            let comment = format!("step 9: {class}");
            self.refused(class, &comment, &request("ping", &[]), with("state", class), text);
            let comment = format!("step 9 comes before 11: {class}");
            self.refused(class, &comment, &request("no", &[]), with("state", class), text);
            let comment = format!("step 9 comes before 10: {class}");
            let mut state = with("state", class);
            state["recorded"] =
                json!({"id": "r1", "digest": hex(&digest_of(&["r1", "ping"])), "verdict": "ok"});
            self.refused(class, &comment, &request("ping", &[]), state, text);
        }
        let locked = with("state", "locked");
        let text = "the signer is locked";
        let encrypt = request("nip44_encrypt", &[&public(&client()), "a"]);
        self.refused("locked", "step 12: locked", &encrypt, locked.clone(), text);
        let mut denied = locked.clone();
        denied["rules"] = json!([]);
        self.refused("locked", "step 12: locked, before the rules", &encrypt, denied, text);
        let method = "the method is not supported";
        self.refused(
            "method",
            "step 11 comes before locked",
            &request("no", &[]),
            locked.clone(),
            method,
        );
        self.ok("locked, and no rule is needed", &request("ping", &[]), locked.clone(), "pong");
        let user = public(&user());
        self.ok("locked, and a public key", &request("get_public_key", &[]), locked, &user);
    }

    /// Adds cases of step 11.
    fn methods(&mut self) {
        for method in ["no", "nip17_unwrap_batch", "PING", ""] {
            let comment = format!("step 11: method '{method}'");
            let text = "the method is not supported";
            self.refused("method", &comment, &request(method, &["[]"]), state(), text);
        }
        let text = "the method is not supported";
        let absent = r#"{"id":"r1","params":[]}"#;
        self.refused("method", "step 11: no method", absent, state(), text);
        let login = |tags: Value| {
            json!({"created_at": 1, "kind": 22_242, "tags": tags, "content": ""}).to_string()
        };
        let unclear = "a tag that says where the event is valid is absent or twice";
        for (comment, request, text) in [
            ("no parameter", request("sign_event", &[]), "a parameter is absent"),
            (
                "half a surrogate pair",
                request("nip44_encrypt", &[&public(&client()), "a"]).replace("a\"]", "a\\ud83d\"]"),
                "a parameter has half a surrogate pair",
            ),
            ("no text", request("nip44_encrypt", &[&public(&client())]), "a parameter is absent"),
            (
                "no key",
                request("nip44_decrypt", &["", "x"]),
                "the key is not 64 lower-case hexadecimal digits",
            ),
            (
                "an event without kind",
                request("sign_event", &[r#"{"created_at":1,"tags":[],"content":""}"#]),
                "the event has no 'kind'",
            ),
            (
                "a log-in to two relays",
                { request("sign_event", &[&login(json!([["relay", "a"], ["relay", "b"]]))]) },
                unclear,
            ),
            (
                "a log-in without challenge",
                { request("sign_event", &[&login(json!([["relay", "wss://r.x"]]))]) },
                unclear,
            ),
        ] {
            let comment = format!("step 11: {comment}");
            self.refused("request", &comment, &request, state(), text);
        }
    }

    /// Adds cases of step 12.
    fn decisions(&mut self) {
        let template = json!({"created_at": 1, "kind": 1, "tags": [], "content": "a"}).to_string();
        let sign = request("sign_event", &[&template]);
        let denied = "not allowed";
        self.refused(
            "denied",
            "step 12: no rule",
            &sign,
            with("rules", Vec::<String>::new()),
            denied,
        );
        let other = Rule { kinds: Kinds::one(4), ..RULE };
        self.refused("denied", "step 12: another kind", &sign, with_rule(other), denied);
        let deny = Rule { effect: Effect::Deny, ..RULE };
        self.refused("denied", "step 12: a rule denies", &sign, with_rule(deny), denied);
        let used_up = Rule {
            uses: Some(1),
            usage: Usage { used: 1, window_begin: 0, window_used: 0 },
            ..RULE
        };
        self.refused("limit", "step 12: used up", &sign, with_rule(used_up), {
            "not allowed: the limit is reached"
        });
        let ask = Rule { effect: Effect::Ask, ..RULE };
        let event = Sent::new(&sign).json();
        self.add("ask", "step 12: a person is asked", &event, with_rule(ask), None);
        let token = json!({
            "created_at": 1, "kind": 27_235, "tags": [["u", "https://x"], ["method", "GET"]],
            "content": "",
        });
        let token = request("sign_event", &[&token.to_string()]);
        self.refused("denied", "step 12: a token by all kinds", &token, with_rule(RULE), denied);
        self.ok("no rule is needed", &request("ping", &[]), with_rule(deny), "pong");
    }

    /// Adds cases of step 13.
    fn executions(&mut self) {
        let tags: &[&[&str]] = &[&["t", "\"é\""]];
        let template = Template {
            pubkey: None,
            created_at: 1,
            kind: 1,
            tags: Tags::List(tags),
            content: "a \"b\"\n".into(),
        };
        let json = r#"{"content":"a \"b\"\n","kind":1,"tags":[["t","\"\u00e9\""]],"created_at":1}"#;
        let sign = request("sign_event", &[json]);
        let digest = digest_of(&["r1", "sign_event", json]);
        let aux = sha256::hmac(&[2; 32], &[b"aux", &digest]);
        let event = template.sign(&user(), &aux).expect("no author is named");
        let mut out = [0; 1_000];
        let event = event.write(&mut out).expect("there is space");
        self.ok("a signature", &sign, state(), str::from_utf8(event).expect("texts"));
        let other = json.replace('}', &format!(",\"pubkey\":\"{}\"}}", public(&client())));
        self.refused(
            "failed",
            "step 13: another author",
            &request("sign_event", &[&other]),
            state(),
            "the event names another author",
        );

        let peer = signing_key(4);
        let key = public(&peer);
        let payload = sealed(&user(), &peer, "hé", NONCE);
        self.ok("nip44_encrypt", &request("nip44_encrypt", &[&key, "hé"]), state(), &payload);
        self.ok("nip44_decrypt", &request("nip44_decrypt", &[&key, &payload]), state(), "hé");
        let content = encrypted(&user(), &peer, "hé", [0x77; 16]);
        self.ok("nip04_encrypt", &request("nip04_encrypt", &[&key, "hé"]), state(), &content);
        self.ok("nip04_decrypt", &request("nip04_decrypt", &[&key, &content]), state(), "hé");
        let text = "the text is empty or too long";
        let empty = request("nip44_encrypt", &[&key, ""]);
        self.refused("failed", "step 13: nothing to encrypt", &empty, state(), text);
        let outsider = sealed(&client(), &peer, "x", NONCE);
        for (comment, method, payload) in [
            ("no payload", "nip44_decrypt", ""),
            ("NIP-04 for NIP-44", "nip44_decrypt", content.as_str()),
            ("a payload of others", "nip44_decrypt", &outsider),
            ("NIP-44 for NIP-04", "nip04_decrypt", &payload),
            ("no IV", "nip04_decrypt", "AAAA"),
        ] {
            let comment = format!("step 13: {comment}");
            let request = request(method, &[&key, payload]);
            self.refused("failed", &comment, &request, state(), "decryption failed");
        }
    }
}
