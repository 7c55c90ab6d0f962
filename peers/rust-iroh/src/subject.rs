//! The list of subjects of this peer.

use crate::transport::Transport;

mod ant_quic;
mod iroh;

/// All subjects, in the order of `hello`.
pub(crate) const SUBJECTS: [Transport; 2] = [iroh::SUBJECT, ant_quic::SUBJECT];
