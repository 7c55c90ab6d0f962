"""Nostr: keys, encrypted texts, private messages and remote signers.

Public keys are `npub1…` or hexadecimal digits, and are returned as digits. Events are dictionaries.
"""

from .._errors import EndsealError
from .._native import NostrKey, public_key, verify_event
from ._remote import Answer, RemoteSigner, Request
from ._types import Event, Rumor

__all__ = [
    "Answer",
    "EndsealError",
    "Event",
    "NostrKey",
    "RemoteSigner",
    "Request",
    "Rumor",
    "public_key",
    "verify_event",
]
