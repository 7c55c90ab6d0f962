//! Requests of a host.

use endseal_nostr::connect::{Call, CallError, Request};
use endseal_nostr::key;

use crate::error::DeviceError;
use crate::record::Confirmation;

/// A request that is understood.
#[allow(clippy::large_enum_variant, reason = "there is no heap")]
pub(crate) enum Asked<'a> {
    /// A method of NIP-46 that the device has.
    Call(Call<'a>),
    GetConfirmation,
    CreateKey,
    /// Holds the text of a secret key, which is wiped with the line.
    ImportKey(&'a str),
    SetConfirmation(Confirmation),
    EraseKey([u8; 32]),
}

impl<'a> Asked<'a> {
    pub(crate) fn of(request: &Request<'a>) -> Result<Self, DeviceError> {
        let first = || request.params().first().copied().ok_or(CallError::Params);
        Ok(match request.method.name() {
            "get_confirmation" => Self::GetConfirmation,
            "create_key" => Self::CreateKey,
            "import_key" => Self::ImportKey(first()?),
            "set_confirmation" => {
                Self::SetConfirmation(Confirmation::from_name(first()?).ok_or(CallError::Params)?)
            }
            "erase_key" => {
                let key = key::public_from_hex(first()?).map_err(CallError::Key)?;
                Self::EraseKey(key.to_bytes())
            }
            _ => match request.call()? {
                Call::Connect(_) | Call::SwitchRelays | Call::Logout => {
                    return Err(CallError::Method.into());
                }
                call => Self::Call(call),
            },
        })
    }

    /// Number of flashes in a group while the button is waited for; 0 for a request that needs no
    /// button.
    pub(crate) const fn flashes(&self, confirmation: Confirmation) -> u32 {
        match self {
            Self::GetConfirmation | Self::Call(Call::Ping | Call::GetPublicKey) => 0,
            Self::Call(Call::SignEvent(_)) => 1,
            Self::Call(_) => match confirmation {
                Confirmation::All => 2,
                Confirmation::Signatures => 0,
            },
            Self::CreateKey | Self::ImportKey(_) | Self::SetConfirmation(_) | Self::EraseKey(_) => {
                3
            }
        }
    }
}
