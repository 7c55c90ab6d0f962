//! `endseal nostr … --bunker` with a running signer.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use endseal_testing::Scratch;

use crate::nostr_app::World;
use crate::people::{Person, Ran};
use crate::signer::{FIRST, Owner, SECOND, key_text, write_private};
use crate::signer_running::{Running, waiting};

const SIGN: [&str; 5] = ["nostr", "event", "sign", "--bunker", "url"];

/// Makes Bob, with the URL of an app of Alice's signer in a file.
fn invited<'a>(owner: &Owner<'a>, options: &[&str]) -> Person<'a> {
    let scratch = owner.0.scratch;
    let invite = [&["signer", "invite", "notes"], options].concat();
    write_private(scratch, "url", owner.0.run(&invite).ok().text());
    Person { name: "bob", scratch }
}

fn sign(person: &Person<'_>, options: &[&str]) -> Ran {
    person.feed(&[&SIGN, options].concat(), b"at \"noon\"\n")
}

#[test]
fn a_remote_signer_signs_what_its_rules_name() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &[]);
    let bob = invited(&alice, &["--allow", "sign:1"]);
    let event = sign(&bob, &["--kind", "1", "--tag", "t=noon", "-v"]).ok();
    assert!(event.err.contains("signed by npub10xlxvlhemja6c4dqv22u"), "{}", event.err);
    let verified = bob.feed(&["--json", "nostr", "event", "verify"], &event.out).ok().json();
    assert_eq!((&verified["author"], &verified["kind"]), (&FIRST.into(), &1.into()));
    assert!(event.text().contains(r#""content":"at \"noon\"\n""#), "{}", event.text());
    sign(&bob, &["--kind", "4"]).fails(1, "the signer refuses: not allowed");
    // The used secret is sent again with the same key.
    let ran = sign(&bob, &["--kind", "1", "--json", "-o", "event"]).ok();
    let verified = bob.run(&["--json", "nostr", "event", "verify", "event"]).ok().json();
    assert_eq!(ran.json()["id"], verified["id"]);
    // The author of a template must be the signer's user.
    for (author, code) in [(FIRST, 0), (SECOND, 1)] {
        let template = format!(
            "{{\"pubkey\":\"{author}\",\"kind\":1,\"created_at\":7,\"tags\":[],\"content\":\"\"}}"
        );
        let ran = bob.feed(&SIGN, template.as_bytes());
        assert_eq!(ran.code, code, "{}", ran.err);
    }
    let url = String::from_utf8(scratch.read("url")).unwrap();
    let signer = &url["bunker://".len()..][..64];
    let key = scratch.path(&format!("bob/nostr-clients/{signer}"));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    // Another client has another key.
    let carol = Person { name: "carol", scratch: &scratch };
    sign(&carol, &["--kind", "1", "--timeout", "1s"]).fails(3, "the signer does not answer");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    sign(&bob, &["--kind", "1"]).fails(4, "0644");
    fs::write(&key, "no key").unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    sign(&bob, &["--kind", "1"]).fails(4, "holds no secret key");
    assert_eq!(fs::read(&key).unwrap(), b"no key");
}

#[test]
fn a_remote_signer_encrypts_and_decrypts() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &[]);
    let rules = format!("nip44_encrypt,nip44_decrypt:{SECOND},nip04_encrypt,nip04_decrypt");
    let bob = invited(&alice, &["--allow", &rules]);
    write_private(&scratch, "two", &key_text(2));
    for option in [&[][..], &["--nip04"]] {
        let nostr = |args: &[&str], input: &[u8]| {
            bob.feed(&[&["nostr"], args, option].concat(), input).ok().out
        };
        let text = "h\u{e9} \"noon\"\n".as_bytes();
        let payload = nostr(&["encrypt", "--bunker", "url", "--to", SECOND], text);
        assert_eq!(nostr(&["decrypt", "-k", "two", "--from", FIRST], &payload), text);
        let payload = nostr(&["encrypt", "-k", "two", "--to", FIRST], text);
        assert_eq!(nostr(&["decrypt", "--bunker", "url", "--from", SECOND], &payload), text);
    }
    let decrypt = ["nostr", "decrypt", "--bunker", "url", "--from", FIRST];
    bob.feed(&decrypt, b"AgAA").fails(1, "the signer refuses: not allowed");
}

