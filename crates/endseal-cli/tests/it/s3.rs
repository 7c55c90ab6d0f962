//! Key rings of the S3 proxy, and the maintenance of buckets.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use endseal_testing::Scratch;
use serde_json::{Value, json};

use crate::people::{program, run};

fn s3(args: &[&str], scratch: &Scratch) -> crate::people::Ran {
    run(program().current_dir(scratch.folder()).arg("s3").args(args))
}

fn configured() -> Scratch {
    let scratch = Scratch::new();
    let text = "[backend]\nfolder = \"objects\"\n[keys]\nprovider = \"ring\"\nfile = \"ring.key\"\n\
                [[client]]\naccess_key = \"A\"\nsecret_key = \"01234567890123456789\"\n";
    scratch.write("s3.toml", text);
    let private = Permissions::from_mode(0o600);
    std::fs::set_permissions(scratch.path("s3.toml"), private).unwrap();
    s3(&["key", "new", "ring.key"], &scratch).ok();
    scratch
}

#[test]
fn keys_of_a_ring_are_dated_and_the_last_one_wraps() {
    let scratch = configured();
    let rotated = s3(&["key", "rotate", "ring.key", "--json"], &scratch).ok().json();
    let keys = rotated["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2);
    for (key, wraps) in keys.iter().zip([false, true]) {
        assert_eq!(key["wraps"], wraps);
        let made = key["created"].as_str().unwrap();
        // Seconds that are mistaken for milliseconds are in 1970, or in the year 9999.
        assert!(("2024".."2200").contains(&made), "{made}");
    }
    assert_eq!(s3(&["key", "list", "ring.key", "--json"], &scratch).ok().json(), rotated);
}

#[test]
fn a_ring_that_others_can_read_is_told() {
    let scratch = configured();
    let clean = ["clean", "--config", "s3.toml", "--dry-run"];
    let commands = [&["key", "list", "ring.key"][..], &["key", "rotate", "ring.key"], &clean];
    for command in commands {
        let told = |mode| {
            let ring = scratch.path("ring.key");
            std::fs::set_permissions(ring, Permissions::from_mode(mode)).unwrap();
            s3(command, &scratch).ok().err.contains("warning: others can read the secret in")
        };
        assert!(told(0o644) && !told(0o600), "{command:?}");
    }
}

#[test]
fn a_secret_access_key_in_a_configuration_that_others_can_read_is_told() {
    let scratch = configured();
    let told = |mode| {
        let file = scratch.path("s3.toml");
        std::fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
        let clean = s3(&["clean", "--config", "s3.toml", "--dry-run"], &scratch).ok();
        clean.err.contains("others can read the secret in 's3.toml'")
    };
    assert!(told(0o644) && !told(0o600));
}

#[test]
fn a_secret_access_key_in_a_file_that_others_can_read_is_told() {
    let scratch = configured();
    let text = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    let text =
        text.replace("secret_key = \"01234567890123456789\"", "secret_key_file = \"alice.secret\"");
    scratch.write("s3.toml", text);
    scratch.write("alice.secret", "01234567890123456789\n");
    let told = |mode| {
        let secret = scratch.path("alice.secret");
        std::fs::set_permissions(secret, Permissions::from_mode(mode)).unwrap();
        let clean = s3(&["clean", "--config", "s3.toml", "--dry-run"], &scratch).ok();
        clean.err.contains("others can read the secret in") && clean.err.contains("alice.secret")
    };
    assert!(told(0o644) && !told(0o600));
}

#[test]
fn a_service_account_in_a_file_that_others_can_read_is_told() {
    let scratch = configured();
    let keys = "provider = \"gcp-kms\"\nid = \"k\"\nservice_account_file = \"account.json\"\n\
                key = \"projects/p/locations/l/keyRings/r/cryptoKeys/k\"\n";
    let text = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    let ring = "provider = \"ring\"\nfile = \"ring.key\"\n";
    assert!(text.contains(ring));
    scratch.write("s3.toml", text.replace(ring, keys));
    scratch.write("account.json", "{\"private_key\": \"marked\"}");
    let told = |mode| {
        let account = scratch.path("account.json");
        std::fs::set_permissions(account, Permissions::from_mode(mode)).unwrap();
        // Not the key of an account, which is found out later.
        let clean = s3(&["clean", "--config", "s3.toml", "--dry-run"], &scratch);
        assert!(clean.err.contains("account.json: type is not") && !clean.err.contains("marked"));
        clean.err.contains("others can read the secret in")
    };
    assert!(told(0o644) && !told(0o600));
}

#[test]
fn a_key_is_taken_out_by_its_whole_id_and_the_ring_is_kept_beside() {
    let scratch = configured();
    let before = std::fs::read(scratch.folder().join("ring.key")).unwrap();
    let keys = s3(&["key", "rotate", "ring.key", "--json"], &scratch).ok().json();
    let [old, newest] = [0, 1].map(|at| keys["keys"][at]["id"].as_str().unwrap().to_owned());
    let rotated = std::fs::read(scratch.folder().join("ring.key")).unwrap();
    for (id, code, word) in [
        (newest.as_str(), 3, "wraps"),
        (&old[..old.len() - 1], 3, "no key of that id"),
        ("ring-*", 2, "id"),
    ] {
        s3(&["key", "remove", "ring.key", id], &scratch).fails(code, word);
    }
    assert_eq!(std::fs::read(scratch.folder().join("ring.key")).unwrap(), rotated);
    let removed = s3(&["key", "remove", "ring.key", &old], &scratch).ok();
    let kept = format!("ring.key.before-{old}");
    assert!(removed.err.contains(&kept) && removed.err.contains(&old), "{}", removed.err);
    assert!(!removed.text().contains(&old) && removed.text().contains(&newest));
    assert_eq!(std::fs::read(scratch.folder().join(&kept)).unwrap(), rotated);
    let listed = s3(&["key", "list", "ring.key", "--json"], &scratch).ok().json();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 1);
    // The only key is the one that wraps. No copy is ever replaced.
    s3(&["key", "remove", "ring.key", &newest], &scratch).fails(3, "wraps");
    std::fs::write(scratch.folder().join("ring.key"), &rotated).unwrap();
    s3(&["key", "remove", "ring.key", &old], &scratch).fails(2, "no copy");
    assert_eq!(std::fs::read(scratch.folder().join("ring.key")).unwrap(), rotated);
    assert_ne!(before, rotated);
}

