//! The subjects of this peer.

use crate::transport::Transport;

mod ant_quic;
mod iroh;

/// In the order of `hello`.
pub(crate) const SUBJECTS: [Transport; 2] = [iroh::SUBJECT, ant_quic::SUBJECT];
