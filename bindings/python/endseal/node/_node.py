"""The client that blocks."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

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

# Bytes that are received at once.
PART = 1 << 16


class Node:
    """A node that runs on this machine, for this user. Threads may share an object.

    `home` is its state directory; without it that of the program: `$ENDSEAL_HOME`, or `endseal` in
    `$XDG_DATA_HOME` or `~/.local/share`. `wait` is the number of seconds for which a call waits for
    a node that is away, before it raises `not_running`. `timeout` is the longest time, in seconds,
    until the result of a request; `sync` has none.

    Each call makes a connection of its own and asks for the version of the interface first. A call
    whose connection breaks is repeated if that cannot have another effect: `answer` is, `say` is
    not. All calls raise `NodeError`."""

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        wait: float = 0,
        timeout: float = 120,
    ) -> None:
        self._path = socket_path(home)
        self._wait, self._timeout = times_of(wait, timeout)

    def call(self, method: str, **params: Any) -> Any:
        """Sends any request of the interface, and returns its result."""
        line = request_line(1, method, params)
        timeout = None if method == "sync" else self._timeout
        until = time.monotonic() + self._wait
        while True:
            try:
                with _Connection(self._path, self._timeout) as connection:
                    return connection.ask(line, 1, timeout)
            except NodeError as error:
                if not may_repeat(error, method) or time.monotonic() >= until:
                    raise
            time.sleep(PAUSE)

    def follow(self, after: int = 0) -> Iterator[Text]:
        """The texts of the inbox with numbers above `after`, and then those that arrive, for ever.
        Texts of muted persons are left out.

        It does not mark them as read: `answer` and `mark_read` do. If the node is away for at most
        `wait` seconds, it goes on with the texts that are still in the inbox, also with those that
        it has given before. Otherwise, and if the hub refuses the device, it ends in an error."""
        line = request_line(1, "follow", {"after": after})
        until: float | None = time.monotonic() + self._wait
        while True:
            try:
                with _Connection(self._path, self._timeout) as connection:
                    connection.ask(line, 1, self._timeout)
                    until = None
                    while True:
                        yield from cast(list[Text], followed(connection.receive(None)))
            except NodeError as error:
                now = time.monotonic()
                until = now + self._wait if until is None else until
                if not may_repeat(error, "follow") or now >= until:
                    raise
            time.sleep(PAUSE)

    def _pages(self, method: str, after: int, **params: Any) -> Iterator[Any]:
        at: int | None = after
        while at is not None:
            page = self.call(method, after=at, **params)
            yield from rows_of(page)
            at = page.get("next")

    def version(self) -> Version:
        """The version of the interface and of the program."""
        return cast(Version, self.call("version"))

    def status(self) -> Status:
        """The node's own identity, its connection to the hub, and counts of what waits."""
        return cast(Status, self.call("status"))

    def say(self, to: str, texts: str | Iterable[str]) -> Said:
        """Stores texts to a person (identity) or group (id), which the node sends as soon as it
        can. After `connection_lost` and `timed_out` they may be stored: look into the history."""
        return cast(Said, self.call("say", to=to, texts=texts_of(texts)))

    def answer(self, number: int, texts: str | Iterable[str] = ()) -> Said:
        """Stores texts to the conversation of a text in the inbox, and marks that text as read:
        both or neither. 0 texts are stored if it was answered or read before."""
        return cast(Said, self.call("answer", number=number, texts=texts_of(texts)))

    def sync(self, attempts: int = 1) -> Report:
        """Waits until the node has received and sent all that waited."""
        return cast(Report, self.call("sync", attempts=attempts))

    def unread(self, after: int = 0) -> Iterator[Text]:
        """The texts of the inbox, page by page."""
        return cast(Iterator[Text], self._pages("unread", after))

    def mark_read(self, numbers: Iterable[int]) -> None:
        """Moves texts from the inbox to the history. Others than those are skipped."""
        self.call("mark_read", numbers=list(numbers))

    def history(self, with_: str, after: int = 0) -> Iterator[Text]:
        """The texts of a conversation that were written here or read, the oldest first."""
        params = {"with": with_, "limit": ROWS}
        return cast(Iterator[Text], self._pages("history", after, **params))

    def unsent(self, after: int = 0) -> Iterator[Unsent]:
        """The texts that wait unencrypted."""
        return cast(Iterator[Unsent], self._pages("unsent", after))

    def unsend(self, to: str, numbers: Iterable[int]) -> int:
        """Cancels texts that have not left: all of them, or none."""
        return cast(int, (self.call("unsend", to=to, numbers=list(numbers)))["texts"])

    def unsend_all(self, to: str) -> int:
        """Cancels all texts to a person or group that have not left."""
        return cast(int, (self.call("unsend_all", to=to))["texts"])

    def delete_texts(self, with_: str, numbers: Iterable[int]) -> int:
        """Deletes texts of the history: all of them, or none."""
        params = {"with": with_, "numbers": list(numbers)}
        return cast(int, (self.call("delete_texts", **params))["texts"])

    def delete_texts_before(self, with_: str, time: int) -> int:
        """Deletes texts that were written or read here before a time in milliseconds."""
        params = {"with": with_, "time": time}
        return cast(int, (self.call("delete_texts_before", **params))["texts"])

    def requests(self, after: int = 0) -> Iterator[Text]:
        """The texts of unknown senders, which are not in the inbox."""
        return cast(Iterator[Text], self._pages("requests", after))

    def accept(self, person: str) -> None:
        """Moves the texts of an unknown sender to the inbox, now and later."""
        self.call("accept", person=person)

    def block(self, person: str) -> int:
        """Drops the texts of a person. Returns how many of a request were deleted."""
        return cast(int, (self.call("block", person=person))["texts"])

    def unblock(self, person: str) -> int:
        """Returns how many texts were dropped meanwhile."""
        return cast(int, (self.call("unblock", person=person))["texts"])

    def mute(self, person: str, is_muted: bool) -> None:
        """`follow` leaves out texts of muted persons."""
        self.call("mute", person=person, is_muted=is_muted)

    def verify(self, person: str, is_verified: bool) -> None:
        """Records that people have compared the safety number."""
        self.call("verify", person=person, is_verified=is_verified)

    def persons(self) -> list[PersonRules]:
        """Persons who are blocked, muted or verified, or whose requests wait."""
        return cast(list[PersonRules], rows_of(self.call("persons")))

    def teams(self) -> list[Team]:
        """The groups. `endseal group` creates and changes them."""
        return cast(list[Team], rows_of(self.call("teams")))

    def members(self, team: str) -> Iterator[Member]:
        """The members of a group."""
        return cast(Iterator[Member], self._pages("members", 0, team=team))

    def leave(self, team: str) -> int:
        """Leaves a group. Returns how many unsent texts were cancelled."""
        return cast(int, (self.call("leave", team=team))["texts"])

    def departures(self) -> list[Departure]:
        """Members who have left groups, and groups that this identity has left."""
        return cast(list[Departure], rows_of(self.call("departures")))

    def problems(self) -> list[Problem]:
        """Messages that could not be opened, or were lost."""
        return cast(list[Problem], rows_of(self.call("problems")))

    def forget_problems(self, last: int) -> None:
        """Deletes the problems up to a number."""
        self.call("forget_problems", last=last)

    def devices(self, person: str) -> Devices:
        """The devices of a person, as far as they are known here."""
        return cast(Devices, self.call("devices", person=person))

    def name_device(self, device: int, name: str) -> None:
        """Names a device of this person, on this device alone."""
        self.call("name_device", device=device, name=name)

    def device_changes(self) -> list[DeviceChange]:
        """The oldest changes of devices that were not marked as seen."""
        return cast(list[DeviceChange], rows_of(self.call("device_changes")))

    def mark_changes_seen(self, last: int) -> None:
        """Marks the changes of devices up to a number as seen."""
        self.call("mark_changes_seen", last=last)

    def backup(self) -> Backup:
        """Writes a backup into the state directory, from which the caller moves it."""
        return cast(Backup, self.call("backup"))


