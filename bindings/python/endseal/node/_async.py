"""The client for asyncio. Its methods are those of `Node`."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import Any, TypeVar, cast

from ._errors import NodeError
from ._protocol import (
    MAX_LINE,
    PAUSE,
    ROWS,
    check_version,
    connection_lost,
    followed,
    may_repeat,
    not_reached,
    nothing_sent,
    request_line,
    result_of,
    rows_of,
    socket_path,
    texts_of,
    timed_out,
    times_of,
    too_long,
    whole,
)
from ._rows import (
    Backup,
    Departure,
    DeviceChange,
    Devices,
    Member,
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

T = TypeVar("T")
# Bytes that are received at once.
PART = 1 << 16


class AsyncNode:
    """A node that runs on this machine, for this user, as `Node`. A call that is cancelled may have
    been done."""

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        wait: float = 0,
        timeout: float = 120,
    ) -> None:
        self._path = socket_path(home)
        self._wait, self._timeout = times_of(wait, timeout)

    async def call(self, method: str, **params: Any) -> Any:
        """Sends any request of the interface, and returns its result."""
        line = request_line(1, method, params)
        timeout = None if method == "sync" else self._timeout
        until = time.monotonic() + self._wait
        while True:
            try:
                async with _Connection(self._path, self._timeout) as connection:
                    return await connection.ask(line, 1, timeout)
            except NodeError as error:
                if not may_repeat(error, method) or time.monotonic() >= until:
                    raise
            await asyncio.sleep(PAUSE)

    async def follow(self, after: int = 0) -> AsyncIterator[Text]:
        """The texts of the inbox with numbers above `after`, and then those that arrive, for ever,
        as `Node.follow`."""
        line = request_line(1, "follow", {"after": after})
        until: float | None = time.monotonic() + self._wait
        while True:
            try:
                async with _Connection(self._path, self._timeout) as connection:
                    await connection.ask(line, 1, self._timeout)
                    until = None
                    while True:
                        for text in followed(await connection.receive(None)):
                            yield cast(Text, text)
            except NodeError as error:
                now = time.monotonic()
                until = now + self._wait if until is None else until
                if not may_repeat(error, "follow") or now >= until:
                    raise
            await asyncio.sleep(PAUSE)

    async def _pages(self, method: str, after: int, **params: Any) -> AsyncIterator[Any]:
        at: int | None = after
        while at is not None:
            page = await self.call(method, after=at, **params)
            for row in rows_of(page):
                yield row
            at = page.get("next")

    async def version(self) -> Version:
        """The version of the interface and of the program."""
        return cast(Version, await self.call("version"))

    async def status(self) -> Status:
        """The node's own identity, its connection to the hub, and counts of what waits."""
        return cast(Status, await self.call("status"))

    async def say(self, to: str, texts: str | Iterable[str]) -> Said:
        """Stores texts to a person (identity) or group (id), which the node sends as soon as it
        can. After `connection_lost` and `timed_out` they may be stored: look into the history."""
        return cast(Said, await self.call("say", to=to, texts=texts_of(texts)))

    async def answer(self, number: int, texts: str | Iterable[str] = ()) -> Said:
        """Stores texts to the conversation of a text in the inbox, and marks that text as read:
        both or neither. 0 texts are stored if it was answered or read before."""
        return cast(Said, await self.call("answer", number=number, texts=texts_of(texts)))

    async def sync(self, attempts: int = 1) -> Report:
        """Waits until the node has received and sent all that waited."""
        return cast(Report, await self.call("sync", attempts=attempts))

    def unread(self, after: int = 0) -> AsyncIterator[Text]:
        """The texts of the inbox, page by page."""
        return cast(AsyncIterator[Text], self._pages("unread", after))

    async def mark_read(self, numbers: Iterable[int]) -> None:
        """Moves texts from the inbox to the history. Others than those are skipped."""
        await self.call("mark_read", numbers=list(numbers))

    def history(self, with_: str, after: int = 0) -> AsyncIterator[Text]:
        """The texts of a conversation that were written here or read, the oldest first."""
        params = {"with": with_, "limit": ROWS}
        return cast(AsyncIterator[Text], self._pages("history", after, **params))

    def unsent(self, after: int = 0) -> AsyncIterator[Unsent]:
        """The texts that wait unencrypted."""
        return cast(AsyncIterator[Unsent], self._pages("unsent", after))

    async def unsend(self, to: str, numbers: Iterable[int]) -> int:
        """Cancels texts that have not left: all of them, or none."""
        return cast(int, (await self.call("unsend", to=to, numbers=list(numbers)))["texts"])

    async def unsend_all(self, to: str) -> int:
        """Cancels all texts to a person or group that have not left."""
        return cast(int, (await self.call("unsend_all", to=to))["texts"])

    async def delete_texts(self, with_: str, numbers: Iterable[int]) -> int:
        """Deletes texts of the history: all of them, or none."""
        params = {"with": with_, "numbers": list(numbers)}
        return cast(int, (await self.call("delete_texts", **params))["texts"])

    async def delete_texts_before(self, with_: str, time: int) -> int:
        """Deletes texts that were written or read here before a time in milliseconds."""
        params = {"with": with_, "time": time}
        return cast(int, (await self.call("delete_texts_before", **params))["texts"])

    def requests(self, after: int = 0) -> AsyncIterator[Text]:
        """The texts of unknown senders, which are not in the inbox."""
        return cast(AsyncIterator[Text], self._pages("requests", after))

    async def accept(self, person: str) -> None:
        """Moves the texts of an unknown sender to the inbox, now and later."""
        await self.call("accept", person=person)

    async def block(self, person: str) -> int:
        """Drops the texts of a person. Returns how many of a request were deleted."""
        return cast(int, (await self.call("block", person=person))["texts"])

    async def unblock(self, person: str) -> int:
        """Returns how many texts were dropped meanwhile."""
        return cast(int, (await self.call("unblock", person=person))["texts"])

    async def mute(self, person: str, is_muted: bool) -> None:
        """`follow` leaves out texts of muted persons."""
        await self.call("mute", person=person, is_muted=is_muted)

    async def verify(self, person: str, is_verified: bool) -> None:
        """Records that people have compared the safety number."""
        await self.call("verify", person=person, is_verified=is_verified)

    async def persons(self) -> list[PersonRules]:
        """Persons who are blocked, muted or verified, or whose requests wait."""
        return cast(list[PersonRules], rows_of(await self.call("persons")))

    async def teams(self) -> list[Team]:
        """The groups. `endseal group` creates and changes them."""
        return cast(list[Team], rows_of(await self.call("teams")))

    def members(self, team: str) -> AsyncIterator[Member]:
        """The members of a group."""
        return cast(AsyncIterator[Member], self._pages("members", 0, team=team))

    async def leave(self, team: str) -> int:
        """Leaves a group. Returns how many unsent texts were cancelled."""
        return cast(int, (await self.call("leave", team=team))["texts"])

    async def departures(self) -> list[Departure]:
        """Members who have left groups, and groups that this identity has left."""
        return cast(list[Departure], rows_of(await self.call("departures")))

    async def problems(self) -> list[Problem]:
        """Messages that could not be opened, or were lost."""
        return cast(list[Problem], rows_of(await self.call("problems")))

    async def forget_problems(self, last: int) -> None:
        """Deletes the problems up to a number."""
        await self.call("forget_problems", last=last)

    async def devices(self, person: str) -> Devices:
        """The devices of a person, as far as they are known here."""
        return cast(Devices, await self.call("devices", person=person))

    async def name_device(self, device: int, name: str) -> None:
        """Names a device of this person, on this device alone."""
        await self.call("name_device", device=device, name=name)

    async def device_changes(self) -> list[DeviceChange]:
        """The oldest changes of devices that were not marked as seen."""
        return cast(list[DeviceChange], rows_of(await self.call("device_changes")))

    async def mark_changes_seen(self, last: int) -> None:
        """Marks the changes of devices up to a number as seen."""
        await self.call("mark_changes_seen", last=last)

    async def backup(self) -> Backup:
        """Writes a backup into the state directory, from which the caller moves it."""
        return cast(Backup, await self.call("backup"))


