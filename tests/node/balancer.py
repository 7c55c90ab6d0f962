"""A load balancer of UDP before the processes of a hub: balancer.py FRONT BACK…

It prints the address at which it listens. Each source gets one of the processes, in turns, and keeps
it. When the port of its process is closed, the source is moved to another process, and its last
datagram is sent again. At SIGTERM it prints how many it has moved.
"""

import collections
import resource
import selectors
import signal
import socket
import sys
import time

# Bytes that wait in a socket while this program is not scheduled.
BUFFER = 4 << 20
# Seconds for which a process whose port is closed gets no source.
DOWN = 0.3
# Sources that are remembered.
SOURCES = 2_000


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


class Flow:
    """One source, and the socket to its process."""

    def __init__(self, source):
        self.source, self.back, self.last = source, None, None
        self.socket = opened()


def opened():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    one.setblocking(False)
    return one


class Balancer:
    def __init__(self, front, backs):
        self.backs, self.next, self.moved = backs, 0, 0
        # Until when each process counts as down.
        self.down = [0.0] * len(backs)
        self.flows = collections.OrderedDict()
        self.selector = selectors.DefaultSelector()
        self.front, self.stopping = opened(), False
        self.front.bind(front)
        self.selector.register(self.front, selectors.EVENT_READ, None)

    def stop(self, *_):
        self.stopping = True

    def run(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.1):
                if key.data is None:
                    self.from_nodes()
                else:
                    self.from_hub(key.data)

    def from_nodes(self):
        while True:
            try:
                datagram, source = self.front.recvfrom(65_536)
            except BlockingIOError:
                return
            flow = self.flow(source)
            flow.last = datagram
            self.send(flow)

    def flow(self, source):
        if source in self.flows:
            self.flows.move_to_end(source)
            return self.flows[source]
        if len(self.flows) == SOURCES:
            _, oldest = self.flows.popitem(last=False)
            self.selector.unregister(oldest.socket)
            oldest.socket.close()
        flow = self.flows[source] = Flow(source)
        self.assign(flow)
        self.selector.register(flow.socket, selectors.EVENT_READ, flow)
        return flow

    def assign(self, flow):
        """Gives a source the next process that is not down, or the next one."""
        now, turns = time.monotonic(), range(len(self.backs))
        order = [(self.next + turn) % len(self.backs) for turn in turns]
        up = [back for back in order if self.down[back] <= now]
        flow.back = (up or order)[0]
        self.next = flow.back + 1
        flow.socket.connect(self.backs[flow.back])

    def send(self, flow):
        """Sends the last datagram of a source, at most once to each process."""
        for _ in self.backs:
            try:
                flow.socket.send(flow.last)
                return
            except ConnectionRefusedError:
                # The answer to a datagram before this one.
                self.move(flow)
            except BlockingIOError:
                return

    def move(self, flow):
        self.down[flow.back] = time.monotonic() + DOWN
        self.moved += 1
        self.assign(flow)

    def from_hub(self, flow):
        while True:
            try:
                datagram = flow.socket.recv(65_536)
            except ConnectionRefusedError:
                self.move(flow)
                if min(self.down) <= time.monotonic():
                    self.send(flow)
                return
            except BlockingIOError:
                return
            try:
                self.front.sendto(datagram, flow.source)
            except (ConnectionRefusedError, BlockingIOError):
                pass


def main():
    front, *backs = map(address, sys.argv[1:])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    balancer = Balancer(front, backs)
    signal.signal(signal.SIGTERM, balancer.stop)
    print("{}:{}".format(*balancer.front.getsockname()), flush=True)
    balancer.run()
    print(balancer.moved)


if __name__ == "__main__":
    main()
