"""End-to-end encryption of messages and files to any number of recipients.

    alice, bob = Identity.generate(), Identity.generate()
    envelope = seal(b"at noon", sender=alice, recipients=[bob.public], context="example.org/chat")
    opened = open(envelope, identity=bob, context="example.org/chat", senders=[alice.public])
    assert opened.content == b"at noon"
"""

from ._errors import (
    ArgumentError,
    AuthenticationError,
    EndsealError,
    FormatError,
    RefusedError,
)
from ._native import (
    Identity,
    Inspected,
    Member,
    Opened,
    PublicIdentity,
    Recipients,
    Roster,
    inspect,
    open,
    open_many,
    seal,
)
from ._streams import OpenReader, open_stream, seal_stream

__all__ = [
    "ArgumentError",
    "AuthenticationError",
    "EndsealError",
    "FormatError",
    "Identity",
    "Inspected",
    "Member",
    "OpenReader",
    "Opened",
    "PublicIdentity",
    "Recipients",
    "RefusedError",
    "Roster",
    "inspect",
    "open",
    "open_many",
    "open_stream",
    "seal",
    "seal_stream",
]
