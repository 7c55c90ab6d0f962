//! `endseal signer` while no signer is running.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Command;

use endseal_signer::Signer;
use endseal_store::KdfParams;
use endseal_testing::Scratch;
use serde_json::Value;

use crate::people::{Person, Ran};
use crate::progress::on_a_terminal;

/// Public keys of secret keys 1 and 2.
pub(crate) const FIRST: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
pub(crate) const SECOND: &str = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";
const FIRST_NPUB: &str = "npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d";
const RELAY: &str = "wss://relay.example";

/// Commands that need a running signer.
const RUNNING: [&[&str]; 8] = [
    &["waiting"],
    &["approve", "1"],
    &["deny", "1", "--remember", "1h"],
    &["lock"],
    &["unlock"],
    &["sign-in"],
    &["sign-out"],
    &["connect", "-"],
];

fn text_of(path: &std::path::Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// A person with a signer.
pub(crate) struct Owner<'a>(pub(crate) Person<'a>);

impl<'a> Owner<'a> {
    /// Makes a signer that has this relay and no key.
    pub(crate) fn without_key(scratch: &'a Scratch, relay: &str) -> Self {
        let owner = Self::without_signer(scratch);
        owner.make(&[relay]);
        owner
    }

    /// Makes a person with a passphrase and no state directory.
    fn without_signer(scratch: &'a Scratch) -> Self {
        write_private(scratch, "pass", "correct horse\n");
        Self(Person { name: "alice", scratch })
    }

    /// Creates the signer like `init`, but with the cheapest passphrase derivation. Every command
    /// that opens the signer repeats the derivation.
    fn make(&self, relays: &[&str]) {
        let home = self.0.scratch.path(self.0.name);
        DirBuilder::new().mode(0o700).create(&home).unwrap();
        let made = Signer::init(&home.join("signer"), "correct horse", KdfParams::MINIMUM);
        let relays: Vec<String> = relays.iter().map(|relay| (*relay).to_owned()).collect();
        made.unwrap().set_relays(1_700_000_000, &relays).unwrap();
    }

    /// Makes a signer that has secret key 1.
    pub(crate) fn new(scratch: &'a Scratch, relay: &str) -> Self {
        let owner = Self::without_key(scratch, relay);
        owner.feed(&["import"], key_text(1).as_bytes()).ok();
        owner
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.0.command(&full(args))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.0.run(&full(args))
    }

    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Ran {
        self.0.feed(&full(args), input)
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.run(&[&["--json"], args].concat()).ok().json()
    }

    /// Returns the rules of the first app, one in each line.
    fn rules(&self) -> Vec<String> {
        let apps = self.json(&["apps"]);
        let rules = apps["apps"][0]["rules"].as_array().unwrap().clone();
        let text = |rule: &Value, name: &str| rule[name].as_str().unwrap().to_owned();
        rules
            .iter()
            .map(|it| format!("{} {} {}", it["number"], text(it, "effect"), text(it, "text")))
            .collect()
    }
}

fn full<'s>(args: &[&'s str]) -> Vec<&'s str> {
    [&["signer", "--passphrase-file", "pass"], args].concat()
}

pub(crate) fn write_private(scratch: &Scratch, name: &str, content: &str) {
    scratch.write(name, content);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(scratch.path(name), mode).unwrap();
}

/// Returns a small secret key in hexadecimal.
pub(crate) fn key_text(key: u8) -> String {
    format!("{key:064x}\n")
}

#[test]
fn a_new_signer_has_its_relay_and_its_user() {
    let scratch = Scratch::new();
    let alice = Owner::without_signer(&scratch);
    alice.run(&["init", "--relay", RELAY]).ok();
    let ran = alice.run(&["init"]).fails(2, "there is a signer in");
    assert!(ran.err.contains("hint: "), "{}", ran.err);
    let ran = alice.feed(&["import", "--label", "main"], key_text(1).as_bytes()).ok();
    assert_eq!(ran.confirmation(), format!("the signer has the key of {FIRST_NPUB}"));
    alice.feed(&["import"], key_text(1).as_bytes()).fails(2, "already");
    let status = alice.json(&["status"]);
    assert_eq!(status["users"][0]["public_key"], FIRST);
    assert_eq!(status["users"][0]["label"], "main");
    assert_eq!(status["relays"][0], RELAY);
    assert_eq!((&status["runs"], &status["unlocked"]), (&false.into(), &false.into()));
    assert_eq!(status["connected"], Value::Array(Vec::new()));
    // These commands do not ask for a passphrase.
    let ran = alice.0.run(&["signer", "status"]).ok();
    assert_eq!(ran.text(), "signer   does not run\n");
    let ran = alice.run(&["status"]).ok();
    assert!(ran.text().starts_with("signer   does not run\n"), "{}", ran.text());
    assert!(ran.text().contains(&format!("user     {FIRST_NPUB} main\n")), "{}", ran.text());
}

