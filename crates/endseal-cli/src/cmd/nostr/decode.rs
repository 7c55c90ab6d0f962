//! `endseal nostr decode`: shows the content of a NIP-19 text.

use base16ct::lower::encode_string as hex;
use endseal_nostr::Relays;
use endseal_nostr::entity::{Entity, MAX_DATA};
use endseal_nostr::key::PublicKey;

use super::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::printable;
use crate::typed::{may_be_key, shown};

/// Show what an npub, note, nprofile, nevent or naddr refers to (NIP-19)
///
/// Secret keys are refused: nothing secret is an argument. `endseal nostr key show` reads them.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The text, with nostr: or without
    text: String,
}

pub(super) fn run(args: &Args, _: &mut Ctx) -> Result<Outcome, Failure> {
    let mut buffer = [0; MAX_DATA];
    let entity = peer::entity(&args.text, &mut buffer).map_err(|error| {
        let text = if may_be_key(&args.text) {
            "this".to_owned()
        } else {
            format!("'{}'", shown(&args.text))
        };
        Failure::usage(format!("{text} cannot be read")).because(&error)
    })?;
    let mut found = Found::default();
    match entity {
        Entity::PublicKey(key) => found.public_key("public key", key),
        Entity::Note(id) => found.id(&id),
        Entity::Profile(profile) => {
            found.public_key("public key", profile.public_key);
            found.relays(profile.relays);
        }
        Entity::Event(event) => {
            found.id(&event.id);
            if let Some(author) = event.author {
                found.public_key("author", author);
            }
            found.kind(event.kind);
            found.relays(event.relays);
        }
        Entity::Address(address) => {
            found.line("identifier", &printable(address.identifier));
            found.identifier = Some(address.identifier.to_owned());
            found.public_key("author", address.author);
            found.kind(Some(address.kind));
            found.relays(address.relays);
        }
        _ => return Err(Failure::usage("this version does not know such a text")),
    }
    Ok(found.outcome())
}

/// Fields of a decoded text.
#[derive(Default)]
struct Found {
    text: String,
    id: Option<String>,
    public_key: Option<String>,
    kind: Option<u16>,
    identifier: Option<String>,
    relays: Vec<Value>,
}

impl Found {
    fn line(&mut self, name: &str, value: &str) {
        self.text.push_str(&format!("{name:<11} {value}\n"));
    }

    fn id(&mut self, id: &[u8; 32]) {
        let id = hex(id);
        self.line("event id", &id);
        self.id = Some(id);
    }

    fn public_key(&mut self, name: &str, key: PublicKey) {
        let key = hex(&key.to_bytes());
        self.line(name, &key);
        self.public_key = Some(key);
    }

    fn kind(&mut self, kind: Option<u16>) {
        if let Some(kind) = kind {
            self.line("kind", &kind.to_string());
        }
        self.kind = kind;
    }

    fn relays(&mut self, relays: Relays<'_>) {
        for relay in relays.iter() {
            self.line("relay", &printable(relay));
            self.relays.push(relay.into());
        }
    }

    fn outcome(self) -> Outcome {
        let json = json::object([
            ("id", self.id.into()),
            ("public_key", self.public_key.into()),
            ("kind", self.kind.into()),
            ("identifier", self.identifier.into()),
            ("relays", self.relays.into()),
        ]);
        Outcome::new(self.text, json)
    }
}
