"""Objects of a bucket that the S3 proxy has sealed, opened with its key ring and without the proxy:
for recovery scripts."""

from __future__ import annotations

import os
from typing import BinaryIO, Optional

from ._errors import EndsealError
from ._native import Ring
from ._streams import _write

__all__ = ["EndsealError", "Ring", "open_object"]

# Bytes that are read at once.
_PIECE = 1 << 20
# Bytes at the end of an object with a copy of its header.
_END = 689


def open_object(
    source: BinaryIO,
    sink: BinaryIO,
    *,
    ring: Ring,
    bucket: str,
    key: str,
    header: Optional[str] = None,
    moved: bool = False,
) -> int:
    """Opens an object into `sink`. Returns the length of the content.

    `source` has the bytes of the object, and can seek. `bucket` and `key` are those under which
    clients wrote it: another object in its place is refused, unless `moved`. `header` is the value
    of the metadata entry `endseal`, if it is at hand: without it the copy at the object's end is
    taken, as of bare copies of a bucket.

    After an exception what is in `sink` is not the content: write to another name first. The codes
    are `authentication` for all that was changed, `moved`, `unknown-key` (of another ring), and
    `plaintext` if the object was never sealed or its end is missing, which look the same: what a
    script copies after it may be sealed content that was cut short.
    """
    length = source.seek(0, os.SEEK_END)
    end = _range(source, max(length - _END, 0), length)
    found = ring._object(length, end, (bucket, key, header, moved))
    opener = found.open(_range(source, length - found.tail_length, length))
    at, last = opener.sealed
    written = 0
    source.seek(at)
    while at < last:
        piece = source.read(min(_PIECE, last - at))
        if piece is None:
            raise BlockingIOError("the source has no bytes at present")
        if not piece:
            break
        at += len(piece)
        written += _write(sink, opener.feed(piece))
    return written + _write(sink, opener.finish())


def _range(source: BinaryIO, start: int, end: int) -> bytes:
    """Bytes of a file, or fewer if it became shorter."""
    source.seek(start)
    pieces = []
    while start < end:
        piece = source.read(min(_PIECE, end - start))
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)
