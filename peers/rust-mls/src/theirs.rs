//! A group member that uses OpenMLS, with our credential.

use endseal_crypto::ed25519::Seed;
use endseal_keyring::device::{Address, Certificate};
use openmls::prelude::tls_codec::DeserializeBytes;
use openmls::prelude::{
    BasicCredential, Capabilities, Ciphersuite, Credential, CredentialWithKey, ExtensionType,
    GroupId, KeyPackage, LeafNodeIndex, LeafNodeParameters, MlsGroup, MlsGroupCreateConfig,
    MlsGroupJoinConfig, MlsMessageBodyIn, MlsMessageIn, MlsMessageOut, OpenMlsProvider,
    PURE_CIPHERTEXT_WIRE_FORMAT_POLICY, ProcessedMessageContent, ProposalType, ProtocolVersion,
    SenderRatchetConfiguration, SignatureScheme, StagedWelcome,
};
use openmls_basic_credential::SignatureKeyPair;
use openmls_rust_crypto::OpenMlsRustCrypto;

use crate::member::{Member, Reason, Seen, certificate, group_seed};

/// Label of the secret for notes (docs/spec/conversation.md, "Notes").
const EXPORTER: &str = "endseal note";
/// Extension and proposal of conversations, which leaves name among their capabilities.
const STATE_DIGEST: u16 = 0xf0e1;
const EVIDENCE: u16 = 0xf0e3;

const SUITE: Ciphersuite = Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519;

pub(crate) struct Theirs {
    certificate: Certificate,
    provider: OpenMlsRustCrypto,
    signer: SignatureKeyPair,
    group: Option<MlsGroup>,
}

impl Theirs {
    pub(crate) fn new(number: u8) -> Result<Self, Reason> {
        Self::with(certificate(number)?, &group_seed(number))
    }

    /// Makes a device with a certificate, which is for the group key of this seed.
    pub(crate) fn with(certificate: Certificate, seed: &Seed) -> Result<Self, Reason> {
        let seed = seed.expose_secret().to_vec();
        let public = certificate.keys().group.as_bytes().to_vec();
        let signer = SignatureKeyPair::from_raw(SignatureScheme::ED25519, seed, public);
        let provider = OpenMlsRustCrypto::default();
        signer.store(provider.storage()).map_err(reason)?;
        Ok(Self { certificate, provider, signer, group: None })
    }

    /// Returns a key package whose leaf may be in a conversation.
    pub(crate) fn key_package_for_conversations(&self) -> Result<Vec<u8>, Reason> {
        let extensions = vec![ExtensionType::Unknown(STATE_DIGEST), ExtensionType::LastResort];
        let capabilities = Capabilities::builder()
            .ciphersuites(vec![SUITE])
            .extensions(extensions)
            .proposals(vec![ProposalType::Custom(EVIDENCE)])
            .build();
        let builder = KeyPackage::builder().leaf_node_capabilities(capabilities);
        let bundle = builder.build(SUITE, &self.provider, &self.signer, self.credential());
        let package = bundle.map_err(reason)?.into_key_package();
        MlsMessageOut::from(package).to_bytes().map_err(reason)
    }

    /// Forgets the group, so that a welcome of the same group can be joined.
    pub(crate) fn leave(&mut self) -> Result<(), Reason> {
        match self.group.take() {
            Some(mut group) => group.delete(self.provider.storage()).map_err(reason),
            None => Ok(()),
        }
    }

    /// Returns the secret of the present epoch for notes.
    pub(crate) fn exported(&self) -> Result<Vec<u8>, Reason> {
        let group = self.group.as_ref().ok_or("not in a group")?;
        group.export_secret(self.provider.crypto(), EXPORTER, &[], 32).map_err(reason)
    }

    /// Returns the authenticator of the present epoch.
    pub(crate) fn authenticator(&self) -> Result<Vec<u8>, Reason> {
        let group = self.group.as_ref().ok_or("not in a group")?;
        Ok(group.epoch_authenticator().as_slice().to_vec())
    }

    /// Returns the digest of the conversation's state in the context of the group.
    pub(crate) fn state_digest(&self) -> Option<Vec<u8>> {
        let extension = self.group.as_ref()?.extensions().unknown(STATE_DIGEST)?;
        Some(extension.0.clone())
    }

    fn credential(&self) -> CredentialWithKey {
        CredentialWithKey {
            credential: BasicCredential::new(self.certificate.as_bytes().to_vec()).into(),
            signature_key: self.signer.public().into(),
        }
    }

    fn leaf(&self, member: Address) -> Result<LeafNodeIndex, Reason> {
        let mut members = self.group.iter().flat_map(MlsGroup::members);
        let leaf = members.find(|it| address(&it.credential).is_ok_and(|it| it == member));
        Ok(leaf.ok_or("openmls: no such member")?.index)
    }

    /// Returns the group, with the provider and the key that every call needs.
    #[allow(clippy::type_complexity)]
    fn all(&mut self) -> Result<(&mut MlsGroup, &OpenMlsRustCrypto, &SignatureKeyPair), Reason> {
        let group = self.group.as_mut().ok_or("not in a group")?;
        Ok((group, &self.provider, &self.signer))
    }
}

impl Member for Theirs {
    fn address(&self) -> Address {
        self.certificate.address()
    }

    fn create(&mut self) -> Result<(), Reason> {
        let config = MlsGroupCreateConfig::builder()
            .ciphersuite(SUITE)
            .wire_format_policy(PURE_CIPHERTEXT_WIRE_FORMAT_POLICY)
            .use_ratchet_tree_extension(true)
            .sender_ratchet_configuration(ratchets())
            .max_past_epochs(3)
            .build();
        let (id, credential) = (GroupId::from_slice(crate::GROUP), self.credential());
        let group =
            MlsGroup::new_with_group_id(&self.provider, &self.signer, &config, id, credential);
        self.group = Some(group.map_err(reason)?);
        Ok(())
    }

