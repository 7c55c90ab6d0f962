//! Interoperability in both directions with rust-nostr, go-nostr and nostr-tools: each reads the
//! output of the other.
//!
//! These tests are ignored by default, because the libraries must be built first: `cargo xtask
//! peers rust-nostr go` and `peers/node-nostr/install.sh`, then `cargo test -p endseal-nostr --
//! --ignored interop`. `ENDSEAL_INTEROP=10000` sends more messages.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use endseal_crypto::random::OsRandom;
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::gift_wrap::{self, Layer, Lifetime, Wrapping};
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_testing::SplitMix64;
use serde_json::{Value, json};

use crate::hex;

/// Number of messages in each direction.
const MESSAGES: usize = 300;
const LONGEST: u64 = 70_000;
/// Number of events and wraps, each of which costs milliseconds in some libraries.
const EVENTS: usize = 20;

/// A program with another project's library, which answers each line with a line.
struct Library {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Library {
    fn start(name: &'static str, program: &str, arguments: &[&str]) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../peers");
        let mut child = Command::new(match program {
            "node" => program.into(),
            _ => folder.join(program),
        })
        .current_dir(&folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name} is not built ({program}): {error}"));
        let (requests, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { name, child, requests, answers: BufReader::new(answers) }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{}: {line:?}", self.name))
    }

    /// Returns a text field of the answer, which must not be a failure.
    fn text(&mut self, request: &Value, field: &str) -> String {
        let answer = self.ask(request);
        let text = answer[field].as_str();
        text.unwrap_or_else(|| panic!("{}: {}: {answer}", self.name, request["op"])).to_owned()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn libraries() -> [Library; 3] {
    let rust = "rust-nostr/target/release/endseal-peers-nostr";
    [
        Library::start("rust-nostr", rust, &["interop"]),
        Library::start("go-nostr", "go/target/endseal-peers-go", &["interop"]),
        Library::start("nostr-tools", "node", &["node-nostr/interop.mjs"]),
    ]
}

/// Two keys, with the hexadecimal texts of the second one.
struct Pair {
    own: SecretKey,
    own_public: String,
    other: PublicKey,
    other_secret: String,
}

impl Pair {
    fn new() -> Self {
        let own = SecretKey::generate(&mut OsRandom).unwrap();
        let other = SecretKey::generate(&mut OsRandom).unwrap();
        Self {
            own_public: hex(&own.public_key().to_bytes()),
            own,
            other: other.public_key(),
            other_secret: hex(other.expose_secret()),
        }
    }

    fn signing(&self) -> SigningKey {
        SigningKey::new(SecretKey::from_bytes(self.own.expose_secret()).unwrap())
    }

    /// Builds a request to the other side.
    fn request(&self, op: &str, field: &str, value: &str) -> Value {
        let mut request = json!({"op": op, "secret": self.other_secret, "public": self.own_public});
        request[field] = value.into();
        request
    }
}

/// Returns about `len` bytes of characters of one to four bytes.
fn text(random: &mut SplitMix64, len: usize) -> String {
    let mut text = String::with_capacity(len + 4);
    while text.len() < len {
        let code: u32 = match random.below(8_u32) {
            0 => 0x11_0000,
            1 => 0x800,
            _ => 0x80,
        };
        text.extend(char::from_u32(random.below(code)));
    }
    text
}

fn messages() -> usize {
    std::env::var("ENDSEAL_INTEROP").map_or(MESSAGES, |count| count.parse().unwrap())
}

#[test]
#[ignore = "needs the libraries of others"]
fn interop_encrypted_messages_are_read_by_both_sides() {
    let mut random = SplitMix64::new(44);
    for mut library in libraries() {
        let longest = library.ask(&json!({"op": "describe"}))["longest"].as_u64().unwrap();
        let mut long = 0;
        for message in 0..messages() {
            let pair = Pair::new();
            // All magnitudes of lengths are equally frequent; some are above 65,535 bytes.
            let most = 2 << random.below(16_u32);
            let len: u64 = match message % 20 {
                0 => LONGEST - random.below(5_000),
                _ => 1 + random.below(most),
            };
            let text = text(&mut random, usize::try_from(len).unwrap());
            let with = Conversation::new(&pair.own, &pair.other);
            let is_long = text.len() as u64 > longest;
            long += usize::from(is_long);

            let mut out = vec![0; payload_len(text.len(), Lengths::Extended).unwrap()];
            let nonce = core::array::from_fn(|_| random.byte());
            let payload = with.seal(text.as_bytes(), &nonce, Lengths::Extended, &mut out).unwrap();
            let request = pair.request("decrypt", "payload", payload);
            if is_long {
                assert_eq!(library.ask(&request)["ok"], false);
                continue;
            }
            assert_eq!(library.text(&request, "text"), text, "message {message}");

            let request = pair.request("encrypt", "text", &text);
            let mut payload = library.text(&request, "payload").into_bytes();
            assert_eq!(with.open(&mut payload).unwrap(), text.as_bytes(), "message {message}");
        }
        println!("{}: {} messages, {long} too long for it", library.name, messages());
    }
}

#[test]
#[ignore = "needs the libraries of others"]
fn interop_nip04_messages_are_read_by_both_sides() {
    let mut random = SplitMix64::new(4);
    for mut library in libraries() {
        for message in 0..messages() / 10 {
            let pair = Pair::new();
            let len = 1 + random.below(4000);
            let text = text(&mut random, len);
            let key = nip04::Key::new(&pair.own, &pair.other);
            let mut out = vec![0; nip04::content_len(text.len())];
            let iv = core::array::from_fn(|_| random.byte());
            let content = key.encrypt(text.as_bytes(), &iv, &mut out).unwrap();
            let request = pair.request("nip04_decrypt", "payload", content);
            assert_eq!(library.text(&request, "text"), text, "message {message}");
            let request = pair.request("nip04_encrypt", "text", &text);
            let mut content = library.text(&request, "payload").into_bytes();
            assert_eq!(key.decrypt(&mut content).unwrap(), text.as_bytes(), "message {message}");
        }
    }
}

#[test]
#[ignore = "needs the libraries of others"]
fn interop_events_are_verified_by_both_sides() {
    let mut random = SplitMix64::new(1);
    for mut library in libraries() {
        for _ in 0..EVENTS {
            let pair = Pair::new();
            let (content, value) = (text(&mut random, 300), text(&mut random, 20));
            let tag = ["t", &value];
            let tags: [&[&str]; 1] = [&tag];
            let template = Template {
                pubkey: None,
                created_at: 1_700_000_000 + random.below(1_000_000_u64),
                kind: 1,
                tags: Tags::List(&tags),
                content: content.as_str().into(),
            };
            let event = template.sign(&pair.signing(), &[7; 32]).unwrap();
            let mut out = vec![0; 8192];
            let json = event.write(&mut out).unwrap();
            let json = core::str::from_utf8(json).unwrap();
            let answer = library.ask(&json!({"op": "verify", "event": json}));
            assert_eq!(answer["valid"], true, "{}: {json}", library.name);

            let mut unsigned: Value = serde_json::from_str(json).unwrap();
            for member in ["id", "pubkey", "sig"] {
                unsigned.as_object_mut().unwrap().remove(member);
            }
            let request = pair.request("sign", "event", &unsigned.to_string());
            let signed = library.text(&request, "event");
            let signed = Event::parse(signed.as_bytes()).unwrap();
            signed.verify().unwrap();
            assert_eq!(signed.pubkey, pair.other.to_bytes());
            assert!(signed.content.is(&content));
        }
    }
}

#[test]
#[ignore = "needs the libraries of others"]
fn interop_gift_wraps_are_opened_by_both_sides() {
    let mut random = SplitMix64::new(59);
    for mut library in libraries() {
        for _ in 0..EVENTS {
            let pair = Pair::new();
            let content = text(&mut random, 300);
            let to = hex(&pair.other.to_bytes());
            let tag = ["p", &to];
            let tags: [&[&str]; 1] = [&tag];
            let rumor = Template {
                pubkey: None,
                created_at: 1_700_000_000,
                kind: 14,
                tags: Tags::List(&tags),
                content: content.as_str().into(),
            };
            let layer = Layer { created_at: 1_699_990_000, expiration: None };
            let wrapping = Wrapping { seal: layer, wrap: layer, lifetime: Lifetime::Stored };
            let (mut scratch, mut out) = (vec![0; 16_384], vec![0; 16_384]);
            let key = pair.signing();
            let wrap = gift_wrap::wrap(
                &rumor,
                &key,
                &pair.other,
                &wrapping,
                &mut OsRandom,
                &mut scratch,
                &mut out,
            )
            .unwrap();
            let request = pair.request("unwrap", "event", core::str::from_utf8(wrap).unwrap());
            let answer = library.ask(&request);
            assert_eq!(answer["sender"], pair.own_public, "{}: {answer}", library.name);
            let opened: Value = serde_json::from_str(answer["rumor"].as_str().unwrap()).unwrap();
            assert_eq!(opened["content"], content);

            let event =
                json!({"kind": 14, "created_at": 1_700_000_000, "tags": [], "content": content});
            let request = pair.request("wrap", "event", &event.to_string());
            let mut wrap = library.text(&request, "event").into_bytes();
            let opened = gift_wrap::unwrap(&mut wrap, &pair.own).unwrap();
            assert_eq!(opened.rumor.pubkey, pair.other.to_bytes());
            assert!(opened.rumor.content.is(&content));
        }
    }
}
