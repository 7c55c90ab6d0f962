"""The interface of a running node for other programs."""

import json
import socket

from processes import TIMEOUT


class Api:
    """A connection to a running node, as another program makes it (docs/spec/node-api.md)."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(str(folder / "node.sock"))
        self.lines = self.socket.makefile("rb")

    def send(self, method, **params):
        request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def receive(self):
        return json.loads(self.lines.readline())

    def call(self, method, **params):
        self.send(method, **params)
        answer = self.receive()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", method), answer
        return answer

    def close(self):
        self.lines.close()
        self.socket.close()
