//! Small server with the parts of Google's APIs that are used: Cloud KMS, the metadata server, and
//! the server that exchanges signed assertions for tokens. It checks all requests that it gets.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use crc_fast::CrcAlgorithm::Crc32Iscsi;
use endseal_kms::GcpKmsProvider;
use endseal_kms::gcp::{ServiceAccount, TokenSource};
use endseal_s3proxy::upstream::{Client, Limits, Target, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

pub(crate) const KEY: &str = "projects/p-1/locations/europe-west1/keyRings/r/cryptoKeys/k";
pub(crate) const ID: &str = "gcp.test";
pub(crate) const EMAIL: &str = "proxy@p-1.iam.gserviceaccount.com";
const TOKEN_PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";

/// Faulty reply of the server instead of its next response.
#[derive(Clone)]
pub(crate) enum Fault {
    /// Sends these bytes and closes the connection.
    Raw(Vec<u8>),
    /// Sends a status with this body.
    Status(u16, String),
    /// Sends a status with this body and a header.
    Header(u16, &'static str, String),
    /// Sets a field of the correct response, or removes it.
    Field(&'static str, Option<Value>),
    /// Sets several fields of the correct response.
    Fields(Vec<(&'static str, Value)>),
    /// Sends nothing.
    Silence,
}

/// API of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Api {
    Kms,
    Tokens,
}

pub(crate) struct State {
    faults: BTreeMap<Api, VecDeque<Fault>>,
    /// Numbers of requests since the last call of [`GcpServer::requests`].
    requests: BTreeMap<Api, usize>,
    /// Keys of the versions that are enabled.
    pub(crate) versions: BTreeMap<u32, [u8; 32]>,
    pub(crate) primary: u32,
    pub(crate) ignores_aad: bool,
    /// Tokens that are accepted.
    pub(crate) tokens: Vec<String>,
    issued: usize,
    /// Lifetime of tokens in seconds.
    pub(crate) lifetime: u64,
    pub(crate) omits_flavor: bool,
    /// True if the metadata server returns the last token again, as Google's does.
    pub(crate) repeats_token: bool,
}

pub(crate) struct GcpServer {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
    account: Arc<KeyPair>,
}

impl GcpServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let account = Arc::new(KeyPair::generate(KeySize::Rsa2048).unwrap());
        let state = Arc::new(Mutex::new(State {
            faults: BTreeMap::new(),
            requests: BTreeMap::new(),
            versions: BTreeMap::from([(1, [1; 32])]),
            primary: 1,
            ignores_aad: false,
            tokens: Vec::new(),
            issued: 0,
            lifetime: 3_599,
            omits_flavor: false,
            repeats_token: false,
        }));
        let (shared, key) = (Arc::clone(&state), Arc::clone(&account));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, Arc::clone(&shared), Arc::clone(&key)));
            }
        });
        Self { port, state, account }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn fault(&self, api: Api, fault: Fault) {
        self.state().faults.entry(api).or_default().push_back(fault);
    }

    pub(crate) fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Returns true while faults of an API are left.
    pub(crate) fn has_faults(&self, api: Api) -> bool {
        self.state().faults.get(&api).is_some_and(|faults| !faults.is_empty())
    }

    /// Returns the number of requests to an API since the last call.
    pub(crate) fn requests(&self, api: Api) -> usize {
        self.state().requests.remove(&api).unwrap_or(0)
    }

    /// Makes a new version of the key, which encrypts from now on.
    pub(crate) fn rotate(&self) {
        let mut state = self.state();
        state.primary += 1;
        let version = state.primary;
        state.versions.insert(version, [u8::try_from(version).unwrap(); 32]);
    }

    pub(crate) fn client(&self, limits: Limits) -> Client {
        Client::new(Target::parse(&self.url()).unwrap(), Trust::public(), limits)
    }

    /// Returns a provider with tokens of the metadata server.
    pub(crate) fn provider(&self, limits: Limits) -> GcpKmsProvider {
        let tokens = TokenSource::MetadataServer(Arc::new(self.client(limits)));
        self.provider_with(limits, tokens)
    }

    /// Returns a provider with tokens of a service account.
    pub(crate) fn account_provider(&self, limits: Limits) -> GcpKmsProvider {
        let account = ServiceAccount::read(self.account_file().as_bytes()).ok().unwrap();
        assert_eq!(account.token_server(), self.url());
        let client = Arc::new(self.client(limits));
        let tokens = TokenSource::ServiceAccount { account: Arc::new(account), client };
        self.provider_with(limits, tokens)
    }

    fn provider_with(&self, limits: Limits, tokens: TokenSource) -> GcpKmsProvider {
        let client = Arc::new(self.client(limits));
        GcpKmsProvider::new(client, tokens, id(ID), KEY.to_owned()).unwrap()
    }

    /// Returns the key file of the service account that the server knows.
    pub(crate) fn account_file(&self) -> String {
        self.account_file_of(&self.account)
    }

    pub(crate) fn account_file_of(&self, key: &KeyPair) -> String {
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = key.as_der().unwrap();
        let base64 = Base64::encode_string(der.as_ref());
        let lines: Vec<&str> =
            base64.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            lines.join("\n")
        );
        let file = json!({
            "type": "service_account",
            "project_id": "p-1",
            "private_key_id": "key-1",
            "private_key": pem,
            "client_email": EMAIL,
            "token_uri": format!("{}/token", self.url()),
            "universe_domain": "googleapis.com",
        });
        serde_json::to_string_pretty(&file).unwrap()
    }
}

