//! One's own person record at the hub, which the root key alone gets (docs/spec/delivery.md,
//! "recover").

use endseal_codec::hub::{Answer, Code, Recover, Request};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::RecoveryProof;
use endseal_delivery::node::HubFault;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Certificate;

use super::error::HubError;
use super::hub::HubClient;

/// A person as the hub knows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PersonAtHub {
    /// The newest record that the hub has, signed by the root.
    pub record: PersonRecord,
    /// Certificates of the devices that are registered and not revoked.
    pub devices: Vec<Certificate>,
}

/// Asks the hub for the record of the person whose root key this is. `device` is the peer id under
/// which the connection was made; it need not be registered. `None` if the hub does not know the
/// person.
///
/// The caller MUST base the next epoch on the record, or on a later one of its own.
///
/// # Errors
/// [`HubError`]; [`HubError::Fault`] if the hub's answer is not signed by the root.
pub async fn recover(
    hub: &HubClient<'_>,
    root: &Identity,
    device: &PeerId,
) -> Result<Option<PersonAtHub>, HubError> {
    let proof = RecoveryProof::sign(root.signing(), &hub.peer(), device);
    let identity = *root.public().ed25519().as_bytes();
    let request = Request::Recover(Recover { identity, signature: proof.as_bytes()[..].into() });
    let person = match hub.ask(request).await {
        Ok(Answer::Person(person)) => person,
        Ok(_) => return Err(HubFault::Unexpected.into()),
        Err(HubError::Refused(Code::NONE)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let record = PersonRecord::parse(&person.person).ok();
    let record = record.filter(|it| it.identity() == root.public()).ok_or(HubFault::Answer)?;
    let certificates = person.certificates.iter().map(|it| Certificate::from_bytes(it).ok());
    let devices: Vec<_> = certificates.collect::<Option<_>>().ok_or(HubFault::Answer)?;
    let is_own = |it: &Certificate| it.address().identity == *root.public().ed25519();
    if !devices.iter().all(is_own) {
        return Err(HubFault::Answer.into());
    }
    Ok(Some(PersonAtHub { record, devices }))
}
