"""Files that are sealed and opened a piece at a time."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Literal

from ._errors import EndsealError
from ._native import Identity, OpenStream, PublicIdentity, Recipients, SealStream

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Bytes that are read at once.
_PIECE = 1 << 18


def _read(source: BinaryIO) -> bytes:
    piece = source.read(_PIECE)
    if piece is None:
        raise BlockingIOError("the source has no bytes at present")
    return piece


def _write(sink: BinaryIO, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        # A raw file may take a part, or nothing. Others that return none have taken all.
        taken = sink.write(rest)
        if taken is None and not isinstance(sink, io.RawIOBase):
            break
        if not taken:
            raise BlockingIOError("the sink takes no bytes at present")
        rest = rest[taken:]
    return len(data)


def seal_stream(
    source: BinaryIO,
    sink: BinaryIO,
    *,
    sender: Identity,
    recipients: Recipients | Iterable[PublicIdentity | str],
    context: bytes | str,
    time: datetime | None = None,
    suite: Literal["hybrid", "x25519"] = "hybrid",
    hide_count: bool = False,
) -> int:
    """Seals all that `source` has into `sink`. Returns the length of the envelope.

    After an exception what is in `sink` does not open.
    """
    stream = SealStream(
        sender=sender,
        recipients=recipients,
        context=context,
        time=time,
        suite=suite,
        hide_count=hide_count,
    )
    length = 0
    while piece := _read(source):
        length += _write(sink, stream.push(piece))
    return length + _write(sink, stream.finish())


class OpenReader(io.RawIOBase):
    """The content of an envelope, as a file to read. `open_stream` makes it.

    Each byte is authentic when it is read. The content is complete when `read` has returned `b""`:
    an envelope that was cut short raises an error there, and what was read before is a beginning.
    """

    def __init__(self, source: BinaryIO, stream: OpenStream) -> None:
        self._source = source
        self._stream: OpenStream | None = stream
        self._opened = stream
        self._pending = memoryview(b"")
        self._error: EndsealError | None = None

    def readable(self) -> bool:
        return not self.closed

    def readinto(self, buffer: Buffer, /) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        self._fill()
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._pending))
        target[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def close(self) -> None:
        self._pending = memoryview(b"")
        super().close()

    @property
    def sender(self) -> PublicIdentity:
        """Who sealed and signed it. Reads as far as that is known."""
        self._fill()
        assert self._opened.sender is not None
        return self._opened.sender

    @property
    def message_id(self) -> bytes:
        """Random name of the message. Reads as far as that is known."""
        self._fill()
        assert self._opened.message_id is not None
        return self._opened.message_id

    @property
    def time(self) -> datetime | None:
        """The sender's claim of the time. Reads as far as that is known."""
        self._fill()
        return self._opened.time

    @property
    def suite(self) -> str:
        """Name of the suite. Reads as far as that is known."""
        self._fill()
        assert self._opened.suite is not None
        return self._opened.suite

    def _fill(self) -> None:
        """Reads until there is content, or the end."""
        if self._error is not None:
            raise self._error
        while not self._pending and self._stream is not None:
            piece = _read(self._source)
            try:
                if piece:
                    self._pending = memoryview(self._stream.feed(piece))
                else:
                    self._pending = memoryview(self._stream.finish())
                    self._stream = None
            except EndsealError as error:
                # Every later call fails, too: none looks like an end.
                self._error = error
                raise


def open_stream(
    source: BinaryIO,
    *,
    identity: Identity,
    context: bytes | str,
    senders: Iterable[PublicIdentity | str] | None = None,
    max_age: timedelta | None = None,
    require_post_quantum: bool = False,
) -> OpenReader:
    """Opens an envelope that is read from `source`, in blocks of 4 MiB."""
    stream = OpenStream(
        identity=identity,
        context=context,
        senders=senders,
        max_age=max_age,
        require_post_quantum=require_post_quantum,
    )
    return OpenReader(source, stream)
