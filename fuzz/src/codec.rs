//! Fuzz targets of messages and frames.

use endseal_codec::frame::{FrameError, LiveHeader, LiveReader, SignatureScheme, StoredFrame};
use endseal_codec::{Codec as _, Content, Limits, Message, Unknown};
use prost::Message as _;

use crate::choice;

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/endseal.v1.rs"));
}

/// Compares the view with the owned message: both must accept or both refuse. An accepted message
/// is written as it was read, unless it has unknown fields, and prost must read the same value.
pub fn codec_view_vs_owned_vs_prost(data: &[u8]) {
    let limits = Limits::with_maximum(Limits::LARGEST_MAXIMUM).expect("it is the largest");
    let owned = Message::decode(data, limits);
    let view = Message::view(data, limits);
    assert_eq!(owned.as_ref().err(), view.as_ref().err(), "one verdict");
    let Ok(owned) = owned else { return };
    let written = owned.to_vec(limits).expect("what was read is within the limits");
    assert_eq!(Message::decode(&written, limits).as_ref(), Ok(&owned), "written and read again");
    let by_prost = generated::Message::decode(data).expect("prost reads what we read");
    let ours = without_unknown(owned);
    if ours.content.is_none() {
        // The message has only unknown fields, which prost drops.
        return;
    }
    let theirs = Message::decode(&by_prost.encode_to_vec(), limits).map(without_unknown);
    assert_eq!(theirs, Ok(ours), "prost reads the same value");
}

fn without_unknown(mut message: Message) -> Message {
    message.unknown = Unknown::default();
    match &mut message.content {
        Some(Content::Rich(content)) => content.unknown = Unknown::default(),
        Some(Content::Receipt(content)) => content.unknown = Unknown::default(),
        Some(Content::Typing(content)) => content.unknown = Unknown::default(),
        Some(Content::Share(content)) => content.unknown = Unknown::default(),
        Some(Content::Revoke(content)) => content.unknown = Unknown::default(),
        Some(Content::FileOffer(content)) => content.unknown = Unknown::default(),
        Some(Content::FileAnswer(content)) => content.unknown = Unknown::default(),
        Some(Content::FileEnd(content)) => content.unknown = Unknown::default(),
        _ => {}
    }
    message
}

type Frames = (Vec<(LiveHeader, Vec<u8>)>, Option<FrameError>);

fn in_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Frames {
    let mut reader = LiveReader::new(Limits::default());
    let mut frames = Vec::new();
    for mut piece in pieces {
        loop {
            match reader.next(&mut piece) {
                Ok(Some(frame)) => frames.push((frame.header, frame.payload.to_vec())),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(piece.is_empty(), "a piece is taken whole");
    }
    (frames, reader.finish().err())
}

/// Fuzzes live frames: the result must not depend on how the stream is cut, and a frame is written
/// as it was read.
pub fn live_reader_splits(data: &[u8]) {
    let (size, data) = choice(data);
    let whole = in_pieces(core::iter::once(data));
    assert_eq!(in_pieces(data.chunks(1)), whole);
    assert_eq!(in_pieces(data.chunks(size.max(1))), whole);
    let mut written = Vec::new();
    for (header, payload) in &whole.0 {
        let mut out = [0; LiveHeader::MAX_LEN];
        let len = header.write(&mut out);
        written.extend_from_slice(&out[..len]);
        written.extend_from_slice(payload);
    }
    assert!(data.starts_with(&written), "frames are written as they were read");
}

/// Fuzzes stored frames: the input itself, and the input with the right checksum.
pub fn stored_frame(data: &[u8]) {
    stored(data);
    if data.len() >= 64 {
        let mut data = data.to_vec();
        let end = data.len();
        data[CHECKSUM].fill(0);
        let checksum = crc32c(&data[..end]);
        data[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        stored(&data);
    }
}

const CHECKSUM: core::ops::Range<usize> = 56..60;

fn stored(data: &[u8]) {
    let Ok(frame) = StoredFrame::parse(data, Limits::default()) else { return };
    let is_vouched = frame.scheme() == SignatureScheme::Vouched;
    assert_eq!(is_vouched, frame.vouched_by(&frame.sender()).is_ok());
    let mut signed_len = 0;
    let verified = frame.verify_with(|signed, signature| {
        signed_len = signed.len() + signature.len();
        true
    });
    if is_vouched {
        assert!(verified.is_err() && signed_len == 0, "nothing is signed");
        return;
    }
    let frame = verified.expect("the verdict is that of the closure");
    assert!(signed_len > data.len(), "all of the frame and a label are signed");
    if let Ok(message) = frame.message::<Message>(Limits::default()) {
        let _ = core::hint::black_box(&message);
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}