#[test]
fn a_signer_needs_no_identity_and_its_folder_is_private() {
    let scratch = Scratch::new();
    Owner::without_key(&scratch, RELAY);
    let mode = fs::metadata(scratch.path("alice/signer")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o777, 0o700);
    assert!(!scratch.has("alice/identity.endseal"));
}

#[test]
fn a_relay_that_is_none_is_told_when_the_signer_is_made() {
    let scratch = Scratch::new();
    write_private(&scratch, "pass", "correct horse\n");
    let alice = Owner(Person { name: "alice", scratch: &scratch });
    for relay in ["https://relay.example", "relay.example"] {
        let ran = alice.run(&["init", "--relay", RELAY, "--relay", relay]).fails(2, "neither");
        assert!(ran.err.contains("wss://relay.example"), "{}", ran.err);
        assert!(!scratch.has("alice"));
    }
    alice.make(&[]);
    alice.feed(&["import"], key_text(1).as_bytes()).ok();
    let ran = alice.run(&["invite", "mail"]).fails(2, "no relays");
    assert!(ran.err.contains("--relay URL"), "{}", ran.err);
    alice.run(&["invite", "mail", "--relay", RELAY]).ok();
}

#[test]
fn keys_are_imported_in_each_form() {
    let scratch = Scratch::new();
    let alice = Owner::without_key(&scratch, RELAY);
    write_private(&scratch, "hex", &key_text(1));
    write_private(&scratch, "second", &key_text(2));
    write_private(&scratch, "third", &key_text(3));
    let pass = ["--passphrase-file", "pass"];
    let person = &alice.0;
    let nsec = person.run(&["nostr", "key", "decrypt", "-k", "second"]).ok();
    assert!(nsec.text().starts_with("nsec1"));
    let encrypt = ["nostr", "key", "encrypt", "-k", "third", "-o", "sealed"];
    person.run(&[&encrypt[..], &pass].concat()).ok();
    assert!(scratch.read("sealed").starts_with(b"ncryptsec1"));
    assert_eq!(alice.json(&["import", "hex"])["public_key"], FIRST);
    let ran = alice.feed(&["--json", "import"], &nsec.out).ok();
    assert_eq!(ran.json()["public_key"], SECOND);
    let third = alice.json(&["import", "sealed"])["public_key"].clone();
    assert_eq!(alice.json(&["status"])["users"].as_array().unwrap().len(), 3);
    let ran = alice.run(&["invite", "mail"]).fails(2, "several");
    assert!(ran.err.contains("--user"), "{}", ran.err);
    alice.run(&["invite", "mail", "--user", FIRST_NPUB]).ok();
    assert_eq!(alice.json(&["apps"])["apps"][0]["user"], FIRST);
    alice.run(&["invite", "news", "--user", third.as_str().unwrap()]).ok();
    alice.run(&["invite", "other", "--user", &FIRST.replace('7', "8")]).fails(2, "no");
}

#[test]
fn a_key_that_is_none_is_not_repeated() {
    let scratch = Scratch::new();
    let alice = Owner::without_key(&scratch, RELAY);
    let secret = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe6";
    let ran = alice.feed(&["import"], secret.as_bytes()).fails(2, "no secret key");
    assert!(!ran.err.contains(&secret[8..40]), "{}", ran.err);
    let ran = alice.run(&["import", secret]).fails(2, "a key was typed");
    assert!(!ran.err.contains(&secret[8..40]), "{}", ran.err);
}

