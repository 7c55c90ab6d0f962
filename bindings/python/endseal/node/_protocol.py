"""Lines of docs/spec/node-api.md, without a socket."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._errors import NodeError

API = 1
# Length of a line in bytes, with its end.
MAX_LINE = 8 << 20
# Rows of a page of the history.
ROWS = 256
# Longest timeout of a socket in seconds: 24 days.
MAX_TIMEOUT = 2**31 / 1000 - 1
# Seconds between two attempts to reach a node that is away.
PAUSE = 0.25
# Errors after which nothing was done, and that end by themselves.
AWAY = frozenset({"not_running", "busy", "stopping"})
# Requests that have the same effect and result if they are done twice, or say that they were done.
REPEATABLE = frozenset(
    {
        "version",
        "status",
        "answer",
        "unread",
        "mark_read",
        "history",
        "unsent",
        "requests",
        "accept",
        "mute",
        "verify",
        "persons",
        "teams",
        "members",
        "departures",
        "problems",
        "forget_problems",
        "devices",
        "name_device",
        "device_changes",
        "mark_changes_seen",
        "follow",
    }
)


def socket_path(home: str | os.PathLike[str] | None) -> str:
    """The socket of a state directory: of the given one, or of that which the program uses."""
    if home is None:
        home = os.environ.get("ENDSEAL_HOME") or None
    if home is None:
        data = os.environ.get("XDG_DATA_HOME", "")
        base = Path(data) if os.path.isabs(data) else Path.home() / ".local/share"
        home = base / "endseal"
    return str(Path(home) / "node.sock")


def times_of(wait: float, timeout: float) -> tuple[float, float | None]:
    """The times of a client in seconds. A timeout above the longest of a socket is none."""
    if not wait >= 0 or not timeout > 0:
        raise ValueError("wait is a number from 0, and timeout one above 0")
    return wait, timeout if timeout < MAX_TIMEOUT else None


def texts_of(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def request_line(id: int, method: str, params: dict[str, Any]) -> bytes:
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    line = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise NodeError("line_too_long", f"the request has more than {MAX_LINE} bytes")
    return line


def result_of(line: bytes, id: int) -> Any:
    """The result in a line, or the error in it as an exception."""
    answer = object_of(line)
    if "error" in answer:
        # The node has no id of a request that it could not read.
        raise error_of(answer["error"])
    if answer.get("id") != id or "result" not in answer:
        raise unexpected("a line is no answer to the request")
    return answer["result"]


def followed(line: bytes) -> list[Any]:
    """The texts in a notification, or the error that ends the subscription."""
    notification = object_of(line)
    if "error" in notification:
        raise error_of(notification["error"])
    params = notification.get("params")
    if notification.get("method") == "ended":
        raise error_of(params)
    if notification.get("method") != "unread" or not isinstance(params, dict):
        raise unexpected("a line is no notification of texts")
    return rows_of(params)


def check_version(result: Any) -> None:
    api = result.get("api") if isinstance(result, dict) else None
    if api != API:
        raise NodeError("version", f"the node has version {api} of its interface, not {API}")


def rows_of(page: Any) -> list[Any]:
    rows = page.get("rows") if isinstance(page, dict) else None
    if not isinstance(rows, list):
        raise unexpected("a page has no rows")
    return rows


def whole(line: bytes) -> bytes:
    """Refuses the beginning of a line: too long, or cut by the end of the connection."""
    if line.endswith(b"\n") and len(line) <= MAX_LINE:
        return line
    if len(line) >= MAX_LINE:
        raise too_long()
    raise connection_lost()


def may_repeat(error: NodeError, method: str) -> bool:
    """True if another attempt has no other effect than one."""
    return error.code in AWAY or (error.code == "connection_lost" and method in REPEATABLE)


def too_long() -> NodeError:
    return unexpected(f"a line has more than {MAX_LINE} bytes")


def connection_lost() -> NodeError:
    return NodeError("connection_lost", "the connection to the node ended before its answer")


def timed_out(seconds: float) -> NodeError:
    return NodeError("timed_out", f"the node gave no answer in {seconds:g} s")


@contextmanager
def nothing_sent(path: str) -> Iterator[None]:
    """A connection that breaks here does not leave open whether a request was done."""
    try:
        yield
    except NodeError as error:
        if error.code == "connection_lost":
            raise NodeError("not_running", f"the node at '{path}' has ended") from None
        raise


def not_reached(error: OSError, path: str) -> NodeError:
    # A path that is too long for a socket raises an OSError without a number.
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)) or error.errno is None:
        message = f"no node runs at '{path}': start it with endseal up"
        return NodeError("not_running", message)
    return NodeError("socket", f"the socket '{path}' cannot be used: {error.strerror}")


def unexpected(message: str) -> NodeError:
    return NodeError("unexpected", f"{message}; the node may be another version")


def object_of(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        # Their messages repeat what was received.
        raise unexpected("a line is not JSON") from None
    if not isinstance(value, dict):
        raise unexpected("a line has no object")
    return value


def error_of(error: Any) -> NodeError:
    data = error.get("data") if isinstance(error, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return unexpected("an error has no kind")
    rest = {name: value for name, value in data.items() if name != "kind"}
    message = str(error.get("message"))
    if data["kind"] == "unknown_method":
        message += ": the node may be an older program than this package"
    return NodeError(data["kind"], message, rest)
