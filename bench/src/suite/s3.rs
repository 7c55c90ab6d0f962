//! Component 3, S3: objects through a proxy that seals them.

use core::ops::RangeInclusive;

use super::{Case, Extent, Suite};
use crate::case::{MIN_ROUNDS, OURS, Params};

/// Subject without a proxy: the client connects to the backend directly.
pub(crate) const DIRECT: &str = "direct";
/// Subject with a proxy that only forwards.
pub(crate) const PASS_THROUGH: &str = "pass-through";
/// Subject with the published baseline's shape.
pub(crate) const SEED: &str = "seed-ctr";

/// Stores an object.
pub(crate) const PUT: &str = "put";
/// Stores an object in chunks with a trailing checksum.
pub(crate) const PUT_CHUNKED: &str = "put_chunked";
/// Fetches an object.
pub(crate) const GET: &str = "get";
/// Fetches one byte of an object.
pub(crate) const RANGE: &str = "range";
/// Stores or fetches many short objects.
pub(crate) const SMALL: &str = "small";
/// Stores an object in parts, or fetches it in ranges, several at the same time.
pub(crate) const MULTIPART: &str = "multipart";
/// Not timed by rounds: the peak memory of a process.
pub(crate) const MEMORY: &str = "memory";

/// Bytes of 1 MB in the name of a case.
pub(crate) const MB: u64 = 1 << 20;
/// Sizes of the published baseline.
pub(crate) const SIZES: [u64; 4] = [10 * MB, 50 * MB, 100 * MB, 500 * MB];
/// Parameter value of the backend that drops objects or keeps them in memory.
pub(crate) const SINK: u64 = 0;
/// Parameter value of a real server.
pub(crate) const SERVER: u64 = 1;
/// Published settings of `multipart`: bytes of a part, and number of parts at the same time.
pub(crate) const PART: u64 = 5 * MB;
pub(crate) const PARTS_AT_ONCE: u64 = 3;
pub(crate) const MULTIPART_BYTES: u64 = 15 * MB;
/// Bytes of a small object.
pub(crate) const SMALL_BYTES: u64 = 4096;
/// Number of requests of an iteration.
pub(crate) const SMALL_COUNT: u64 = 256;
/// Number of streams of the cases that have several.
pub(crate) const STREAMS: u64 = 8;
/// Bytes of the object of which one byte is read.
pub(crate) const RANGE_BYTES: u64 = 100 * MB;
/// Number of streams of the memory case that has several.
pub(crate) const MEMORY_STREAMS: u64 = 16;
/// Bytes that each of these streams transfers.
pub(crate) const MEMORY_STREAM_BYTES: u64 = 64 * MB;
/// Sizes of objects whose memory is compared: the smallest, the largest of a quick run, the largest
/// of all. An object that is put at once has 5 GiB at most, including what sealing adds.
pub(crate) const MEMORY_SIZES: [u64; 3] = [10 * MB, 1024 * MB, 5_000 * MB];

/// The cases and rules of the suite `s3`.
pub(crate) static SUITE: Suite = Suite {
    name: "s3",
    about: "objects of an S3 server behind a proxy that seals them; component 3",
    cases,
    sized: &[],
    untimed: &[MEMORY],
    compared: &[OURS],
    floors: &[DIRECT, PASS_THROUGH],
    axis: "bytes",
    notes: &[
        (PUT, ALONE),
        (PUT_CHUNKED, ALONE),
        (GET, ALONE),
        (RANGE, ALONE),
        (SMALL, ALONE),
        (MULTIPART, IN_PARTS),
    ],
    rounds,
};

const ALONE: &str = "CPU time is that of the proxy's process alone, in user and system mode; without a \
    proxy there is none. The client is in the harness, writes content that it knows, and compares all \
    that comes back while it comes. One connection, unless streams are named.";

const IN_PARTS: &str = "Three connections take parts of 5 MB, up as parts of a multipart upload, whose beginning and end are in \
    the time, down as ranges. seed-ctr has neither: it gets the object at once and cuts it itself. Nothing sends checksums.";

