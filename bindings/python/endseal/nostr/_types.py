"""Events as dictionaries."""

from __future__ import annotations

from typing import TypedDict


class Rumor(TypedDict):
    """An unsigned event, as private messages are."""

    id: str
    pubkey: str
    created_at: int
    kind: int
    tags: list[list[str]]
    content: str


class Event(Rumor):
    """A signed event. Its members are claims until it was verified."""

    sig: str