    fn key_package(&mut self) -> Result<Vec<u8>, Reason> {
        let bundle =
            KeyPackage::builder().build(SUITE, &self.provider, &self.signer, self.credential());
        let package = bundle.map_err(reason)?.into_key_package();
        MlsMessageOut::from(package).to_bytes().map_err(reason)
    }

    fn join(&mut self, welcome: &[u8]) -> Result<(), Reason> {
        let MlsMessageBodyIn::Welcome(welcome) = message(welcome)?.extract() else {
            return Err("openmls: not a welcome".to_owned());
        };
        let config = MlsGroupJoinConfig::builder()
            .wire_format_policy(PURE_CIPHERTEXT_WIRE_FORMAT_POLICY)
            .use_ratchet_tree_extension(true)
            .sender_ratchet_configuration(ratchets())
            .max_past_epochs(3)
            .build();
        let staged = StagedWelcome::new_from_welcome(&self.provider, &config, welcome, None);
        let group = staged.map_err(reason)?.into_group(&self.provider);
        self.group = Some(group.map_err(reason)?);
        Ok(())
    }

    fn add(&mut self, key_package: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Reason> {
        let MlsMessageBodyIn::KeyPackage(package) = message(key_package)?.extract() else {
            return Err("openmls: not a key package".to_owned());
        };
        let (group, provider, signer) = self.all()?;
        let package = package.validate(provider.crypto(), ProtocolVersion::Mls10);
        let added = group.add_members(provider, signer, &[package.map_err(reason)?]);
        let (commit, welcome, _) = added.map_err(reason)?;
        Ok((commit.to_bytes().map_err(reason)?, welcome.to_bytes().map_err(reason)?))
    }

    fn remove(&mut self, member: Address) -> Result<Vec<u8>, Reason> {
        let leaf = self.leaf(member)?;
        let (group, provider, signer) = self.all()?;
        let removed = group.remove_members(provider, signer, &[leaf]);
        removed.map_err(reason)?.0.to_bytes().map_err(reason)
    }

    fn propose_removal(&mut self, member: Address) -> Option<Result<Vec<u8>, Reason>> {
        let mut propose = || {
            let leaf = self.leaf(member)?;
            let (group, provider, signer) = self.all()?;
            let proposed = group.propose_remove_member(provider, signer, leaf);
            proposed.map_err(reason)?.0.to_bytes().map_err(reason)
        };
        Some(propose())
    }

    fn update(&mut self) -> Result<Vec<u8>, Reason> {
        let (group, provider, signer) = self.all()?;
        let updated = group.self_update(provider, signer, LeafNodeParameters::default());
        updated.map_err(reason)?.into_commit().to_bytes().map_err(reason)
    }

    fn accept(&mut self) -> Result<(), Reason> {
        let (group, provider, _) = self.all()?;
        group.merge_pending_commit(provider).map_err(reason)
    }

    fn seal(&mut self, text: &[u8]) -> Result<Vec<u8>, Reason> {
        let (group, provider, signer) = self.all()?;
        let message = group.create_message(provider, signer, text).map_err(reason)?;
        message.to_bytes().map_err(reason)
    }

    fn open(&mut self, body: &[u8]) -> Result<Seen, Reason> {
        let body = message(body)?.try_into_protocol_message().map_err(reason)?;
        let (group, provider, _) = self.all()?;
        let opened = group.process_message(provider, body).map_err(reason)?;
        let sender = address(opened.credential())?;
        match opened.into_content() {
            ProcessedMessageContent::ApplicationMessage(text) => {
                Ok(Seen::Text { sender, text: text.into_bytes() })
            }
            ProcessedMessageContent::StagedCommitMessage(commit) => {
                group.merge_staged_commit(provider, *commit).map_err(reason)?;
                if group.is_active() {
                    Ok(Seen::Change { members: self.members() })
                } else {
                    Ok(Seen::Removed)
                }
            }
            ProcessedMessageContent::ProposalMessage(proposal) => {
                group.store_pending_proposal(provider.storage(), *proposal).map_err(reason)?;
                Ok(Seen::Proposal)
            }
            _ => Err("openmls: neither text nor proposal nor commit".to_owned()),
        }
    }

    fn members(&self) -> Vec<Address> {
        let members = self.group.iter().flat_map(MlsGroup::members);
        let mut members: Vec<_> =
            members.filter_map(|member| address(&member.credential).ok()).collect();
        members.sort();
        members
    }

    fn epoch(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.epoch().as_u64())
    }
}

/// Returns the number of messages that a ratchet may skip, which is the same as endseal's.
fn ratchets() -> SenderRatchetConfiguration {
    SenderRatchetConfiguration::new(1024, 1024)
}

fn message(bytes: &[u8]) -> Result<MlsMessageIn, Reason> {
    MlsMessageIn::tls_deserialize_exact_bytes(bytes).map_err(reason)
}

/// Reads the address of a credential. OpenMLS leaves checking credentials to the application, so
/// the certificate is checked here.
fn address(credential: &Credential) -> Result<Address, Reason> {
    let basic = BasicCredential::try_from(credential.clone()).map_err(reason)?;
    Ok(Certificate::from_bytes(basic.identity()).map_err(reason)?.address())
}

fn reason(error: impl std::fmt::Display) -> Reason {
    format!("openmls: {error}")
}
