//! Health checks of the proxy.

use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::context::Proxy;
use crate::transfer::Outgoing;

impl Proxy {
    /// Checks that the backend responds and accepts the proxy's account, and that the credential
    /// chain and the key provider respond.
    ///
    /// # Errors
    /// A text that names the first one that does not.
    pub async fn ready(&self) -> Result<(), &'static str> {
        let Ok(signer) = self.signer.current().await else {
            return Err("there are no credentials for the backend");
        };
        self.probe_backend(&signer).await?;
        if self.probe_keys().await.is_err() {
            return Err("the key provider does not answer");
        }
        Ok(())
    }

    /// Responds to `GET /healthz` (the process runs) and `GET /readyz` (backend and key provider
    /// respond), if the request has no signature. A signed request for these paths is one for a
    /// bucket of that name.
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
        Some(self.health_answer(problem))
    }

    /// Builds the response to a health check: 200, or 503 with the problem.
    fn health_answer(&self, problem: Option<&'static str>) -> Response<Outgoing> {
        let mut response = Response::new(Outgoing::full(problem.unwrap_or("ok")));
        if problem.is_some() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        response
    }
}
