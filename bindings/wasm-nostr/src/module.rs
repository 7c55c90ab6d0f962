//! State of the module: the buffers through which bytes go, and the keys.

use endseal_facade::Error;
use endseal_facade::nostr::{
    self, Bunker, EncryptedKey, NewEncryptedKey, NostrKey, StretchInput, StretchedPassword,
    WrapOptions,
};
use endseal_wasm_abi::{Answer, Buffers, Table, WebRandom, joined, split, text};

/// Buffers and keys. There is one thread.
pub(crate) struct Module {
    pub(crate) buffers: Buffers,
    pub(crate) keys: Table<NostrKey>,
}

impl Module {
    pub(crate) const fn new() -> Self {
        Self { buffers: Buffers::new(), keys: Table::new() }
    }

    pub(crate) fn generate(&mut self) -> Answer {
        self.keys.insert(NostrKey::generate(&mut WebRandom)?)
    }

    /// The input is an `ncryptsec`, the output its salt. Returns its cost.
    pub(crate) fn unlock_input(&mut self, max_log_n: u32) -> Answer {
        let encrypted = EncryptedKey::parse(text(&self.buffers.input)?)?;
        let (salt, log_n) = encrypted.input(cost(max_log_n)?)?.parts();
        self.buffers.output = salt.to_vec();
        Ok(log_n.into())
    }

    /// The input is an `ncryptsec` and the stretched password.
    pub(crate) fn unlock(&mut self, text_len: usize) -> Answer {
        let (encrypted, stretched) = self.buffers.split(text_len)?;
        let key = EncryptedKey::parse(text(encrypted)?)?.open(&stretched_of(stretched)?)?;
        self.keys.insert(key)
    }

    /// The output is a new salt.
    pub(crate) fn lock_input(&mut self, log_n: u32) -> Answer {
        let new = NewEncryptedKey::new(cost(log_n)?, &mut WebRandom)?;
        self.buffers.output = new.input().parts().0.to_vec();
        Ok(0)
    }

    /// The input is the salt and the stretched password, the output the `ncryptsec`.
    pub(crate) fn lock(&mut self, key: u32, log_n: u32) -> Answer {
        let (salt, stretched) = self.buffers.split(SALT_LEN)?;
        let new = NewEncryptedKey::of(&input_of(salt, log_n)?);
        let stretched = stretched_of(stretched)?;
        let made = new.seal(self.keys.get(key)?, &stretched, &mut WebRandom)?;
        self.buffers.output = made.into_bytes();
        Ok(0)
    }

    /// The input is a salt and a password in NFKC, the output the stretched password.
    pub(crate) fn stretch(&mut self, log_n: u32, salt_len: usize) -> Answer {
        let (salt, password) = self.buffers.split(salt_len)?;
        let stretched = input_of(salt, log_n)?.stretch(text(password)?)?;
        self.buffers.output = stretched.expose_secret().to_vec();
        Ok(0)
    }

    /// Returns another number for the same key, which is wiped when both are freed.
    pub(crate) fn share(&mut self, key: u32) -> Answer {
        let same = self.keys.get(key)?.clone();
        self.keys.insert(same)
    }

    /// The output is the public key in hexadecimal digits.
    pub(crate) fn public(&mut self, key: u32) -> Answer {
        self.buffers.output = self.keys.get(key)?.public().into_bytes();
        Ok(0)
    }

    /// The input is a public key and a text, the output the payload.
    pub(crate) fn encrypt(&mut self, key: u32, peer_len: usize) -> Answer {
        let (peer, plaintext) = self.buffers.split(peer_len)?;
        let (peer, plaintext) = (text(peer)?, text(plaintext)?);
        let payload = self.keys.get(key)?.encrypt(peer, plaintext, &mut WebRandom)?;
        self.buffers.output = payload.into_bytes();
        Ok(0)
    }

    /// The input is a public key and a payload, the output the text.
    pub(crate) fn decrypt(&mut self, key: u32, peer_len: usize) -> Answer {
        let (peer, payload) = self.buffers.split(peer_len)?;
        let plaintext = self.keys.get(key)?.decrypt(text(peer)?, text(payload)?)?;
        self.buffers.output = plaintext.into_bytes();
        Ok(0)
    }

    /// The input is the template of an event, the output the event.
    pub(crate) fn sign(&mut self, key: u32) -> Answer {
        let template = text(&self.buffers.input)?;
        self.buffers.output = self.keys.get(key)?.sign(template, &mut WebRandom)?.into_bytes();
        Ok(0)
    }

    /// The input is public keys, each in either form and behind a line feed; the output is their
    /// hexadecimal digits, each once, and the own ones, each behind its length.
    pub(crate) fn receivers(&mut self, key: u32) -> Answer {
        let recipients = text(&self.buffers.input)?.split_terminator('\n');
        let recipients: Vec<_> = recipients.map(str::to_owned).collect();
        self.buffers.output = joined(self.keys.get(key)?.receivers(&recipients)?);
        Ok(0)
    }

    /// The input is the template of an event, the output the unsigned event.
    pub(crate) fn rumor(&mut self, key: u32) -> Answer {
        let template = text(&self.buffers.input)?;
        self.buffers.output = self.keys.get(key)?.rumor(template)?.into_bytes();
        Ok(0)
    }

