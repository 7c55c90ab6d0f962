//! Registration states of peers, and the exchanges that each state permits.

use endseal_codec::hub::Code;

use super::kind::Kind;

/// Registration state of a peer at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the table of permissions has these columns")]
pub enum RegistrationState {
    /// The hub has the peer's certificate and the person record of its identity.
    Registered,
    /// The peer was registered, but the person record no longer lists the device.
    Revoked,
    /// Another device of its person has registered it, and it has not registered itself. It gets
    /// what that person's devices put into its mailbox.
    Pending,
    /// The hub does not know it.
    Unknown,
}

/// Checks that a peer may start an exchange, as the table "Exchanges" of docs/spec/delivery.md
/// states. A peer acts only on its own mailbox and its own identity: no request names another.
///
/// # Errors
/// The code of the refusal.
pub const fn allows(state: RegistrationState, kind: Kind) -> Result<(), Code> {
    match (state, kind) {
        (RegistrationState::Registered, _)
        | (RegistrationState::Unknown, Kind::Register | Kind::Recover)
        | (RegistrationState::Pending, Kind::Register | Kind::Recover | Kind::Subscribe) => Ok(()),
        (RegistrationState::Revoked, _) => Err(Code::REVOKED),
        (RegistrationState::Unknown | RegistrationState::Pending, _) => Err(Code::REGISTERED),
    }
}
