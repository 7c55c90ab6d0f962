"""Contents that differ from each other, and their hashes."""

import hashlib
import random

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CHUNK = 16384
SEALED_CHUNK = CHUNK + 16
MIN_PART = 5 * MIB
# The copy of the header at the end of an object.
HEADER_COPY = 689


def content(length, seed=0):
    """Random bytes, the same in every run."""
    return random.Random(f"{seed}/{length}").randbytes(length)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def same(got, expected, what="content"):
    """Compares by hash and names both lengths: a dump of 64 MiB would not help."""
    if sha256(got) != sha256(expected):
        at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), None)
        raise AssertionError(
            f"{what} differs: {len(got)} bytes for {len(expected)}, first difference at {at}"
        )


def equal(got, expected, what="value"):
    if got != expected:
        raise AssertionError(f"{what} is {got!r} and should be {expected!r}")


def sealed_length(plaintext):
    """T(P) of docs/spec/s3-object.md."""
    chunks = plaintext // CHUNK + 1
    slots = min(plaintext // MIN_PART + 1, 10000)
    return plaintext + 16 * chunks + 92 + 80 * slots + HEADER_COPY


class Stream:
    """A long content that is never in memory: one MiB again and again, each with its number."""

    def __init__(self, length, seed=0):
        self.length = length
        self.block = content(MIB - 8, seed)

    def __iter__(self):
        left = self.length
        number = 0
        while left:
            piece = (number.to_bytes(8, "big") + self.block)[: min(left, MIB)]
            yield piece
            left -= len(piece)
            number += 1

    def sha256(self):
        state = hashlib.sha256()
        for piece in self:
            state.update(piece)
        return state.hexdigest()
