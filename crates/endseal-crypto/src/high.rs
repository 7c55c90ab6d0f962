//! What the crate exports. Calls `mid`, never `low`.

pub mod argon2id;
pub mod ed25519;
pub mod hazmat;
pub mod hkdf;
pub mod identity;
pub mod mldsa65;
pub mod mlkem768;
pub mod peer_id;
pub mod random;
pub mod secret;
pub mod segment;
pub mod x25519;
