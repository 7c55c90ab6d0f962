"""Exceptions, each with a stable code."""

from __future__ import annotations

from typing import Any


class EndsealError(Exception):
    """A call failed. `code` is a stable name of the reason; the text may change."""

    code: str

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self))


class AuthenticationError(EndsealError):
    """Sealed to someone else, under another context, or changed (`authentication`); or an identity
    file or a key does not open (`passphrase`). Of a private message also `author`: it names another
    author than the one who signed it. Of a roster `signature`."""


class FormatError(EndsealError):
    """No envelope (`header`), one beyond the limits (`limit`), or of a later version (`version`). Of
    Nostr also `length`, `encoding`, `event`, `kind`, `wrap`, `seal` and `rumor`, of rosters `form`,
    `identity`, `order` and `duplicate`, of objects of a bucket `plaintext`."""


class RefusedError(EndsealError):
    """Authentic or not, but not what was asked for: `suite`, `sender`, `too-old`, `too-new` or
    `replayed`; or a remote signer has `refused`. Of rosters `owner`, `group`, `admin`, `rollback`,
    `same`, `gap`, and `fork`, which is to be reported to people. Of objects of a bucket `moved` and
    `unknown-key`."""


class ArgumentError(EndsealError, ValueError):
    """A fault of the caller (`argument`)."""


_CLASSES: dict[str, type[EndsealError]] = {
    "authentication": AuthenticationError,
    "passphrase": AuthenticationError,
    "header": FormatError,
    "limit": FormatError,
    "version": FormatError,
    "author": AuthenticationError,
    "length": FormatError,
    "encoding": FormatError,
    "event": FormatError,
    "kind": FormatError,
    "wrap": FormatError,
    "seal": FormatError,
    "rumor": FormatError,
    "refused": RefusedError,
    "plaintext": FormatError,
    "moved": RefusedError,
    "unknown-key": RefusedError,
    "form": FormatError,
    "identity": FormatError,
    "order": FormatError,
    "duplicate": FormatError,
    "signature": AuthenticationError,
    "owner": RefusedError,
    "group": RefusedError,
    "admin": RefusedError,
    "rollback": RefusedError,
    "same": RefusedError,
    "gap": RefusedError,
    "fork": RefusedError,
    "suite": RefusedError,
    "sender": RefusedError,
    "too-old": RefusedError,
    "too-new": RefusedError,
    "replayed": RefusedError,
    "argument": ArgumentError,
}


def of(code: str, message: str) -> EndsealError:
    """The exception of a code. The native part calls this."""
    return _CLASSES.get(code, EndsealError)(code, message)
