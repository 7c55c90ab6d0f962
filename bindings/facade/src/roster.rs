//! Rosters: the members of groups (docs/spec/roster.md).

use std::collections::HashSet;
use std::sync::Arc;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity;
use endseal_keyring::roster::{InvalidMembers, ParseRosterError, RosterChainError};

use crate::error::Error;
use crate::identity::PublicIdentity;
use crate::recipients::Recipients;

/// The members of a group in one epoch, whose signatures were verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster(Arc<endseal_keyring::Roster>);

/// One member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name that the owner or an admin of the group chose.
    pub name: String,
    /// The member's identity, as the roster has it.
    pub identity: PublicIdentity,
    /// The member can change the group as the owner does, with few exceptions.
    pub is_admin: bool,
}

impl Roster {
    /// Reads the first roster of a group that the caller holds. `owner` is the group's owner, whom
    /// the caller knows from elsewhere: everyone can sign a roster of any name.
    ///
    /// # Errors
    /// A class of docs/spec/roster.md, "Reading"; `owner` if another one signs it.
    pub fn read(file: &[u8], owner: &PublicIdentity) -> Result<Self, Error> {
        let roster = Self::parse(file)?;
        if roster.0.signing_owner() != owner.0.ed25519() {
            return Err(Error::new("owner", "the group has another owner"));
        }
        Ok(roster)
    }

    /// Reads the roster of the epoch after this one. `allows_gap` also accepts a later epoch, of
    /// which the caller does not see if other epochs were shown to others.
    ///
    /// # Errors
    /// A class of docs/spec/roster.md, "Reading" or "Chain".
    pub fn read_next(&self, file: &[u8], allows_gap: bool) -> Result<Self, Error> {
        let next = Self::parse(file)?;
        let result = if allows_gap { next.0.supersedes(&self.0) } else { next.0.follows(&self.0) };
        result.map_err(|error| Error::new(chain_code(&error), error))?;
        Ok(next)
    }

    /// Reads a roster that the caller has accepted before.
    ///
    /// # Errors
    /// A class of docs/spec/roster.md, "Reading".
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        let roster = endseal_keyring::Roster::parse(file);
        roster.map(|it| Self(Arc::new(it))).map_err(|error| Error::new(code(&error), error))
    }

    /// Returns the group's name.
    #[must_use]
    pub fn group(&self) -> &str {
        self.0.group().as_str()
    }

    /// Returns the id of the group, the same in all epochs, in hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// Returns the number of the epoch, from 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// Returns the digest of the roster, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        self.0.digest().to_string()
    }

    /// Returns the digest of the roster of the epoch before.
    #[must_use]
    pub fn previous(&self) -> Option<String> {
        self.0.previous().map(ToString::to_string)
    }

    /// Returns the group's owner, in the short form.
    #[must_use]
    pub fn owner(&self) -> PublicIdentity {
        short(self.0.owner())
    }

    /// Returns the owner who vouches for this roster: the former one in the epoch in which the
    /// group was handed on.
    #[must_use]
    pub fn signing_owner(&self) -> PublicIdentity {
        short(self.0.signing_owner())
    }

    /// Returns who signed it: the signing owner, or an admin.
    #[must_use]
    pub fn signer(&self) -> PublicIdentity {
        short(self.0.signer())
    }

    /// Returns the members in the order of their names.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let admins: HashSet<_> = self.0.admins().map(|it| it.name().as_str()).collect();
        let member = |it: &endseal_keyring::roster::Member| Member {
            name: it.name().to_string(),
            identity: PublicIdentity(it.identity().clone()),
            is_admin: admins.contains(it.name().as_str()),
        };
        self.0.members().iter().map(member).collect()
    }

    /// Returns what JavaScript reads, as texts: group, id, epoch, digest, previous digest or
    /// nothing, owner, signing owner, signer; then name, identity and `1` for an admin of each
    /// member.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let identities = [self.owner(), self.signing_owner(), self.signer()];
        let mut texts = vec![self.group().to_owned(), self.id(), self.epoch().to_string()];
        texts.extend([self.digest(), self.previous().unwrap_or_default()]);
        texts.extend(identities.map(|it| it.to_string()));
        for member in self.members() {
            let is_admin = if member.is_admin { "1" } else { "" };
            texts.extend([member.name, member.identity.to_string(), is_admin.to_owned()]);
        }
        texts
    }

    /// Prepares all members as recipients.
    ///
    /// # Errors
    /// `argument` if an envelope has not as many slots.
    pub fn recipients(&self) -> Result<Recipients, Error> {
        let members = self.0.members().iter().map(endseal_keyring::roster::Member::identity);
        Ok(Recipients(Arc::new(endseal_envelope::Recipients::from_identities(members)?)))
    }

    /// Returns the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn short(key: &PublicKey) -> PublicIdentity {
    PublicIdentity(identity::PublicIdentity::short(*key))
}

fn code(error: &ParseRosterError) -> &'static str {
    match error {
        ParseRosterError::AdminIsOwner(_)
        | ParseRosterError::AdminNotMember(_)
        | ParseRosterError::SignerNotAdmin(_) => "admin",
        ParseRosterError::AppointmentSignature(_)
        | ParseRosterError::Signature
        | ParseRosterError::TransferSignature { .. } => "signature",
        ParseRosterError::Identity { .. } => "identity",
        ParseRosterError::Members(InvalidMembers::TooMany)
        | ParseRosterError::TooLong
        | ParseRosterError::TooManyTransfers => "limit",
        ParseRosterError::DuplicateAdmin(_) | ParseRosterError::Members(_) => "duplicate",
        ParseRosterError::Order { .. } => "order",
        ParseRosterError::OwnerNotMember => "owner",
        ParseRosterError::Version => "version",
        _ => "form",
    }
}

fn chain_code(error: &RosterChainError) -> &'static str {
    match error {
        RosterChainError::Admin => "admin",
        RosterChainError::Gap { .. } => "gap",
        RosterChainError::OtherGroup => "group",
        RosterChainError::OtherOwner => "owner",
        RosterChainError::Rollback { .. } => "rollback",
        RosterChainError::Same => "same",
        _ => "fork",
    }
}
