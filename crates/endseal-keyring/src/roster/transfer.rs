//! Transfers: lines by which one owner hands a group on to the next.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use endseal_crypto::ed25519::{PublicKey, Signature};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::label;

use super::{GroupId, MAX_TRANSFERS, ParseRosterError, signed_text};
use crate::identity_text::{self, Unchecked};
use crate::lines::{LineProblem, Lines};
use crate::numerals::decimal;

/// One transfer of a group, signed by the owner who handed it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// First epoch of the next owner.
    pub(super) epoch: u64,
    pub(super) former_owner: PublicKey,
    signature: Signature,
}

impl Transfer {
    /// Signs a transfer from `former_owner` to the owner `next`.
    pub(super) fn sign(
        id: &GroupId,
        epoch: u64,
        former_owner: &Identity,
        next: &PublicKey,
    ) -> Self {
        let signature = former_owner.signing().sign(&message(id, epoch, next));
        Self { epoch, former_owner: *former_owner.public().ed25519(), signature }
    }

    /// Appends the line of the transfer.
    pub(super) fn push(&self, text: &mut String) {
        let former = identity_text::encode(&PublicIdentity::short(self.former_owner));
        let signature = signed_text::encode(&self.signature);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{TRANSFER} {} {former} {signature}", self.epoch);
    }
}

/// Reads the lines of all transfers of a roster of that epoch. Signatures are not verified here.
pub(super) fn parse(
    lines: &mut Lines<'_>,
    epoch: u64,
) -> Result<Box<[Transfer]>, ParseRosterError> {
    let mut transfers = Vec::<Transfer>::new();
    while let Some(line) = lines.optional(TRANSFER)? {
        if transfers.len() == MAX_TRANSFERS {
            return Err(ParseRosterError::TooManyTransfers);
        }
        let malformed = || lines.malformed(LineProblem::Value(TRANSFER));
        let (first, rest) = line.split_once(' ').ok_or_else(malformed)?;
        let (former, signature) = rest.split_once(' ').ok_or_else(malformed)?;
        let after = transfers.last().map_or(1, |last| last.epoch);
        let first = decimal(first).filter(|first| *first > after && *first <= epoch);
        let first = first.ok_or_else(malformed)?;
        let former_owner = parse_owner(lines, former, TRANSFER)?;
        let signature = signed_text::decode(signature).ok_or_else(malformed)?;
        transfers.push(Transfer { epoch: first, former_owner, signature });
    }
    Ok(transfers.into())
}

/// Reads an owner's key, which is in the short form, from the value of the line that was read last.
pub(super) fn parse_owner(
    lines: &Lines<'_>,
    text: &str,
    field: &'static str,
) -> Result<PublicKey, ParseRosterError> {
    let at_line = |error| ParseRosterError::Identity { line: lines.line(), error };
    let owner = Unchecked::decode(text).map_err(at_line)?;
    if owner.is_long() {
        return Err(lines.malformed(LineProblem::Value(field)).into());
    }
    Ok(*owner.check().map_err(at_line)?.ed25519())
}

/// Verifies all transfers of a roster: each is signed by the owner before for the owner after.
pub(super) fn verify(
    transfers: &[Transfer],
    id: &GroupId,
    owner: &PublicKey,
) -> Result<(), ParseRosterError> {
    let next = transfers.iter().skip(1).map(|transfer| &transfer.former_owner).chain([owner]);
    for (transfer, next) in transfers.iter().zip(next) {
        let Transfer { epoch, former_owner, signature } = transfer;
        former_owner
            .verify(&message(id, *epoch, next), signature)
            .map_err(|_| ParseRosterError::TransferSignature { epoch: *epoch })?;
    }
    Ok(())
}

/// Returns the owner who signs in that epoch, or whose admin does: in the epoch of a transfer the
/// former owner, otherwise the owner.
pub(super) fn signing_owner<'a>(
    transfers: &'a [Transfer],
    epoch: u64,
    owner: &'a PublicKey,
) -> &'a PublicKey {
    match transfers.last() {
        Some(last) if last.epoch == epoch => &last.former_owner,
        _ => owner,
    }
}

fn message(id: &GroupId, epoch: u64, next: &PublicKey) -> Vec<u8> {
    signed_text::grant_message(label::ROSTER_TRANSFER, id, epoch, next)
}

const TRANSFER: &str = "transfer";
