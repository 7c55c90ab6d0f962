//! Tokens of invitations.

use endseal_crypto::{hash, label};

endseal_crypto::secret_bytes! {
    /// Token of an invitation: who shows it may register.
    ///
    /// ```compile_fail,E0277
    /// println!("{:?}", endseal_hub::Token::from_bytes(&[7; 32]));
    /// ```
    pub struct Token[32];
}

impl Token {
    /// BLAKE3-derive("endseal/delivery@v1 token", token): what the hub keeps.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        hash::derive(label::DELIVERY_TOKEN, &[self.expose_secret()])
    }
}