#[test]
fn an_invitation_is_a_line_with_a_secret_that_is_shown_once() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let allow = format!("sign:1,nip44_decrypt:{SECOND}");
    let ran = alice.run(&["invite", "mail", "--allow", &allow, "--for", "30d"]).ok();
    let uri = ran.text().strip_suffix('\n').unwrap();
    assert!(uri.starts_with("bunker://") && !uri.contains('\n'), "{uri}");
    assert!(uri.contains("relay=wss%3A%2F%2Frelay.example"), "{uri}");
    let (_, secret) = uri.split_once("secret=").unwrap();
    assert!(ran.err.contains("app 1 waits 1d for its client"), "{}", ran.err);
    assert!(ran.err.contains("the signer does not run"), "{}", ran.err);
    let signer = uri["bunker://".len()..].split('?').next().unwrap();
    let apps = alice.json(&["apps"]);
    let app = &apps["apps"][0];
    assert_eq!((&app["signer"], &app["state"]), (&signer.into(), &"invited".into()));
    assert_eq!(alice.rules()[0], "1 allow sign:1");
    assert!(alice.rules()[1].starts_with("2 allow nip44_decrypt:"), "{:?}", alice.rules());
    assert!(app["expires"].as_str().is_some_and(|it| it.ends_with('Z')));
    for args in [&["apps"][..], &["log"], &["status"], &["-v", "apps"]] {
        let ran = alice.run(args).ok();
        assert!(!ran.text().contains(secret) && !ran.err.contains(secret), "{args:?}");
    }
    alice.run(&["invite", "mail"]).fails(2, "another app already has the name");
    let ran = alice.run(&["invite", "news", "--valid", "2h"]).ok();
    assert!(ran.err.contains("nothing is allowed yet"), "{}", ran.err);
    assert_ne!(ran.text().split("secret=").nth(1), Some(secret));
    // Each app has its own transport key.
    assert!(!ran.text().contains(signer));
}

#[test]
fn an_invitation_is_a_new_file_of_its_owner() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let ran = alice.run(&["invite", "mail", "-o", "url"]).ok();
    assert!(ran.confirmation().ends_with("its URL is in 'url'"), "{}", ran.err);
    let url = String::from_utf8(scratch.read("url")).unwrap();
    assert!(url.starts_with("bunker://") && url.contains("secret="), "{url}");
    let mode = fs::metadata(scratch.path("url")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    // No app is made if its URL cannot be written.
    alice.run(&["invite", "news", "-o", "url"]).fails(2, "exists already");
    assert_eq!(scratch.read("url"), url.as_bytes());
    assert_eq!(alice.json(&["apps"])["apps"].as_array().unwrap().len(), 1);
    assert!(alice.run(&["invite", "news", "-o", "-"]).ok().text().starts_with("bunker://"));
}

#[test]
fn an_invitation_is_a_qr_code_on_a_terminal() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let shown = |args: &[&str]| on_a_terminal(alice.command(args), true);
    let code = shown(&["invite", "mail"]);
    assert!(code.starts_with("bunker://") && code.contains("\u{1b}[97;40m\u{2588}"), "{code}");
    for quiet in ["-q", "--json"] {
        let code = shown(&["invite", &format!("app{quiet}"), quiet]);
        assert!(code.contains("bunker://") && !code.contains('\u{2588}'), "{code}");
    }
}

#[test]
fn rules_are_added_explained_and_removed() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1"]).ok();
    let explain = |action| alice.json(&["explain", "mail", action]);
    assert_eq!(
        (&explain("sign:1")["verdict"], &explain("sign:1")["rule"]),
        (&"allow".into(), &1.into())
    );
    assert_eq!(
        (&explain("sign:4")["verdict"], &explain("sign:4")["rule"]),
        (&"deny".into(), &Value::Null)
    );
    let ran = alice.run(&["explain", "mail", "sign:4"]).ok();
    assert_eq!(ran.text(), "denied: no rule allows it\n");
    let granted =
        alice.json(&["grant", "mail", "--ask", "sign:4", "--deny", "sign:1", "--for", "1d"]);
    assert_eq!(granted["rules"].as_array().unwrap().len(), 2);
    assert_eq!(explain("sign:4")["verdict"], "ask");
    assert_eq!(explain("sign:1")["verdict"], "deny");
    assert_eq!(alice.rules(), ["1 allow sign:1", "2 deny sign:1", "3 ask sign:4"]);
    let ran = alice.run(&["grant", "1", "--remove", "2"]).ok();
    assert_eq!(ran.confirmation(), "rule 2 is removed");
    assert_eq!(explain("sign:1")["verdict"], "allow");
    let ran = alice.run(&["grant", "mail", "--remove", "9"]).fails(2, "no rule 9");
    assert!(ran.err.contains("endseal signer apps"), "{}", ran.err);
    let limited = ["grant", "mail", "--allow", "nip44_encrypt", "--count", "3", "--rate", "2/1h"];
    let ran = alice.run(&limited).ok();
    assert_eq!(ran.confirmation(), "added: rule 4");
    let ran = alice.run(&["apps"]).ok();
    assert!(ran.text().starts_with("1  mail  invited\n"), "{}", ran.text());
    assert!(ran.text().contains("4 allow nip44_encrypt, used 0 of 3, 2/1h\n"), "{}", ran.text());
    assert!(ran.text().contains("3 ask   sign:4, until 2"), "{}", ran.text());
}