#[test]
fn a_name_secret_is_made_once() {
    let scratch = configured();
    let made = s3(&["names", "init", "names.secret", "--json"], &scratch).ok().json();
    let text = std::fs::read_to_string(scratch.folder().join("names.secret")).unwrap();
    assert!(text.ends_with(&format!(" {}\n", made["check"].as_str().unwrap())), "{made}");
    s3(&["names", "init", "names.secret"], &scratch).fails(2, "already");
    let same = std::fs::read_to_string(scratch.folder().join("names.secret")).unwrap();
    assert_eq!(same, text);
    // The ring is not a name secret, and a proxy without one does not start.
    let bucket = "[[bucket]]\nname = \"b\"\nnames = \"encrypt\"\nname_secret_file = ";
    let base = std::fs::read_to_string(scratch.folder().join("s3.toml")).unwrap();
    for (file, code) in [("names.secret", 0), ("ring.key", 4), ("missing", 4)] {
        scratch.write("s3.toml", format!("{base}{bucket}\"{file}\"\n"));
        let ran = s3(&["clean", "--config", "s3.toml"], &scratch);
        assert_eq!(ran.code, code, "{file}: {}", ran.err);
    }
}

#[test]
fn empty_buckets_are_complete_and_clean() {
    let scratch = configured();
    let newest = s3(&["key", "list", "ring.key", "--json"], &scratch).ok().json();
    let report = s3(&["rewrap", "--config", "s3.toml", "--json"], &scratch).ok().json();
    assert_eq!(report["key"], newest["keys"][0]["id"]);
    assert_eq!((&report["complete"], &report["buckets"]), (&Value::from(true), &Value::from(0)));
    let report = s3(&["clean", "--config", "s3.toml", "--json", "--dry-run"], &scratch).ok();
    let report = report.json();
    assert_eq!((&report["dry_run"], &report["failed"]), (&Value::from(true), &Value::from(0)));
    let report = s3(&["scrub", "--config", "s3.toml", "--json"], &scratch).ok().json();
    assert_eq!((&report["sound"], &report["authentic"]), (&Value::from(true), &Value::from(0)));
    let config = std::fs::canonicalize(scratch.folder().join("s3.toml")).unwrap();
    let place = |found: u64| {
        let scope = json!({"config": config.to_str(), "bucket": null, "prefix": ""});
        json!({"scope": scope, "bucket": "a", "stored_key": "b", "not_authentic": found})
            .to_string()
    };
    scratch.write("place", place(2));
    let damaged =
        s3(&["scrub", "--config", "s3.toml", "--checkpoint", "place", "--json"], &scratch);
    assert_eq!((damaged.code, &damaged.json()["not_authentic_before"]), (1, &Value::from(2)));
    scratch.write("place", place(0));
    s3(&["scrub", "--config", "s3.toml", "--checkpoint", "place"], &scratch).ok();
    assert!(!scratch.folder().join("place").exists(), "the run came to its end");
    scratch.write("place", "{}");
    let odd = s3(&["scrub", "--config", "s3.toml", "--checkpoint", "place"], &scratch);
    odd.fails(3, "as a checkpoint");
    // A run for other objects would skip those before the checkpoint.
    scratch.write("place", place(0));
    scratch.write("other.toml", std::fs::read(&config).unwrap());
    for other in [
        &["--config", "s3.toml", "--bucket", "0"][..],
        &["--config", "s3.toml", "--prefix", "0"],
        &["--config", "other.toml"],
    ] {
        let run = [&["scrub", "--checkpoint", "place"][..], other].concat();
        s3(&run, &scratch).fails(3, "is a checkpoint for other objects");
        assert!(scratch.folder().join("place").exists());
    }
    // A bucket that does not exist counts as unfinished.
    let missing = ["rewrap", "--config", "s3.toml", "--bucket", "missing", "--json"];
    let missing = s3(&missing, &scratch);
    assert_eq!(missing.code, 1, "{}", missing.err);
    assert_eq!(missing.json()["problems"][0]["bucket"], "missing");
    let words = s3(&["clean", "--config", "s3.toml"], &scratch).ok();
    assert!(words.text().starts_with("0 uploads and 0 parked parts removed"), "{}", words.text());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scratch = configured();
    for age in ["7", "7y", "-1d", "d"] {
        let age = format!("--older-than={age}");
        assert_eq!(s3(&["clean", "--config", "s3.toml", &age], &scratch).code, 2, "{age}");
    }
    assert_eq!(s3(&["rewrap", "--config", "s3.toml", "--jobs", "0"], &scratch).code, 2);
    s3(&["rewrap", "--config", "missing.toml"], &scratch).fails(3, "missing.toml");
    scratch.write("s3.toml", "[backend]\nfolder = \"objects\"\n");
    s3(&["clean", "--config", "s3.toml"], &scratch).fails(4, "missing field `keys`");
}

