//! Frames of a WebSocket server (RFC 6455, section 5.2), without messages that are too long.
//!
//! The fragments of a message are joined into one frame, because a message of many fragments is
//! known to be too long only after its first ones arrived. Frames that violate the protocol pass
//! unchanged, and so does everything behind them: the WebSocket library reports them.

use core::mem;

use tokio::io::ReadBuf;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PONG: u8 = 10;
const MASKED: u8 = 0x80;
const LENGTH_2: u8 = 126;
const LENGTH_8: u8 = 127;
/// Maximum length of the payload of a control frame.
const MAX_CONTROL: u64 = 125;
/// Maximum length of the head of a frame without a mask.
const MAX_HEAD: usize = 10;

/// Messages that were skipped because they are above the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Number of messages.
    pub(crate) count: u64,
    /// Total length of their payloads in bytes.
    pub(crate) bytes: u64,
}

/// Reads frames and writes those that are within the limit.
#[derive(Debug)]
pub(super) struct Frames {
    max_message: usize,
    position: Position,
    message: Message,
    /// The bytes of a head of which the rest has not arrived.
    head: Vec<u8>,
    /// Bytes to write before more is read, and the number of them that were written.
    ready: Vec<u8>,
    written: usize,
    skipped: Option<Skipped>,
    dropped: u64,
}

/// The part of the stream that arrives next.
#[derive(Clone, Copy, Debug)]
enum Position {
    Head,
    /// Payload with this many bytes left, which is written as it arrives.
    Payload(u64),
    /// Payload of a fragment of the current message.
    Fragment {
        left: u64,
        is_final: bool,
    },
    /// The stream behind a violation of the protocol. It is written as it arrives.
    Violation,
}

/// The current message, if its last fragment has not arrived.
#[derive(Debug)]
enum Message {
    None,
    /// The opcode, and space for the head followed by the payload so far.
    Joined(u8, Vec<u8>),
    /// The message is too long. It has this many bytes up to the current fragment.
    Skipped(u64),
}

impl Frames {
    pub(super) fn new(max_message: usize) -> Self {
        Self {
            max_message,
            position: Position::Head,
            message: Message::None,
            head: Vec::with_capacity(MAX_HEAD),
            ready: Vec::new(),
            written: 0,
            skipped: None,
            dropped: 0,
        }
    }

