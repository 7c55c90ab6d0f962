//! Parses the text of a roster and verifies its signature.

use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::ed25519;

use super::head::{EPOCH, GROUP, Head, ID, MEMBER, MEMBERS, NONE, OWNER, PREVIOUS};
use super::{
    InvalidMembers, KEY, MAGIC, MAX_LEN, MAX_MEMBERS, Member, Members, ParseRosterError, Roster,
    SIGNATURE, VERSION, signed_message,
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
    let owner = parse_owner(&mut lines)?;
    let count = decimal(lines.field(MEMBERS)?).filter(|count| *count > 0);
    let count = count.ok_or_else(|| value(&lines, MEMBERS))?;
    if count > MAX_MEMBERS as u64 {
        return Err(ParseRosterError::Members(InvalidMembers::TooMany));
    }

    let first_line = lines.line() + 1;
    let (names, identities) = parse_members(&mut lines, count)?;
    let head_len = lines.before().len();
    let sealed_epoch_key = lines.field(KEY)?;
    // The copy is made of a line that is complete, after all that is cheaper to check.
    let sealed_epoch_key = Base64::decode_vec(sealed_epoch_key)
        .ok()
        .filter(|sealed| !sealed.is_empty())
        .ok_or_else(|| value(&lines, KEY))?;

    let body = lines.before();
    let mut signature = [0; ed25519::Signature::LEN];
    let decoded = Base64::decode(lines.field(SIGNATURE)?, &mut signature).map(<[u8]>::len);
    if decoded != Ok(ed25519::Signature::LEN) {
        return Err(value(&lines, SIGNATURE));
    }
    let text = lines.before().into();
    lines.end()?;
    owner
        .verify(&signed_message(body), &ed25519::Signature::from_bytes(&signature))
        .map_err(|_| ParseRosterError::Signature)?;

    // The most expensive check comes last, after the signature has named a responsible owner.
    let identities = Unchecked::check_many(identities)
        .map_err(|(i, error)| ParseRosterError::Identity { line: first_line + i, error })?;
    let members = names.into_iter().zip(identities).map(|(name, id)| Member::new(name, id));
    let members = Members::from_sorted(members.collect()).map_err(ParseRosterError::Members)?;

    let head = Head { group, id, epoch, previous, owner, members };
    Ok(Roster { head, head_len, sealed_epoch_key: sealed_epoch_key.into(), text })
}

/// The owner's key, in the short form only.
fn parse_owner(lines: &mut Lines<'_>) -> Result<ed25519::PublicKey, ParseRosterError> {
    let text = lines.field(OWNER)?;
    let at_line = |error| ParseRosterError::Identity { line: lines.line(), error };
    let owner = Unchecked::decode(text).map_err(at_line)?;
    if owner.is_long() {
        return Err(value(lines, OWNER));
    }
    Ok(*owner.check().map_err(at_line)?.ed25519())
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
