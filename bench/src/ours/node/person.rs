//! A person with one device and a state directory, as `endseal init` makes it.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::Path;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_keyring::device::DeviceId;
use endseal_keyring::{IdentityFile, Invitation, JoinToken, PersonRecord};
use endseal_node::messages::{self, Conversation, HubClient, NodeFiles, SyncReport, join, sync};
use endseal_node::{Existing, Home, NewIdentity, OtherDevices};
use endseal_session::Engine;
use endseal_transport::TransportKey;

use super::database::Database;
use super::server;
use super::wire::{Link, connect};
use crate::subject::Failure;

/// Time limit of an answer of a hub.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Time of the identity's records: a day in 2026, in milliseconds since 1970.
const NOW: u64 = 1_790_000_000_000;

pub(super) struct Person {
    pub(super) root: Identity,
    pub(super) device: Identity,
    pub(super) home: Home,
    pub(super) record: PersonRecord,
}

impl Person {
    /// Creates a person with a state directory at `path`.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let home = Home::create(path)?;
        let root = Identity::from_root_seed(RootSeed::generate(&mut OsRandom)?);
        let device = Identity::generate(&mut OsRandom)?;
        let file = |of| IdentityFile::seal_without_passphrase(of, &mut OsRandom);
        let new = NewIdentity {
            root: &root,
            root_file: &file(&root)?,
            device: &device,
            device_file: &file(&device)?,
            number: DeviceId::new(1),
            at_hub: None,
            others: OtherDevices::Revoke,
            now: NOW,
        };
        home.install(&new, Existing::Keep, &home.lock()?)?;
        let record = home.person()?;
        Ok(Self { root, device, home, record })
    }

    pub(super) fn identity(&self) -> &PublicKey {
        self.root.public().ed25519()
    }

    pub(super) fn key(&self) -> TransportKey {
        TransportKey::new(&self.device)
    }

    /// Opens the person's store.
    pub(super) fn engine(&self) -> Result<Engine, Failure> {
        Ok(self.home.sessions(&self.device, Duration::ZERO)?)
    }

    /// Connects to the hub.
    pub(super) async fn connect(&self, hub: SocketAddr) -> Result<Link, Failure> {
        connect(&self.key(), hub).await
    }

    /// Registers at the hub.
    pub(super) async fn join(
        &self,
        engine: &mut Engine,
        link: &Link,
        invitation: &Invitation,
    ) -> Result<(), Failure> {
        let hub = HubClient::new(&link.connection, TIMEOUT);
        Ok(join(&hub, engine, invitation, &self.record).await?)
    }

    /// Runs one visit: sends and receives everything that waits.
    pub(super) async fn sync(
        &self,
        engine: &mut Engine,
        link: &Link,
    ) -> Result<SyncReport, Failure> {
        let hub = HubClient::new(&link.connection, TIMEOUT);
        let files = NodeFiles::new(&self.home);
        let mut report = SyncReport::default();
        sync(&hub, engine, &self.record, &files, &mut report).await?;
        if !report.skipped.is_empty() || report.problems > 0 || report.parked > 0 {
            return Err(format!("a visit left something behind: {report:?}").into());
        }
        Ok(report)
    }
}

/// Stores the lines of a text as messages to a person, to be sent by the next visit.
pub(super) fn say(engine: &mut Engine, to: &PublicKey, lines: &str) -> Result<u64, Failure> {
    let to = Conversation::Person(*to);
    let texts: Vec<&str> = lines.lines().collect();
    Ok(messages::say(engine, &to, &texts)?.len() as u64)
}

/// Creates an invitation to the hub that many devices may use.
pub(super) fn invite(database: &Database) -> Result<Invitation, Failure> {
    let token = JoinToken::try_init_with(|bytes| OsRandom.fill(bytes))?;
    let digest = token.digest();
    let mut store = database.open()?;
    store.transact(&mut |it| it.add_invitation(&digest, "bench", u64::MAX / 4, u32::MAX))?;
    let invitation = Invitation::new(server::peer(), token, &["127.0.0.1:1"]);
    invitation.ok_or_else(|| "an invitation was not made".into())
}
