"""Results, as docs/spec/node-api.md has them. A later node may add members."""

from __future__ import annotations

from typing import Any, Optional, TypedDict


class Confirmed(TypedDict):
    by: int
    of: int


# `from` and `class` are no names in the body of a class.
Text = TypedDict(
    "Text",
    {
        "number": int,
        "conversation": str,
        "from": str,
        "device": int,
        "is_sent": bool,
        "time": Optional[int],
        "text": Optional[str],
        "is_muted": bool,
        "delivery": Optional[str],
        "confirmed": Optional[Confirmed],
    },
)
Text.__doc__ = """A text of the inbox, of the history or of a request. `text` is None if it cannot
be shown. `text` and `time` are the author's words, `from` is authenticated."""


class Version(TypedDict):
    api: int
    program: str


class Membership(TypedDict):
    hub: str
    addresses: str
    sequence: int
    time: int


class Status(TypedDict):
    identity: str
    device: int
    membership: Membership | None
    moves_to: str | None
    is_restored: bool
    unread: int
    requests: int
    unsent: int
    frames: int
    undelivered: int
    parked: int
    problems: int
    connected: bool
    cause: str | None


class Said(TypedDict):
    """Texts that the node has stored: not that they were sent. `delivery` in the history says how
    far they have come."""

    texts: int
    numbers: list[int]


class Unsent(TypedDict):
    number: int
    conversation: str
    can_unsend: bool


class PersonRules(TypedDict):
    person: str
    blocked: int | None
    dropped: int
    is_muted: bool
    is_verified: bool
    requests: int


class Team(TypedDict):
    team: str
    name: str
    epoch: int
    owner: str
    members: int
    is_member: bool


class Member(TypedDict):
    number: int
    person: str
    name: str
    is_admin: bool


class Departure(TypedDict):
    team: str
    person: str
    is_pending: bool


class Device(TypedDict):
    identity: str
    device: int


Problem = TypedDict(
    "Problem",
    {
        "number": int,
        "time": int,
        "position": int,
        "peer": str,
        "device": Optional[Device],
        "class": str,
    },
)


class DeviceChange(TypedDict):
    number: int
    time: int
    person: str
    device: int
    name: str | None
    is_new: bool
    is_seen: bool


class DeviceName(TypedDict):
    device: int
    name: str


class Devices(TypedDict):
    numbers: list[int]
    changes: list[DeviceChange]
    names: list[DeviceName]


class Backup(TypedDict):
    file: str
    texts: int


class Report(TypedDict):
    """Result of `sync`. Lists whose elements are `Any` are described in the specification."""

    received: int
    parked: int
    encrypted: int
    returned: int
    sent: int
    receipts: int
    problems: int
    gaps: list[Any]
    skipped: list[Any]
    mailbox_full: bool
    hub_forgot: int | None
    hub_moves: list[Any]
    clock_behind: int
    record_conflict: bool
    device_changes: list[DeviceChange]
    teams: list[Any]
    left: list[Any]
    replaced: list[Any]
    departures: list[Departure]
    team_changes: list[Any]
    requests: list[Any]
    no_room: list[Any]
    blocked: list[Any]
