//! A question that shows if the backend can be used.

use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method};

use super::fault::Fault;
use crate::context::Proxy;

/// Asks the backend once for its buckets, with the proxy's own credentials.
///
/// An account that may not list buckets can still use some, and a server may not know the question:
/// both are answers.
///
/// # Errors
/// If the backend does not answer, or refuses the credentials.
pub async fn check_backend(proxy: &Proxy) -> Result<(), Fault> {
    let target = Target::of_service(Query::new());
    let answer = proxy.ask(proxy.own_signer(), &Method::GET, &target, HeaderMap::new()).await;
    match answer.map_err(Fault::from) {
        Err(fault) if is_answer(&fault) => Ok(()),
        answer => answer.map(drop),
    }
}

fn is_answer(fault: &Fault) -> bool {
    fault.code() == "AccessDenied" || matches!(fault.status().as_u16(), 405 | 501)
}
