//! Content that comes with a message, or lies elsewhere.

use super::declare::*;

message! {
    /// Something that comes with a message.
    pub struct Attachment, AttachmentView {
        /// File name of the attachment, without a path. It comes from the sender: do not use it as
        /// a path.
        1 name: Required<Text<1, 255>>,
        /// Media type of the content (RFC 6838), or empty.
        2 media_type: Implicit<Text<0, 127>>,
        /// Bytes of the content, as the sender says.
        3 size: Implicit<Uint64>,
        /// The content itself, or a reference to it; it must be present.
        4 | 5 source: OneOf<Source, true>,
    }
}

oneof! {
    /// The content of an attachment, or a reference to it.
    pub enum Source, SourceView {
        /// The content is in the message itself.
        0 Inline inline: Bytes<0, UNBOUNDED>,
        /// The content is stored elsewhere, sealed.
        1 Referenced referenced: Boxed<Nested<BlobReference>>,
    }
}

message! {
    /// Sealed content that lies elsewhere.
    pub struct BlobReference, BlobReferenceView {
        /// BLAKE3 of the sealed bytes. Compare it before you use them.
        1 digest: Required<Fixed<32>>,
        /// Address of the sealed bytes, for example a URL; its form is the application's.
        2 location: Required<Text<1, 1024>>,
        /// The wrapped key of the content. The message that refers to it defines the wrapping.
        3 wrapped_key: Implicit<Bytes<0, 256>>,
    }
}

// docs/spec/codec.md, Memory.
const _: () = assert!(size_of::<Attachment>() <= 64 && size_of::<BlobReference>() <= 64);