class _Connection:
    """A connection to a node whose version was asked for."""

    def __init__(self, path: str, timeout: float | None) -> None:
        self._path, self._timeout = path, timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        self._received = bytearray()

    async def __aenter__(self) -> _Connection:
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.setblocking(False)
            try:
                await self._in_time(self._loop.sock_connect(self._socket, self._path))
            except OSError as error:
                raise not_reached(error, self._path) from None
            with nothing_sent(self._path):
                check_version(await self.ask(request_line(0, "version", {}), 0, self._timeout))
        except BaseException:
            self._socket.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket.close()

    async def ask(self, line: bytes, id: int, timeout: float | None) -> Any:
        """Sends a request, and returns its result."""
        try:
            await self._in_time(self._loop.sock_sendall(self._socket, line))
        except OSError:
            # The node has ended the connection. It may have said why.
            pass
        return result_of(await self.receive(timeout), id)

    async def receive(self, timeout: float | None) -> bytes:
        """Receives a line, before the deadline of the connection unless `timeout` is `None`."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > MAX_LINE:
                raise too_long()
            try:
                receiving = self._loop.sock_recv(self._socket, PART)
                part = await (receiving if timeout is None else self._in_time(receiving))
            except OSError:
                raise connection_lost() from None
            if not part:
                return whole(bytes(self._received))
            self._received += part
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return whole(line)

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Waits until the one deadline of the connection at most."""
        left = None if self._until is None else self._until - time.monotonic()
        try:
            return await asyncio.wait_for(work, left)
        except asyncio.TimeoutError:
            raise timed_out(self._timeout or 0) from None
