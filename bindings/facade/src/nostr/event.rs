//! Events.

use endseal_crypto::random::Random;
use endseal_nostr::event::{Event, ParseError, Template};

use super::key::{NostrKey, no_random};
use crate::error::Error;

impl NostrKey {
    /// Signs an event: JSON with `kind`, `created_at`, `tags` and `content`. A `pubkey` must be the
    /// one of this key.
    ///
    /// # Errors
    /// `event` if it is none, or names another author; `random` if the source of randomness fails.
    pub fn sign(&self, template: &str, random: &mut impl Random) -> Result<String, Error> {
        let template = Template::parse(template.as_bytes()).map_err(malformed)?;
        self.sign_template(&template, random)
    }

    pub(super) fn sign_template(
        &self,
        template: &Template<'_>,
        random: &mut impl Random,
    ) -> Result<String, Error> {
        let mut aux = [0; 32];
        random.fill(&mut aux).map_err(no_random)?;
        let event = template.sign(self.signing(), &aux);
        let event = event.map_err(|error| Error::new("event", error))?;
        let mut json = Vec::new();
        event.write_to(&mut Json(&mut json));
        String::from_utf8(json).map_err(Error::argument)
    }
}

/// Checks that id and signature of an event are those of its members.
///
/// # Errors
/// `event` if this is none, `authentication`.
pub fn verify(event: &str) -> Result<(), Error> {
    let event = Event::parse(event.as_bytes()).map_err(malformed)?;
    event.verify().map(drop).map_err(|error| Error::new("authentication", error))
}

pub(super) fn malformed(error: ParseError) -> Error {
    Error::new("event", error)
}

/// JSON of any length.
pub(super) struct Json<'v>(pub(super) &'v mut Vec<u8>);

impl endseal_nostr::output::Sink for Json<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