async fn serve(mut stream: TcpStream, port: u16, state: Arc<Mutex<State>>, account: Arc<KeyPair>) {
    let mut buffer = Vec::new();
    while let Some((head, body)) = request(&mut stream, &mut buffer).await {
        let api = if head.starts_with("POST /v1/") { Api::Kms } else { Api::Tokens };
        let (fault, good) = {
            let mut state = state.lock().unwrap();
            *state.requests.entry(api).or_default() += 1;
            let fault = state.faults.get_mut(&api).and_then(VecDeque::pop_front);
            let is_replaced = !matches!(fault, None | Some(Fault::Field(..) | Fault::Fields(_)));
            let good = match (is_replaced, api) {
                (true, _) => (0, Value::Null),
                (false, Api::Kms) => kms(&head, &body, &state),
                (false, Api::Tokens) => token(&head, &body, port, &account, &mut state),
            };
            (fault, good)
        };
        let flavor = match api {
            Api::Tokens if !state.lock().unwrap().omits_flavor => "metadata-flavor: Google\r\n",
            _ => "",
        };
        let (status, extra, json) = match fault {
            Some(Fault::Raw(bytes)) => {
                let _gone = stream.write_all(&bytes).await;
                return;
            }
            Some(Fault::Silence) => return core::future::pending().await,
            Some(Fault::Status(status, json)) => (status, "", json),
            Some(Fault::Header(status, header, json)) => (status, header, json),
            Some(Fault::Field(field, value)) => {
                let (status, mut json) = good;
                let members = json.as_object_mut().unwrap();
                assert!(members.remove(field).is_some(), "no {field}");
                members.extend(value.map(|value| (field.to_owned(), value)));
                (status, "", json.to_string())
            }
            Some(Fault::Fields(fields)) => {
                let (status, mut json) = good;
                fields.into_iter().for_each(|(field, value)| json[field] = value);
                (status, "", json.to_string())
            }
            None => (good.0, "", good.1.to_string()),
        };
        let mut text =
            format!("HTTP/1.1 {status} X\r\n{extra}{flavor}content-type: application/json\r\n");
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
    let len: usize = header(&head, "content-length").map_or(0, |len| len.parse().unwrap());
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

pub(crate) fn error(status: u16, name: &str, message: &str) -> (u16, Value) {
    (status, json!({"error": {"code": status, "message": message, "status": name}}))
}

fn crc(bytes: &[u8]) -> String {
    crc_fast::checksum(Crc32Iscsi, bytes).to_string()
}

fn kms(head: &str, body: &[u8], state: &State) -> (u16, Value) {
    assert_eq!(header(head, "content-type"), Some("application/json"));
    let token = header(head, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    if !token.is_some_and(|token| state.tokens.iter().any(|own| own == token)) {
        let text = "Request had invalid authentication credentials.";
        return error(401, "UNAUTHENTICATED", text);
    }
    let body: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 4);
    let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name}"));
    let verified = |name: &str| {
        let bytes = Base64::decode_vec(text(name)).unwrap();
        assert_eq!(text(&format!("{name}Crc32c")), crc(&bytes), "{name}");
        bytes
    };
    let mut aad = verified("additionalAuthenticatedData");
    if state.ignores_aad {
        aad.clear();
    }
    let line = head.lines().next().unwrap();
    if line == format!("POST /v1/{KEY}:encrypt HTTP/1.1") {
        let mut bytes = verified("plaintext");
        let version = state.primary;
        let nonce: [u8; 12] = {
            let mut nonce = [0; 12];
            aws_lc_rs::rand::fill(&mut nonce).unwrap();
            nonce
        };
        let key = cipher(&state.versions[&version]);
        let unique = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(unique, Aad::from(&aad), &mut bytes).unwrap();
        let ciphertext = [&version.to_be_bytes()[..], &nonce, &bytes].concat();
        let answer = json!({
            "name": format!("{KEY}/cryptoKeyVersions/{version}"),
            "ciphertext": Base64::encode_string(&ciphertext),
            "ciphertextCrc32c": crc(&ciphertext),
            "verifiedPlaintextCrc32c": true,
            "verifiedAdditionalAuthenticatedDataCrc32c": true,
            "protectionLevel": "SOFTWARE",
        });
        return (200, answer);
    }
    if line != format!("POST /v1/{KEY}:decrypt HTTP/1.1") {
        return error(404, "NOT_FOUND", "CryptoKey not found.");
    }
    let ciphertext = verified("ciphertext");
    let failed = "Decryption failed: verify that 'name' refers to the correct CryptoKey.";
    let failed = error(400, "INVALID_ARGUMENT", failed);
    let Some((version, rest)) = ciphertext.split_first_chunk::<4>() else { return failed };
    let version = u32::from_be_bytes(*version);
    if version == 0 || version > state.primary {
        return failed;
    }
    let Some(key) = state.versions.get(&version) else {
        let text = format!(
            "{KEY}/cryptoKeyVersions/{version} is not enabled, current state is: DESTROYED."
        );
        return error(400, "FAILED_PRECONDITION", &text);
    };
    let Some((nonce, sealed)) = rest.split_first_chunk::<12>() else { return failed };
    let mut sealed = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    match cipher(key).open_in_place(nonce, Aad::from(&aad), &mut sealed) {
        Ok(plaintext) => {
            let answer = json!({
                "plaintext": Base64::encode_string(plaintext),
                "plaintextCrc32c": crc(plaintext),
                "usedPrimary": version == state.primary,
                "protectionLevel": "SOFTWARE",
            });
            (200, answer)
        }
        Err(_) => failed,
    }
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap())
}

