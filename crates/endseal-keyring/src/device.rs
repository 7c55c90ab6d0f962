//! Devices of an identity: their addresses, the certificates by which their owner vouches for their
//! keys, the prekeys with which others begin a session, and the digits that two people compare.
//!
//! The formats are specified in `docs/spec/session.md`. A value is valid: signatures are verified
//! when it is parsed.

mod address;
mod bundle;
mod certificate;
mod safety_number;

pub use address::{Address, DeviceId};
pub use bundle::{BundleError, PrekeyBundle, PrekeyKind};
pub use certificate::{Certificate, CertificateError, DeviceKeys, Succession};
pub use safety_number::SafetyNumber;
