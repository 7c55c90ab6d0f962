#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | encode or decode a message | [`Message`] and the other messages, through [`Codec`] |
//! | read one without copying | [`Codec::view`] |
//! | tell apart what only a connection protects from what is sealed end to end | [`Direct`], [`Sealed`] |
//! | delimit messages on a connection | [`frame::LiveHeader`], [`frame::LiveReader`] |
//! | ask a hub, or answer as one | [`hub`] |
//! | store messages, or let others pass them on | [`frame::StoredFrame`], [`frame::ReplayWindow`] |
//!
//! `proto/endseal/v1/` of the project is the contract. `docs/spec/codec.md` and
//! `docs/spec/frame.md` state the rules that a `.proto` file cannot express.
//!
//! Messages are declared by the kinds of their fields, and documentation shows these: an owned
//! message holds `Fixed<N>` as `[u8; N]`, `Bytes` as `Box<[u8]>`, `Text` as `Box<str>`, numbers and
//! `Nested` messages as they are, `Optional` as `Option`, `Repeated` as `Vec`. A view holds slices
//! and [`List`]s. The numbers are bounds, of lengths and of counts.
//!
//! Nothing here encrypts, signs or reads a clock: functions that need it take a closure.
//!
//! # Crate features
//! * `std` (default): looks for CPU instructions at run time. Results are the same without it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod frame;
pub mod hub;

mod codec;
mod error;
mod limits;
mod message;
#[allow(unnameable_types, reason = "a field's declaration, as those of `schema`")]
mod metadata;
mod protection;
#[allow(unnameable_types, reason = "declarations are made here alone; users have `Codec`")]
mod schema;
#[allow(unnameable_types, reason = "appears in declarations only")]
mod wire;

pub use codec::Codec;
pub use error::{DecodeError, EncodeError};
pub use limits::Limits;
pub use message::attachment::{
    Attachment, AttachmentView, BlobReference, BlobReferenceView, Source, SourceView,
};
pub use message::body::{Body, BodyView, Edit, EditView};
pub use message::content::{Content, ContentView, Message, MessageView};
pub use message::file::{
    FileAnswer, FileAnswerView, FileEnd, FileEndView, FileOffer, FileOfferView, Verdict,
};
pub use message::notice::{RevokeNotice, RevokeNoticeView, ShareNotice, ShareNoticeView};
pub use message::presence::{Receipt, ReceiptKind, ReceiptView, Typing, TypingView};
pub use message::rich::{
    Mention, MentionView, Reaction, ReactionView, RichMessage, RichMessageView,
};
pub use message::sealed_message::{Scheme, SealedMessage, SealedMessageView};
pub use metadata::{Metadata, MetadataView};
pub use protection::{Direct, OpenError, SealError, Sealed};
pub use schema::list::{List, ListIter};
pub use schema::unknown::{Unknown, UnknownView};

/// The contract as the code has it.
pub mod contract {
    use alloc::vec::Vec;

    use crate::hub;
    pub use crate::schema::contract::{FieldContract, MessageContract, Presence, Type};
    use crate::{
        Attachment, BlobReference, Codec as _, Edit, FileAnswer, FileEnd, FileOffer, Mention,
        Message, Reaction, Receipt, RevokeNotice, RichMessage, SealedMessage, ShareNotice, Typing,
    };

    /// All messages, in the order of `message.proto` and `hub.proto`.
    #[must_use]
    pub fn messages() -> Vec<MessageContract> {
        Vec::from([
            Message::contract(),
            SealedMessage::contract(),
            RichMessage::contract(),
            Attachment::contract(),
            BlobReference::contract(),
            Reaction::contract(),
            Mention::contract(),
            Edit::contract(),
            Receipt::contract(),
            Typing::contract(),
            ShareNotice::contract(),
            RevokeNotice::contract(),
            FileOffer::contract(),
            FileAnswer::contract(),
            FileEnd::contract(),
            hub::HubRequest::contract(),
            hub::Hello::contract(),
            hub::Register::contract(),
            hub::Put::contract(),
            hub::Conversation::contract(),
            hub::Commit::contract(),
            hub::Subscribe::contract(),
            hub::Credit::contract(),
            hub::Acknowledge::contract(),
            hub::Find::contract(),
            hub::Publish::contract(),
            hub::Take::contract(),
            hub::Recover::contract(),
            hub::HubAnswer::contract(),
            hub::Welcome::contract(),
            hub::Stored::contract(),
            hub::Refused::contract(),
            hub::Deliver::contract(),
            hub::CaughtUp::contract(),
            hub::Gap::contract(),
            hub::Person::contract(),
            hub::Prekey::contract(),
        ])
    }
}
