//! Writing of archives.

use std::io::{BufWriter, Write};

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{Recipients, Sealer};
use endseal_keyring::IdentityFile;
use endseal_session::Engine;

use super::entry::{self, tag};
use super::error::WriteArchiveError;
use super::{ArchiveKeys, CONTEXT, LinkGrant, VERSION};
use crate::home::Home;
use crate::messages::{ArchivedItem, each_archived, membership, texts_in_outbox};

/// Length of the buffer before the envelope, in bytes: more than a chunk of it.
const BUFFER_LEN: usize = 64 * 1024;
/// Number of a backup in the head.
pub(super) const BACKUP: u8 = 1;
/// Number of a link in the head.
pub(super) const LINK: u8 = 2;

/// Writes an archive: contacts, peers, groups, person record and conversations of a state
/// directory, signed by the device. A backup is sealed to the root of its person and has neither
/// keys nor sessions; a link is sealed to a new device and has the root and its certificate. `now`
/// is in milliseconds since 1970. Returns the number of texts.
///
/// The store is read in one transaction, so that no text is missing or in it twice.
///
/// # Errors
/// Returns [`WriteArchiveError`] if something cannot be read, sealed or written.
pub fn write_archive(
    home: &Home,
    keys: ArchiveKeys<'_>,
    engine: &mut Engine,
    now: u64,
    output: impl Write,
) -> Result<u64, WriteArchiveError> {
    let own = keys.device.public().ed25519();
    if !keys.person.devices().any(|(_, it)| it == own) {
        return Err(WriteArchiveError::NotListed);
    }
    let to = keys.link.map_or(keys.person.identity(), |link| link.to);
    let to = Recipients::from_identities([to])?;
    let sealer = Sealer::new(keys.device, &to, CONTEXT).suite(to.suite()).time(now);
    let writer = sealer.writer(output, &mut OsRandom)?;
    let mut output = BufWriter::with_capacity(BUFFER_LEN, writer);
    let mut head = vec![VERSION, if keys.link.is_some() { LINK } else { BACKUP }];
    head.extend_from_slice(&now.to_le_bytes());
    entry::write(&mut output, tag::HEAD, &[], &head)?;
    entry::write(&mut output, tag::PERSON, &[], keys.person.as_bytes())?;
    if let Some(LinkGrant { secret, certificate, root, .. }) = keys.link {
        let root = IdentityFile::seal_without_passphrase(root, &mut OsRandom)?;
        entry::write(&mut output, tag::ROOT, &[], root.as_bytes())?;
        let link = Zeroizing::new([secret.expose_secret(), &certificate.as_bytes()[..]].concat());
        entry::write(&mut output, tag::LINK, &[], &link)?;
    }
    if let Some(hub) = &membership(engine)? {
        entry::write(&mut output, tag::HUB, &[], &hub.without_numbers().to_bytes())?;
    }
    entry::write(&mut output, tag::CONTACTS, &[], home.contacts()?.to_text().as_bytes())?;
    entry::write(&mut output, tag::PEERS, &[], home.peers()?.to_text().as_bytes())?;
    let groups = home.groups();
    for group in groups.list()? {
        for epoch in groups.epochs(&group)? {
            let roster = groups.epoch(&group, epoch)?;
            let name = [&epoch.to_be_bytes()[..], group.as_str().as_bytes()].concat();
            entry::write(&mut output, tag::ROSTER, &name, roster.as_bytes())?;
        }
    }
    // What waits is sent by the device that stays.
    let waiting = if keys.link.is_some() { None } else { Some(texts_in_outbox(engine)?) };
    let mut texts = 0;
    engine.transaction(|transaction| {
        each_archived(transaction, waiting.as_deref(), &mut |item| {
            texts += u64::from(item.is_text());
            let written = match item {
                ArchivedItem::Unread { number, value } => {
                    entry::write(&mut output, tag::UNREAD, &number.to_be_bytes(), value)
                }
                ArchivedItem::Record { kind, name, value } => {
                    let name = [&kind.to_be_bytes()[..], name].concat();
                    entry::write(&mut output, tag::RECORD, &name, value)
                }
            };
            Ok::<_, WriteArchiveError>(written?)
        })
    })?;
    let writer = output.into_inner().map_err(|error| error.into_error())?;
    writer.finish()?.flush()?;
    Ok(texts)
}
