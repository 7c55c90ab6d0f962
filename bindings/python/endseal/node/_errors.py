"""The exception of calls to a node."""

from __future__ import annotations

from typing import Any

from .._errors import EndsealError


_REFUSALS = frozenset(
    {
        "line_too_long",
        "invalid_params",
        "too_long",
        "own",
        "blocked",
        "not_member",
        "owner",
        "no_group",
        "unknown_text",
        "encrypted",
        "left",
    }
)


class NodeError(EndsealError):
    """A call to a node failed. `code` is the kind of the error in docs/spec/node-api.md, as
    `not_member`, and `data` has the further members of that kind. Codes of this client are:

    * `not_running`: no node runs with this state directory; nothing was done.
    * `socket`: the socket cannot be used, as that of another user; nothing was done.
    * `version`: the node has another version of the interface; nothing was done.
    * `line_too_long`: the request has more than 8 MiB; nothing was done.
    * `connection_lost`: the connection ended before the result; the request may have been done.
    * `timed_out`: there was no result in time; the request may still be done.
    * `unexpected`: the node sent what the interface does not have; the request may have been done.
    """

    @property
    def is_refusal(self) -> bool:
        """True if the node refused these parameters, and would refuse them again. An older node
        that does not know the method does not refuse them."""
        return self.code in _REFUSALS

    def __init__(self, code: str, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(code, message)
        self.data = data or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self), self.data)
