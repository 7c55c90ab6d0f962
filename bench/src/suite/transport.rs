//! The transport's tables of component 2: handshakes, echo, messages, bulk, and bytes on the
//! socket.

use super::{Case, Extent, Suite};
use crate::case::OURS;

/// Our subject with packets as over Ethernet.
pub(crate) const ETHERNET: &str = "endseal-ethernet";
/// Not timed: bytes on the socket of a sample message in the encoding of the subject.
pub(crate) const MESSAGE_SIZE: &str = "message_size";
/// 1 KB as the published tables define it.
const KB: u64 = 1024;

/// Value of `collect`: no bytes are collected, each message is sent before the next call.
const AT_ONCE: u64 = 0;
/// Value of `collect` in the other cases: bytes that a subject may collect.
const COLLECTED: u64 = 64 * KB;

/// The cases and rules of the suite `transport`.
pub(crate) static SUITE: Suite = Suite {
    name: "transport",
    about: "two ends that know each other's keys, connected on one machine; component 2",
    cases,
    sized: &["wire_size", MESSAGE_SIZE],
    untimed: &["wire_size", MESSAGE_SIZE],
    compared: &[OURS, ETHERNET],
    floors: &["tcp"],
    axis: "bytes",
    notes: &[
        ("handshake", HANDSHAKE),
        ("messages", MESSAGES),
        ("bulk", BULK),
        (MESSAGE_SIZE, ENCODED),
    ],
    rounds: super::all_rounds,
};

const HANDSHAKE: &str = "Both ends are in one process, with a thread each, so that CPU time is that of \
     both. Without a way between them, time is that of the computations and the kernel.";

const MESSAGES: &str = "Where none are collected, the kernel or the library has a message when its call returns, and \
     nothing waits for another call: TCP is given one write for each, and QUIC fills its packets with \
     what lies in its send queue when its turn comes. Where 64 KB are collected, every subject waits \
     for so many before it writes, which gives TCP whole segments of the loopback interface.";

const BULK: &str = "On the loopback device, which takes 64 KB at once, and TCP gives it as much. endseal \
     asks what the first hop of a path takes and sends packets of up to 6,550 bytes, ten to a call; \
     endseal-ethernet, plain quinn, iroh and ant-quic send packets of 1,452 bytes.";

const ENCODED: &str = "The sample message of the suite codec, one letter repeated, encoded and put on a QUIC connection that \
     encrypts: endseal's message in a frame; the baseline's three layers of JSON on plain quinn. Bytes of UDP payload.";

fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = vec![
        case("handshake", &[]),
        case("echo", &[("bytes", 8 * KB)]),
        messages(8 * KB, AT_ONCE),
        messages(8 * KB, COLLECTED),
        case("bulk", &[("bytes", 64 * KB * KB)]),
        case("wire_size", &[("bytes", 8 * KB)]),
        case("wire_size", &[("bytes", 256 * KB)]),
        case(MESSAGE_SIZE, &[("bytes", 8 * KB)]),
        case(MESSAGE_SIZE, &[("bytes", 64 * KB)]),
    ];
    if extent > Extent::Quick {
        cases.push(case("echo", &[("bytes", 64)]));
        cases.push(case("echo", &[("bytes", 256 * KB)]));
        cases.push(messages(256, AT_ONCE));
        cases.push(messages(256, COLLECTED));
    }
    if extent > Extent::Default {
        cases.push(case("bulk", &[("bytes", 512 * KB * KB)]));
    }
    cases
}

fn messages(bytes: u64, collect: u64) -> Case {
    case("messages", &[("bytes", bytes), ("count", 1000), ("collect", collect)])
}

fn case(case: &'static str, params: &[(&str, u64)]) -> Case {
    Case::new("transport", case, params)
}
