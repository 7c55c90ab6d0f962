//! A file on its way: offer, answer, frames of kind `data`, end, answer.

use super::declare::*;
use super::open_enum;

message! {
    /// A file follows in frames of kind `data`, then a [`FileEnd`].
    pub struct FileOffer, FileOfferView {
        /// Random id by which the frames of this transfer refer to it.
        1 transfer: Required<Fixed<16>>,
        /// Name of the file, without a path. It comes from the sender: do not use it as a path.
        2 name: Required<Text<1, 255>>,
        /// Length of the file in bytes, if it is known beforehand.
        3 size: Optional<Uint64>,
        /// Milliseconds since 1970, by the sender's clock.
        4 timestamp: Implicit<Uint64>,
    }
    keeps unknown
}

message! {
    /// Answer of the receiver to an offer or to an end.
    pub struct FileAnswer, FileAnswerView {
        /// Id of the transfer from its [`FileOffer`].
        1 transfer: Required<Fixed<16>>,
        /// Decision of the receiver, or the result of the transfer.
        2 verdict: Implicit<Open<Verdict>>,
    }
    keeps unknown
}

open_enum! {
    /// Verdict of a receiver on a file.
    pub struct Verdict = "Verdict" {
        /// The default value, which says nothing about the file.
        UNSPECIFIED = 0 "VERDICT_UNSPECIFIED",
        /// The receiver accepts the offer; the sender may send the file.
        ACCEPTED = 1 "VERDICT_ACCEPTED",
        /// After [`FileEnd`]: it is whole and on the disk.
        STORED = 2 "VERDICT_STORED",
        /// The receiver declines the offer.
        REFUSED = 3 "VERDICT_REFUSED",
        /// The file is larger than the receiver accepts.
        TOO_LARGE = 4 "VERDICT_TOO_LARGE",
        /// After [`FileEnd`]: size or digest differ.
        DAMAGED = 5 "VERDICT_DAMAGED",
        /// The receiver could not store it.
        FAILED = 6 "VERDICT_FAILED",
    }
}

message! {
    /// All of a file was sent.
    pub struct FileEnd, FileEndView {
        /// Id of the transfer from its [`FileOffer`].
        1 transfer: Required<Fixed<16>>,
        /// Number of bytes that were sent as the content of the file.
        2 size: Implicit<Uint64>,
        /// BLAKE3 of the content. Compare it before the file gets its name.
        3 digest: Required<Fixed<32>>,
    }
    keeps unknown
}