class _Connection:
    """A connection to a node whose version was asked for."""

    def __init__(self, path: str, timeout: float | None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._received = bytearray()
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        try:
            self._socket.settimeout(timeout)
            try:
                self._socket.connect(path)
            except socket.timeout:
                raise timed_out(timeout or 0) from None
            except OSError as error:
                raise not_reached(error, path) from None
            with nothing_sent(path):
                check_version(self.ask(request_line(0, "version", {}), 0, timeout))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _limit(self) -> None:
        """The next call of the socket ends at the one deadline of the connection."""
        left = None if self._until is None else self._until - time.monotonic()
        if left is not None and left <= 0:
            raise socket.timeout
        self._socket.settimeout(left)

    def ask(self, line: bytes, id: int, timeout: float | None) -> Any:
        """Sends a request, and returns its result."""
        try:
            self._limit()
            self._socket.sendall(line)
        except socket.timeout:
            raise timed_out(self._timeout or 0) from None
        except OSError:
            # The node has ended the connection. It may have said why.
            pass
        return result_of(self.receive(timeout), id)

    def receive(self, timeout: float | None) -> bytes:
        """Receives a line, before the deadline of the connection unless `timeout` is `None`."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > MAX_LINE:
                raise too_long()
            try:
                if timeout is None:
                    self._socket.settimeout(None)
                else:
                    self._limit()
                part = self._socket.recv(PART)
            except socket.timeout:
                raise timed_out(timeout or 0) from None
            except OSError:
                raise connection_lost() from None
            if not part:
                return whole(bytes(self._received))
            self._received += part
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return whole(line)
