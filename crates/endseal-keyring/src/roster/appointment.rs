//! Appointments: lines by which the owner makes a member an admin.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use endseal_crypto::ed25519::{self, PublicKey, Signature, Signed, VerifyingKey};
use endseal_crypto::identity::Identity;
use endseal_crypto::label;

use super::{GroupId, Members, ParseRosterError, signed_text};
use crate::lines::{LineProblem, Lines};
use crate::name::Name;
use crate::numerals::decimal;

/// One appointment of an admin, signed by the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Appointment {
    /// Name of the member who is admin.
    pub(super) admin: Name,
    /// First epoch in which the member is admin.
    pub(super) epoch: u64,
    signature: Signature,
}

impl Appointment {
    /// Signs the appointment of the member of that name and key.
    pub(super) fn sign(
        id: &GroupId,
        epoch: u64,
        owner: &Identity,
        admin: Name,
        key: &PublicKey,
    ) -> Self {
        let signature = owner.signing().sign(&message(id, epoch, key));
        Self { admin, epoch, signature }
    }

    /// Appends the line of the appointment.
    pub(super) fn push(&self, text: &mut String) {
        let Self { admin, epoch, signature } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{ADMIN} {admin} {epoch} {}", signed_text::encode(signature));
    }

    /// Verifies the appointment of a member with that key.
    pub(super) fn verify(
        &self,
        id: &GroupId,
        owner: &PublicKey,
        key: &PublicKey,
    ) -> Result<(), ParseRosterError> {
        owner
            .verify(&message(id, self.epoch, key), &self.signature)
            .map_err(|_| ParseRosterError::AppointmentSignature(self.admin.clone()))
    }
}

/// Reads the lines of all appointments, whose epochs are after that of the last transfer and at
/// most that of the roster. Signatures are not verified here.
pub(super) fn parse(
    lines: &mut Lines<'_>,
    last_transfer: u64,
    epoch: u64,
) -> Result<Vec<Appointment>, ParseRosterError> {
    let mut appointments = Vec::<Appointment>::new();
    while let Some(line) = lines.optional(ADMIN)? {
        let malformed = || lines.malformed(LineProblem::Value(ADMIN));
        let (admin, rest) = line.split_once(' ').ok_or_else(malformed)?;
        let (first, signature) = rest.split_once(' ').ok_or_else(malformed)?;
        let admin = Name::new(admin).map_err(|_| malformed())?;
        match appointments.last() {
            Some(last) if last.admin == admin => {
                return Err(ParseRosterError::DuplicateAdmin(admin));
            }
            Some(last) if last.admin > admin => {
                return Err(ParseRosterError::Order { line: lines.line() });
            }
            _ => {}
        }
        let first = decimal(first).filter(|first| *first > last_transfer && *first <= epoch);
        let epoch = first.ok_or_else(malformed)?;
        let signature = signed_text::decode(signature).ok_or_else(malformed)?;
        appointments.push(Appointment { admin, epoch, signature });
    }
    Ok(appointments)
}

/// Checks that all admins of a roster are members and not the owner, and verifies their
/// appointments at once.
#[allow(clippy::expect_used)]
pub(super) fn verify_all(
    appointments: &[Appointment],
    id: &GroupId,
    owner: &PublicKey,
    members: &Members,
) -> Result<(), ParseRosterError> {
    if appointments.is_empty() {
        return Ok(());
    }
    let verifying = VerifyingKey::from_bytes(owner.as_bytes()).expect("it is a public key");
    let mut messages = Vec::new();
    for appointment in appointments {
        let admin = appointment.admin.as_str();
        let Some(member) = members.find(admin) else {
            return Err(ParseRosterError::AdminNotMember(appointment.admin.clone()));
        };
        if member.identity().ed25519() == owner {
            return Err(ParseRosterError::AdminIsOwner(appointment.admin.clone()));
        }
        messages.push(message(id, appointment.epoch, member.identity().ed25519()));
    }
    let signed: Vec<_> = appointments
        .iter()
        .zip(&messages)
        .map(|(it, message)| Signed { key: &verifying, message, signature: &it.signature })
        .collect();
    let verdicts = ed25519::verify_each(&signed);
    match appointments.iter().zip(verdicts).find(|(_, right)| !right) {
        Some((wrong, _)) => Err(ParseRosterError::AppointmentSignature(wrong.admin.clone())),
        None => Ok(()),
    }
}

fn message(id: &GroupId, epoch: u64, admin: &PublicKey) -> Vec<u8> {
    signed_text::grant_message(label::ROSTER_ADMIN, id, epoch, admin)
}

const ADMIN: &str = "admin";
