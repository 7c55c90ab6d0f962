//! Reasons why keys of another system cannot be used.

/// Reason why keys of another system cannot be used. No text repeats a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignKeyError {
    /// The configuration file is encrypted.
    #[error("the configuration is encrypted: write it unencrypted with `rclone config show`")]
    EncryptedConfiguration,
    /// A line of a configuration is neither a section nor an entry.
    #[error("line {0} is neither a section nor an entry")]
    Line(usize),
    /// The configuration has no such remote.
    #[error("there is no remote {0}")]
    NoRemote(String),
    /// The remote is of another type.
    #[error("the remote {0} is not of type crypt")]
    NotCrypt(String),
    /// An entry is missing, or has a value that is not known.
    #[error("{0} is missing or has a value that is not supported")]
    Entry(&'static str),
    /// A password is not in the form in which configurations have it.
    #[error("{0} is not obscured: `rclone obscure` does that")]
    NotObscured(&'static str),
    /// Memory or randomness is missing.
    #[error("not enough memory to derive the keys")]
    NoMemory,
    /// A key file has neither 32 bytes, in base64 or as they are, nor an RSA key in PEM.
    #[error("it is neither an AES key of 32 bytes, in base64 or as text, nor an RSA private key")]
    NoKey,
    /// The file has the public half of a key.
    #[error("it is a public key, which opens nothing")]
    PublicKey,
    /// The private key is not in a form that is read.
    #[error("{0}")]
    Rsa(endseal_kms::rsa::ReadRsaKeyError),
}
