//! Proxy and TLS certificate of the current configuration, which a reload replaces.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;

use super::tls;
use crate::config::TlsFiles;
use crate::context::Proxy;

/// Proxy and certificate of one configuration. A connection keeps the certificate with which it was
/// accepted. A request keeps the proxy with which it started.
pub(crate) struct Generation {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// Holder of the current generation, shared by all connections.
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

    /// Replaces the current generation.
    pub(crate) fn replace(&self, next: Generation) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}
