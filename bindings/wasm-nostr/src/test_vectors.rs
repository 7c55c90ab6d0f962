//! Keys of the vectors, in a build that is not shipped.

use endseal_facade::Error;
use endseal_facade::nostr::{NostrKey, TestConversation};
use endseal_wasm_abi::{Answer, split, text};

use crate::module::Module;

impl Module {
    /// The input is the bytes of a secret key.
    pub(crate) fn key_from_bytes(&mut self) -> Answer {
        let key = NostrKey::from_bytes(array(&self.buffers.input)?)?;
        self.keys.insert(key)
    }

    /// The input is a secret and a public key, the output the conversation key.
    pub(crate) fn conversation_key(&mut self) -> Answer {
        let (secret, public) = self.buffers.split(32)?;
        let key = TestConversation::key(array(secret)?, array(public)?)?;
        self.buffers.output = key.to_vec();
        Ok(0)
    }

    /// The input is a conversation key, a nonce and a plaintext, the output the payload.
    pub(crate) fn conversation_seal(&mut self, is_short: bool) -> Answer {
        let (key, rest) = self.buffers.split(32)?;
        let (nonce, plaintext) = split(rest, 32)?;
        let payload =
            TestConversation::new(array(key)?).seal(plaintext, array(nonce)?, is_short)?;
        self.buffers.output = payload.into_bytes();
        Ok(0)
    }

    /// The input is a conversation key and a payload, the output the plaintext.
    pub(crate) fn conversation_open(&mut self) -> Answer {
        let (key, payload) = self.buffers.split(32)?;
        self.buffers.output = TestConversation::new(array(key)?).open(text(payload)?)?;
        Ok(0)
    }
}

fn array(bytes: &[u8]) -> Result<&[u8; 32], Error> {
    bytes.try_into().map_err(Error::argument)
}
