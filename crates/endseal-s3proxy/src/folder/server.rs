//! The listener and its credentials.

use core::net::SocketAddr;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use tokio::task::JoinHandle;

use super::request;
use super::store::Store;
use crate::access::SecretAccessKey;
use crate::config::Backend;
use crate::loopback;
use crate::sigv4::{Rules, SecretKey, Verifier};

const ACCESS_KEY: &str = "FOLDER";

/// What all requests share.
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) verifier: Verifier<HashMap<String, Arc<SecretKey>>>,
}

/// A folder that is served. It ends when it is dropped: what is not yet answered, is not.
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
pub struct FolderServer {
    address: SocketAddr,
    secret: SecretAccessKey,
    serving: JoinHandle<()>,
}

impl FolderServer {
    /// Opens a folder, makes it if it is missing, and serves it at a free port of the loopback
    /// interface. Called in a tokio runtime.
    ///
    /// # Errors
    /// If another process serves the folder, if it holds something else, and what the system says.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let store = Arc::new(Store::open(folder)?);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let mut bytes = Zeroizing::new([0; 32]);
        OsRandom.fill(&mut bytes[..]).map_err(|_| io::Error::other("no randomness"))?;
        let secret = SecretAccessKey::new(Base64UrlUnpadded::encode_string(&bytes[..]));
        let known = HashMap::from([(ACCESS_KEY.to_owned(), Arc::new(secret.to_key()))]);
        let verifier = Verifier::new(known, Rules::default());
        let shared = Arc::new(Shared { store, verifier });
        let serving = tokio::spawn(loopback::serve(listener, move |request| {
            let shared = Arc::clone(&shared);
            async move { request::answer(&shared, request).await }
        }));
        Ok(Self { address, secret, serving })
    }

    /// The backend that it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        let url = format!("http://{}", self.address);
        // It tells a body that breaks off from one that ends.
        Backend { trailers: false, ..Backend::new(&url, ACCESS_KEY, self.secret.clone()) }
    }
}

impl Drop for FolderServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