    pub(super) fn take_skipped(&mut self) -> Option<Skipped> {
        self.skipped.take()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Processes `input` until it ends, `out` is full or a message has been skipped. Returns the
    /// number of bytes that were read, and true if a message has been skipped.
    pub(super) fn advance(&mut self, input: &[u8], out: &mut ReadBuf<'_>) -> (usize, bool) {
        let mut rest = input;
        loop {
            if !self.write_ready(out) {
                break;
            }
            let (Some(&first), remaining) = (rest.first(), out.remaining()) else { break };
            match self.position {
                Position::Head => {
                    rest = &rest[1..];
                    self.head.push(first);
                    self.head_grew();
                    if self.end_fragment() {
                        return (input.len() - rest.len(), true);
                    }
                }
                Position::Violation => {
                    let len = rest.len().min(remaining);
                    out.put_slice(&rest[..len]);
                    rest = &rest[len..];
                    if remaining == 0 {
                        break;
                    }
                }
                Position::Payload(left) => {
                    let len = at_most(left, rest.len().min(remaining));
                    out.put_slice(&rest[..len]);
                    rest = &rest[len..];
                    self.position = match left - len as u64 {
                        0 => Position::Head,
                        left => Position::Payload(left),
                    };
                    if len == 0 {
                        break;
                    }
                }
                Position::Fragment { left, is_final } => {
                    let len = at_most(left, rest.len());
                    match &mut self.message {
                        Message::Joined(_, joined) => joined.extend_from_slice(&rest[..len]),
                        _ => self.dropped = self.dropped.saturating_add(len as u64),
                    }
                    rest = &rest[len..];
                    self.position = Position::Fragment { left: left - len as u64, is_final };
                    if self.end_fragment() {
                        return (input.len() - rest.len(), true);
                    }
                }
            }
        }
        (input.len() - rest.len(), false)
    }

    /// Writes what is ready. Returns false if `out` is full before all of it is written.
    fn write_ready(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let ready = self.ready.get(self.written..).unwrap_or_default();
        let len = ready.len().min(out.remaining());
        out.put_slice(&ready[..len]);
        self.written += len;
        let is_done = self.written >= self.ready.len();
        if is_done && self.ready.len() > MAX_HEAD {
            // The memory of a joined message is not kept.
            self.ready = Vec::new();
        }
        is_done
    }

    fn make_ready(&mut self, bytes: &[u8]) {
        self.ready.clear();
        self.ready.extend_from_slice(bytes);
        self.written = 0;
    }

    /// Begins a frame if its head is complete.
    fn head_grew(&mut self) {
        let [first, second, length @ ..] = self.head.as_slice() else { return };
        let (opcode, is_final) = (first & OPCODE, first & FINAL != 0);
        let is_known = matches!(opcode, CONTINUATION..=BINARY | CLOSE..=PONG);
        if !is_known || first & RESERVED != 0 || second & MASKED != 0 {
            return self.violation();
        }
        let len = match *second {
            LENGTH_2 => match *length {
                [a, b] => u64::from(u16::from_be_bytes([a, b])),
                _ => return,
            },
            LENGTH_8 => match <[u8; 8]>::try_from(length) {
                Ok(length) => u64::from_be_bytes(length),
                Err(_) => return,
            },
            len => u64::from(len),
        };
        // A length is in its shortest form, and its first bit is not set.
        let shortest = match *second {
            LENGTH_2 => 126,
            LENGTH_8 => 1 << 16,
            _ => 0,
        };
        if len < shortest || len > i64::MAX.unsigned_abs() {
            return self.violation();
        }
        if opcode >= CLOSE {
            if !is_final || len > MAX_CONTROL {
                return self.violation();
            }
            return self.pass(len);
        }
        let max_message = self.max_message as u64;
        match (mem::replace(&mut self.message, Message::None), opcode) {
            (Message::None, CONTINUATION) => return self.violation(),
            (Message::None, _) if is_final && len <= max_message => return self.pass(len),
            (Message::None, _) if len <= max_message => {
                self.message = Message::Joined(opcode, vec![0; MAX_HEAD]);
            }
            (Message::None, _) => self.message = Message::Skipped(len),
            (Message::Joined(first, joined), CONTINUATION) => {
                let joined_len = (joined.len() - MAX_HEAD) as u64 + len;
                self.message = match joined_len <= max_message {
                    true => Message::Joined(first, joined),
                    false => Message::Skipped(joined_len),
                };
            }
            (Message::Skipped(before), CONTINUATION) => {
                self.message = Message::Skipped(before.saturating_add(len));
            }
            // A new message begins within another one. The library has not seen the beginning of
            // the first, so a continuation shows it the violation.
            (_, _) => {
                self.head.clear();
                self.head.extend_from_slice(&[FINAL | CONTINUATION, 0]);
                return self.violation();
            }
        }
        self.head.clear();
        self.position = Position::Fragment { left: len, is_final };
    }

    /// Passes the head and the payload of a frame.
    fn pass(&mut self, len: u64) {
        let head = mem::take(&mut self.head);
        self.make_ready(&head);
        self.head = head;
        self.head.clear();
        self.position = if len == 0 { Position::Head } else { Position::Payload(len) };
    }

    fn violation(&mut self) {
        let head = mem::take(&mut self.head);
        self.make_ready(&head);
        self.message = Message::None;
        self.position = Position::Violation;
    }

    /// Handles the end of a fragment, if it is at its end. Returns true if a message was skipped.
    fn end_fragment(&mut self) -> bool {
        let Position::Fragment { left: 0, is_final } = self.position else { return false };
        self.position = Position::Head;
        if !is_final {
            return false;
        }
        match mem::replace(&mut self.message, Message::None) {
            Message::None => false,
            Message::Joined(opcode, joined) => {
                self.join(opcode, joined);
                false
            }
            Message::Skipped(bytes) => {
                let skipped = self.skipped.get_or_insert_default();
                skipped.count = skipped.count.saturating_add(1);
                skipped.bytes = skipped.bytes.saturating_add(bytes);
                true
            }
        }
    }

    /// Makes one frame of a message whose payload follows space for the head.
    fn join(&mut self, opcode: u8, mut joined: Vec<u8>) {
        let len = joined.len() - MAX_HEAD;
        let mut head = [0; MAX_HEAD];
        let (short, long) = (u8::try_from(len), u16::try_from(len));
        let head = match (short, long) {
            (Ok(len), _) if u64::from(len) <= MAX_CONTROL => {
                head[1] = len;
                &mut head[..2]
            }
            (_, Ok(len)) => {
                head[1] = LENGTH_2;
                head[2..4].copy_from_slice(&len.to_be_bytes());
                &mut head[..4]
            }
            _ => {
                head[1] = LENGTH_8;
                head[2..].copy_from_slice(&(len as u64).to_be_bytes());
                &mut head[..]
            }
        };
        head[0] = FINAL | opcode;
        let start = MAX_HEAD - head.len();
        joined[start..MAX_HEAD].copy_from_slice(head);
        (self.ready, self.written) = (joined, start);
    }
}

/// The smaller of two numbers.
fn at_most(left: u64, len: usize) -> usize {
    usize::try_from(left).map_or(len, |left| left.min(len))
}

#[cfg(test)]
mod tests {
    use endseal_testing::SplitMix64;

    use super::*;

