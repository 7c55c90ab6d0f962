"""A link with a delay between a proxy and its server: a TCP relay."""

import collections
import copy
import socket
import threading
import time

# Bytes of one connection that are on their way in one direction, as a TCP window limits them.
WINDOW = 1 << 20
PIECE = 64 << 10


def delayed(server, round_trip):
    """The server as it is seen over a link with this delay in seconds, and the link."""
    link = Link(server.port, round_trip)
    seen = copy.copy(server)
    seen.port, seen.url = link.port, f"http://127.0.0.1:{link.port}"
    return seen, link


class Link:
    """Each connection has a window of its own, so its rate is at most window / round trip."""

    def __init__(self, port, round_trip):
        self.target, self.round_trip = port, round_trip
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Direction(one, other, self.round_trip)


class Direction:
    """Bytes of one direction. They arrive after half of the round trip, and leave the window after all of it."""

    def __init__(self, source, sink, round_trip):
        self.source, self.sink, self.round_trip = source, sink, round_trip
        self.changed = threading.Condition()
        # Pieces that have not arrived, with the time at which they do; and (time, length) of those in the window.
        self.pieces, self.window, self.taken = collections.deque(), collections.deque(), 0
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def _room(self):
        now = time.monotonic()
        while self.window and self.window[0][0] <= now:
            self.taken -= self.window.popleft()[1]
        return self.taken < WINDOW

    def _read(self):
        while True:
            with self.changed:
                while not self._room():
                    self.changed.wait(max(0.0005, self.window[0][0] - time.monotonic()))
            try:
                piece = self.source.recv(PIECE)
            except OSError:
                piece = None
            now = time.monotonic()
            with self.changed:
                self.pieces.append((now + self.round_trip / 2, piece))
                if piece:
                    self.window.append((now + self.round_trip, len(piece)))
                    self.taken += len(piece)
                self.changed.notify_all()
            if not piece:
                return

    def _write(self):
        while True:
            with self.changed:
                while not self.pieces:
                    self.changed.wait()
                due, piece = self.pieces.popleft()
            time.sleep(max(0, due - time.monotonic()))
            try:
                if piece:
                    self.sink.sendall(piece)
                    continue
                if piece is None:
                    # A reset, which the other side must see as one.
                    linger = b"\1\0\0\0\0\0\0\0"
                    self.sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.sink.close()
                else:
                    self.sink.shutdown(socket.SHUT_WR)
            except OSError:
                try:
                    self.source.close()
                except OSError:
                    pass
            return
