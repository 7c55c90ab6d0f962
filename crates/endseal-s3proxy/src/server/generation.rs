//! The proxy and the certificate of a configuration, until another one takes its place.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;

use super::tls;
use crate::config::TlsFiles;
use crate::context::Proxy;

/// Proxy and certificate of one configuration. A connection has the certificate of the generation
/// that accepted it, a request the proxy of the generation in which it came.
pub(crate) struct Generation {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// The generation that is in use.
#[derive(Clone)]
pub(crate) struct Current(Arc<RwLock<Arc<Generation>>>);

impl Generation {
    /// # Errors
    /// If the files of TLS cannot be read, or hold no chain and key that fit.
    pub(crate) fn new(proxy: Arc<Proxy>, tls: Option<&TlsFiles>) -> io::Result<Self> {
        let tls = tls.map(tls::acceptor).transpose()?;
        Ok(Self { proxy, tls })
    }
}

impl Current {
    pub(crate) fn new(first: Generation) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(first))))
    }

    pub(crate) fn get(&self) -> Arc<Generation> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn proxy(&self) -> Arc<Proxy> {
        Arc::clone(&self.get().proxy)
    }

    /// Puts the next one in its place.
    pub(crate) fn replace(&self, next: Generation) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}
