//! The server: its listener and its access key.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_s3_protocol::sigv4::{Rules, SecretKey, Verifier};
use endseal_service::http_server::{self, HttpLimits};
use tokio::task::JoinHandle;

use crate::dispatch::{self, Shared};
use crate::list::MAX_KEYS;
use crate::store::{MARK, Store};

/// More connections than the proxy opens to its backend, and a buffer in which pieces of bodies are
/// long.
const LIMITS: HttpLimits = HttpLimits {
    connections: 1_024,
    read_buffer: 512 * 1024,
    headers: 2_048,
    header_timeout: Duration::from_secs(60),
    connection_timeout: None,
    keep_alive: true,
};
const ACCESS_KEY: &str = "FOLDER";

/// A folder that is served. Dropping it ends the server, and with it all requests under way.
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
pub struct FolderServer {
    address: SocketAddr,
    secret: Zeroizing<String>,
    serving: JoinHandle<()>,
}

impl FolderServer {
    /// Opens a folder, makes it if it is missing, and serves it at a free port of the loopback
    /// interface. Called in a tokio runtime.
    ///
    /// # Errors
    /// If another process serves the folder, if the folder holds other files, or if the system
    /// reports an error.
    pub fn start(folder: &Path) -> io::Result<Self> {
        Self::start_with_page_size(folder, MAX_KEYS)
    }

    /// Returns true if `folder` has the mark of a folder that was served.
    #[must_use]
    pub fn has_mark(folder: &Path) -> bool {
        folder.join(MARK).is_file()
    }

    /// Does the same as [`FolderServer::start`], but its lists have at most `page_size` entries on
    /// a page, instead of the 1,000 of S3. With short pages a test of a list that goes on needs few
    /// objects.
    ///
    /// # Errors
    /// The same as those of [`FolderServer::start`].
    pub fn start_with_page_size(folder: &Path, page_size: usize) -> io::Result<Self> {
        let store = Arc::new(Store::open(folder)?);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let mut bytes = Zeroizing::new([0; 32]);
        OsRandom.fill(&mut bytes[..]).map_err(|_| io::Error::other("no randomness"))?;
        let secret = Zeroizing::new(Base64UrlUnpadded::encode_string(&bytes[..]));
        let known = HashMap::from([(
            ACCESS_KEY.to_owned(),
            Arc::new(SecretKey::new(String::clone(&secret))),
        )]);
        let verifier = Verifier::new(known, Rules::default());
        let shared = Arc::new(Shared { store, verifier, page_size });
        let serving = tokio::spawn(http_server::serve(listener, LIMITS, move |request| {
            let shared = Arc::clone(&shared);
            async move { dispatch::answer(&shared, request).await }
        }));
        Ok(Self { address, secret, serving })
    }

    /// URL at which the server listens: `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The only access key that the server accepts.
    #[must_use]
    pub const fn access_key(&self) -> &'static str {
        ACCESS_KEY
    }

    /// The secret of the access key, which the caller MUST keep secret.
    #[must_use]
    pub fn expose_secret_access_key(&self) -> &str {
        &self.secret
    }
}

impl Drop for FolderServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
