//! Tests of the first start over a new folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use endseal_s3proxy::Config;
use endseal_s3proxy::set_up::set_up;
use endseal_testing::Scratch;

use crate::client::Client;
use crate::fixture::serve;

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_alone_is_enough_and_stays_what_it_is() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("new/folder");
    let mut known = None;
    for start in 0..2 {
        let mut made = set_up(&folder, Some("127.0.0.1:0".parse().unwrap()), None).unwrap();
        assert_eq!(made.is_new, start == 0);
        for file in [&made.credentials, &made.ring] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let text = fs::read_to_string(&made.credentials).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "[default]");
        let access_key = lines[1].strip_prefix("aws_access_key_id = ").unwrap();
        let secret = lines[2].strip_prefix("aws_secret_access_key = ").unwrap();
        let ring = fs::read(&made.ring).unwrap();
        assert_eq!(*known.get_or_insert((text.clone(), ring.clone())), (text.clone(), ring));
        made.config.limits.drain = core::time::Duration::from_secs(1);
        let front = serve(&made.config).await;
        let client = Client::new(front.client.address, access_key, secret);
        if start == 0 {
            client.ask("PUT", "/bucket").await.expect(200);
            client.put("/bucket/key", b"content").await.expect(200);
            assert_eq!(front.client.ask("GET", "/bucket/key").await.status, 403);
        }
        assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"content");
        front.stop.send(true).unwrap();
        front.serving.await.unwrap().unwrap();
        drop((front.proxy, front.metrics));
        crate::fixture::eventually("the folder is free", || {
            fs::File::open(folder.join("objects/endseal-folder")).unwrap().try_lock().is_ok()
        })
        .await;
    }
    fs::remove_file(folder.join("keys.ring")).unwrap();
    let error = set_up(&folder, None, None).err().unwrap();
    assert!(error.to_string().contains("could not open"), "{error}");
    assert!(!folder.join("keys.ring").exists());
}

#[test]
fn a_configuration_can_name_a_folder_instead_of_a_server() {
    let read = |backend: &str, more: &str| {
        let text = format!(
            "[backend]\n{backend}\n[keys]\nprovider = \"ring\"\nfile = \"r\"\n\
             [[client]]\naccess_key = \"A\"\nsecret_key = \"0123456789abcdef\"\n{more}"
        );
        Config::parse(&text, std::path::Path::new("/etc/x"), |_| None)
    };
    let config = read("folder = \"objects\"", "").ok().unwrap();
    assert_eq!(config.backend.folder.as_deref(), Some(std::path::Path::new("/etc/x/objects")));
    let both = read("folder = \"x\"\nurl = \"http://h\"", "").err().unwrap();
    assert_eq!(both.entry(), "backend.url");
    let mapped = "backend_access_key = \"B\"\nbackend_secret_key = \"c\"";
    let mapped = read("folder = \"x\"", mapped).err().unwrap();
    assert_eq!(mapped.entry(), "client.backend_access_key");
    let twice = "[[client]]\naccess_key = \"A\"\nsecret_key = \"another 0123456789abcdef\"";
    assert_eq!(read("folder = \"x\"", twice).err().unwrap().entry(), "client.access_key");
    let server = "url = \"http://h\"\naccess_key = \"B\"\nsecret_key = \"c\"";
    assert!(read(server, "").is_ok());
    for (backend, client, entry) in [
        (server, "[[client]]\naccess_key = \"C\"\nsecret_key = \"\"", "client.secret_key"),
        (
            server,
            "[[client]]\naccess_key = \"\"\nsecret_key = \"0123456789abcdef\"",
            "client.access_key",
        ),
        (&*server.replace("\"B\"", "\"\""), "", "backend.access_key"),
        (&*server.replace("\"c\"", "\"\""), "", "backend.secret_key"),
        (
            server,
            "backend_access_key = \"\"\nbackend_secret_key = \"c\"",
            "client.backend_access_key",
        ),
    ] {
        let error = read(backend, client).err().unwrap_or_else(|| panic!("{entry}"));
        assert_eq!(error.entry(), entry);
    }
    let unknown = read("folder = \"x\"", "[metric]\nlisten = \"here\"").err().unwrap();
    assert!(unknown.to_string().contains("unknown field `metric`"), "{unknown}");
}

#[test]
fn rules_that_never_apply_and_short_secrets_are_refused() {
    let read = |secret: &str, rules: &[&str]| {
        let rules: String =
            rules.iter().map(|name| format!("[[bucket]]\nname = \"{name}\"\n")).collect();
        let text = format!(
            "[backend]\nfolder = \"f\"\n[keys]\nprovider = \"ring\"\nfile = \"r\"\n\
             [[client]]\naccess_key = \"A\"\nsecret_key = \"{secret}\"\n{rules}"
        );
        Config::parse(&text, std::path::Path::new("/etc/x"), |_| None)
    };
    let secret = "0123456789abcdef";
    for rules in [
        &[][..],
        &["logs-*", "*"],
        &["a*b", "a*", "b*"],
        &["logs-1", "logs-*", "*-old"],
        &["*-old", "logs-*"],
    ] {
        assert!(read(secret, rules).is_ok(), "{rules:?}");
    }
    for (rules, message) in [
        (&[""][..], "bucket.name: is empty"),
        (&["*", "logs"], "the rule for \"logs\" never applies, put it before \"*\""),
        (&["logs-*", "logs-2026-*"], "never applies, put it before \"logs-*\""),
        (&["a*b", "a*c*b"], "never applies"),
        (&["logs", "x", "logs"], "never applies, put it before \"logs\""),
    ] {
        let error = read(secret, rules).err().unwrap_or_else(|| panic!("{rules:?}"));
        assert_eq!(error.entry(), "bucket.name");
        assert!(error.to_string().contains(message), "{error}");
    }
    let error = read(&secret[1..], &[]).err().unwrap();
    assert_eq!(error.entry(), "client.secret_key");
    assert!(!error.to_string().contains(&secret[1..]), "{error}");
}