/// Returns the lines that a proxy logs for a request whose query is a credential.
fn logged(level: &str) -> Vec<Value> {
    let scratch = configured();
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml"]);
    command.args(["--listen", "127.0.0.1:0", "--log", level]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let target = "/bucket/a-key?X-Amz-Credential=A&X-Amz-Signature=0123456789abcdef";
    write!(stream, "GET {target} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!err.contains("0123456789abcdef"), "{err}");
    err.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_request_is_a_line_of_the_log_without_its_query() {
    let [line] = &logged("info")[..] else { panic!("one line") };
    for (name, value) in
        [("target", "access"), ("method", "GET"), ("bucket", "bucket"), ("key", "a-key")]
    {
        assert_eq!(line[name], value, "{line}");
    }
    assert!(line["status"].as_u64().is_some_and(|status| status >= 400), "{line}");
    assert!(line["timestamp"].is_string() && line["request"].is_string(), "{line}");
    assert!(logged("warn").is_empty() && logged("off").is_empty());
}

/// A pipe holds about 200 lines.
#[test]
fn requests_are_answered_while_no_one_reads_the_log() {
    let scratch = configured();
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml"]);
    command.args(["--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://").unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(core::time::Duration::from_secs(2))).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut answered = 0;
    'requests: for _ in 0..3_000 {
        write!(&stream, "HEAD /bucket/key HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if !answers.read_line(&mut line).is_ok_and(|len| len > 0) {
                break 'requests;
            }
        }
        answered += 1;
    }
    // The waiting lines are printed, and the number of dropped lines.
    let mut log = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut err = String::new();
        log.read_to_string(&mut err).unwrap();
        err
    });
    std::thread::sleep(core::time::Duration::from_millis(100));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    child.wait().unwrap();
    let err = reader.join().unwrap();
    let lines: Vec<Value> = err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = lines.iter().filter(|line| line["target"] == "access").count() as u64;
    let dropped: u64 = lines.iter().filter_map(|line| line["dropped"].as_u64()).sum();
    assert_eq!(answered, 3_000);
    assert_eq!(told + dropped, 3_000, "{told} and {dropped}");
}

