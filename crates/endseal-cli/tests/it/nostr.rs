//! `endseal nostr`: keys, messages and events from the command line.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use endseal_crypto::random::OsRandom;
use endseal_nostr::encrypted_key::{EncryptedKey, Handling, TEXT_LEN};
use endseal_nostr::key::SecretKey;
use endseal_testing::Scratch;

use crate::people::Person;
use crate::signer::write_private;

/// Public keys of secret key 1 and of secret key 2, from the official vectors of NIP-44.
const FIRST: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
const SECOND: &str = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";
/// First official vector: "a" from key 1 to key 2.
const PAYLOAD: &str = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb";

fn keys<'a>(scratch: &'a Scratch) -> Person<'a> {
    let person = Person { name: "person", scratch };
    for (name, last) in [("one", '1'), ("two", '2')] {
        scratch.write(name, format!("{}{last}\n", "0".repeat(63)));
        fs::set_permissions(
            scratch.path(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o600),
        )
        .unwrap();
    }
    person
}

#[test]
fn the_official_payload_is_opened_by_both_sides() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let ran = person.feed(&["nostr", "decrypt", "-k", "two", "--from", FIRST], PAYLOAD.as_bytes());
    assert_eq!(ran.ok().out, b"a");
    let ran = person.feed(&["nostr", "decrypt", "-k", "one", "--from", SECOND], PAYLOAD.as_bytes());
    assert_eq!(ran.ok().out, b"a");
}

#[test]
fn a_changed_payload_is_refused() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let changed = PAYLOAD.replacen("Vsb", "Vsa", 1);
    for (key, from, payload) in [("two", FIRST, &*changed), ("two", SECOND, PAYLOAD)] {
        let ran = person.feed(&["nostr", "decrypt", "-k", key, "--from", from], payload.as_bytes());
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.out.is_empty());
    }
}

#[test]
fn texts_come_back_by_nip44_and_by_nip04() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let long = "x".repeat(70_000);
    for text in ["a", "at noon\n", &long] {
        for option in [None, Some("--nip04")] {
            let encrypt = ["nostr", "encrypt", "-k", "one", "--to", SECOND];
            let decrypt = ["nostr", "decrypt", "-k", "two", "--from", FIRST];
            let with = |args: &[&'static str]| [args, option.as_slice()].concat();
            let sealed = person.feed(&with(&encrypt), text.as_bytes()).ok();
            let opened = person.feed(&with(&decrypt), &sealed.out).ok();
            assert_eq!(opened.out, text.as_bytes());
        }
    }
}

#[test]
fn an_event_is_signed_and_verified() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let sign = ["nostr", "event", "sign", "-k", "one", "--kind", "1", "--tag", "t=noon"];
    let event = person.feed(&sign, b"at \"noon\"\n").ok();
    let ran = person.feed(&["nostr", "event", "verify"], &event.out).ok();
    assert!(
        ran.text().starts_with(
            "signed by npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d"
        )
    );
    let id = person.feed(&["nostr", "event", "id"], &event.out).ok();
    assert!(event.text().contains(id.text().trim()));
    let changed = event.text().replace("noon", "nine");
    let ran = person.feed(&["nostr", "event", "verify"], changed.as_bytes());
    assert_eq!(ran.code, 1, "{}", ran.err);
    // A signed event can be a template too.
    let again = person.feed(&["nostr", "event", "sign", "-k", "one"], &event.out).ok();
    person.feed(&["nostr", "event", "verify"], &again.out).ok();
    let ran = person.feed(&["nostr", "event", "sign", "-k", "two"], &event.out);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_private_message_reaches_its_receiver_alone() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let wrap = ["nostr", "wrap", "-k", "one", "--to", SECOND, "--expires", "1d"];
    let wrapped = person.feed(&wrap, b"at noon").ok();
    assert!(!wrapped.text().contains(FIRST), "the sender is hidden");
    let opened = person.feed(&["nostr", "unwrap", "-k", "two"], &wrapped.out).ok();
    assert!(
        opened.err.contains("from npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d")
    );
    assert!(opened.text().contains("\"content\":\"at noon\""));
    assert!(opened.text().contains(&format!("[[\"p\",\"{SECOND}\"]]")));
    let ran = person.feed(&["nostr", "unwrap", "-k", "one"], &wrapped.out);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.is_empty());
}

