from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, final

from typing_extensions import Buffer, Self

from ._errors import EndsealError
from .nostr._types import Event, Rumor

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
class Member:
    """One member of a group. The name is of the group's owner or an admin."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> PublicIdentity: ...
    @property
    def is_admin(self) -> bool: ...

@final
class Roster:
    """The members of a group in one epoch, signed by its owner or an admin."""

    @staticmethod
    def read(file: Buffer | str, *, owner: PublicIdentity | str) -> Roster:
        """Reads the first roster of a group that you hold, and verifies it. Everyone can sign a
        roster of any name: `owner` is the group's, whom you know from elsewhere."""
    def read_next(self, file: Buffer | str, *, allow_gap: bool = False) -> Roster:
        """Reads the roster of the epoch after this one. Keep the newest, and read later ones from
        it: nothing else notices an old one. With `allow_gap` epochs may be missing between."""
    @property
    def group(self) -> str: ...
    @property
    def id(self) -> str:
        """Name of the group that never changes, in hexadecimal digits."""
    @property
    def epoch(self) -> int: ...
    @property
    def digest(self) -> str:
        """Digest of the roster, in hexadecimal digits, which members can compare."""
    @property
    def previous(self) -> str | None: ...
    @property
    def owner(self) -> PublicIdentity: ...
    @property
    def signing_owner(self) -> PublicIdentity:
        """The owner who vouches for it: the former one in the epoch in which the group was handed
        on."""
    @property
    def signer(self) -> PublicIdentity:
        """Who signed it: the signing owner, or an admin."""
    @property
    def members(self) -> tuple[Member, ...]:
        """The members in the order of their names."""
    def recipients(self) -> Recipients:
        """All members, to seal to."""
    def __bytes__(self) -> bytes: ...

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
        """Length of the content in bytes, as if nothing was cut off; `None` if an envelope of any
        content has another length."""

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

@final
class NostrKey:
    """A secret key of Nostr, wiped by `close`, at the end of `with`, or when no one holds it. It
    cannot be read, copied or pickled. Public keys are `npub1…` or hexadecimal digits."""

    @staticmethod
    def generate() -> NostrKey:
        """Makes a new key."""
    @staticmethod
    def unlock(ncryptsec: str, passphrase: str, *, max_log_n: int = 18) -> NostrKey:
        """Opens an `ncryptsec1…` (NIP-49). Its cost is in it: above `max_log_n`, in 2^n KiB, the code
        is `limit`."""
    def lock(self, passphrase: str, *, log_n: int = 16) -> str:
        """Returns an `ncryptsec1…`. The cost is 16 (64 MiB) to 22."""
    @property
    def public_key(self) -> str:
        """The public key in hexadecimal digits."""
    def encrypt(self, peer: str, text: str) -> str:
        """Encrypts a text (NIP-44, version 2)."""
    def decrypt(self, peer: str, payload: str) -> str:
        """Decrypts a text. Nothing says which of both keys encrypted it: verify the event around it."""
    def sign(self, template: Mapping[str, object] | str) -> Event:
        """Signs an event. `created_at` is the present unless it is there."""
    def wrap(
        self,
        message: Mapping[str, object] | str,
        recipients: Iterable[str],
        *,
        ephemeral: bool = False,
        expires_after: timedelta | None = None,
    ) -> tuple[Rumor, dict[str, Event]]:
        """Wraps a private message (NIP-17): a text, or an event of another kind than 14. Returns it
        as an unsigned event, which you keep, and the wrap for each receiver, of which the last are
        you. Relays pass an `ephemeral` one on and forget it; they may delete it after
        `expires_after`, and up to two days more."""
    def unwrap(self, event: Mapping[str, object] | str) -> tuple[Rumor, int | None, bool]:
        """Opens a wrap. Returns the message, which its `pubkey` has signed, the time in seconds
        since 1970 after which it should not be shown, and whether it was ephemeral. Kind and tags
        are yours to judge. Remember `id` to notice one that comes again."""
    def close(self) -> None:
        """Wipes the key, as soon as no call uses it. Every later call fails."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def _request(self, signer: str, request: str, at: int, /) -> str: ...
    def _response(self, signer: str, event: str, /) -> tuple[str, str, str]: ...
    def _invitation(
        self, relays: list[str], permissions: str, name: str | None, /
    ) -> tuple[str, str]: ...
    def _accepted(self, event: str, secret: str, /) -> str: ...

def public_key(text: str) -> str:
    """Returns the hexadecimal digits of `npub1…` or of such digits."""

def verify_event(event: Mapping[str, object] | str) -> None:
    """Checks id and signature: the codes are `event` and `authentication`."""

def _bunker(uri: str, /) -> tuple[str, list[str], str | None]: ...

@final
class Ring:
    """The keys of a key ring of the S3 proxy, wiped by `close`, at the end of `with`, or when no one
    holds them. They cannot be read, copied or pickled."""

    @staticmethod
    def unlock(file: str | Buffer, passphrase: str = "") -> Ring:
        """Opens the content of a ring's file. The empty passphrase is for files that were made without
        one. The work that the file asks for is bounded."""
    @property
    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys, of which the last one wraps."""
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
    def _object(
        self, length: int, end: Buffer, place: tuple[str, str, str | None, bool], /
    ) -> Object: ...

@final
class Object:
    @property
    def content_length(self) -> int: ...
    @property
    def tail_length(self) -> int: ...
    def open(self, tail: Buffer) -> Opener: ...

@final
class Opener:
    @property
    def sealed(self) -> tuple[int, int]: ...
    def feed(self, sealed: Buffer) -> bytes: ...
    def finish(self) -> bytes: ...
