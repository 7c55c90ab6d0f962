"""A relay of UDP that delays each datagram and drops some: lossy.py HUB FRONT… DELAY_MS LOSS

At SIGTERM it prints how many it passed on and how many it dropped.
"""

import heapq
import random
import selectors
import signal
import socket
import sys
import time

# Bytes that wait in a socket while this program is not scheduled.
BUFFER = 4 << 20


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


class Lossy:
    def __init__(self, hub, fronts, delay, loss):
        self.hub, self.delay, self.loss = hub, delay, loss
        self.random = random.Random(1)
        self.selector = selectors.DefaultSelector()
        # Sockets to the hub by front and source.
        self.behind = {}
        # Datagrams by the time at which they leave.
        self.waiting, self.number = [], 0
        self.passed, self.dropped, self.stopping = 0, 0, False
        for front in fronts:
            one = self.open(None)
            one.bind(front)

    def open(self, data):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        one.setblocking(False)
        self.selector.register(one, selectors.EVENT_READ, data)
        return one

    def stop(self, *_):
        self.stopping = True

    def run(self):
        while not self.stopping:
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                self.send(*heapq.heappop(self.waiting)[2:])
            timeout = self.waiting[0][0] - now if self.waiting else 0.1
            for key, _ in self.selector.select(timeout):
                self.receive(key.fileobj, key.data)

    def receive(self, one, data):
        while True:
            try:
                datagram, source = one.recvfrom(65_536)
            except ConnectionRefusedError:
                # The hub does not run at this moment.
                continue
            except BlockingIOError:
                return
            if self.random.random() < self.loss:
                self.dropped += 1
                continue
            # To the hub, or to the node that this socket is of.
            way = data or (self.sender_of(one, source), None)
            self.number += 1
            leaves = time.monotonic() + self.delay
            heapq.heappush(self.waiting, (leaves, self.number, datagram, *way))

    def sender_of(self, front, source):
        """The socket to the hub of one node."""
        if (front, source) not in self.behind:
            one = self.open((front, source))
            one.connect(self.hub)
            self.behind[front, source] = one
        return self.behind[front, source]

    def send(self, datagram, one, target):
        try:
            one.send(datagram) if target is None else one.sendto(datagram, target)
            self.passed += 1
        except (ConnectionRefusedError, BlockingIOError):
            self.dropped += 1


def main():
    hub, *fronts, delay, loss = sys.argv[1:]
    relay = Lossy(address(hub), map(address, fronts), float(delay) / 1000, float(loss))
    signal.signal(signal.SIGTERM, relay.stop)
    relay.run()
    print(f"{relay.passed} {relay.dropped}")


if __name__ == "__main__":
    main()
