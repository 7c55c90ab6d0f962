"""A host of the device: requests and answers over its serial port."""

import json
import os
import select
import time
import tty


class Host:
    """An open serial port. Waits until the device answers."""

    def __init__(self, port):
        self.file = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.file)
        self.number = 0
        deadline = time.monotonic() + 20
        while self.try_call(0.3, "ping") != ("pong", None):
            if time.monotonic() > deadline:
                raise TimeoutError("the device does not answer")

    def call(self, method, *params):
        """Returns the result and the error; one of them is None."""
        answer = self.try_call(40, method, *params)
        if answer is None:
            raise TimeoutError(f"no answer to {method}")
        return answer

    def try_call(self, seconds, method, *params):
        self.number += 1
        request = {"id": str(self.number), "method": method, "params": params}
        # The line feed before it ends what another program left.
        os.write(self.file, f"\n{json.dumps(request)}\n".encode())
        deadline, received = time.monotonic() + seconds, b""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.file], [], [], left)[0]:
                received += os.read(self.file, 65536)
            *lines, received = received.split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if answer["id"] == request["id"]:
                    return answer.get("result"), answer.get("error")
        return None

    def close(self):
        os.close(self.file)