/// Size from which on a quick run has few rounds.
const LARGE: u64 = 500 * MB;
/// Number of rounds with a real server. In some rounds memory for its files is slow to allocate
/// (docs/design/s3-data-path.md), and the median of five rounds would too often be one of those.
const SERVER_ROUNDS: usize = 11;

fn rounds(extent: Extent, case: &Case) -> RangeInclusive<usize> {
    let large = case.params.get("bytes").is_some_and(|bytes| *bytes >= LARGE);
    let server = case.params.get("backend").is_some_and(|backend| *backend != SINK);
    match extent {
        Extent::Quick if large => 3..=3,
        Extent::Quick if server || case.case == MULTIPART => MIN_ROUNDS..=MIN_ROUNDS,
        Extent::Quick if [PUT, PUT_CHUNKED, GET].contains(&case.case) => MIN_ROUNDS..=7,
        _ if server && large => MIN_ROUNDS..=MIN_ROUNDS,
        _ if server => SERVER_ROUNDS..=usize::MAX,
        _ => MIN_ROUNDS..=usize::MAX,
    }
}

/// Parameters of one object that is uploaded or downloaded.
pub(crate) fn transfer(bytes: u64, backend: u64) -> Params {
    params(&[("bytes", bytes), ("backend", backend)])
}

/// Parameters of one object that is uploaded in chunks.
pub(crate) fn chunked(bytes: u64) -> Params {
    params(&[("bytes", bytes)])
}

/// Parameters of one object that is uploaded (0) or downloaded (1) in parts.
pub(crate) fn multipart(bytes: u64, down: u64, backend: u64) -> Params {
    params(&[
        ("bytes", bytes),
        ("part", PART),
        ("streams", PARTS_AT_ONCE),
        ("down", down),
        ("backend", backend),
    ])
}

/// Parameters of small objects that are uploaded (0) or downloaded (1).
pub(crate) fn small(down: u64, streams: u64) -> Params {
    params(&[("bytes", SMALL_BYTES), ("count", SMALL_COUNT), ("down", down), ("streams", streams)])
}

/// Parameters of one byte of an object.
pub(crate) fn range() -> Params {
    params(&[("bytes", RANGE_BYTES)])
}

/// Parameters of objects that are uploaded (0) or downloaded (1) by a new process.
pub(crate) fn memory(bytes: u64, down: u64, streams: u64) -> Params {
    params(&[("bytes", bytes), ("down", down), ("streams", streams)])
}

fn params(of: &[(&str, u64)]) -> Params {
    of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn cases(extent: Extent) -> Vec<Case> {
    let quick = extent == Extent::Quick;
    let mut cases = Vec::new();
    let mut push = |case, params| cases.push(Case { suite: "s3", case, params });
    // The noise floor is measured in the first case, which is therefore a short one.
    for backend in [SINK, SERVER] {
        for bytes in SIZES {
            let in_quick = match backend {
                SINK => true,
                _ => bytes != SIZES[3],
            };
            if !quick || in_quick {
                push(PUT, transfer(bytes, backend));
                push(GET, transfer(bytes, backend));
            }
        }
    }
    for bytes in [SIZES[2], SIZES[3]] {
        if !quick || bytes == SIZES[2] {
            push(PUT_CHUNKED, chunked(bytes));
        }
    }
    for down in [0, 1] {
        push(MULTIPART, multipart(MULTIPART_BYTES, down, SERVER));
    }
    push(RANGE, range());
    for streams in [1, STREAMS] {
        push(SMALL, small(0, streams));
        push(SMALL, small(1, streams));
    }
    for down in [0, 1] {
        for bytes in MEMORY_SIZES {
            if !quick || bytes <= MEMORY_SIZES[1] {
                push(MEMORY, memory(bytes, down, 1));
            }
        }
        push(MEMORY, memory(MEMORY_STREAM_BYTES, down, MEMORY_STREAMS));
    }
    cases
}