#[test]
fn a_server_whose_log_no_one_reads_ends() {
    let scratch = configured();
    let text = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    scratch.write("s3.toml", format!("{text}[limits]\ndrain = 1\n"));
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml"]);
    command.args(["--listen", "127.0.0.1:0"]);
    // The pipe is full to the last byte: shorter lines than the first waiting one do not fit
    // either.
    let (unread, err) = std::io::pipe().unwrap();
    let mut filler = err.try_clone().unwrap();
    let filling = std::thread::spawn(move || drop(filler.write_all(&[b' '; 1 << 20])));
    let mut child = command.stdout(Stdio::piped()).stderr(err).spawn().unwrap();
    drop(command);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://").unwrap();
    let stream = TcpStream::connect(address).unwrap();
    // A request that is cut at the end of the drain time, which is logged as a failure.
    write!(&stream, "PUT /bucket/key HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n").unwrap();
    std::thread::sleep(core::time::Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let timeout = std::time::Instant::now() + core::time::Duration::from_secs(30);
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if std::time::Instant::now() > timeout => break None,
            None => std::thread::sleep(core::time::Duration::from_millis(20)),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    drop(unread);
    filling.join().unwrap();
    assert_eq!(ended.expect("it ends").code(), Some(3));
}

#[test]
fn a_secret_in_a_broken_configuration_is_not_told() {
    let scratch = configured();
    let good = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    for (from, to) in [
        ("6789\"", "6789"),
        ("6789\"", "6789\" x"),
        ("secret_key = \"", "secret_key = "),
        ("\"01234567890123456789\"", "123456789"),
        ("\"01234567890123456789\"", "12345.6789"),
        ("\"01234567890123456789\"", "12345678901234567890123"),
        ("\"01234567890123456789\"", "0xd12345678901234567890123"),
    ] {
        scratch.write("s3.toml", good.replace(from, to));
        let ran = s3(&["clean", "--config", "s3.toml"], &scratch);
        assert_eq!(ran.code, 4, "{}", ran.err);
        assert!(ran.err.contains("line 8, column"), "{}", ran.err);
        assert!(!ran.err.contains("12345"), "{}", ran.err);
    }
}

#[test]
fn a_server_says_as_json_where_it_listens() {
    let scratch = configured();
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml", "--json"]);
    command.args(["--listen", "127.0.0.1:0", "--log", "off"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{told}");
    assert!(told["metrics"].is_null(), "{told}");
}

#[test]
fn sighup_reads_the_configuration_again() {
    let scratch = configured();
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml"]);
    command.args(["--listen", "127.0.0.1:0", "--log", "info"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let pid = child.id().to_string();
    let signal = |name: &str| {
        assert!(
            std::process::Command::new("kill")
                .args([name, pid.as_str()])
                .status()
                .unwrap()
                .success()
        );
    };
    let good = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    let changed = good.replace("[backend]", "listen = \"127.0.0.1:1\"\n[backend]");
    // The address was an argument, and stays. The limit is not read again.
    let limited = format!("{changed}[limits]\nconnections = 7\n");
    for (text, told) in [
        (good.clone(), &["was reloaded"][..]),
        (format!("{good}nonsense"), &["s3.toml"]),
        (good.replace("objects", "others"), &["backend.folder"]),
        (limited, &["limits.connections", "was reloaded"]),
    ] {
        scratch.write("s3.toml", text);
        signal("-HUP");
        for told in told {
            let line = log.next().unwrap();
            assert!(line.contains("\"target\":\"reload\"") && line.contains(told), "{line}");
        }
    }
    signal("-INT");
    assert_eq!(log.next(), None);
    assert!(child.wait().unwrap().success());
}

/// Returns the first warning of a proxy that has just started, and the answer to `/healthz` after
/// it.
fn warning_at_start(url: &str) -> (Value, String) {
    let scratch = configured();
    let text = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    let backend = format!("url = \"{url}\"\naccess_key = \"B\"\nsecret_key = \"secret\"");
    scratch.write("s3.toml", text.replace("folder = \"objects\"", &backend));
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml"]);
    command.args(["--listen", "127.0.0.1:0", "--log", "warn"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://").unwrap();
    let mut warning = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut warning).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    (serde_json::from_str(&warning).unwrap(), answer)
}

#[test]
fn a_backend_that_does_not_answer_is_told_at_the_start() {
    let (warning, answer) = warning_at_start("http://127.0.0.1:9");
    assert_eq!((&warning["target"], &warning["kind"]), (&"failure".into(), &"backend".into()));
    assert!(warning["cause"].as_str().unwrap().contains("ServiceUnavailable"), "{warning}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn refused_credentials_are_told_at_the_start() {
    let backend = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", backend.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in backend.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let body = "<Error><Code>InvalidAccessKeyId</Code><Message>no</Message></Error>";
            let length = body.len();
            let head = format!("HTTP/1.1 403 Forbidden\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    let (warning, answer) = warning_at_start(&url);
    assert!(warning["cause"].as_str().unwrap().contains("InvalidAccessKeyId"), "{warning}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn an_address_that_is_in_use_has_a_hint() {
    let scratch = configured();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let args = ["serve", "--config", "s3.toml", "--listen", &address];
    let ran = s3(&args, &scratch).fails(3, "cannot listen at");
    assert!(ran.err.contains("choose another address with --listen"), "{}", ran.err);
}
