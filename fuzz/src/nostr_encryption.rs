//! Nostr: encrypted payloads (NIP-44) and contents (NIP-04) of unknown senders.

use std::sync::LazyLock;

use endseal_crypto::{base64, chacha20, sha256};
use endseal_nostr::key::{PublicKey, SecretKey};
use endseal_nostr::nip04::{self, DecryptError};
use endseal_nostr::nip44::{Conversation, Lengths, OpenError, SealError, payload_len};
use nostr::nips::nip44::Nonce;

use crate::choice;

/// Returns the secret key of the vectors with this label.
pub(crate) fn secret_key(label: &str) -> SecretKey {
    SecretKey::from_bytes(&sha256::digest(label.as_bytes())).expect("a number below n")
}

/// Fuzzes NIP-44. The first byte modulo 4 selects the form of the rest: a payload; a plaintext that
/// is sealed; the bytes under the MAC; a plaintext whose padding is changed.
pub fn nostr_payload(data: &[u8]) {
    let (form, data) = choice(data);
    let peers = Peers { key: sha256::digest(b"conversation key") };
    match form % 4 {
        0 => peers.payload(data),
        1 => peers.plaintext(form / 4, data),
        2 => peers.padded(data),
        _ => peers.padded(&mispadded(data)),
    }
}

/// The two owners of a conversation key.
struct Peers {
    key: [u8; 32],
}

impl Peers {
    /// A payload that opens must be the one that its plaintext is sealed to.
    fn payload(&self, payload: &[u8]) {
        let conversation = Conversation::from_key(&self.key);
        let Some(text) = opened(&conversation, payload) else { return };
        let nonce = raw(payload)[1..33].try_into().expect("32 bytes");
        assert_eq!(sealed(&conversation, &text, &nonce).as_bytes(), payload);
    }

    /// Seals and opens a plaintext. `repeats` makes long plaintexts of short inputs.
    fn plaintext(&self, repeats: usize, data: &[u8]) {
        let conversation = Conversation::from_key(&self.key);
        let (nonce, text) = (sha256::digest(data), data.repeat(1 + repeats));
        if text.is_empty() {
            let mut out = [0; 200];
            let refused = conversation.seal(&text, &nonce, Lengths::Extended, &mut out);
            return assert_eq!(refused, Err(SealError::Length));
        }
        let payload = sealed(&conversation, &text, &nonce);
        assert_eq!(payload, self.payload_of(&nonce, &pad(&text)));
        assert_eq!(opened(&conversation, payload.as_bytes()).as_ref(), Some(&text));

        let mut short = vec![0x5a; payload.len() - 1];
        let refused = conversation.seal(&text, &nonce, Lengths::Extended, &mut short);
        assert!(matches!(refused, Err(SealError::Output(error)) if error.needed == payload.len()));
        assert!(short.iter().all(|byte| *byte == 0x5a));
    }

    /// Authentic bytes open only if they are a correctly padded plaintext.
    fn padded(&self, padded: &[u8]) {
        let payload = self.payload_of(&sha256::digest(padded), padded);
        let text = claimed(padded).filter(|text| pad(text) == padded);
        let conversation = Conversation::from_key(&self.key);
        assert_eq!(opened(&conversation, payload.as_bytes()).as_deref(), text);
    }

    /// Derives the keys of ChaCha20 and HMAC as the NIP does: 76 of 96 bytes.
    fn keys(&self, nonce: &[u8]) -> Vec<u8> {
        let first = sha256::hmac(&self.key, &[nonce, &[1]]);
        let second = sha256::hmac(&self.key, &[&first, nonce, &[2]]);
        let third = sha256::hmac(&self.key, &[&second, nonce, &[3]]);
        [first, second, third].concat()
    }

    fn apply_keystream(keys: &[u8], text: &mut [u8]) {
        let (key, nonce) = (keys.first_chunk(), keys[32..].first_chunk());
        let (key, nonce) = (key.expect("32 of 96 bytes"), nonce.expect("12 of 64 bytes"));
        chacha20::apply_keystream(key, nonce, 0, text).expect("less than 256 GiB");
    }

    /// Builds the payload of bytes with any padding.
    fn payload_of(&self, nonce: &[u8; 32], padded: &[u8]) -> String {
        let (keys, mut text) = (self.keys(nonce), padded.to_vec());
        Self::apply_keystream(&keys, &mut text);
        let mac = sha256::hmac(&keys[44..76], &[nonce, &text]);
        let bytes = [&[2], &nonce[..], &text, &mac].concat();
        let mut out = vec![0; base64::encoded_len(bytes.len())];
        base64::encode(&bytes, &mut out).expect("it has space").to_owned()
    }