    const TEXT: u8 = 1;
    const MAX: usize = 300;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            len @ 0..=125 => frame.push(u8::try_from(len).unwrap()),
            len @ 126..=0xffff => {
                frame.push(LENGTH_2);
                frame.extend_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
            }
            len => {
                frame.push(LENGTH_8);
                frame.extend_from_slice(&(len as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(payload);
        frame
    }

    /// Feeds `input` in pieces and reads the output in pieces, both of lengths that `len` returns.
    fn filtered(input: &[u8], mut len: impl FnMut() -> usize) -> (Vec<u8>, Skipped, Frames) {
        let mut frames = Frames::new(MAX);
        let (mut out, mut skipped) = (Vec::new(), Skipped::default());
        let mut rest = input;
        loop {
            let piece = &rest[..len().min(rest.len())];
            let mut buffer = vec![0; len()];
            let mut buffer = ReadBuf::new(&mut buffer);
            let (read, has_skipped) = frames.advance(piece, &mut buffer);
            rest = &rest[read..];
            out.extend_from_slice(buffer.filled());
            let now = frames.take_skipped();
            assert_eq!(has_skipped, now.is_some());
            skipped.count += now.unwrap_or_default().count;
            skipped.bytes += now.unwrap_or_default().bytes;
            if let Message::Joined(_, joined) = &frames.message {
                assert!(joined.len() <= MAX + MAX_HEAD);
            }
            if rest.is_empty() && buffer.filled().is_empty() {
                return (out, skipped, frames);
            }
        }
    }

    /// Streams of random messages, control frames and fragments arrive in random pieces.
    #[test]
    fn messages_above_the_limit_are_missing_and_all_others_are_whole() {
        for seed in 0..2_000 {
            let mut random = SplitMix64::new(seed);
            let mut below = |end: u64| usize::try_from(random.below(end)).unwrap();
            let (mut input, mut expected) = (Vec::new(), Vec::new());
            let mut skipped = Skipped::default();
            for number in 0..below(12) {
                let opcode = if below(4) == 0 { BINARY } else { TEXT };
                let len = [0, 1, 125, 126, MAX - 1, MAX, MAX + 1, 70_000][below(8)];
                let payload = vec![u8::try_from(number).unwrap() + b'a'; len];
                let mut cuts: Vec<_> = (0..below(4)).map(|_| below(len as u64 + 1)).collect();
                cuts.extend([0, len]);
                cuts.sort_unstable();
                let last = cuts.len() - 2;
                for (at, cut) in cuts.windows(2).enumerate() {
                    let first = if at == 0 { opcode } else { CONTINUATION };
                    let is_final = if at == last { FINAL } else { 0 };
                    input.extend(frame(first | is_final, &payload[cut[0]..cut[1]]));
                    if below(3) == 0 {
                        let ping = frame(0x89, &vec![b'p'; below(126)]);
                        // A control frame between fragments is written before the whole message.
                        input.extend_from_slice(&ping);
                        if at < last || len > MAX {
                            expected.extend_from_slice(&ping);
                        } else {
                            expected.extend(frame(FINAL | opcode, &payload));
                            expected.extend_from_slice(&ping);
                        }
                    } else if at == last && len <= MAX {
                        expected.extend(frame(FINAL | opcode, &payload));
                    }
                }
                if len > MAX {
                    skipped.count += 1;
                    skipped.bytes += len as u64;
                }
            }
            let (out, found, frames) = filtered(&input, || 1 + below(200));
            assert_eq!((found, frames.dropped <= found.bytes), (skipped, true), "{seed}");
            assert!(out == expected, "{seed}");
            assert!(frames.ready.capacity() <= MAX_HEAD && frames.head.is_empty(), "{seed}");
        }
    }

    /// The library refuses these heads, so it has to see them and all that follows.
    #[test]
    fn violations_pass_unchanged() {
        for head in [
            &[0xf1, 0][..],
            &[0x83, 0],
            &[0x81, 0x81, 0, 0, 0, 0],
            &[0x80, 1],
            &[0x09, 0],
            &[0x89, 126, 0, 126],
            &[0x81, 126, 0, 125],
            &[0x81, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
            &[0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
        ] {
            let input = [&frame(0x81, b"before"), head, b"after"].concat();
            let (out, skipped, _) = filtered(&input, || 3);
            assert_eq!((out, skipped), (input, Skipped::default()));
        }
        for first in [&frame(0x01, b"first")[..], &frame(0x01, &[b'x'; MAX + 1])] {
            let input = [first, &frame(0x81, b"second")].concat();
            let (out, ..) = filtered(&input, || 4);
            assert_eq!(out[..2], [0x80, 0]);
        }
    }

    /// A length that no message has: the frame never ends, and nothing is kept.
    #[test]
    fn a_frame_without_an_end_costs_no_memory() {
        let mut frames = Frames::new(MAX);
        let head = [&[0x82, 127][..], &i64::MAX.to_be_bytes()].concat();
        let mut buffer = [0; 10];
        for piece in [&head[..], &[b'x'; 10_000]] {
            let mut buffer = ReadBuf::new(&mut buffer);
            assert_eq!(frames.advance(piece, &mut buffer), (piece.len(), false));
            assert!(buffer.filled().is_empty());
        }
        assert_eq!((frames.dropped(), frames.take_skipped()), (10_000, None));
        assert!(frames.ready.is_empty());
    }
}