    /// The input is the receiver's public key and the template of an event, the output the wrap. A
    /// negative time is for no expiration.
    pub(crate) fn wrap(
        &mut self,
        key: u32,
        receiver_len: usize,
        is_ephemeral: bool,
        expires_after: f64,
        now: f64,
    ) -> Answer {
        let expires_after = (expires_after >= 0.0).then_some(expires_after as u64);
        let options = WrapOptions { now: now as u64, is_ephemeral, expires_after };
        let (receiver, template) = self.buffers.split(receiver_len)?;
        let (receiver, template) = (text(receiver)?, text(template)?);
        let wrap = self.keys.get(key)?.wrap(template, receiver, &options, &mut WebRandom)?;
        self.buffers.output = wrap.into_bytes();
        Ok(0)
    }

    /// The input is a wrap; the output is its expiration as an `f64` (NaN for none) and the rumor.
    /// Returns 1 for an ephemeral wrap.
    pub(crate) fn unwrap(&mut self, key: u32) -> Answer {
        let opened = self.keys.get(key)?.unwrap(text(&self.buffers.input)?)?;
        let expiration = opened.expiration.map_or(f64::NAN, |it| it as f64);
        self.buffers.output = [&expiration.to_le_bytes()[..], opened.rumor.as_bytes()].concat();
        Ok(i32::from(opened.is_ephemeral))
    }

    /// The input is the signer's public key and a request, the output an event.
    pub(crate) fn request(&mut self, key: u32, signer_len: usize, created_at: f64) -> Answer {
        let (signer, request) = self.buffers.split(signer_len)?;
        let (signer, request) = (text(signer)?, text(request)?);
        let key = self.keys.get(key)?;
        let event = key.request(signer, request, created_at as u64, &mut WebRandom)?;
        self.buffers.output = event.into_bytes();
        Ok(0)
    }

    /// The input is the signer's public key and an event; the output is id, kind and text of the
    /// response, each behind its length.
    pub(crate) fn response(&mut self, key: u32, signer_len: usize) -> Answer {
        let (signer, event) = self.buffers.split(signer_len)?;
        let response = self.keys.get(key)?.response(text(signer)?, text(event)?)?;
        let kind = response.kind.name().to_owned();
        self.buffers.output = joined([response.id, kind, response.text]);
        Ok(0)
    }

    /// The input is permissions, a name (none if its length is negative) and relays, each behind a
    /// line feed; the output is URI and secret, each behind its length.
    pub(crate) fn invitation(&mut self, key: u32, permissions_len: usize, name_len: i32) -> Answer {
        let (permissions, rest) = self.buffers.split(permissions_len)?;
        let has_name = usize::try_from(name_len);
        let (name, relays) = split(rest, has_name.unwrap_or_default())?;
        let name = has_name.is_ok().then(|| text(name)).transpose()?;
        let relays: Vec<_> = text(relays)?.split_terminator('\n').map(str::to_owned).collect();
        let key = self.keys.get(key)?;
        let made = key.invitation(&relays, text(permissions)?, name, &mut WebRandom)?;
        self.buffers.output = joined([made.uri, made.secret].map(|it| it.to_string()));
        Ok(0)
    }

    /// The input is the secret and an event, the output the public key of the signer.
    pub(crate) fn accepted(&mut self, key: u32, secret_len: usize) -> Answer {
        let (secret, event) = self.buffers.split(secret_len)?;
        let author = self.keys.get(key)?.accepted(text(event)?, text(secret)?)?;
        self.buffers.output = author.into_bytes();
        Ok(0)
    }

    /// The input is a public key in either form, the output its hexadecimal digits.
    pub(crate) fn public_key(&mut self) -> Answer {
        self.buffers.output = nostr::public_key(text(&self.buffers.input)?)?.into_bytes();
        Ok(0)
    }

    /// The input is an event.
    pub(crate) fn verify(&mut self) -> Answer {
        nostr::verify(text(&self.buffers.input)?)?;
        Ok(0)
    }

    /// The input is a URI; the output is the signer, the secret, which may be empty, and the
    /// relays, each behind its length.
    pub(crate) fn bunker(&mut self) -> Answer {
        let bunker = Bunker::parse(text(&self.buffers.input)?)?;
        let secret = bunker.secret.map(|it| it.to_string()).unwrap_or_default();
        self.buffers.output = joined([bunker.signer, secret].into_iter().chain(bunker.relays));
        Ok(0)
    }
}

const SALT_LEN: usize = 16;

fn cost(log_n: u32) -> Result<u8, Error> {
    u8::try_from(log_n).map_err(Error::argument)
}

fn input_of(salt: &[u8], log_n: u32) -> Result<StretchInput, Error> {
    let salt = salt.try_into().map_err(Error::argument)?;
    Ok(StretchInput::from_parts(salt, cost(log_n)?))
}

fn stretched_of(bytes: &[u8]) -> Result<StretchedPassword, Error> {
    bytes.try_into().map(StretchedPassword::from_bytes).map_err(Error::argument)
}
