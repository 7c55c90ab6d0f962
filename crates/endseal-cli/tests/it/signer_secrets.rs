//! The secrets of a signer that runs, answers, fails and is killed are in no file, log line or
//! dump.

use std::fs::{self, File};
use std::path::Path;

use endseal_signer::SignerStore;
use endseal_testing::Scratch;
use serde_json::json;

use crate::nostr_app::World;
use crate::signer::{Owner, write_private};
use crate::signer_running::{Running, ask, invite};

/// A key that no other bytes resemble.
const KEY: &str = "a7c35e19f0d2846b3b9e51c7d8f4a20615e8c9d3b7a6f4e2d1c0b9a897f6e5d4";
const PASSPHRASE: &str = "correct horse";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the files below a directory.
fn files(directory: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn a_running_signer_leaves_no_secret_behind() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::without_key(&scratch, &world.url());
    write_private(&scratch, "key", KEY);
    let nsec = alice.0.run(&["nostr", "key", "decrypt", "-k", "key"]).ok().text().to_owned();
    let nsec = nsec.trim_end();
    assert!(nsec.starts_with("nsec1"));
    alice.feed(&["import"], nsec.as_bytes()).ok();
    let mut command = alice.command(&["run", "--log", "info"]);
    let log = scratch.path("log");
    command.stderr(File::create(&log).unwrap());
    let signer = Running::of(command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", signer.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_ascii_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);

    // Requests that succeed, are denied, are malformed and fail, and commands that fail.
    let mut app = invite(&alice, &world, &["--allow", "sign:1,nip44_decrypt"]);
    assert_eq!(app.sign(1).len(), 64);
    assert_eq!(app.sign(4), "not allowed");
    for (method, params) in [
        ("sign_event", json!(["{"])),
        ("nip44_decrypt", json!([KEY, nsec])),
        ("connect", json!(["", "wrong"])),
        ("no_such_method", json!([])),
    ] {
        assert!(app.ask(method, &params)["error"].is_string(), "{method}");
    }
    write_private(&scratch, "wrong", "battery staple\n");
    let mut said = vec![
        alice.0.run(&["signer", "unlock", "--passphrase-file", "wrong"]).fails(1, "").err,
        alice.feed(&["import"], nsec.as_bytes()).fails(2, "already").err,
        ask(&alice, &["import", nsec]).fails(2, "").err,
        ask(&alice, &["invite", "mail"]).fails(2, "").err,
        ask(&alice, &["grant", "mail", "--allow", "x"]).fails(2, "").err,
    ];
    for args in [&["lock"][..], &["status"], &["apps"], &["log"]] {
        let ran = ask(&alice, args).ok();
        said.extend([ran.text().to_owned(), ran.err]);
    }
    alice.run(&["unlock"]).ok();
    assert_eq!(app.sign(1).len(), 64);
    // The process is killed, as by `kill -9`.
    drop(signer);

    let directory = scratch.path("alice/signer");
    let mut found = files(&directory);
    assert!(found.len() >= 3, "{}", found.len());
    found.push(fs::read(&log).unwrap());
    found.extend(said.into_iter().map(String::into_bytes));
    let store = SignerStore::open(&directory, PASSPHRASE, Default::default()).unwrap();
    let mut secrets = vec![bytes(KEY), KEY.into(), nsec.into(), PASSPHRASE.into()];
    for app in store.state().apps() {
        let transport = app.app().transport().secret_key().expose_secret().to_vec();
        secrets.extend([hex(&transport).into_bytes(), transport]);
    }
    drop(store);
    found.extend(files(&directory));
    assert_eq!(secrets.len(), 6);
    let has = |secret: &[u8]| {
        found.iter().any(|file| file.windows(secret.len()).any(|window| window == secret))
    };
    // The search itself works.
    assert!(has(b"mail"));
    for (number, secret) in secrets.iter().enumerate() {
        assert!(!has(secret), "secret {number}");
    }
}
