"""Client of a running node: texts to and from people, for programs of the same user.

    node = Node(wait=60)
    for text in node.follow():
        node.answer(text["number"], f"you wrote: {text['text']}")

The node is the program `endseal up`. The methods and members have the names of
docs/spec/node-api.md, which says what each of them means. `Node` blocks, `AsyncNode` is for
asyncio.
"""

from ._async import AsyncNode
from ._errors import NodeError
from ._node import Node
from ._rows import (
    Backup,
    Departure,
    Device,
    DeviceChange,
    DeviceName,
    Devices,
    Member,
    Membership,
    PersonRules,
    Problem,
    Report,
    Said,
    Status,
    Team,
    Text,
    Unsent,
    Version,
)

__all__ = [
    "AsyncNode",
    "Backup",
    "Departure",
    "Device",
    "DeviceChange",
    "DeviceName",
    "Devices",
    "Member",
    "Membership",
    "Node",
    "NodeError",
    "PersonRules",
    "Problem",
    "Report",
    "Said",
    "Status",
    "Team",
    "Text",
    "Unsent",
    "Version",
]