#[test]
fn a_use_of_an_app_is_rules_that_are_printed() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let ran = alice.run(&["invite", "notes", "--trust", "notes"]).ok();
    assert!(ran.err.contains("allow sign:1,") && ran.err.contains("ask sign,"), "{}", ran.err);
    for (app, trust) in [("chat", "chat"), ("full", "full"), ("ask", "ask")] {
        alice.run(&["invite", app, "--trust", trust]).ok();
    }
    for (action, verdicts) in [
        ("sign:1", ["allow", "allow", "allow", "ask"]),
        ("sign:13", ["ask", "allow", "ask", "ask"]),
        ("sign:3", ["ask", "ask", "allow", "ask"]),
        ("sign:23194", ["ask"; 4]),
        ("sign:22242:wss://relay.example", ["ask"; 4]),
    ] {
        for (app, verdict) in ["notes", "chat", "full", "ask"].iter().zip(verdicts) {
            assert_eq!(alice.json(&["explain", app, action])["verdict"], verdict, "{app} {action}");
        }
    }
    alice.run(&["grant", "ask", "--trust", "notes"]).ok();
    assert_eq!(alice.json(&["explain", "ask", "sign:1"])["verdict"], "allow");
}

#[test]
fn a_log_in_is_allowed_for_one_relay_and_days() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail"]).ok();
    let log_in = format!("sign:22242:{RELAY}");
    // An allowed range of kinds that contains 22242 does not allow it.
    alice.run(&["grant", "mail", "--allow", "sign,sign:0-30000"]).ok();
    assert_eq!(alice.json(&["explain", "mail", &log_in])["verdict"], "deny");
    for (rule, lifetime) in [(&*log_in, "91d"), ("sign:22242", "10m")] {
        let ran = alice.run(&["grant", "mail", "--allow", rule, "--for", lifetime]);
        ran.fails(2, "22242");
    }
    let ran = alice.run(&["grant", "mail", "--allow", &log_in, "--for", "99d"]).fails(2, "22242");
    assert!(ran.err.contains("--for 90d"), "{}", ran.err);
    alice.run(&["grant", "mail", "--allow", &log_in]).fails(2, "22242");
    alice.run(&["grant", "mail", "--allow", &log_in, "--for", "90d"]).ok();
    assert_eq!(alice.json(&["explain", "mail", &log_in])["verdict"], "allow");
    let other = "sign:22242:wss://other.example";
    assert_eq!(alice.json(&["explain", "mail", other])["verdict"], "deny");
}

#[test]
fn a_revoked_app_gives_its_name_back() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1"]).ok();
    let ran = alice.run(&["revoke", "mail"]).ok();
    assert_eq!(ran.confirmation(), "the app is revoked");
    assert_eq!(alice.json(&["apps"])["apps"][0]["state"], "revoked");
    assert_eq!(alice.json(&["status"])["apps"], 0);
    alice.run(&["invite", "mail"]).ok();
    assert_eq!(alice.json(&["apps"])["apps"][1]["state"], "invited");
}

