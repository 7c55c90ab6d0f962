//! Live frames, read in one piece and in pieces of any size.

use endseal_codec::Limits;
use endseal_codec::frame::{FrameError, Kind, LiveHeader, LiveReader};
use serde_json::{Value, json};

use crate::random::Random;
use crate::vectors::{hex, limits};

/// Reads a vector whole and in pieces of every size.
pub(crate) fn vector(vector: &Value) -> Result<(), FrameError> {
    let (bytes, limits) = (hex(&vector["hex"]), limits(vector));
    let expected = vector["expected_sequence"].as_u64().unwrap_or(0);
    let whole = parse(&bytes, expected, limits);
    // A reader starts at sequence 0; the parser of headers is tested with the other sequences.
    if expected == 0 {
        for size in 1..=bytes.len() {
            let read = read_in_pieces(&bytes, size, limits);
            let payloads = whole.map(|(_, payload)| vec![payload.to_vec()]);
            assert_eq!(read, payloads, "in pieces of {size}");
        }
    }
    let (header, payload) = whole?;
    let kind = match header.kind() {
        Kind::Control => "control",
        Kind::Message => "message",
        _ => "data",
    };
    assert_eq!(vector["kind"], kind);
    assert_eq!(vector["idempotent"], header.is_idempotent());
    assert_eq!(vector["sealed"], header.is_sealed());
    assert_eq!(vector["length"], json!(header.length()));
    assert_eq!(vector["sequence"], json!(header.sequence()));
    assert_eq!(hex(&vector["payload"]), payload);
    let mut out = [0; LiveHeader::MAX_LEN];
    let len = header.write(&mut out);
    assert_eq!((len, &out[..len]), (header.encoded_len(), &bytes[..len]));
    Ok(())
}

/// Returns the frame, which must be all of `bytes`. At every prefix the header must be incomplete,
/// or have the same result.
fn parse(bytes: &[u8], expected: u64, limits: Limits) -> Result<(LiveHeader, &[u8]), FrameError> {
    let parsed = LiveHeader::parse(bytes, expected, limits);
    for cut in 0..bytes.len() {
        match LiveHeader::parse(&bytes[..cut], expected, limits) {
            Ok(None) => {}
            early => assert_eq!(early, parsed, "after {cut} bytes"),
        }
    }
    let (header, len) = parsed?.ok_or(FrameError::Truncated)?;
    let payload = &bytes[len..];
    if payload.len() < header.length() { Err(FrameError::Truncated) } else { Ok((header, payload)) }
}

fn read_in_pieces(bytes: &[u8], size: usize, limits: Limits) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = LiveReader::new(limits);
    let mut payloads = Vec::new();
    for mut piece in bytes.chunks(size) {
        while let Some(frame) = reader.next(&mut piece)? {
            payloads.push(frame.payload.to_vec());
        }
        assert_eq!(piece, b"", "all of a piece is taken");
    }
    reader.finish()?;
    Ok(payloads)
}

fn stream(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, payload) in payloads.iter().enumerate() {
        let sequence = sequence as u64;
        let header = LiveHeader::new(Kind::Data, payload.len(), sequence, Limits::default());
        let mut out = [0; LiveHeader::MAX_LEN];
        let len = header.unwrap().write(&mut out);
        bytes.extend_from_slice(&out[..len]);
        bytes.extend_from_slice(payload);
    }
    bytes
}

#[test]
fn frames_are_the_same_in_any_pieces() {
    let mut random = Random::new(1);
    for _ in 0..300 {
        let frames = random.below(20);
        let payloads: Vec<Vec<u8>> =
            (0..frames).map(|_| vec![0x12; random.below(200) as usize]).collect();
        let bytes = stream(&payloads);
        let mut reader = LiveReader::new(Limits::default());
        let (mut rest, mut read) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let size = 1 + random.below(300) as usize;
            let mut piece = &rest[..size.min(rest.len())];
            rest = &rest[piece.len()..];
            while let Some(frame) = reader.next(&mut piece).unwrap() {
                read.push(frame.payload.to_vec());
            }
        }
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(read, payloads);
    }
}

#[test]
fn a_payload_in_one_piece_is_borrowed_from_the_input() {
    let bytes = stream(&[b"first".to_vec(), b"second".to_vec()]);
    let mut reader = LiveReader::new(Limits::default());
    let mut input = &bytes[..];
    while let Some(frame) = reader.next(&mut input).unwrap() {
        assert!(bytes.as_ptr_range().contains(&frame.payload.as_ptr()));
    }
}

#[test]
fn a_stream_may_end_behind_a_frame_that_came_in_pieces() {
    let bytes = stream(&[b"payload".to_vec()]);
    let mut reader = LiveReader::new(Limits::default());
    let (mut head, mut tail) = bytes.split_at(6);
    assert_eq!(reader.next(&mut head), Ok(None));
    assert_eq!(reader.finish(), Err(FrameError::Truncated));
    assert_eq!(reader.next(&mut tail).unwrap().unwrap().payload, b"payload");
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn a_refusal_ends_the_stream() {
    let mut reader = LiveReader::new(Limits::default());
    let good = stream(&[b"good".to_vec()]);
    assert_eq!(reader.next(&mut &[0x21][..]), Err(FrameError::Version));
    assert_eq!(reader.next(&mut &good[..]), Err(FrameError::Version));
    assert_eq!(reader.finish(), Err(FrameError::Version));
}

#[test]
fn mutated_streams_never_panic() {
    let mut random = Random::new(2);
    let bytes = stream(&[b"one".to_vec(), Vec::new(), vec![7; 300]]);
    for _ in 0..100_000 {
        let mutant = random.mutant(&bytes, &bytes);
        let size = 1 + random.below(64) as usize;
        let read = read_in_pieces(&mutant, size, Limits::default());
        if let Ok(payloads) = read {
            // A header has at least four bytes.
            assert!(payloads.concat().len() + 4 * payloads.len() <= mutant.len());
        }
    }
}

#[test]
fn a_header_is_not_made_of_what_a_reader_refuses() {
    let limits = Limits::default();
    assert_eq!(LiveHeader::new(Kind::Data, (1 << 20) + 1, 0, limits), Err(FrameError::Limit));
    assert_eq!(LiveHeader::new(Kind::Data, 0, 1 << 62, limits), Err(FrameError::Sequence));
    assert_eq!(LiveHeader::new(Kind::Data, 0, 0, limits).unwrap().sealed(), None);
    assert_eq!(LiveHeader::new(Kind::Control, 0, 0, limits).unwrap().sealed(), None);
}
