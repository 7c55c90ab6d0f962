//! Parses the text of a roster and verifies its signatures.

use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};

use super::appointment::{self, Appointment};
use super::head::{self, EPOCH, GROUP, Head, ID, MEMBER, MEMBERS, NONE, OWNER, PREVIOUS, SIGNER};
use super::{
    InvalidMembers, KEY, MAGIC, MAX_LEN, MAX_MEMBERS, Member, Members, ParseRosterError, Roster,
    SIGNATURE, VERSION, signed_text, transfer,
};
use crate::identity_text::Unchecked;
use crate::lines::{LineProblem, Lines};
use crate::name::Name;
use crate::numerals::decimal;

pub(super) fn parse(bytes: &[u8]) -> Result<Roster, ParseRosterError> {
    if bytes.len() > MAX_LEN {
        return Err(ParseRosterError::TooLong);
    }
    let mut lines = Lines::open(bytes, MAGIC, VERSION)?;

    let group = Name::new(lines.field(GROUP)?).map_err(|_| value(&lines, GROUP))?;
    let id = lines.field(ID)?.parse().map_err(|_| value(&lines, ID))?;
    let epoch = decimal(lines.field(EPOCH)?).filter(|epoch| *epoch > 0);
    let epoch = epoch.ok_or_else(|| value(&lines, EPOCH))?;
    let previous = match lines.field(PREVIOUS)? {
        NONE if epoch == 1 => None,
        digest if epoch > 1 => Some(digest.parse().map_err(|_| value(&lines, PREVIOUS))?),
        _ => return Err(value(&lines, PREVIOUS)),
    };
    let owner = lines.field(OWNER)?;
    let owner = transfer::parse_owner(&lines, owner, OWNER)?;
    let opening = lines.before();
    let transfers = transfer::parse(&mut lines, epoch)?;
    let last_transfer = transfers.last().map_or(0, |last| last.epoch);
    let appointments = appointment::parse(&mut lines, last_transfer, epoch)?;
    let signer = parse_signer(&mut lines, &appointments)?;
    let before_members = lines.before().len();
    let count = decimal(lines.field(MEMBERS)?).filter(|count| *count > 0);
    let count = count.ok_or_else(|| value(&lines, MEMBERS))?;
    if count > MAX_MEMBERS as u64 {
        return Err(ParseRosterError::Members(InvalidMembers::TooMany));
    }

    let first_line = lines.line() + 1;
    let (names, identities) = parse_members(&mut lines, count)?;
    let head_digest = head::digest(opening, &lines.before()[before_members..]);
    let sealed_epoch_key = lines.field(KEY)?;
    // The copy is made of a line that is complete, after all that is cheaper to check.
    let sealed_epoch_key = Base64::decode_vec(sealed_epoch_key)
        .ok()
        .filter(|sealed| !sealed.is_empty())
        .ok_or_else(|| value(&lines, KEY))?;

    let body = lines.before();
    let signature = signed_text::decode(lines.field(SIGNATURE)?);
    let signature = signature.ok_or_else(|| value(&lines, SIGNATURE))?;
    let text = lines.before().into();
    lines.end()?;

    transfer::verify(&transfers, &id, &owner)?;
    let signing_key = match &signer {
        None => *transfer::signing_owner(&transfers, epoch, &owner),
        Some(appointment) => {
            let admin = &appointment.admin;
            let at = names
                .binary_search(admin)
                .map_err(|_| ParseRosterError::AdminNotMember(admin.clone()))?;
            let key = identities[at].signing_key();
            let key =
                key.map_err(|error| ParseRosterError::Identity { line: first_line + at, error })?;
            appointment.verify(&id, &owner, &key)?;
            key
        }
    };
    signing_key
        .verify(&signed_text::roster_message(body), &signature)
        .map_err(|_| ParseRosterError::Signature)?;

    // The most expensive checks come last, after the signature has named a responsible signer.
    let identities = Unchecked::check_many(identities)
        .map_err(|(i, error)| ParseRosterError::Identity { line: first_line + i, error })?;
    let members = names.into_iter().zip(identities).map(|(name, id)| Member::new(name, id));
    let members = Members::from_sorted(members.collect()).map_err(ParseRosterError::Members)?;

    appointment::verify_all(&appointments, &id, &owner, &members)?;
    let signer = signer.map(|appointment| appointment.admin);
    let head = Head { group, id, epoch, previous, owner, transfers, appointments, signer, members };
    let roster = Roster { head, head_digest, sealed_epoch_key: sealed_epoch_key.into(), text };
    if last_transfer == epoch && roster.member_of_key(roster.owner()).is_none() {
        return Err(ParseRosterError::OwnerNotMember);
    }
    Ok(roster)
}

/// Reads the name of the admin who signs, if there is one, and returns the admin's appointment.
fn parse_signer(
    lines: &mut Lines<'_>,
    appointments: &[Appointment],
) -> Result<Option<Appointment>, ParseRosterError> {
    let Some(name) = lines.optional(SIGNER)? else { return Ok(None) };
    let name = Name::new(name).map_err(|_| value(lines, SIGNER))?;
    match appointments.iter().find(|it| it.admin == name) {
        Some(appointment) => Ok(Some(appointment.clone())),
        None => Err(ParseRosterError::SignerNotAdmin(name)),
    }
}

/// Names, sorted and different, and identities, not yet checked.
fn parse_members(
    lines: &mut Lines<'_>,
    count: u64,
) -> Result<(Vec<Name>, Vec<Unchecked>), ParseRosterError> {
    // Not reserved from `count`, which nothing stands behind yet.
    let (mut names, mut identities) = (Vec::<Name>::new(), Vec::new());
    for _ in 0..count {
        let (name, identity) =
            lines.field(MEMBER)?.split_once(' ').ok_or_else(|| value(lines, MEMBER))?;
        let name = Name::new(name).map_err(|_| value(lines, MEMBER))?;
        match names.last() {
            Some(last) if *last == name => {
                return Err(ParseRosterError::Members(InvalidMembers::DuplicateName(name)));
            }
            Some(last) if *last > name => {
                return Err(ParseRosterError::Order { line: lines.line() });
            }
            _ => names.push(name),
        }
        let identity = Unchecked::decode(identity)
            .map_err(|error| ParseRosterError::Identity { line: lines.line(), error })?;
        identities.push(identity);
    }
    Ok((names, identities))
}

fn value(lines: &Lines<'_>, field: &'static str) -> ParseRosterError {
    lines.malformed(LineProblem::Value(field)).into()
}