fn token(head: &str, body: &[u8], port: u16, account: &KeyPair, state: &mut State) -> (u16, Value) {
    let line = head.lines().next().unwrap();
    if line == format!("GET {TOKEN_PATH} HTTP/1.1") {
        assert_eq!(header(head, "metadata-flavor"), Some("Google"));
        assert_eq!(header(head, "authorization"), None);
    } else {
        assert_eq!(line, "POST /token HTTP/1.1");
        assert_eq!(header(head, "content-type"), Some("application/x-www-form-urlencoded"));
        let assertion = str::from_utf8(body)
            .unwrap()
            .strip_prefix(
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=",
            )
            .unwrap();
        if !is_signed(assertion, port, account) {
            return (
                400,
                json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}),
            );
        }
    }
    if !(state.repeats_token && state.issued > 0) {
        state.issued += 1;
    }
    // Google's have dots at the end, too.
    let token = format!("ya29.c.marked-token-{}.....", state.issued);
    if !state.repeats_token && !state.tokens.contains(&token) {
        state.tokens.push(token.clone());
    }
    let lifetime = state.lifetime;
    (200, json!({"access_token": token, "expires_in": lifetime, "token_type": "Bearer"}))
}

/// Verifies a JSON Web Token with `RS256`, and its claims.
fn is_signed(assertion: &str, port: u16, account: &KeyPair) -> bool {
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    let json = |part: &str| -> Value {
        serde_json::from_slice(&Base64UrlUnpadded::decode_vec(part).unwrap()).unwrap()
    };
    assert_eq!(json(head), json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
    let claims = json(claims);
    assert_eq!(claims.as_object().unwrap().len(), 5);
    assert_eq!(claims["iss"], EMAIL);
    assert_eq!(claims["aud"], format!("http://127.0.0.1:{port}/token"));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloudkms");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (issued, expires) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
    assert!(issued <= now && now - issued < 60 && now < expires && expires - issued <= 3_600);
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, account.public_key().as_ref());
    key.verify(signed.as_bytes(), &Base64UrlUnpadded::decode_vec(signature).unwrap()).is_ok()
}
