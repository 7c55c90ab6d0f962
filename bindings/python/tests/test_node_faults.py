"""Nodes that break off, stop or answer what the interface does not have, at the other end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from endseal import EndsealError
from endseal.node import AsyncNode, Node, NodeError

VERSION = b'{"jsonrpc":"2.0","id":0,"result":{"api":1,"program":"endseal 9"}}\n'
DONE = b'{"jsonrpc":"2.0","id":1,"result":{"texts":1,"numbers":[7]}}\n'
FOLLOWS = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
STOPPING = '{"code":-32000,"message":"the process is stopping","data":{"kind":"stopping"}}'
ENDED = b'{"jsonrpc":"2.0","method":"ended","params":' + STOPPING.encode() + b"}\n"
REFUSED = ENDED.replace(b'{"kind":"stopping"}', b'{"kind":"hub","is_transient":false}')
Answer = Callable[[dict[str, Any]], bytes]


def text(number: int) -> bytes:
    params = {"rows": [{"number": number, "text": f"text {number}"}], "next": number}
    return json.dumps({"jsonrpc": "2.0", "method": "unread", "params": params}).encode() + b"\n"


class Peer:
    """Whatever listens at the socket. Each connection gets the answers of its turn to the requests
    after `version`, and is closed then; a connection beyond them is refused."""

    def __init__(self, home: Path, turns: list[list[bytes]], version: bytes = VERSION) -> None:
        self.path = str(home / "node.sock")
        self.requests: list[dict[str, Any]] = []
        self.turns, self.version = turns, version
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        for answers in self.turns:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as lines:
                lines.readline()
                connection.sendall(self.version)
                for answer in answers:
                    line = lines.readline()
                    if not line:
                        break
                    self.requests.append(json.loads(line))
                    try:
                        connection.sendall(answer)
                    except OSError:
                        break
        self.listener.close()
        os.unlink(self.path)

    def methods(self) -> list[str]:
        self.thread.join(30)
        assert not self.thread.is_alive(), "a turn was not used"
        return [request["method"] for request in self.requests]


class Caller:
    """Both clients behind one face."""

    def __init__(self, is_async: bool, home: Path, **options: float) -> None:
        self.is_async = is_async
        self.node = Node(home, **options)
        self.other = AsyncNode(home, **options)

    def call(self, method: str, *arguments: Any) -> Any:
        if self.is_async:
            return asyncio.run(getattr(self.other, method)(*arguments))
        return getattr(self.node, method)(*arguments)

    def follow(self, numbers: list[int], most: int = 1 << 30) -> None:
        """Adds the numbers of texts as they come."""
        if not self.is_async:
            for text in self.node.follow():
                numbers.append(text["number"])
                if len(numbers) == most:
                    return
            return

        async def run() -> None:
            async for text in self.other.follow():
                numbers.append(text["number"])
                if len(numbers) == most:
                    return

        asyncio.run(run())


@pytest.fixture(params=[False, True], ids=["Node", "AsyncNode"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def code(call: Callable[[], object]) -> str:
    with pytest.raises(NodeError) as raised:
        call()
    assert isinstance(raised.value, EndsealError)
    return raised.value.code


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", "connection_lost"),
        (DONE[:-1], "connection_lost"),
        (DONE[:20], "connection_lost"),
        (DONE.replace(b'"id":1', b'"id":2'), "unexpected"),
        (b"[]\n", "unexpected"),
        (b"[" * 100_000 + b"\n", "unexpected"),
        (b"{\xff}\n", "unexpected"),
        (b'{"jsonrpc":"2.0","id":1}\n', "unexpected"),
        (b'{"jsonrpc":"2.0","id":1,"error":"no"}\n', "unexpected"),
        (b'{"id":1,"error":{"code":1,"message":"new","data":{"kind":"new","x":1}}}\n', "new"),
        (b'{"id":null,"error":{"code":1,"message":"b","data":{"kind":"busy"}}}\n', "busy"),
        (b"x" * (8 << 20), "unexpected"),
    ],
    ids=str,
)
def test_an_answer_that_is_none_raises(
    home: Path, is_async: bool, answer: bytes, expected: str
) -> None:
    peer = Peer(home, [[answer]])
    caller = Caller(is_async, home)
    assert code(lambda: caller.call("say", "endseal1", "text")) == expected
    assert peer.methods() == ["say"]


def test_no_node_and_another_version_are_clear(home: Path, is_async: bool) -> None:
    caller = Caller(is_async, home)
    assert code(lambda: caller.call("status")) == "not_running"
    assert code(lambda: caller.follow([])) == "not_running"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home / "node.sock"))
    # What a node leaves that was killed.
    assert code(lambda: caller.call("status")) == "not_running"
    listener.close()
    os.unlink(home / "node.sock")
    (home / "node.sock").write_text("no socket")
    assert code(lambda: caller.call("status")) in ("not_running", "socket")
    os.unlink(home / "node.sock")
    long = Caller(is_async, home / ("x" * 120))
    assert code(lambda: long.call("status")) == "not_running"
    peer = Peer(home, [[DONE]], VERSION.replace(b'"api":1', b'"api":2'))
    assert code(lambda: caller.call("say", "endseal1", "text")) == "version"
    assert peer.methods() == []
    peer = Peer(home, [[]], b"")
    assert code(lambda: caller.call("say", "endseal1", "text")) == "not_running"
    assert peer.methods() == []


def test_a_silent_node_times_out(home: Path, is_async: bool) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "node.sock"))
        listener.listen()
        caller = Caller(is_async, home, timeout=0.3)
        begin = time.monotonic()
        assert code(lambda: caller.call("status")) == "timed_out"
        assert time.monotonic() - begin < 5


def test_a_node_that_answers_byte_by_byte_times_out(home: Path, is_async: bool) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "node.sock"))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    for byte in VERSION[:-1]:
                        connection.sendall(bytes([byte]))
                        time.sleep(0.1)
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        caller = Caller(is_async, home, timeout=0.5)
        begin = time.monotonic()
        assert code(lambda: caller.call("status")) == "timed_out"
        assert time.monotonic() - begin < 3
        thread.join()


def test_a_busy_node_says_so_though_it_reads_nothing(home: Path, is_async: bool) -> None:
    error = b'"error":{"code":-32000,"message":"busy","data":{"kind":"busy"}}'
    refusal = b'{"jsonrpc":"2.0","id":null,' + error + b"}\n"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "node.sock"))
        listener.listen()

        def serve() -> None:
            for greeting in (b"", VERSION):
                connection, _ = listener.accept()
                with connection:
                    if greeting:
                        connection.recv(1 << 16)
                    connection.sendall(greeting + refusal)

        serving = threading.Thread(target=serve)
        serving.start()
        for _ in range(2):
            caller = Caller(is_async, home)
            assert code(lambda: caller.call("say", "endseal1", "x" * 1_000_000)) == "busy"
        serving.join()


def test_times_have_their_limits(home: Path, is_async: bool) -> None:
    for options in ({"timeout": 0}, {"timeout": float("nan")}, {"wait": -1}):
        with pytest.raises(ValueError):
            Caller(is_async, home, **options)
    peer = Peer(home, [[DONE]])
    caller = Caller(is_async, home, timeout=float("inf"))
    assert caller.call("say", "endseal1", "text")["numbers"] == [7]
    peer.methods()


def test_only_what_may_be_repeated_is_repeated(home: Path, is_async: bool) -> None:
    caller = Caller(is_async, home, wait=20)
    peer = Peer(home, [[DONE[:20]]])
    assert code(lambda: caller.call("say", "endseal1", "text")) == "connection_lost"
    assert peer.methods() == ["say"]
    stopping = b'{"jsonrpc":"2.0","id":1,"error":' + STOPPING.encode() + b"}\n"
    for method, arguments, lost in (
        ("say", ("endseal1", "text"), stopping),
        ("answer", (3, "text"), DONE[:20]),
        ("answer", (3, "text"), b""),
    ):
        peer = Peer(home, [[lost], [DONE]])
        assert caller.call(method, *arguments) == {"texts": 1, "numbers": [7]}
        assert peer.methods() == [method] * 2
        assert peer.requests[0] == peer.requests[1]


def test_follow_goes_on_or_raises(home: Path, is_async: bool) -> None:
    for end in (ENDED, text(2)[:20], b""):
        numbers: list[int] = []
        peer = Peer(home, [[FOLLOWS + text(1) + end]])
        caller = Caller(is_async, home)
        expected = "stopping" if end == ENDED else "connection_lost"
        assert code(lambda: caller.follow(numbers)) == expected
        assert (numbers, peer.methods()) == ([1], ["follow"])

        # Text 1 was not marked as read: the node sends it again.
        numbers = []
        peer = Peer(home, [[FOLLOWS + text(1) + end], [FOLLOWS + text(1) + text(2)]])
        caller = Caller(is_async, home, wait=20)
        caller.follow(numbers, 3)
        assert (numbers, peer.methods()) == ([1, 1, 2], ["follow"] * 2)
        assert all(request["params"] == {"after": 0} for request in peer.requests)

    # A hub that refuses the device.
    peer = Peer(home, [[FOLLOWS + text(1) + REFUSED]])
    caller = Caller(is_async, home, wait=20)
    numbers = []
    assert code(lambda: caller.follow(numbers)) == "hub"
    assert (numbers, peer.methods()) == ([1], ["follow"])

    # A node that does not come back, after a time without texts that is longer than `wait`.
    peer = Peer(home, [[FOLLOWS + text(1)]])
    caller = Caller(is_async, home, wait=0.5)
    begin = time.monotonic()
    assert code(lambda: caller.follow([])) == "not_running"
    assert 0.4 < time.monotonic() - begin < 10

    for line in (b'{"method":"other","params":{"rows":[]}}\n', b"{}\n", DONE, b"x" * (8 << 20)):
        peer = Peer(home, [[FOLLOWS + text(1) + line]])
        assert code(lambda: caller.follow([])) == "unexpected"
        peer.methods()


def test_pages_are_read_to_their_end(home: Path) -> None:
    def page(numbers: list[int], next: int | None) -> bytes:
        result = {"rows": [{"number": number} for number in numbers], "next": next}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"

    pages = [page([1, 2], 2), page([], 300), page([301], None)]
    peer = Peer(home, [[it] for it in pages])
    assert [row["number"] for row in Node(home).history("endseal1")] == [1, 2, 301]
    peer.methods()
    assert [request["params"]["after"] for request in peer.requests] == [0, 2, 300]

    peer = Peer(home, [[it] for it in pages])

    async def numbers() -> list[int]:
        return [row["number"] async for row in AsyncNode(home).unread()]

    assert asyncio.run(numbers()) == [1, 2, 301]
    peer.methods()
