//! The native part of the Python package `endseal` (`endseal/_native.pyi` has its types).

mod bytes;
mod error;
mod identity;
mod nostr;
mod open;
mod roster;
mod s3;
mod seal;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::identity::{Identity, PublicIdentity, Recipients};
    #[cfg(feature = "test-vectors")]
    #[pymodule_export]
    use super::nostr::_TestConversation;
    #[pymodule_export]
    use super::nostr::{_bunker, NostrKey, public_key, verify_event};
    #[pymodule_export]
    use super::open::{Inspected, OpenStream, Opened, inspect, open, open_many};
    #[pymodule_export]
    use super::roster::{Member, Roster};
    #[pymodule_export]
    use super::s3::{Object, Opener, Ring};
    #[pymodule_export]
    use super::seal::{SealStream, seal};
}
