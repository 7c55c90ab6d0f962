//! `endseal signer run`, its commands, and an app that uses the relay in this process.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

use endseal_testing::Scratch;
use serde_json::{Value, json};

use crate::nostr_app::{App, World, signed, template, wait_until};
use crate::people::Ran;
use crate::signer::{FIRST, Owner};

/// A running signer, which is killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    /// First line that it printed.
    pub(crate) first: String,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a signer, and waits until it runs.
    pub(crate) fn start(owner: &Owner<'_>, args: &[&str]) -> Self {
        Self::of(owner.command(&[&["run", "--log", "off"], args].concat()))
    }

    /// Starts a command that runs a signer.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        assert!(!first.is_empty(), "it ended with {}", child.wait().unwrap());
        Self { child, first, stdout }
    }

    /// Returns the next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it. Returns its exit code and its remaining output.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command that MUST NOT need a passphrase.
pub(crate) fn ask(owner: &Owner<'_>, args: &[&str]) -> Ran {
    owner.0.run(&[&["signer"], args].concat())
}

/// Makes an app with these options, and connects it.
pub(crate) fn invite<'w>(owner: &Owner<'_>, world: &'w World, options: &[&str]) -> App<'w> {
    let ran = ask(owner, &[&["invite", "mail"], options].concat()).ok();
    App::of_bunker(world, ran.text().trim_end())
}

/// Waits for at least one waiting request, and returns all of them.
pub(crate) fn waiting(owner: &Owner<'_>) -> Value {
    let mut found = Value::Null;
    wait_until("a request", || {
        found = ask(owner, &["--json", "waiting"]).ok().json()["waiting"].clone();
        found.as_array().is_some_and(|it| !it.is_empty())
    });
    found
}

#[test]
fn an_invited_app_signs_what_its_rules_name() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let signer = Running::start(&alice, &[]);
    assert_eq!(signer.first, "the signer runs\n");
    let relay = |state| {
        let status = ask(&alice, &["status"]).ok();
        status.text().contains(&format!("relay    {}  {state}\n", world.url()))
    };
    assert!(relay("not connected, as there is no app"));
    let mut app = invite(&alice, &world, &["--allow", "sign:1", "--for", "30d"]);
    assert_eq!(app.ask("get_public_key", &json!([]))["result"], FIRST);
    assert_eq!(app.sign(1), FIRST);
    assert!(relay("connected"));
    assert_eq!(app.sign(4), "not allowed");
    ask(&alice, &["grant", "mail", "--allow", "sign:4", "--count", "1"]).ok();
    assert_eq!(app.sign(4), FIRST);
    assert_eq!(app.sign(4), "not allowed: the limit is reached");
    let apps = ask(&alice, &["--json", "apps"]).ok().json();
    assert_eq!(apps["apps"][0]["state"], "paired");
    assert_eq!(apps["apps"][0]["rules"][1]["used"], 1);
    let log = ask(&alice, &["log"]).ok();
    for line in ["sign_event  kind 1  allowed  rule 1", "sign_event  kind 4  denied", "limit"] {
        assert!(log.text().contains(line), "{line}: {}", log.text());
    }
    ask(&alice, &["log", "--verify"]).ok();
    ask(&alice, &["revoke", "mail"]).ok();
    assert_eq!(app.sign(1), "this connection was revoked");
    assert_eq!(signer.end(), (Some(0), String::new()));
}

