//! Small server for the part of the transit engine's protocol that is used, with the statuses and
//! texts of OpenBao 2.7.2, which `openbao.rs` compares. It checks the requests that it gets.

use core::fmt::Write as _;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base64ct::{Base64, Encoding as _};
use endseal_crypto::key_wrap::WrappingKey;
use endseal_crypto::random::OsRandom;
use endseal_kms::VaultProvider;
use endseal_kms::vault::{TokenSource, VaultSettings};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use endseal_s3proxy::upstream::{Client, Limits, Target, Trust};

use super::*;

pub(crate) const TOKEN: &str = "s.marked-token-0123456789";

/// Faulty reply of the server instead of its next response.
#[derive(Clone)]
pub(crate) enum Fault {
    /// Sends these bytes and closes the connection.
    Raw(Vec<u8>),
    /// Sends a status with this JSON.
    Status(u16, &'static str),
    /// Sends a status with this JSON and a header.
    Header(u16, &'static str, &'static str),
    /// Sends nothing.
    Silence,
}

#[derive(Default)]
struct State {
    faults: VecDeque<Fault>,
    token: String,
    requests: Vec<String>,
    ignores_associated_data: bool,
}

pub(crate) struct VaultServer {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl VaultServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { token: TOKEN.to_owned(), ..State::default() }));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    /// Returns the server as if it listened at this port.
    pub(crate) fn elsewhere(self, port: u16) -> Self {
        Self { port, ..self }
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.state.lock().unwrap().faults.push_back(fault);
    }

    pub(crate) fn set_token(&self, token: &str) {
        token.clone_into(&mut self.state.lock().unwrap().token);
    }

    pub(crate) fn ignore_associated_data(&self) {
        self.state.lock().unwrap().ignores_associated_data = true;
    }

    /// Returns the heads of the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        core::mem::take(&mut self.state.lock().unwrap().requests)
    }

    pub(crate) fn client(&self, limits: Limits) -> Client {
        let target = Target::parse(&format!("http://127.0.0.1:{}", self.port)).unwrap();
        Client::new(target, Trust::public(), limits)
    }

    pub(crate) fn provider(&self, limits: Limits, token: TokenSource) -> VaultProvider {
        VaultProvider::new(Arc::new(self.client(limits)), settings(token)).unwrap()
    }
}

pub(crate) fn settings(token: TokenSource) -> VaultSettings {
    VaultSettings {
        id: id("vault.test"),
        mount: "transit".into(),
        key: "endseal".into(),
        namespace: Some("team/a".into()),
        token,
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut buffer = Vec::new();
    while let Some((head, body)) = request(&mut stream, &mut buffer).await {
        let fault = {
            let mut state = state.lock().unwrap();
            state.requests.push(head.clone());
            state.faults.pop_front()
        };
        let (status, extra, json) = match fault {
            Some(Fault::Raw(bytes)) => {
                let _gone = stream.write_all(&bytes).await;
                return;
            }
            Some(Fault::Silence) => return core::future::pending().await,
            Some(Fault::Status(status, json)) => (status, "", json.to_owned()),
            Some(Fault::Header(status, header, json)) => (status, header, json.to_owned()),
            None => {
                let (status, json) = answer(&head, &body, &state.lock().unwrap());
                (status, "", json)
            }
        };
        let mut text = format!("HTTP/1.1 {status} X\r\n{extra}content-type: application/json\r\n");
        write!(text, "content-length: {}\r\n\r\n{json}", json.len()).unwrap();
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let head = loop {
        if let Some(at) = buffer.windows(4).position(|end| end == b"\r\n\r\n") {
            break String::from_utf8(buffer.drain(..at + 4).collect()).unwrap();
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    };
    let len: usize = header(&head, "content-length")?.parse().unwrap();
    while buffer.len() < len {
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    Some((head, buffer.drain(..len).collect()))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn error(status: u16, text: &str) -> (u16, String) {
    (status, format!("{{\"errors\":[\"{text}\"]}}"))
}

fn answer(head: &str, body: &[u8], state: &State) -> (u16, String) {
    assert_eq!(header(head, "x-vault-request"), Some("true"));
    assert_eq!(header(head, "x-vault-namespace"), Some("team/a"));
    assert_eq!(header(head, "content-type"), Some("application/json"));
    if header(head, "x-vault-token") != Some(&state.token) {
        return error(403, "permission denied");
    }
    let body: Value = serde_json::from_slice(body).unwrap();
    let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(body.as_object().unwrap().len(), 2);
    let mut context = Base64::decode_vec(text("associated_data")).unwrap();
    if state.ignores_associated_data {
        context.clear();
    }
    let own = WrappingKey::from_bytes(&[9; 32]);
    let line = head.lines().next().unwrap();
    match line {
        "POST /v1/transit/encrypt/endseal HTTP/1.1" => {
            let key = Base64::decode_vec(text("plaintext")).unwrap().try_into().unwrap();
            let key = ContentKey::from_bytes(&key);
            let sealed =
                endseal_crypto::key_wrap::wrap(&own, &context, &key, &mut OsRandom).unwrap();
            let sealed = Base64::encode_string(&sealed);
            (
                200,
                format!("{{\"data\":{{\"ciphertext\":\"vault:v1:{sealed}\",\"key_version\":1}}}}"),
            )
        }
        "POST /v1/transit/decrypt/endseal HTTP/1.1" => {
            let Some(sealed) = text("ciphertext").strip_prefix("vault:v1:") else {
                return error(400, "invalid ciphertext: version is too new");
            };
            let Ok(sealed) = Base64::decode_vec(sealed) else {
                return error(400, "invalid ciphertext: could not decode base64");
            };
            if sealed.len() < 28 {
                return error(400, "invalid ciphertext length");
            }
            match endseal_crypto::key_wrap::unwrap(&own, &context, &sealed) {
                Ok(key) => {
                    let key = Base64::encode_string(key.expose_secret());
                    (200, format!("{{\"data\":{{\"plaintext\":\"{key}\"}}}}"))
                }
                Err(_) => error(400, "cipher: message authentication failed"),
            }
        }
        _ => error(404, "no handler for route. route entry not found."),
    }
}