#[test]
fn a_url_is_a_file_or_an_argument() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &[]);
    let bob = invited(&alice, &["--allow", "sign:1"]);
    let url = String::from_utf8(scratch.read("url")).unwrap();
    let url = url.trim_end();
    let sign = |bunker: &str, input: &[u8]| {
        let args = ["nostr", "event", "sign", "--bunker", bunker, "--kind", "1", "content"];
        bob.feed(&args, input)
    };
    scratch.write("content", "at noon");
    let ran = sign(url, b"").ok();
    assert!(ran.err.contains("other processes can read the secret"), "{}", ran.err);
    let secret = url.split("secret=").nth(1).unwrap();
    assert!(!ran.err.contains(secret), "{}", ran.err);
    assert_eq!(sign("-", url.as_bytes()).ok().err, "");
    // The signer knows this client, so that the secret is not needed.
    let ran = sign(url.split("&secret=").next().unwrap(), b"").ok();
    assert_eq!(ran.err, "");
    let standard = ["nostr", "event", "sign", "--bunker", "-", "--kind", "1"];
    bob.feed(&standard, b"").fails(2, "cannot both be standard input");
    let both = ["nostr", "event", "sign", "--bunker", url, "-k", "key", "--kind", "1", "content"];
    let ran = bob.run(&both).fails(2, "cannot be used with");
    assert!(!ran.err.contains(secret), "{}", ran.err);
    bob.run(&["nostr", "event", "sign", "--kind", "1", "content"]).fails(2, "required");
    for (typed, why) in [
        (url.replace("127.0.0.1", "192.0.2.1"), "without TLS"),
        (url.replace("bunker", "nostrconnect"), "no bunker:// URL"),
        (url.replace("bunker://", "bunker://x"), "no bunker:// URL"),
    ] {
        let ran = sign("-", typed.as_bytes()).fails(2, why);
        assert!(!ran.err.contains(secret), "{}", ran.err);
    }
    // One relay that can be used suffices, and the others are named.
    let more =
        format!("{}&relay=ws%3A%2F%2F192.0.2.1%3A1&relay=https%3A%2F%2Fx.example", url.trim());
    let ran = sign("-", more.as_bytes()).ok();
    assert!(ran.err.contains("warning: 1 relay of the URL cannot be used"), "{}", ran.err);
    assert!(ran.err.contains("warning: 'ws://192.0.2.1:1' is not used: "), "{}", ran.err);
    // The user may consent to a relay of a local network, which is not there.
    let local = url.replace("127.0.0.1", "192.0.2.1");
    let refused = sign("-", local.as_bytes()).fails(2, "without TLS");
    assert!(refused.err.contains("--allow-private"), "{}", refused.err);
    let consents = [&standard[..], &["--allow-private", "--timeout", "1s", "content"]].concat();
    bob.feed(&consents, local.as_bytes()).fails(3, "no relay of the signer can be reached");
    sign("none", b"").fails(3, "cannot read 'none'");
    fs::set_permissions(scratch.path("url"), PermissionsExt::from_mode(0o644)).unwrap();
    assert!(sign("url", b"").ok().err.contains("others can read the secret in 'url'"));
}

#[test]
fn an_absent_signer_is_told_from_an_absent_relay() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    // The signer is not running, so that the app is made in its store.
    let invite = ["invite", "notes", "--allow", "sign:1"];
    write_private(&scratch, "url", alice.run(&invite).ok().text());
    let bob = Person { name: "bob", scratch: &scratch };
    let silent = sign(&bob, &["--kind", "1", "--timeout", "1s"]);
    let ran = silent.fails(3, "the signer does not answer");
    assert!(ran.err.contains("if its user must approve"), "{}", ran.err);
    let help = bob.run(&["nostr", "event", "sign", "-h"]).ok();
    // A signer without a page answers after 60 seconds.
    assert!(help.text().contains("[default: 70s]"), "{}", help.text());
    drop(world);
    sign(&bob, &["--kind", "1"]).fails(3, "no relay of the signer can be reached");
    assert_eq!(sign(&bob, &["--kind", "1", "--json"]).code, 3);
}

#[test]
fn a_person_is_asked_on_the_signers_page() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let signer = Running::start(&alice, &["--json", "--page", "127.0.0.1:0"]);
    let told: serde_json::Value = serde_json::from_str(&signer.first).unwrap();
    let page = told["page"].as_str().unwrap();
    let bob = invited(&alice, &["--ask", "sign:1"]);
    scratch.write("content", "at noon");
    for json in [&[][..], &["--json"]] {
        let mut command = bob.command(&[&SIGN[..], &["--kind", "1", "content"], json].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let url = match json {
            [] => line.strip_prefix("confirm at ").unwrap().to_owned(),
            _ => {
                let object: serde_json::Value = serde_json::from_str(&line).unwrap();
                object["confirm_at"].as_str().unwrap().to_owned()
            }
        };
        assert!(url.starts_with(page), "{url} is not at {page}");
        let id = waiting(&alice)[0]["id"].to_string();
        alice.0.run(&["signer", "approve", &id]).ok();
        let mut event = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut event).unwrap();
        assert!(child.wait().unwrap().success());
        bob.feed(&["nostr", "event", "verify"], &event).ok();
    }
}