#[test]
fn a_request_waits_for_a_person_and_blocks_no_other() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &[]);
    let mut app = invite(&alice, &world, &["--ask", "sign", "--allow", "sign:7"]);
    let first = app.start("sign_event", &template(1));
    let found = waiting(&alice);
    assert_eq!((&found[0]["app"], &found[0]["kind"]), (&"mail".into(), &1.into()));
    assert_eq!(found[0]["content"], "at noon");
    assert_eq!(app.ask("ping", &json!([]))["result"], "pong");
    assert_eq!(app.sign(7), FIRST);
    let shown = ask(&alice, &["waiting"]).ok();
    let shown = shown.text();
    assert!(shown.contains("mail asks to sign a short text note (kind 1)\n"), "{shown}");
    // All of one request.
    let number = found[0]["id"].to_string();
    assert_eq!(ask(&alice, &["waiting", &number]).ok().text().lines().next(), shown.lines().next());
    ask(&alice, &["waiting", "1"]).fails(2, "no request 1 waits");
    ask(&alice, &["approve", &found[0]["id"].to_string()]).ok();
    assert_eq!(signed(&app.answer(&first), 1), FIRST);
    // It was allowed once. A refusal can be remembered too.
    let second = app.start("sign_event", &template(1));
    let id = waiting(&alice)[0]["id"].to_string();
    ask(&alice, &["deny", &id, "--remember", "1h"]).ok();
    assert_eq!(signed(&app.answer(&second), 1), "not allowed");
    assert_eq!(app.sign(1), "not allowed");
    let ran = ask(&alice, &["approve", &id]).fails(2, "waits for a decision");
    assert!(ran.err.contains("endseal signer waiting"), "{}", ran.err);
    assert_eq!(ask(&alice, &["waiting"]).ok().text(), "");
}

#[test]
fn a_locked_signer_signs_nothing_until_the_passphrase_comes() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &[]);
    let mut app = invite(&alice, &world, &["--allow", "sign:1"]);
    ask(&alice, &["lock"]).ok();
    assert_eq!(app.sign(1), "the signer is locked");
    scratch.write("wrong", "battery staple\n");
    alice.0.run(&["signer", "unlock", "--passphrase-file", "wrong"]).fails(1, "passphrase");
    ask(&alice, &["unlock"]).fails(2, "a passphrase is needed");
    assert!(ask(&alice, &["status"]).ok().text().starts_with("signer   runs, locked\n"));
    assert_eq!(app.sign(1), "the signer is locked");
    alice.run(&["unlock"]).ok();
    assert_eq!(app.sign(1), FIRST);
    assert!(ask(&alice, &["status"]).ok().text().starts_with("signer   runs, unlocked\n"));
}

#[test]
fn a_killed_signer_keeps_apps_and_uses() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let signer = Running::start(&alice, &[]);
    let mut app = invite(&alice, &world, &["--allow", "sign:1", "--count", "2"]);
    assert_eq!(app.sign(1), FIRST);
    // The process is killed, as by `kill -9`.
    drop(signer);
    // Its socket still exists, without a listener.
    ask(&alice, &["waiting"]).fails(3, "no signer runs");
    assert_eq!(alice.json(&["apps"])["apps"][0]["rules"][0]["used"], 1);
    let _signer = Running::start(&alice, &[]);
    assert_eq!(app.sign(1), FIRST);
    assert_eq!(app.sign(1), "not allowed: the limit is reached");
    ask(&alice, &["log", "--verify"]).ok();
}

#[test]
fn a_client_that_shows_a_uri_is_connected() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let _signer = Running::start(&alice, &["--allow-private"]);
    let mut app = App::new(&world);
    let uri = app.uri("0123456789abcdef");
    let connect = ["signer", "connect", "-", "--allow", "sign:1", "--allow-private"];
    let ran = alice.0.feed(&connect, uri.as_bytes()).ok();
    let said = "app 1, 'mail app', is added; 1 of 1 relays of the URI took its greeting; \
                the running signer repeats it for ten minutes, until the client answers";
    assert_eq!(ran.confirmation(), said);
    app.accept("0123456789abcdef");
    assert_eq!(app.sign(1), FIRST);
    let apps = ask(&alice, &["apps"]).ok();
    assert!(apps.text().contains("1  mail app  paired"), "{}", apps.text());
    for args in [&["apps"][..], &["log"], &["status"]] {
        assert!(!ask(&alice, args).ok().text().contains("0123456789abcdef"));
    }
    let ran = alice.0.feed(&["signer", "connect", "-"], uri.replace("name", "x").as_bytes());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!ran.err.contains("0123456789abcdef"), "{}", ran.err);
}

#[test]
fn a_running_signer_is_reached_by_its_owner_alone() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let socket = scratch.path("alice/signer/signer.sock");
    let signer = Running::start(&alice, &[]);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // It fails before it asks for a passphrase.
    ask(&alice, &["run"]).fails(3, "runs already");
    ask(&alice, &["backup", "copy"]).ok();
    assert!(scratch.has("copy"));
    let ran = alice.feed(&["--json", "import"], crate::signer::key_text(2).as_bytes()).ok();
    assert_eq!(ran.json()["public_key"], crate::signer::SECOND);
    assert_eq!(signer.end().0, Some(0));
    assert_eq!(alice.json(&["status"])["users"].as_array().unwrap().len(), 2);
}

