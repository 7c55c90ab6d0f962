//! The public functions against published vectors, and properties that users rely on.

mod ed25519;
mod wycheproof;
mod x25519;
