//! The registry of derivation labels. Every key, digest and signature of the workspace is separated
//! by one of these, unless an external standard fixes its derivation.
//!
//! A label is `endseal/<format>@v<version> <purpose>`. None is a prefix of another (tested), so
//! that `label || input` is unambiguous. A label's meaning never changes: a new one is added
//! instead.

/// The [`hash::derive`](crate::hash::derive) or signature context of one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(&'static str);

impl Label {
    /// A label of another crate, for its own formats. No two purposes of one key may have the same
    /// label, and none may be the beginning of another. Labels that begin with `endseal/` are those
    /// of this registry.
    ///
    /// # Panics
    /// If `text` is empty or begins with `endseal/`; when compiled, if the label is a constant.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        assert!(!text.is_empty(), "a label says what it is for");
        let (own, bytes) = (b"endseal/", text.as_bytes());
        let mut same = 0;
        while same < own.len() && same < bytes.len() && own[same] == bytes[same] {
            same += 1;
        }
        assert!(same < own.len(), "these labels are in the registry");
        Self(text)
    }

    /// The label as text, exactly as it enters the derivation.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Label = Label($text);)*
        /// All labels, for tests and audits.
        pub const ALL: &[Label] = &[$($name),*];
    };
}

labels! {
    /// Archive: context of its envelope (docs/spec/archive.md).
    ARCHIVE = "endseal/archive@v1 content";
    /// Delivery: context of the signature of an address note (docs/spec/delivery.md).
    DELIVERY_ADDRESS = "endseal/delivery@v1 address note";
    /// Delivery: the id of a message from its sender and its number (docs/spec/delivery.md).
    DELIVERY_MESSAGE_ID = "endseal/delivery@v1 message id";
    /// Delivery: prefix of the message by which a root asks a hub for its person record.
    DELIVERY_RECOVERY = "endseal/delivery@v1 recovery";
    /// Delivery: digest by which a hub knows the token of an invitation.
    DELIVERY_TOKEN = "endseal/delivery@v1 token";
    /// Envelope: digest of the fixed header and the context (docs/spec/envelope.md, "Header
    /// digest").
    ENVELOPE_HEADER = "endseal/envelope@v1 header";
    /// Envelope: content key from the 16-byte seed of the compact suite.
    ENVELOPE_COMPACT = "endseal/envelope@v1 compact content key";
    /// Envelope: prefix of the signed message of one block.
    ENVELOPE_SIGNATURE = "endseal/envelope@v1 signature";
    /// Envelope: hedging of the sealer's randomness; internal, not part of the format.
    ENVELOPE_HEDGE = "endseal/envelope@v1 hedge";
    /// Envelope: context of files that the command line seals.
    ENVELOPE_FILE = "endseal/file@v1 content";
    /// Ed25519: weights of a batch verification; internal.
    ED25519_BATCH = "endseal/ed25519@v1 batch weights";
    /// Frame: prefix of the message that the sender of a stored frame signs, and the context of
    /// ML-DSA-65 (docs/spec/frame.md). The codec, which uses no cryptography, has a copy.
    FRAME_SIGNATURE = "endseal/frame@v1 signature";
    /// Identity: the secret with which an identity hedges its randomness; internal.
    IDENTITY_HEDGE = "endseal/identity@v1 hedge secret";
    /// Identity: prefix of the message that binds the ML-KEM-768 key to the Ed25519 key.
    IDENTITY_KEM_KEY = "endseal/identity@v1 kem key";
    /// Identity: the ML-DSA-65 seed from the other two.
    IDENTITY_MLDSA65 = "endseal/identity@v1 ml-dsa-65 seed";
    /// Identity: the Ed25519 seed from the root seed.
    IDENTITY_ROOT_ED25519 = "endseal/identity@v1 root ed25519 seed";
    /// Identity: the ML-KEM-768 seed from the root seed.
    IDENTITY_ROOT_MLKEM768 = "endseal/identity@v1 root ml-kem-768 seed";
    /// Identity: the outer key of its store's key file from the secret keys.
    IDENTITY_STORE = "endseal/identity@v1 store key";
    /// Identity file: the file key from the passphrase's output and the header.
    IDENTITY_FILE = "endseal/identity-file@v1 file key";
    /// Link: the number that people compare on both devices (docs/spec/identity.md, "Link").
    LINK_CHECK = "endseal/link@v1 check number";
    /// Link: the secret of a link text from the store key of the new device.
    LINK_SECRET = "endseal/link@v1 secret";
    /// Peer: its id from the `SubjectPublicKeyInfo` of its key.
    PEER_ID = "endseal/peer@v1 id";
    /// Delivery: digest of the peer ids that are members of a group (docs/spec/delivery.md).
    DELIVERY_MEMBERS = "endseal/delivery@v1 members";
    /// Conversation: prefix of what the sender of a note signs.
    CONVERSATION_NOTE = "endseal/conversation@v1 note signature";
    /// Conversation: key of the notes from one member to another one.
    CONVERSATION_NOTE_KEY = "endseal/conversation@v1 note key";
    /// Conversation: digest of persons and devices in the context of the group.
    CONVERSATION_STATE = "endseal/conversation@v1 state";
    /// Roster: prefix of the message that the owner or an admin signs.
    ROSTER_SIGNATURE = "endseal/roster@v1 signature";
    /// Roster: prefix of the message by which an owner hands a group on.
    ROSTER_TRANSFER = "endseal/roster@v1 transfer";
    /// Roster: prefix of the message by which the owner appoints an admin.
    ROSTER_ADMIN = "endseal/roster@v1 admin";
    /// Roster: digest that links an epoch to the one before.
    ROSTER_DIGEST = "endseal/roster@v1 digest";
    /// Roster: digest of group, epoch, owner and members, for the context of the epoch key.
    ROSTER_HEAD = "endseal/roster@v1 head";
    /// Roster: hedging of a new epoch key; internal, not part of the format.
    ROSTER_HEDGED_KEY = "endseal/roster@v1 hedged epoch key";
    /// Roster: hedging of a new group id; internal, not part of the format.
    ROSTER_HEDGED_ID = "endseal/roster@v1 hedged id";
    /// Roster: prefix of the context of the envelope that carries the epoch key.
    ROSTER_EPOCH_KEY = "endseal/roster@v1 epoch key";
    /// S3 object: context of the chunks of a whole body (docs/spec/s3-object.md).
    S3_BODY = "endseal/s3-object@v1 body";
    /// S3 object: context of the chunks of a part.
    S3_PART = "endseal/s3-object@v1 part";
    /// S3 object: context of the chunks of the record.
    S3_RECORD = "endseal/s3-object@v1 record";
    /// S3 object: context of the chunks of user metadata.
    S3_METADATA = "endseal/s3-object@v1 metadata";
    /// S3 object: context of the backend's upload id.
    S3_UPLOAD = "endseal/s3-object@v1 upload";
    /// S3 object: context of the commitment of a multipart object.
    S3_MULTIPART = "endseal/s3-object@v1 multipart";
    /// S3 object: context of the commitment to the place of an object.
    S3_PLACE = "endseal/s3-object@v1 place";
    /// S3 object: additional data of the wrapped content key.
    S3_WRAP = "endseal/s3-object@v1 wrap";
    /// S3 object: where a parked part lies, from the backend's upload id.
    S3_PARKED = "endseal/s3-object@v1 parked";
    /// S3 object: context of the receipt of a part.
    S3_RECEIPT = "endseal/s3-object@v1 receipt";
    /// S3 object: where a receipt lies, from the backend's entity tag.
    S3_TAG = "endseal/s3-object@v1 tag";
    /// S3 object: key of encrypted names from a bucket's secret.
    S3_NAMES = "endseal/s3-object@v1 names";
    /// S3 object: what shows that a name secret was read as it was written.
    S3_NAME_SECRET_CHECK = "endseal/s3-object@v1 name secret check";
    /// S3 key ring: what shows that a key was read as it was written (docs/spec/s3-key-ring.md).
    S3_KEY_RING_CHECK = "endseal/s3-key-ring@v1 check";
    /// S3 key ring: the file key from the passphrase's output and the header.
    S3_KEY_RING_FILE = "endseal/s3-key-ring@v1 file key";
    /// S3 proxy: the id of an RSA key from its `SubjectPublicKeyInfo`.
    S3_RSA_KEY_ID = "endseal/s3-proxy@v1 rsa key id";
    /// S3 proxy: what finds an unwrapped key in memory; internal.
    S3_KEY_CACHE = "endseal/s3-proxy@v1 key cache";
    /// Session: prefix of the message that an identity signs for a device (docs/spec/session.md).
    SESSION_CERTIFICATE = "endseal/session@v1 certificate";
    /// Session: digest of both sides at the head of the first plaintexts.
    SESSION_BINDING = "endseal/session@v1 binding";
    /// Session: prefix of the message that a device signs for a prekey.
    SESSION_PREKEY = "endseal/session@v1 prekey";
    /// Session: key of the digests of ciphertexts from the device's key in groups.
    SESSION_DIGEST = "endseal/session@v1 digest key";
    /// Session file: the id of a message from its ciphertext (docs/spec/session-file.md).
    SESSION_FILE_ID = "endseal/session-file@v1 message id";
    /// Session: the digits that two people compare.
    SESSION_SAFETY_NUMBER = "endseal/session@v1 safety number";
    /// Session: what finds a pairwise session.
    SESSION_TAG = "endseal/session@v1 tag";
    /// Store: the key of the key file from its secret and header.
    STORE_KEY_FILE = "endseal/store@v1 key file";
    /// Transport: key of stateless resets from the seed of an ML-DSA-65 key
    /// (docs/spec/transport.md).
    TRANSPORT_RESET = "endseal/transport@v1 stateless reset";
}

#[cfg(test)]
mod tests {
    use super::{ALL, Label};

    const OTHER: Label = Label::new("example.org/diary@v1 page key");

    #[test]
    fn another_crate_has_labels_of_its_own() {
        assert_eq!(OTHER.as_str(), "example.org/diary@v1 page key");
        assert_eq!(Label::new("endsea").as_str(), "endsea");
    }

    #[test]
    #[should_panic(expected = "in the registry")]
    fn the_prefix_of_the_registry_is_its_own() {
        let _ = Label::new("endseal/diary@v1 page key");
    }

    #[test]
    fn no_label_is_a_prefix_of_another() {
        for (i, a) in ALL.iter().enumerate() {
            for (j, b) in ALL.iter().enumerate() {
                assert!(i == j || !b.as_str().starts_with(a.as_str()), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn labels_have_one_form() {
        for label in ALL {
            let (name, purpose) = label.as_str().split_once(' ').expect("format and purpose");
            assert!(name.starts_with("endseal/") && name.contains("@v"), "{label:?}");
            assert!(!purpose.is_empty());
            assert!(label.as_str().is_ascii());
        }
    }
}
