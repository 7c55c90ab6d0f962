//! The subjects of the suite `transport`.

use crate::transport::Transport;

mod json;
mod quinn;
mod tcp;
mod tls;

/// All subjects, in the order of `hello`.
pub(crate) const SUBJECTS: [Transport; 7] = [
    quinn::POST_QUANTUM,
    quinn::CLASSICAL,
    tcp::TLS,
    tcp::TLS_POST_QUANTUM,
    tcp::PLAIN,
    json::ARRAY,
    json::BASE64,
];
