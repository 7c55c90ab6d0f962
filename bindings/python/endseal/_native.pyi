from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, final

from typing_extensions import Buffer, Self

from ._errors import EndsealError

@final
class Identity:
    """A person's secret keys, wiped by `close`, at the end of `with`, or when no one holds them.
    They cannot be read, copied or pickled."""

    @staticmethod
    def generate() -> Identity:
        """Makes a new identity."""
    @staticmethod
    def unlock(file: str | Buffer, passphrase: str = "") -> Identity:
        """Opens the content of an identity file, which takes about 0.2 s and 64 MiB. The empty
        passphrase is for files that were made without one."""
    def lock(self, passphrase: str) -> str:
        """Returns an identity file. Write it where only its owner reads, over no other one."""
    @property
    def public(self) -> PublicIdentity: ...
    def close(self) -> None:
        """Wipes the keys, as soon as no call uses them. Every later call fails."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class PublicIdentity:
    """A person's public keys: `endseal1…`, or `endsealpq1…` with the post-quantum key. Two are equal
    if they are of the same person, also if one of them is the short form."""

    def __new__(cls, text: str) -> Self: ...
    @property
    def is_post_quantum(self) -> bool: ...
    @property
    def short(self) -> PublicIdentity:
        """The form without the post-quantum key, which names a person."""
    @property
    def key(self) -> bytes:
        """The Ed25519 key (32 bytes)."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Recipients:
    """Whom content is sealed to, prepared once for any number of envelopes."""

    def __new__(cls, of: Iterable[PublicIdentity | str]) -> Self: ...
    @property
    def is_post_quantum(self) -> bool:
        """True if all have a post-quantum key."""
    def __len__(self) -> int: ...

@final
class Opened:
    """An envelope that was opened. All of it is authentic."""

    @property
    def content(self) -> bytes: ...
    @property
    def sender(self) -> PublicIdentity:
        """Who sealed and signed it, in the short form."""
    @property
    def message_id(self) -> bytes:
        """16 random bytes: who remembers them notices a message that comes again."""
    @property
    def time(self) -> datetime | None:
        """The sender's claim of the time."""
    @property
    def suite(self) -> str: ...

@final
class Inspected:
    """What everyone sees of an envelope. Nothing of it is authentic."""

    @property
    def suite(self) -> str: ...
    @property
    def slots(self) -> int:
        """Number of recipients, or more if it is hidden."""
    @property
    def content_length(self) -> int | None:
        """Length of the content in bytes; `None` if the envelope was cut short."""

def seal(
    content: Buffer,
    *,
    sender: Identity,
    recipients: Recipients | Iterable[PublicIdentity | str],
    context: Buffer | str,
    time: datetime | None = None,
    suite: Literal["hybrid", "x25519"] = "hybrid",
    hide_count: bool = False,
) -> bytes:
    """Seals content. `context` names the application and its protocol; both sides give the same.
    A recipient without a post-quantum key is an error, unless the suite is `x25519`."""

def open(
    envelope: Buffer,
    *,
    identity: Identity,
    context: Buffer | str,
    senders: Iterable[PublicIdentity | str] | None = None,
    max_age: timedelta | None = None,
    require_post_quantum: bool = False,
) -> Opened:
    """Opens an envelope. Without `senders` it may come from anyone: look at `Opened.sender`."""

def open_many(
    envelopes: Sequence[Buffer],
    *,
    identity: Identity,
    context: Buffer | str,
    senders: Iterable[PublicIdentity | str] | None = None,
    max_age: timedelta | None = None,
    require_post_quantum: bool = False,
) -> list[Opened | EndsealError]:
    """Opens many envelopes in less time than one after the other. Those that do not open are exceptions in the
    list, which are not raised."""

def inspect(envelope: Buffer) -> Inspected: ...

@final
class SealStream:
    def __new__(
        cls,
        *,
        sender: Identity,
        recipients: Recipients | Iterable[PublicIdentity | str],
        context: Buffer | str,
        time: datetime | None = None,
        suite: Literal["hybrid", "x25519"] = "hybrid",
        hide_count: bool = False,
    ) -> Self: ...
    def push(self, content: Buffer, /) -> bytes: ...
    def finish(self) -> bytes: ...

@final
class OpenStream:
    def __new__(
        cls,
        *,
        identity: Identity,
        context: Buffer | str,
        senders: Iterable[PublicIdentity | str] | None = None,
        max_age: timedelta | None = None,
        require_post_quantum: bool = False,
    ) -> Self: ...
    def feed(self, envelope: Buffer, /) -> bytes: ...
    def finish(self) -> bytes: ...
    @property
    def sender(self) -> PublicIdentity | None: ...
    @property
    def message_id(self) -> bytes | None: ...
    @property
    def time(self) -> datetime | None: ...
    @property
    def suite(self) -> str | None: ...
