//! Teams of the state directory, for programs that cannot read its files.

use endseal_session::Engine;

use super::{Error, ErrorKind, MemberRow, Page, TeamRow};
use crate::error_line::line;
use crate::groups::GroupError;
use crate::home::Home;
use crate::messages::{Conversation, departures};

/// Limit on the teams of a reply.
const TEAMS: usize = 1_024;
/// Limit on the members of a reply. A row has less than 300 bytes.
const MEMBERS: usize = 4_096;

/// Returns the teams in the order of their local names, at most [`TEAMS`].
pub(super) fn teams(engine: &mut Engine, home: &Home) -> Result<Page<TeamRow>, Error> {
    let (groups, own) = (home.groups(), engine.address().identity);
    let left = departures(engine)?;
    let mut rows = Vec::new();
    for name in groups.list()?.into_iter().take(TEAMS) {
        let roster = match groups.current(&name) {
            Ok(roster) => roster,
            // The folder has no roster, or the group was deleted meanwhile.
            Err(GroupError::Unknown(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let team = Conversation::Group(*roster.id());
        let has_left = left.iter().any(|it| it.team == team && it.person == own);
        rows.push(TeamRow {
            team,
            name: name.to_string(),
            epoch: roster.epoch(),
            owner: *roster.owner(),
            members: roster.members().len() as u64,
            is_member: !has_left && roster.member_of_key(&own).is_some(),
        });
    }
    Ok(Page::only(rows))
}

/// Returns the members of a team with numbers above `after`, in the order of the roster.
pub(super) fn members(
    home: &Home,
    team: &Conversation,
    after: u64,
) -> Result<Page<MemberRow>, Error> {
    let known = match team {
        Conversation::Group(id) => home.groups().known(id)?,
        Conversation::Person(_) => None,
    };
    let Some((_, roster)) = known else {
        return Err(Error::new(ErrorKind::NoGroup, "no roster of this group is here"));
    };
    let all = (1..).zip(roster.members()).filter(|(number, _)| *number > after);
    let rows: Vec<_> = all
        .take(MEMBERS)
        .map(|(number, member)| MemberRow {
            number,
            person: *member.identity().ed25519(),
            name: member.name().to_string(),
            is_admin: roster.is_admin(member.identity().ed25519()),
        })
        .collect();
    let last = rows.last().map(|row| row.number);
    let next = last.filter(|last| *last < roster.members().len() as u64);
    Ok(Page { rows, next })
}

impl From<GroupError> for Error {
    fn from(error: GroupError) -> Self {
        Self::new(ErrorKind::Store, &line(&error))
    }
}