#[test]
fn the_log_has_a_line_for_each_change_and_is_verified() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1,sign:7"]).ok();
    alice.run(&["grant", "mail", "--remove", "2"]).ok();
    alice.run(&["revoke", "mail"]).ok();
    let lines = |args: &[&str]| -> Vec<Value> {
        let ran = alice.run(&[&["--json", "log"], args].concat()).ok();
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&[]);
    let matters: Vec<_> = all.iter().map(|line| line["matter"].as_str().unwrap()).collect();
    let expected =
        ["user_imported", "app_invited", "rule_added", "rule_added", "rule_removed", "app_revoked"];
    assert_eq!(matters, expected);
    assert_eq!(lines(&["--after", "4"]), all[4..]);
    assert_eq!(lines(&["--after", "1", "--limit", "2"]), all[1..3]);
    assert_eq!(lines(&["--limit", "0"]), [] as [Value; 0]);
    let verified = alice.json(&["log", "--verify"]);
    assert_eq!((&verified["lines"], &verified["hash"]), (&6.into(), &all[5]["hash"]));
    let ran = alice.run(&["log"]).ok();
    let line = ran.text().lines().nth(1).unwrap();
    assert!(line.starts_with("     2  2") && line.ends_with("Z  app invited  mail"), "{line}");
    assert_eq!(alice.run(&["log", "--verify", "--after", "1"]).code, 2);
}

#[test]
fn old_lines_are_archived_and_verified_with_the_log() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1"]).ok();
    let all = alice.run(&["--json", "log"]).ok().text().to_owned();
    alice.run(&["backup", "before"]).ok();
    // Nothing of it is needed: no request was decided.
    let ran = alice.run(&["log", "--archive", "old"]).ok();
    assert_eq!(ran.confirmation(), "3 lines moved to 'old', up to line 3");
    alice.run(&["log", "--archive", "old"]).fails(2, "already");
    alice.run(&["rename", "mail", "post"]).ok();
    alice.run(&["log", "--archive", "older"]).ok();
    let left = alice.run(&["log"]).ok().text().to_owned();
    assert!(left.starts_with("     6  ") && left.ends_with("log archived  5\n"), "{left}");
    let archived: Vec<Value> =
        text_of(&scratch.path("old")).lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    for (line, before) in archived.iter().zip(all.lines()) {
        let before: Value = serde_json::from_str(before).unwrap();
        let hash = &line["value"].as_str().unwrap()[..64];
        assert_eq!((&line["number"], hash), (&before["number"], before["hash"].as_str().unwrap()));
    }
    let ran = alice.run(&["log", "--verify"]).ok();
    assert!(ran.text().starts_with("6 lines, the last one "), "{}", ran.text());
    assert!(ran.err.contains("lines up to 5 are archived"), "{}", ran.err);
    let verify = |files: &[&str]| {
        let mut args = vec!["log", "--verify"];
        files.iter().for_each(|file| args.extend(["--archived", file]));
        alice.run(&args)
    };
    verify(&["old", "older"]).ok();
    verify(&["old"]).fails(1, "begins behind line 5");
    verify(&["older", "old"]).fails(1, "line 1 of the log is not in 'older'");
    let changed = text_of(&scratch.path("old")).replacen("\"value\":\"0", "\"value\":\"1", 3);
    let changed = changed.replacen("\"value\":\"a", "\"value\":\"b", 3);
    let changed = changed.replace("6d61696c", "6d61696d");
    fs::write(scratch.path("changed"), changed).unwrap();
    verify(&["changed", "older"]).fails(1, "of the log is not in 'changed'");
    fs::write(scratch.path("long"), "x".repeat(1 << 20)).unwrap();
    verify(&["long"]).fails(1, "line 1 of the log is not in 'long'");
    // As after a move that was interrupted before the lines left the log: they are in both.
    fs::remove_dir_all(scratch.path("alice/signer")).unwrap();
    fs::rename(scratch.path("before"), scratch.path("alice/signer")).unwrap();
    verify(&["old"]).ok();
    verify(&["old", "older"]).fails(1, "begins behind line 0");
    alice.run(&["rename", "mail", "news"]).ok();
    alice.run(&["log", "--archive", "again"]).ok();
    verify(&["old", "again"]).ok();
    verify(&["again"]).ok();
    verify(&["old"]).fails(1, "begins behind line 4");
}

