//! The sending side of pairwise conversations.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Certificate, DeviceKeys};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{
    Binding, Engine, Envelope, Message, PairwiseAccount as _, PlaintextHead, Ratchet, RatchetBody,
};

use super::people::{FIRST, NOW, Sender, address, sender};
use crate::subject::Failure;

/// A session in which one message has been sent in each direction.
struct Person(OlmRatchet);

/// Lets a sender start a session with the receiver, send a message, and receive an answer.
pub(super) fn meet(receiver: &mut Engine, conversation: usize) -> Result<Box<dyn Sender>, Failure> {
    let account = OlmAccount::generate();
    let keys = account.keys();
    let group = SigningKey::from_seed(Seed::from_bytes(&[0x40; 32]));
    let keys = DeviceKeys {
        device: FIRST,
        peer_id: PeerId::from_bytes(&[2; 32]),
        agreement: keys.agreement,
        signing: keys.signing,
        group: *group.public_key(),
    };
    let certificate = Certificate::issue(&sender(conversation), &keys, NOW);
    let bundles = receiver.transaction(|own| own.prekey_bundles(1, NOW))?;
    let mut ratchet = account.begin(bundles.first().ok_or("no prekey was made")?)?;

    let own = receiver.certificate();
    let binding = Binding::of(certificate.as_bytes(), &own.address(), &own.keys().agreement);
    let hello = ratchet.seal(&PlaintextHead::Bound(binding).before(b"hello"))?;
    let hello = Message::Prekey {
        tag: ratchet.tag(),
        certificate: certificate.as_bytes(),
        body: &hello.body,
    }
    .to_bytes()?;
    let from = address(conversation);
    let envelope = Envelope::from_device(b"hello", from, &hello);
    let outcome = receiver.transaction(|own| own.decrypt(&envelope))?;
    if !outcome.is_kept() {
        return Err("the first message was not accepted".into());
    }
    if let Some(hello) = receiver.inbox().next()? {
        receiver.inbox().consume(hello.number)?;
    }
    let answer = receiver.encrypt(from, b"answer")?;
    receiver.outbox().sent(answer.number)?;
    match Message::parse(&answer.body)? {
        Message::Ratchet { body, .. } => ratchet.open(RatchetBody::Ratchet(body))?,
        _ => return Err("the answer is no message of the session".into()),
    };
    Ok(Box::new(Person(ratchet)))
}

impl Sender for Person {
    fn seal_all(&mut self, contents: &[&[u8]]) -> Result<Vec<Vec<u8>>, Failure> {
        // Each backlog starts from the same state, and goes to a receiver that has seen no other.
        let mut ratchet = self.0.fork();
        let tag = ratchet.tag();
        contents
            .iter()
            .map(|content| {
                let sealed = ratchet.seal(&PlaintextHead::Plain.before(content))?;
                Ok(Message::Ratchet { tag, body: &sealed.body }.to_bytes()?)
            })
            .collect()
    }
}
