//! Tests that failures log distinguishable warnings without secrets.

use core::fmt;
use core::time::Duration;
use std::fs;
use std::sync::{Arc, Mutex, OnceLock};

use endseal_s3proxy::Config;
use endseal_s3proxy::config::Backend;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::fixture::{SECRET, World, config, content, serve};

/// Log lines of this thread in the form `target name=value …`.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Collects the lines of this thread until the guard is dropped.
    pub(crate) fn collect(&self) -> DefaultGuard {
        // With a single subscriber, tracing drops the lines of a call that a thread without one
        // makes first.
        static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
        OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(Self::default())));
        tracing::subscriber::set_default(self.clone())
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        all.iter().filter(|line| line.starts_with("failure ")).cloned().collect()
    }

    fn check_no_secret(&self) {
        for line in self.0.lock().unwrap().iter() {
            assert!(!line.contains(SECRET), "{line}");
            assert!(!line.to_lowercase().contains("signature"), "{line}");
        }
    }
}

struct Text(String);

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_str(&format!(" {}={value}", field.name()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().target().to_owned());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns the only warning that a GET logs with such a backend.
async fn warning(config: &Config) -> String {
    let lines = Lines::default();
    let _until = lines.collect();
    let front = serve(config).await;
    let answer = front.client.ask("GET", "/bucket/a-key").await;
    assert!(answer.status >= 500, "{}", answer.status);
    lines.check_no_secret();
    let warnings = lines.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(" bucket=bucket key=a-key "), "{warnings:?}");
    warnings[0].clone()
}

fn at(world: &World, url: &str) -> Config {
    let mut backend = Backend::served(&world.folder);
    url.clone_into(&mut backend.url);
    config(backend, &world.ring())
}

#[tokio::test]
async fn a_wrong_name_is_told() {
    let world = World::new();
    let told = warning(&at(&world, "http://nowhere.invalid:9000")).await;
    assert!(told.contains("kind=dns cause=the address of the server cannot be resolved"), "{told}");
}

#[tokio::test]
async fn a_refused_port_is_told() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let told = warning(&at(&world, &format!("http://{address}"))).await;
    assert!(told.contains("kind=connection_refused"), "{told}");
}

#[tokio::test]
async fn a_foreign_certificate_is_told_with_the_check_that_failed() {
    let world = World::new();
    let chain = CertificateDer::pem_slice_iter(include_bytes!("../client/tls/server.pem"));
    let chain = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../client/tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _refused = tls.accept(stream).await;
        }
    });
    let told = warning(&at(&world, &format!("https://localhost:{port}"))).await;
    assert!(told.contains("kind=tls") && told.contains("UnknownIssuer"), "{told}");
}

#[tokio::test]
async fn a_backend_that_never_answers_is_told() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = at(&world, &format!("http://{}", listener.local_addr().unwrap()));
    config.limits.backend_timeout = Duration::from_millis(200);
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok(accepted) = listener.accept().await {
            kept.push(accepted);
        }
    });
    let told = warning(&config).await;
    assert!(told.contains("kind=response_timeout"), "{told}");
}

/// Changes a byte of the only object and reads it. Returns the status and the warnings.
async fn changed(len: usize, offset: usize) -> (u16, Vec<String>) {
    let lines = Lines::default();
    let _until = lines.collect();
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/a-key", &content(len, 1)).await.expect(200);
    let [file] = world.data().try_into().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[offset] ^= 1;
    fs::write(&file, bytes).unwrap();
    let status = front.client.ask("GET", "/bucket/a-key").await.status;
    lines.check_no_secret();
    (status, lines.warnings())
}

#[tokio::test]
async fn a_changed_byte_is_told_with_its_object() {
    let (status, warnings) = changed(1_000, 100).await;
    assert_eq!((status, warnings.len()), (500, 1), "{warnings:?}");
    let told = &warnings[0];
    assert!(
        told.contains(" bucket=bucket key=a-key kind=authentication cause=the object"),
        "{told}"
    );
}

#[tokio::test]
async fn a_changed_byte_far_behind_is_told_though_the_answer_had_started() {
    let (status, warnings) = changed(8_000_000, 7_900_000).await;
    assert_eq!((status, warnings.len()), (200, 1), "{warnings:?}");
    let told = &warnings[0];
    assert!(
        told.contains(" bucket=bucket key=a-key kind=authentication cause=the object"),
        "{told}"
    );
}
