//! A hub with a sender and members of groups, all with state directories.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endseal_keyring::roster::{GroupId, Member};
use endseal_keyring::{Invitation, Name};
use tokio::runtime::Runtime;

use super::database::Database;
use super::person::{Person, invite};
use super::server::Server;
use crate::s3::listen;
use crate::scratch::Folder;
use crate::subject::Failure;

/// The sender and the members. Members are created when a group first needs them, and groups when
/// they are first written to.
pub(super) struct Team {
    pub(super) runtime: Runtime,
    pub(super) server: Server,
    /// The sender; `None` while its service runs.
    pub(super) sender: Option<Person>,
    /// Members whose service is not running.
    pub(super) members: Vec<Person>,
    invitation: Invitation,
    groups: BTreeMap<usize, GroupId>,
    // Declared last, so that it is removed after everything that uses it.
    folder: Folder,
}

impl Team {
    pub(super) fn new() -> Result<Self, Failure> {
        let (folder, runtime) = (Folder::new()?, listen::runtime()?);
        let server = Server::start(Database::Sqlite(folder.at("hub.db")))?;
        let invitation = invite(&server.database)?;
        let sender = member(&runtime, &server, &invitation, folder.at("s"))?;
        let (members, groups) = (Vec::new(), BTreeMap::new());
        let sender = Some(sender);
        Ok(Self { runtime, server, sender, members, invitation, groups, folder })
    }

    /// Returns the group of the sender and the first `members` members.
    pub(super) fn group(&mut self, members: usize) -> Result<GroupId, Failure> {
        while self.members.len() < members {
            let place = self.folder.at(&format!("m{}", self.members.len()));
            self.members.push(member(&self.runtime, &self.server, &self.invitation, place)?);
        }
        if let Some(known) = self.groups.get(&members) {
            return Ok(*known);
        }
        let name = |text: &str| Name::new(text).map_err(|_| "a name is none");
        let sender = self.sender.as_ref().ok_or("the sender's service runs")?;
        let all = core::iter::once(sender).chain(&self.members[..members]);
        let listed = all.enumerate().map(|(at, person)| {
            Ok::<_, Failure>(Member::new(name(&format!("m{at}"))?, person.root.public().clone()))
        });
        let listed = listed.collect::<Result<Vec<_>, _>>()?;
        let Person { home, root, .. } = sender;
        let called = name(&format!("of-{members}"))?;
        let roster = home.groups().create(root, called, listed, &home.lock()?)?;
        for Person { home, .. } in &self.members[..members] {
            home.groups().import(roster.as_bytes(), None, |_| true, &home.lock()?)?;
        }
        self.groups.insert(members, *roster.id());
        Ok(*roster.id())
    }
}

/// Creates a person and registers it at the hub.
fn member(
    runtime: &Runtime,
    server: &Server,
    invitation: &Invitation,
    place: PathBuf,
) -> Result<Person, Failure> {
    let person = Person::new(&place)?;
    let mut engine = person.engine()?;
    runtime.block_on(async {
        let link = person.connect(server.address).await?;
        person.join(&mut engine, &link, invitation).await
    })?;
    Ok(person)
}
