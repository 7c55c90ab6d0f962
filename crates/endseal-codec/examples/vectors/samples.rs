//! Sample messages with all their fields, and with as few as possible.

use endseal_codec::{
    Attachment, BlobReference, Body, Edit, FileAnswer, FileEnd, FileOffer, Mention, Metadata,
    Reaction, Receipt, ReceiptKind, RevokeNotice, RichMessage, Scheme, SealedMessage, ShareNotice,
    Source, Typing, Verdict,
};

const TIME: u64 = 1_770_000_000_000;

/// Returns a message with only its required fields.
pub(crate) fn rich() -> RichMessage {
    RichMessage {
        id: [1; 16],
        conversation: (*b"c").into(),
        sender: [3; 32],
        ..RichMessage::default()
    }
}

pub(crate) fn full_rich() -> RichMessage {
    let mut metadata = Metadata::default();
    for (key, value) in [("client", &b"endseal"[..]), ("\u{e9}tat", b"\x00\xff"), ("empty", b"")] {
        metadata.insert(key, value);
    }
    RichMessage {
        timestamp: TIME,
        body: Some(Body::Markdown("*Hello* @b\u{f6}b \u{1f44b}".into())),
        attachments: vec![inline(), referenced()],
        reactions: vec![reaction(4, "\u{1f44d}"), reaction(5, "+")],
        mentions: vec![Mention { peer: [6; 32], start: 8, length: 5 }],
        reply_to: Some([7; 16]),
        edits: vec![
            Edit { timestamp: TIME - 2, body: Body::Text("Hello".into()) },
            Edit { timestamp: TIME - 1, body: Body::Markdown("*Hello*".into()) },
        ],
        metadata,
        ..rich()
    }
}

pub(crate) fn reaction(n: u8, emoji: &str) -> Reaction {
    Reaction { sender: [n; 32], emoji: emoji.into(), timestamp: TIME + u64::from(n) }
}

pub(crate) fn inline() -> Attachment {
    Attachment {
        name: "note.txt".into(),
        media_type: "text/plain".into(),
        size: 5,
        source: Source::Inline((*b"bytes").into()),
    }
}

pub(crate) fn referenced() -> Attachment {
    Attachment {
        name: "film.mp4".into(),
        media_type: "".into(),
        size: 1 << 40,
        source: Source::Referenced(Box::new(blob())),
    }
}

pub(crate) fn blob() -> BlobReference {
    BlobReference {
        digest: [8; 32],
        location: "https://store.example/o/8".into(),
        wrapped_key: [9; 40].into(),
    }
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        conversation: (*b"c").into(),
        sender: [3; 32],
        kind: ReceiptKind::READ,
        messages: vec![[1; 16], [2; 16]],
        timestamp: TIME,
        ..Receipt::default()
    }
}

pub(crate) fn typing() -> Typing {
    Typing {
        conversation: (*b"c").into(),
        sender: [3; 32],
        active: true,
        timestamp: TIME,
        ..Typing::default()
    }
}

pub(crate) fn share() -> ShareNotice {
    ShareNotice {
        group: (*b"team").into(),
        epoch: 7,
        sender: [3; 32],
        name: "report.pdf".into(),
        size: 1 << 33,
        object: blob(),
        timestamp: TIME,
        ..ShareNotice::default()
    }
}

pub(crate) fn revoke() -> RevokeNotice {
    RevokeNotice {
        group: (*b"team").into(),
        epoch: u64::MAX,
        sender: [3; 32],
        removed: vec![[4; 32]],
        timestamp: TIME,
        ..RevokeNotice::default()
    }
}

pub(crate) fn offer(size: Option<u64>) -> FileOffer {
    FileOffer {
        transfer: [5; 16],
        name: "report.pdf".into(),
        size,
        timestamp: TIME,
        ..FileOffer::default()
    }
}

pub(crate) fn answer(verdict: Verdict) -> FileAnswer {
    FileAnswer { transfer: [5; 16], verdict, ..FileAnswer::default() }
}

pub(crate) fn end() -> FileEnd {
    FileEnd { transfer: [5; 16], size: 500_000_000, digest: [6; 32], ..FileEnd::default() }
}

pub(crate) fn sealed() -> SealedMessage {
    SealedMessage {
        scheme: Scheme::ENVELOPE,
        context: (*b"team").into(),
        ciphertext: [0xc1; 48].into(),
        ..SealedMessage::default()
    }
}