#[test]
fn an_app_is_renamed_and_invited_again() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let first = alice.run(&["invite", "mail", "--allow", "sign:1"]).ok().text().to_owned();
    alice.run(&["invite", "notes"]).ok();
    alice.run(&["rename", "mail", "notes"]).fails(2, "another app already has the name");
    let ran = alice.run(&["rename", "mail", "post"]).ok();
    assert_eq!(ran.confirmation(), "'mail' is 'post' now");
    let ran = alice.run(&["reinvite", "post", "--valid", "1h"]).ok();
    assert!(ran.err.contains("app 1 waits 1h for its client"), "{}", ran.err);
    let again = ran.text();
    assert_ne!(again, first);
    let key = |uri: &str| uri.split_once('?').unwrap().0.to_owned();
    assert_eq!(key(again), key(&first));
    assert_eq!(alice.json(&["apps"])["apps"][0]["rules"][0]["text"], "sign:1");
    alice.run(&["reinvite", "post", "-o", "uri"]).ok();
    assert!(text_of(&scratch.path("uri")).starts_with("bunker://"));
    alice.run(&["reinvite", "post", "-o", "uri"]).fails(2, "already");
    alice.run(&["reinvite", "nobody"]).fails(2, "there is no app 'nobody'");
}

#[test]
fn a_key_is_removed_and_its_copy_can_be_imported() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail"]).ok();
    alice.run(&["remove-key", FIRST_NPUB]).fails(2, "--copy");
    let ran = alice.run(&["remove-key", FIRST_NPUB, "--copy", "copy"]);
    ran.fails(2, "1 apps that have not ended use this key");
    assert!(!scratch.path("copy").exists(), "no copy is left of a key that stays");
    alice.run(&["revoke", "mail"]).ok();
    let ran = alice.run(&["remove-key", FIRST_NPUB, "--copy", "copy"]).ok();
    assert_eq!(ran.confirmation(), "the key is removed; its copy is in 'copy'");
    assert_eq!(alice.json(&["status"])["users"].as_array().unwrap().len(), 0);
    assert_eq!(alice.json(&["apps"])["apps"].as_array().unwrap().len(), 0);
    alice.run(&["remove-key", FIRST_NPUB, "--forget"]).fails(2, "the signer has no user key");
    alice.run(&["import", "copy"]).ok();
    assert_eq!(alice.json(&["status"])["users"][0]["npub"], FIRST_NPUB);
    alice.run(&["remove-key", FIRST, "--forget"]).ok();
}

#[test]
fn rules_for_kinds_that_act_elsewhere_are_told() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let ran = alice.run(&["invite", "a", "--allow", "sign"]).ok();
    let all = "not included (13, 62, 22242, 23194, 24133, 24242, 27235)";
    assert!(ran.err.contains(all), "{}", ran.err);
    let ran = alice.run(&["invite", "b", "--allow", "sign:1,sign:24242"]).ok();
    assert!(ran.err.contains("warning: kind 24242 acts for you elsewhere: "), "{}", ran.err);
    let ran = alice.run(&["invite", "c", "--allow", "sign:1-7,nip44_decrypt"]).ok();
    assert!(!ran.err.contains("elsewhere"), "{}", ran.err);
}

#[test]
fn a_backup_is_a_signer() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1"]).ok();
    let ran = alice.run(&["backup", "copy"]).ok();
    assert_eq!(ran.confirmation(), "backup in 'copy'");
    alice.run(&["backup", "copy"]).fails(2, "already");
    let apps = alice.json(&["apps"]);
    fs::rename(scratch.path("alice/signer"), scratch.path("lost")).unwrap();
    fs::rename(scratch.path("copy"), scratch.path("alice/signer")).unwrap();
    assert_eq!(alice.json(&["apps"]), apps);
    assert_eq!(alice.json(&["log", "--verify"])["lines"], 3);
}

#[test]
fn a_wrong_passphrase_opens_nothing() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    write_private(&scratch, "wrong", "battery staple\n");
    let wrong = ["--passphrase-file", "wrong", "signer"];
    let tried: [&[&str]; 5] =
        [&["apps"], &["invite", "mail"], &["log", "--verify"], &["backup", "copy"], &["run"]];
    for args in tried {
        alice.0.run(&[&wrong, args].concat()).fails(1, "cannot open the signer");
    }
    let import = [&wrong[..], &["import"]].concat();
    alice.0.feed(&import, key_text(2).as_bytes()).fails(1, "cannot open the signer");
    assert!(!scratch.has("copy"));
    assert_eq!(alice.json(&["status"])["users"].as_array().unwrap().len(), 1);
    alice.0.run(&["signer", "apps"]).fails(2, "a passphrase is needed");
}

