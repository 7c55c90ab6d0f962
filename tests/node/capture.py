"""A relay of UDP between nodes and a hub that keeps every datagram in a file."""

import selectors
import socket
import threading


class Capture:
    """Listens at `address`, and passes on to `target` and back."""

    def __init__(self, target, file):
        self.target = (target.rsplit(":", 1)[0], int(target.rsplit(":", 1)[1]))
        self.file, self.out = file, open(file, "ab")
        # Datagrams to the hub, and from it.
        self.there, self.back = 0, 0
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.address = "%s:%d" % self.front.getsockname()
        self.behind = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.front, selectors.EVENT_READ)
        self.stopping = False
        self.thread = threading.Thread(target=self.pass_on, daemon=True)
        self.thread.start()

    def pass_on(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.1):
                try:
                    datagram, source = key.fileobj.recvfrom(65_536)
                except ConnectionRefusedError:
                    # The hub does not run at this moment; QUIC repeats.
                    continue
                self.out.write(datagram)
                self.out.flush()
                if key.fileobj is self.front:
                    self.there += 1
                    self.sender_of(source).send(datagram)
                else:
                    self.back += 1
                    self.front.sendto(datagram, key.data)

    def sender_of(self, source):
        """The socket to the hub of one node."""
        if source not in self.behind:
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.connect(self.target)
            self.selector.register(one, selectors.EVENT_READ, source)
            self.behind[source] = one
        return self.behind[source]

    def stop(self):
        self.stopping = True
        self.thread.join()
        for one in (self.front, *self.behind.values(), self.selector, self.out):
            one.close()