#[test]
fn an_encrypted_key_opens_with_its_passphrase_alone() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    scratch.write("right", "correct horse\n");
    scratch.write("wrong", "battery\n");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (right, wrong) = (path("right"), path("wrong"));
    let encrypt = ["nostr", "key", "encrypt", "-k", "one", "-o", "sealed"];
    person.run(&[&encrypt[..], &["--passphrase-file", &right]].concat()).ok();
    assert!(fs::read_to_string(scratch.path("sealed")).unwrap().starts_with("ncryptsec1"));
    let show = ["nostr", "key", "show", "-k", "sealed", "--passphrase-file"];
    let ran = person.run(&[&show[..], &[&right]].concat()).ok();
    assert!(
        ran.text().starts_with("npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d")
    );
    let ran = person.run(&[&show[..], &[&wrong]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
}

/// Another program may write keys that cost more than is read without consent.
#[test]
fn a_key_that_costs_much_is_read_with_consent() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    scratch.write("right", "correct horse\n");
    let key = SecretKey::from_bytes(&[7; 32]).unwrap();
    let handling = Handling::NotKnownInsecure;
    let sealed = EncryptedKey::seal(&key, "correct horse", 19, handling, &mut OsRandom).unwrap();
    let mut text = [0; TEXT_LEN];
    write_private(&scratch, "sealed", sealed.write_text(&mut text).unwrap());
    let right = scratch.path("right").display().to_string();
    let show = ["nostr", "key", "show", "-k", "sealed", "--passphrase-file", &right];
    let ran = person.run(&show).fails(2, "the cost of the password is greater than is allowed");
    assert!(ran.err.contains("--max-log-n"), "{}", ran.err);
    person.run(&[&show[..], &["--max-log-n", "19"]].concat()).ok();
}

#[test]
fn secrets_are_not_repeated() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let secret = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
    let mixed = secret.replacen('n', "N", 1);
    let digits = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
    for secret in [secret, &mixed, digits, &format!("0x{digits}"), &digits[1..]] {
        for args in [
            &["nostr", "decode", secret][..],
            &["nostr", "encrypt", "-k", "one", "--to", secret],
            &["nostr", "encrypt", "-k", secret, "--to", FIRST],
        ] {
            let ran = person.feed(args, b"a");
            // The digits may be a public key.
            assert!(ran.code == 2 || args[4..].ends_with(&[digits]), "{}", ran.err);
            assert!(!ran.err.contains(&secret[8..40]), "{}", ran.err);
        }
    }
    let ran = person.feed(&["nostr", "decrypt", "-k", "-", "--from", FIRST], b"a");
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn an_expiration_does_not_show_when_a_message_was_sent() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let wrap = ["nostr", "wrap", "-k", "one", "--to", SECOND, "--expires", "1d"];
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let start = now();
    let times: Vec<u64> = (0..4)
        .map(|_| {
            let wrapped: Value =
                serde_json::from_slice(&person.feed(&wrap, b"a").ok().out).unwrap();
            wrapped["tags"][1][1].as_str().unwrap().parse().unwrap()
        })
        .collect();
    let (earliest, latest) = (start + 86_400, now() + 3 * 86_400);
    assert!(times.iter().all(|time| (earliest..=latest).contains(time)), "{times:?}");
    // Four equal values out of 172,801 are not a coincidence.
    assert!(times.iter().any(|time| *time != times[0]), "{times:?}");
}

#[test]
fn no_key_is_written_that_is_not_read() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let ran =
        person.run(&["nostr", "key", "encrypt", "-k", "one", "-o", "sealed", "--log-n", "19"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!scratch.has("sealed"));
}

#[test]
fn help_names_the_forms_of_keys() {
    let scratch = Scratch::new();
    let ran = keys(&scratch).run(&["nostr", "--help"]).ok();
    assert!(ran.text().contains("nsec1..., ncryptsec1..."), "{}", ran.text());
}

/// Sends one request to another library, as peers/rust-nostr/README.md describes it.
fn ask(library: &[&str], request: &Value) -> String {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let program = match library[0] {
        "node" => "node".into(),
        program => peers.join(program),
    };
    let mut child = Command::new(program)
        .args(&library[1..])
        .current_dir(&peers)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{library:?} is not built: {error}"));
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let field = if request["op"] == "decrypt" { "text" } else { "payload" };
    answer[field].as_str().unwrap_or_else(|| panic!("{library:?}: {answer}")).to_owned()
}

/// `cargo xtask peers go` and `peers/node-nostr/install.sh` build them.
#[test]
#[ignore = "needs the libraries of others"]
fn interop_a_text_goes_to_other_libraries_and_comes_back() {
    let scratch = Scratch::new();
    let person = keys(&scratch);
    let second = format!("{}2", "0".repeat(63));
    for library in [
        &["node", "node-nostr/interop.mjs"][..],
        &["go/target/endseal-peers-go", "interop"],
        &["rust-nostr/target/release/endseal-peers-nostr", "interop"],
    ] {
        let sealed = person.feed(&["nostr", "encrypt", "-k", "one", "--to", SECOND], b"a").ok();
        let payload = sealed.text().trim_end();
        let request =
            json!({"op": "decrypt", "secret": second, "public": FIRST, "payload": payload});
        assert_eq!(ask(library, &request), "a");
        let request = json!({"op": "encrypt", "secret": second, "public": FIRST, "text": "b"});
        let payload = ask(library, &request);
        let decrypt = ["nostr", "decrypt", "-k", "one", "--from", SECOND];
        assert_eq!(person.feed(&decrypt, payload.as_bytes()).ok().out, b"b");
    }
}
