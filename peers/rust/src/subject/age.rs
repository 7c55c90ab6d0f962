//! age files (<https://c2sp.org/age>) by rage's library, for X25519 recipients, not armoured.
//!
//! The sender is not authenticated. Recipients are hidden, so a reader tries one stanza after the
//! other, and always reads the whole header. Members are known by age's own X25519 keys.
//!
//! Settings follow <https://docs.rs/age/0.12.1/age/#full-apis> ("for most cases":
//! `with_recipients`) and <https://docs.rs/age/0.12.1/age/struct.Decryptor.html> ("consider using
//! `new_buffered`").

use std::error::Error;
use std::io::{Read, Write};
use std::iter;

use age::x25519::{Identity, Recipient};
use age::{Decryptor, Encryptor};

use super::{Group, Subject};

const SETTINGS: &str = "https://docs.rs/age/0.12.1/age/#full-apis";
/// A header cannot have different file keys for two readers, because its HMAC would have to
/// collide.
const PROPERTIES: &[&str] =
    &["confidential", "authenticated", "sender-hidden", "recipients-hidden", "committing"];

pub(crate) const BUFFERED: Subject = Subject {
    name: "age",
    about: "age file to X25519 recipients, opened with Decryptor::new_buffered; not signed",
    crates: &["age"],
    settings: SETTINGS,
    properties: PROPERTIES,
    // Opening takes 0.18 s for 1000 and 18 s for 10,000.
    max_members: 1000,
    group: |members| Ok(Box::new(Age::new(members, true))),
};

pub(crate) const UNBUFFERED: Subject = Subject {
    name: "age-unbuffered",
    about: "as age, opened with Decryptor::new, which the library's examples use",
    // Opening takes 0.05 s for 100 and 6 s for 1000.
    max_members: 100,
    group: |members| Ok(Box::new(Age::new(members, false))),
    ..BUFFERED
};

struct Age {
    recipients: Vec<Recipient>,
    identities: Vec<Identity>,
    buffered: bool,
}

impl Age {
    fn new(members: usize, buffered: bool) -> Self {
        let identities: Vec<Identity> = (0..members).map(|_| Identity::generate()).collect();
        let recipients = identities.iter().map(Identity::to_public).collect();
        Self { recipients, identities, buffered }
    }
}

impl Group for Age {
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let recipients = self.recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
        let mut envelope = Vec::new();
        let mut writer = Encryptor::with_recipients(recipients)?.wrap_output(&mut envelope)?;
        writer.write_all(content)?;
        writer.finish()?;
        Ok(envelope)
    }

    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let decryptor = if self.buffered {
            Decryptor::new_buffered(envelope)?
        } else {
            Decryptor::new(envelope)?
        };
        let identity = self.identities.get(member).ok_or("no such member")?;
        let mut content = Vec::new();
        decryptor.decrypt(iter::once(identity as &dyn age::Identity))?.read_to_end(&mut content)?;
        Ok(content)
    }
}
