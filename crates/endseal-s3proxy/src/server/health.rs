//! Answers to what asks after the proxy itself.

use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::context::Proxy;
use crate::transfer::Outgoing;

impl Proxy {
    /// Asks backend and key provider for an answer, and the chain of credentials if there is one.
    ///
    /// # Errors
    /// The name of the first that does not answer.
    pub async fn ready(&self) -> Result<(), &'static str> {
        if self.probe_backend().await.is_err() {
            return Err("the backend does not answer");
        }
        if self.signer.current().await.is_err() {
            return Err("there are no credentials for the backend");
        }
        if self.probe_keys().await.is_err() {
            return Err("the key provider does not answer");
        }
        Ok(())
    }

    /// `GET /healthz` (it runs) and `GET /readyz` (backend and key provider answer), from who gives
    /// no signature: a signed request for those paths is one for buckets of that name.
    pub(crate) async fn health(&self, head: &Parts) -> Option<Response<Outgoing>> {
        let path = head.uri.path();
        if !matches!(path, "/healthz" | "/readyz")
            || !matches!(head.method, Method::GET | Method::HEAD)
            || head.headers.contains_key("authorization")
            || head.uri.query().is_some()
        {
            return None;
        }
        let problem = if path == "/readyz" { self.ready().await.err() } else { None };
        Some(self.told(problem))
    }

    /// The answer that all is well, or what is not.
    pub(crate) fn told(&self, problem: Option<&'static str>) -> Response<Outgoing> {
        let mut response = Response::new(Outgoing::full(problem.unwrap_or("ok")));
        if problem.is_some() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        response
    }
}