    /// Returns plaintext and padding of an authentic payload.
    fn padded_of(&self, payload: &[u8]) -> Vec<u8> {
        let bytes = raw(payload);
        let mut text = bytes[33..bytes.len() - 32].to_vec();
        Self::apply_keystream(&self.keys(&bytes[1..33]), &mut text);
        text
    }
}

/// Decodes Base64 that was accepted.
fn raw(payload: &[u8]) -> Vec<u8> {
    let mut bytes = payload.to_vec();
    let len = base64::decode_in_place(&mut bytes).expect("it was decoded before");
    bytes.truncate(len);
    bytes
}

/// Returns the plaintext of a payload that opens. If it does not, the buffer must be in the state
/// that the specification demands.
fn opened(conversation: &Conversation, payload: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = payload.to_vec();
    let error = match conversation.open(&mut buffer) {
        Ok(text) => return Some(text.to_vec()),
        Err(error) => error,
    };
    let is_wiped = buffer.iter().all(|byte| *byte == 0);
    assert!(match error {
        OpenError::UnsupportedVersion => buffer == payload,
        OpenError::Length | OpenError::Encoding => is_wiped || buffer == payload,
        _ => is_wiped,
    });
    None
}

fn sealed(conversation: &Conversation, text: &[u8], nonce: &[u8; 32]) -> String {
    let mut out = vec![0; payload_len(text.len(), Lengths::Extended).expect("1 to 2^32 - 1 bytes")];
    conversation.seal(text, nonce, Lengths::Extended, &mut out).expect("it has space").to_owned()
}

/// Builds prefix, plaintext and zeros by the NIP's formula.
fn pad(text: &[u8]) -> Vec<u8> {
    let len = text.len();
    let step = if len <= 32 { 32 } else { (1_usize << ((len - 1).ilog2() + 1)).max(256) / 8 };
    let mut padded = match u16::try_from(len) {
        Ok(len) => len.to_be_bytes().to_vec(),
        Err(_) => {
            let len = u32::try_from(len).expect("an input is short").to_be_bytes();
            [&[0, 0], &len[..]].concat()
        }
    };
    let end = padded.len() + len.div_ceil(step) * step;
    padded.extend_from_slice(text);
    padded.resize(end, 0);
    padded
}

/// Returns the plaintext of the length that the prefix announces.
fn claimed(padded: &[u8]) -> Option<&[u8]> {
    let (short, rest) = padded.split_first_chunk()?;
    match u16::from_be_bytes(*short) {
        0 => {
            let (len, rest) = rest.split_first_chunk()?;
            rest.get(..usize::try_from(u32::from_be_bytes(*len)).ok()?)
        }
        len => rest.get(..len.into()),
    }
    .filter(|text| !text.is_empty())
}

/// Returns the padded plaintext, repeated, with one byte changed and some cut off or added. The
/// first five bytes select: position from the start or the end, difference, length, repeats.
fn mispadded(data: &[u8]) -> Vec<u8> {
    let Some(([place, side, difference, len, repeats], text)) = data.split_first_chunk() else {
        return data.to_vec();
    };
    let mut padded = pad(&text.repeat(1 + usize::from(*repeats)));
    let last = padded.len() - 1;
    let place = usize::from(*place).min(last);
    padded[if side % 2 == 0 { place } else { last - place }] ^= difference;
    let len = (padded.len() + usize::from(*len >> 4)).saturating_sub((*len & 15).into());
    padded.resize(len, 0);
    padded
}

/// Compares with the crate `nostr`: both must seal to the same payload, and open the same payloads
/// to the same plaintext.
///
/// The crate `nostr` does not check the padding's bytes, endseal refuses all but zeros. The first
/// byte is that of [`nostr_payload`]. Plaintexts of 65,536 bytes and more are included.
pub fn nostr_payload_vs_rust_nostr(data: &[u8]) {
    let (form, data) = choice(data);
    let both = &*BOTH;
    match form % 4 {
        0 => both.open(data),
        1 => both.seal(&data.repeat(1 + form / 4), sha256::digest(data)),
        2 => both.open(both.peers.payload_of(&sha256::digest(data), data).as_bytes()),
        _ => {
            let padded = mispadded(data);
            both.open(both.peers.payload_of(&sha256::digest(data), &padded).as_bytes());
        }
    }
}

