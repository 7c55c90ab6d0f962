//! AWS Signature Version 4 for the service `s3`: verified towards clients, made for the backend.
//!
//! # Which string is signed
//! S3 encodes the decoded path and query once, and resolves no dots. Clients sign either that or
//! the bytes that they sent (botocore does). [`Verifier`] accepts both. Each string leads back to
//! one decoded path and query, those of [`uri`], so an attacker cannot give a signature another
//! meaning. Handlers MUST decode with [`uri`] for the same reason; `+` in a query is a space.
//!
//! # Replay
//! S3's own rule: a signature in the header is valid for 15 minutes on both sides of its date, one
//! in the query until it expires, at most 7 days. Within that window an observer of a request can
//! repeat it. TLS prevents others from observing it.

mod ascii;
mod authorization;
mod canonical;
mod chunk;
mod error;
mod form;
mod hex;
mod payload;
mod policy;
mod presigned;
mod scope;
mod secret;
mod signer;
mod timestamp;
pub mod uri;
mod verifier;

pub use chunk::ChunkSigner;
pub use error::SignatureError;
pub use form::{FormAccess, VerifiedForm};
pub(crate) use hex::digest;
pub use payload::{Payload, PayloadHash};
pub use policy::Policy;
pub use secret::{SecretKey, SecretKeys};
pub use signer::{SignError, Signer};
pub use timestamp::Timestamp;
pub use verifier::{Access, Rules, SignedRequest, Verified, Verifier};
