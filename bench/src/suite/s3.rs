//! Station 3, S3: objects through a proxy that seals them.

use core::ops::RangeInclusive;

use super::{Case, Extent, Growing, Suite};
use crate::case::{MIN_ROUNDS, OURS, Params};

/// The client speaks to the backend itself.
pub(crate) const DIRECT: &str = "direct";
/// A proxy that only passes on.
pub(crate) const PASS_THROUGH: &str = "pass-through";
/// The seed's shape.
pub(crate) const SEED: &str = "seed-ctr";

/// An object is stored.
pub(crate) const PUT: &str = "put";
/// An object is stored, in chunks with its checksum behind.
pub(crate) const PUT_CHUNKED: &str = "put_chunked";
/// An object is fetched.
pub(crate) const GET: &str = "get";
/// One byte of an object is fetched.
pub(crate) const RANGE: &str = "range";
/// Many short objects are stored or fetched.
pub(crate) const SMALL: &str = "small";
/// An object is stored in parts of which several are on their way, or fetched in ranges likewise.
pub(crate) const MULTIPART: &str = "multipart";
/// Untimed: the most memory that a process has.
pub(crate) const MEMORY: &str = "memory";

/// 1 MB in the name of a case.
pub(crate) const MB: u64 = 1 << 20;
/// The seed's sizes.
pub(crate) const SIZES: [u64; 4] = [10 * MB, 50 * MB, 100 * MB, 500 * MB];
/// The number of the backend that drops or keeps in memory.
pub(crate) const SINK: u64 = 0;
/// The number of a real server.
pub(crate) const SERVER: u64 = 1;
/// The number of MinIO.
pub(crate) const MINIO: u64 = 2;
/// The published set-up of `multipart`: bytes of a part, and how many are on their way.
pub(crate) const PART: u64 = 5 * MB;
pub(crate) const PARTS_AT_ONCE: u64 = 3;
pub(crate) const MULTIPART_BYTES: u64 = 15 * MB;
/// Bytes of a small object, and how many are one iteration.
pub(crate) const SMALL_BYTES: u64 = 4096;
/// Requests of an iteration.
pub(crate) const SMALL_COUNT: u64 = 256;
/// Streams of the cases that have several.
pub(crate) const STREAMS: u64 = 8;
/// The object of which one byte is read.
pub(crate) const RANGE_BYTES: u64 = 100 * MB;
/// Streams of the case of memory that has several.
pub(crate) const MEMORY_STREAMS: u64 = 16;
/// Bytes that each of these streams carries.
pub(crate) const MEMORY_STREAM_BYTES: u64 = 64 * MB;
/// Objects whose memory is compared: the least, the largest of a quick run, the largest. An object
/// that is put at once has 5 GiB at most, of which what sealing adds is a part.
pub(crate) const MEMORY_SIZES: [u64; 3] = [10 * MB, 1024 * MB, 5_000 * MB];

/// The suite.
pub(crate) static SUITE: Suite = Suite {
    name: "s3",
    about: "objects of an S3 server behind a proxy that seals them; station 3",
    cases,
    sized: &[],
    untimed: &[MEMORY],
    compared: &[OURS],
    floors: &[DIRECT, PASS_THROUGH],
    grows_by: &[Growing {
        parameter: "bytes",
        unit: 1 << 20,
        one: "a MB",
        many: "number of bytes",
    }],
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

/// The size that a quick run takes few rounds of.
const LARGE: u64 = 500 * MB;
/// Rounds before a real server, whose turns last unevenly: in some of them memory for its files is
/// slow to be had (docs/design/s3-data-path.md), and the median of five would too often be one of
/// those.
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

/// An object up or down.
pub(crate) fn transfer(bytes: u64, backend: u64) -> Params {
    params(&[("bytes", bytes), ("backend", backend)])
}

/// An object up, in chunks.
pub(crate) fn chunked(bytes: u64) -> Params {
    params(&[("bytes", bytes)])
}

/// An object up (0) or down (1) in parts.
pub(crate) fn multipart(bytes: u64, down: u64, backend: u64) -> Params {
    params(&[
        ("bytes", bytes),
        ("part", PART),
        ("streams", PARTS_AT_ONCE),
        ("down", down),
        ("backend", backend),
    ])
}

/// Small objects up (0) or down (1).
pub(crate) fn small(down: u64, streams: u64) -> Params {
    params(&[("bytes", SMALL_BYTES), ("count", SMALL_COUNT), ("down", down), ("streams", streams)])
}

/// One byte of an object.
pub(crate) fn range() -> Params {
    params(&[("bytes", RANGE_BYTES)])
}

/// Objects up (0) or down (1) through a process that has done nothing else.
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
    // The first one is where the noise floor is found: short.
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
    for backend in [SERVER, MINIO] {
        for down in [0, 1] {
            push(MULTIPART, multipart(MULTIPART_BYTES, down, backend));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extent_contains_the_smaller_one() {
        let (quick, default, full) =
            (cases(Extent::Quick), cases(Extent::Default), cases(Extent::Full));
        assert!(quick.iter().all(|case| default.contains(case)));
        assert!(default.iter().all(|case| full.contains(case)));
        assert!(quick.len() < default.len());
        let first = &default[0];
        assert_eq!((first.case, first.params["bytes"]), (PUT, SIZES[0]), "the noise floor's");
    }
}
