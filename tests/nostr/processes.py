"""Child processes that speak lines of JSON and never outlive this one."""

import json
import os
import queue
import subprocess
import threading
import time

from children import Child

# Beyond the time that an order has by itself.
GRACE = 10


class Process(Child):
    """A program without a terminal, whose standard error goes to a log file."""

    def __init__(self, arguments, log, folder=None):
        pipe = subprocess.PIPE
        super().__init__(arguments, log, stdin=pipe, stdout=pipe, cwd=folder, start_new_session=True)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self, seconds=60):
        """The next line that is an object of JSON."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"{self.name()}: no line in {seconds} s: {self.tail()}") from None
            if line is None:
                raise AssertionError(f"{self.name()} ended: {self.tail()}")
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                return found

    def ask(self, order, seconds=60):
        """The answer to an order."""
        self.child.stdin.write(json.dumps(order).encode() + b"\n")
        self.child.stdin.flush()
        return self.line(seconds + GRACE)

    def name(self):
        return " ".join(os.path.basename(it) for it in self.arguments[:3])

    def stop(self):
        """The end of its input; SIGTERM and SIGKILL for who does not listen."""
        try:
            self.child.stdin.close()
        except OSError:
            pass
        for send in (lambda: None, self.child.terminate, self.child.kill):
            send()
            try:
                self.child.wait(timeout=3)
                break
            except subprocess.TimeoutExpired:
                pass
        self._gone()
