//! Fuzz targets of the transport's streams and of file transfers over them.

use bytes::BytesMut;
use endseal_codec::Limits;
use endseal_codec::frame::LiveReader;
use endseal_node::transfer::{Action, Arrival, FileReceiver};
use endseal_transport::{Prefix, StreamType};

use crate::choice;

/// Fuzzes the first bytes of a stream of each type. Cut short, they must be incomplete or have the
/// same result; accepted ones are written as they were read.
pub fn transport_prefix(data: &[u8]) {
    for expected in [StreamType::Control, StreamType::Message, StreamType::Exchange] {
        let whole = Prefix::decode(data, expected);
        for cut in 0..data.len().min(12) {
            let early = Prefix::decode(&data[..cut], expected);
            assert!(early == Ok(None) || early == whole, "after {cut} bytes");
        }
        if let Ok(Some((prefix, len))) = whole {
            let mut out = BytesMut::new();
            prefix.encode(&mut out);
            assert_eq!(out[..], data[..len]);
        }
    }
}

const LIMIT: u64 = 64;

/// Reads a transfer. Returns its content, the number of answers, and whether the file is complete.
fn received<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, usize, bool) {
    let mut state = FileReceiver::new(LIMIT);
    let mut reader = LiveReader::new(Limits::default());
    let (mut content, mut answers) = (Vec::new(), 0);
    for mut piece in pieces {
        loop {
            let frame = match reader.next(&mut piece) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => return (content, answers, false),
            };
            match state.frame(Arrival::from(frame)) {
                Ok(Action::Decide(_)) => {
                    assert!(!state.accept().is_empty());
                    answers += 1;
                }
                Ok(Action::Write(part)) => content.extend_from_slice(part),
                Ok(_) => {}
                Err(_) => return (content, answers, false),
            }
        }
    }
    let complete = reader.finish().is_ok() && state.end().is_ok();
    (content, answers, complete)
}

/// Fuzzes transfers: a file must not depend on how its stream is cut, stays within the limit, and
/// is offered once.
pub fn transfer(data: &[u8]) {
    let (size, data) = choice(data);
    let whole = received(core::iter::once(data));
    assert_eq!(received(data.chunks(size + 1)), whole);
    let (content, answers, complete) = whole;
    assert!(content.len() as u64 <= LIMIT && answers <= 1);
    assert!(!complete || answers == 1, "a file that was not offered is not complete");
}
