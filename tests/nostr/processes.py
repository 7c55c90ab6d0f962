"""Child processes that speak lines of JSON and never outlive this one."""

import atexit
import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

_running = []
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
# Beyond the time that an order has by itself.
GRACE = 10


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def clean_environment():
    """This environment less what would change how a program behaves."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ENDSEAL_")
        and name.lower() not in ("http_proxy", "https_proxy", "all_proxy", "node_options")
    }


class Process:
    """A program without a terminal, whose standard error goes to a log file."""

    def __init__(self, arguments, log, folder=None):
        self.arguments = [str(it) for it in arguments]
        self.log = log
        with open(log, "ab") as errors:
            self.child = subprocess.Popen(
                self.arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=clean_environment(),
                start_new_session=True,
                # Also when this process is killed before it could stop the child.
                preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
            )
        _running.append(self)
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

    def tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-1500:].decode(errors="replace")

    def kill(self):
        """SIGKILL, as a machine that loses its power."""
        self.child.kill()
        self._gone()

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

    def _gone(self):
        self.child.wait()
        if self in _running:
            _running.remove(self)


def stop_all():
    for process in list(_running):
        process.kill()


def stop_at_exit():
    """However this program ends, its children end with it."""
    atexit.register(stop_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + number))