#[test]
fn without_a_signer_the_hint_names_the_command_that_makes_one() {
    let scratch = Scratch::new();
    write_private(&scratch, "pass", "correct horse\n");
    let person = Person { name: "alice", scratch: &scratch };
    let alice = Owner(Person { name: "alice", scratch: &scratch });
    for has_home in [false, true] {
        if has_home {
            person.run(&["init", "--no-passphrase"]).ok();
        }
        for args in [&["apps"][..], &["run"], &["lock"], &["status"]] {
            let ran = alice.run(args).fails(4, "there is no signer in");
            assert!(ran.err.contains("endseal signer init"), "{}", ran.err);
        }
    }
}

#[test]
fn what_only_a_running_signer_does_has_a_hint() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let uri = format!("nostrconnect://{SECOND}?relay=wss%3A%2F%2Frelay.example&secret=0123456789");
    for args in RUNNING {
        let ran = alice.feed(args, uri.as_bytes());
        let ran = ran.fails(3, "run");
        assert!(ran.err.contains("hint: start it with: endseal signer run"), "{}", ran.err);
        assert!(!ran.err.contains("0123456789"), "{}", ran.err);
    }
}

#[test]
fn a_secret_of_a_uri_is_not_repeated() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    let uri = format!("nostrconnect://{SECOND}?relay=wss%3A%2F%2Frelay.example&secret=0123456789");
    let ran = alice.run(&["connect", &uri]);
    assert!(ran.err.starts_with("warning: other processes can read"), "{}", ran.err);
    let bunker = uri.replace("nostrconnect", "bunker");
    for args in [
        &["connect", &uri][..],
        &["connect", &uri, "more"],
        &["connect", "x", &uri],
        &["revoke", &uri],
        &["revoke", &bunker],
        &["invite", &bunker],
        &["explain", "mail", &bunker],
        &["--json", "revoke", &bunker],
    ] {
        let ran = alice.run(args);
        assert_ne!(ran.code, 0, "{args:?}");
        assert!(!ran.err.contains("0123456789"), "{args:?}: {}", ran.err);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scratch = Scratch::new();
    let alice = Owner::new(&scratch, RELAY);
    alice.run(&["invite", "mail", "--allow", "sign:1"]).ok();
    for args in [
        &["grant", "nobody", "--allow", "sign:1"][..],
        &["grant", "mail"],
        &["grant", "mail", "--for", "1d"],
        &["grant", "mail", "--remove", "1", "--allow", "sign:1"],
        &["grant", "mail", "--ask", "sign:1", "--count", "1"],
        &["grant", "mail", "--allow", "sign:1", "--count", "0"],
        &["grant", "mail", "--allow", "sign:1", "--rate", "2"],
        &["grant", "mail", "--allow", "sing:1"],
        &["grant", "mail", "--allow", "sign:65536"],
        &["grant", "mail", "--allow", "nip44_decrypt:npub1x"],
        &["revoke", "nobody"],
        &["explain", "nobody", "sign:1"],
        &["explain", "mail", "sign:1,sign:2"],
        &["invite", "12"],
        &["invite", "a\nb"],
        &["invite", ""],
        &["invite", "news", "--user", SECOND],
        &["invite", "news", "--user", "nobody"],
        &["invite", "news", "--for", "0s"],
        &["invite", "news", "--relay", "https://relay.example"],
        &["run", "--extension", "nip99"],
        &["run", "--page-url", "https://page.example"],
    ] {
        let ran = alice.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty());
    }
    assert_eq!(alice.rules(), ["1 allow sign:1"]);
    assert_eq!(alice.json(&["apps"])["apps"].as_array().unwrap().len(), 1);
}

#[test]
fn key_and_passphrase_are_not_both_standard_input() {
    let scratch = Scratch::new();
    let alice = Owner::without_key(&scratch, RELAY);
    let both = format!("correct horse\n{}", key_text(1));
    for source in [["--passphrase-file", "/dev/stdin"], ["--passphrase-fd", "0"]] {
        let args = [&["signer"], &source[..], &["import"]].concat();
        let ran = alice.0.feed(&args, both.as_bytes()).fails(2, "both be standard input");
        assert!(ran.err.contains("name a file"), "{}", ran.err);
    }
    // Each of them alone is accepted.
    write_private(&scratch, "key", &key_text(1));
    let args = ["signer", "--passphrase-file", "/dev/stdin", "import", "key"];
    alice.0.feed(&args, b"correct horse\n").ok();
    alice.feed(&["import"], key_text(2).as_bytes()).ok();
}