#[test]
fn each_request_is_a_line_of_the_log_without_names() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let mut command = alice.command(&["run", "--log", "info"]);
    command.stderr(fs::File::create(scratch.path("log")).unwrap());
    let signer = Running::of(command);
    let mut app = invite(&alice, &world, &["--allow", "sign:1"]);
    assert_eq!(app.sign(1), FIRST);
    // An event without an answer has a line, too.
    let apps = alice.json(&["apps"]);
    let transport = apps["apps"][0]["signer"].as_str().unwrap();
    App::send_unconnected(&world, &format!("bunker://{transport}"));
    assert_eq!(app.sign(4), "not allowed");
    let status = ask(&alice, &["status"]).ok();
    assert!(status.text().contains("ignored  unknown-sender: 1\n"), "{}", status.text());
    assert_eq!(signer.end().0, Some(0));
    let log = String::from_utf8(scratch.read("log")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for outcome in ["allowed", "refused"] {
        let is_it = |line: &Value| {
            line["message"] == "request"
                && line["method"] == "sign_event"
                && line["outcome"] == outcome
        };
        assert_eq!(lines.iter().filter(|line| is_it(line)).count(), 1, "{log}");
    }
    let ignored = lines.iter().find(|line| line["message"] == "events were ignored").expect(&log);
    assert_eq!((&ignored["cause"], &ignored["app"]), (&"unknown-sender".into(), &1.into()));
    for private in ["mail", "at noon", FIRST] {
        assert!(!log.contains(private), "{log}");
    }
}

/// Returns the status and the text of a page. Names below `localhost` are this machine's.
fn get(url: &str) -> (String, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let port = host.rsplit_once(':').unwrap().1;
    let address =
        if host.contains(".localhost:") { format!("127.0.0.1:{port}") } else { host.into() };
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().to_owned(), text)
}

fn status(url: &str) -> String {
    get(url).0
}

#[test]
fn a_signer_says_where_its_pages_are() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    ask(&alice, &["sign-in"]).fails(3, "no signer runs");
    let args = ["--json", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"];
    let signer = Running::start(&alice, &args);
    let told: Value = serde_json::from_str(&signer.first).unwrap();
    let (metrics, page) = (told["metrics"].as_str().unwrap(), told["page"].as_str().unwrap());
    assert_eq!(status(metrics), "200");
    assert_eq!(status(&metrics.replace("metrics", "healthz")), "200");
    assert_eq!(status(page), "403");
    let (name, port) = page.trim_end_matches('/').split_once(".localhost:").unwrap();
    let name = name.strip_prefix("http://").unwrap();
    assert!(name.len() == 32 && name.bytes().all(|it| it.is_ascii_hexdigit()), "{page}");
    // Other accounts know the address, and do not learn the name from it.
    for host in ["127.0.0.1", "localhost"] {
        let (status, text) = get(&format!("http://{host}:{port}/"));
        assert_eq!(status, "421");
        assert!(!text.contains(name), "{text}");
    }
    let link = ask(&alice, &["sign-in"]).ok();
    let link = link.text().trim_end();
    assert!(link.starts_with(page), "{link}");
    // It is shown as often as one likes, and works once: tests/nostr/test_page.py.
    assert_eq!(status(link), "200");
    assert_eq!(status(link), "200");
    assert_eq!(status(&link.replace("sign-in", "request")), "403");
    assert!(ask(&alice, &["sign-out"]).ok().err.contains("no browser was signed in"));
    drop(signer);
    let again = Running::start(&alice, &args);
    assert!(!again.first.contains(name), "{}", again.first);
    drop(again);
    for address in ["0.0.0.0:0", "127.0.0.2:0"] {
        alice.run(&["run", "--page", address]).fails(2, "needs the URL at which browsers reach it");
    }
    let chosen = ["--json", "--page", "127.0.0.1:0", "--page-url", "https://signer.example"];
    let signer = Running::start(&alice, &chosen);
    let told: Value = serde_json::from_str(&signer.first).unwrap();
    assert_eq!(told["page"], "https://signer.example/");
}