/// Returns the inputs that the target gets in addition to the vectors, whose keys have no secret
/// keys: payloads of its own conversation in other forms of Base64.
pub(crate) fn inputs() -> Vec<Vec<u8>> {
    let lens = [1, 2, 3, 32, 33, 256, 257];
    let forms: [fn(&str) -> String; 5] = [
        str::to_owned,
        |payload| payload.trim_end_matches('=').to_owned(),
        |payload| format!("{payload}="),
        |payload| payload.replace('+', "-").replace('/', "_"),
        |payload| format!("{payload}\n"),
    ];
    let payloads = lens.map(|len| sealed(&BOTH.ours, &vec![b'x'; len], &[9; 32]));
    let input = |payload: String| [b"\0", payload.as_bytes()].concat();
    payloads.iter().flat_map(|payload| forms.map(|form| input(form(payload)))).collect()
}

/// One conversation in both implementations.
struct Both {
    ours: Conversation,
    secret: nostr::key::SecretKey,
    public: nostr::key::PublicKey,
    peers: Peers,
}

static BOTH: LazyLock<Both> = LazyLock::new(|| {
    let own = secret_key("secret of a");
    let public = secret_key("secret of b").public_key();
    let secret = nostr::key::SecretKey::from_slice(own.expose_secret()).expect("a secret key");
    let key = sha256::hmac(b"nip44-v2", &[own.ecdh_x(&public).expose_secret()]);
    Both {
        ours: Conversation::new(&own, &public),
        secret,
        public: nostr::key::PublicKey::from_byte_array(public.to_bytes()),
        peers: Peers { key },
    }
});

impl Both {
    fn open(&self, payload: &[u8]) {
        let theirs = nostr::nips::nip44::decrypt_to_bytes(&self.secret, &self.public, payload).ok();
        let ours = opened(&self.ours, payload);
        if let (None, Some(text)) = (&ours, &theirs) {
            let (padded, canonical) = (self.peers.padded_of(payload), pad(text));
            let end = canonical.len() - canonical.iter().rev().take_while(|it| **it == 0).count();
            assert_eq!(padded.len(), canonical.len());
            assert_eq!(padded[..end], canonical[..end]);
            assert!(padded[end..].iter().any(|byte| *byte != 0), "refused without a reason");
        } else {
            assert_eq!(ours, theirs);
        }
    }

    fn seal(&self, text: &[u8], nonce: [u8; 32]) {
        let theirs = nostr::nips::nip44::encrypt_with_nonce(
            &self.secret,
            &self.public,
            text,
            Nonce::V2(nonce),
        );
        if text.is_empty() {
            return assert!(theirs.is_err());
        }
        let payload = sealed(&self.ours, text, &nonce);
        assert_eq!(theirs.ok().as_ref(), Some(&payload));
        self.open(payload.as_bytes());
    }
}

/// Fuzzes NIP-04. Even first byte: a content; one that is decrypted has one form when written. Odd:
/// the IV and a plaintext.
pub fn nostr_nip04(data: &[u8]) {
    static KEY: LazyLock<nip04::Key> = LazyLock::new(|| {
        let peer: PublicKey = secret_key("secret of b").public_key();
        nip04::Key::new(&secret_key("secret of a"), &peer)
    });
    let (form, data) = choice(data);
    if form % 2 == 0 {
        if let Some(text) = decrypted(&KEY, data) {
            let iv = raw(&data[data.len() - 24..]).try_into().expect("16 bytes");
            assert_eq!(encrypted(&KEY, &text, &iv).as_bytes(), data);
        }
    } else if let Some((iv, text)) = data.split_first_chunk() {
        let content = encrypted(&KEY, text, iv);
        assert!(content.len() >= nip04::MIN_CONTENT);
        assert_eq!(decrypted(&KEY, content.as_bytes()).as_deref(), Some(text));
        let mut short = vec![0x5a; content.len() - 1];
        let refused = KEY.encrypt(text, iv, &mut short).map_err(|error| error.needed);
        assert_eq!(refused, Err(content.len()));
        assert!(short.iter().all(|byte| *byte == 0x5a));
    }
}

fn encrypted(key: &nip04::Key, text: &[u8], iv: &[u8; 16]) -> String {
    let mut out = vec![0; nip04::content_len(text.len())];
    key.encrypt(text, iv, &mut out).expect("it has space").to_owned()
}

fn decrypted(key: &nip04::Key, content: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = content.to_vec();
    let error = match key.decrypt(&mut buffer) {
        Ok(text) => return Some(text.to_vec()),
        Err(error) => error,
    };
    assert!(match error {
        DecryptError::Format => buffer == content,
        _ => buffer.iter().all(|byte| *byte == 0),
    });
    None
}
