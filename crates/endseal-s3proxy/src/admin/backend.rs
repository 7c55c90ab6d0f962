//! Check that the backend can be used.

use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method};

use super::fault::Fault;
use crate::context::Proxy;

/// Requests the list of buckets once, with the proxy's own credentials.
///
/// The check also succeeds if the account may not list buckets or the server does not support the
/// request, because the proxy can work in both cases.
///
/// # Errors
/// The fault if the backend does not respond, or refuses the credentials.
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
