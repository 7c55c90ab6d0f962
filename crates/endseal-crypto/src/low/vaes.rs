//! AES-256-GCM (NIST SP 800-38D) with VAES and VPCLMULQDQ on vectors of 512 bits: 32 blocks at a
//! time, made for messages of some KB, where a library's preparations for each message count.
//! [`HaveVaes`](crate::low::cpu::HaveVaes) proves that the CPU runs it. `docs/design/aes-gcm.md`
//! says why it is as it is.
//!
//! There is no branch and no address that depends on keys or content, only on lengths. The key and
//! what is derived from it are wiped when they go out of scope. Keystream is in registers alone,
//! which are not cleared: the next message overwrites them.

mod aes256;
mod aes256_gcm;
mod ghash;
mod memory;
mod text;

pub(crate) use aes256_gcm::Aes256Gcm;
