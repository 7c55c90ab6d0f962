"""Child processes with a log file, which never outlive this one: of tests/s3 and tests/nostr."""

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys

_running = []
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def clean_environment():
    """This environment less what would change how a program behaves."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "RCLONE_", "ENDSEAL_", "MINIO_", "VGW_", "ROOT_"))
        and name.lower() not in ("http_proxy", "https_proxy", "all_proxy", "node_options")
    }


class Child:
    """A program whose output goes to a log file, except what has a pipe."""

    def __init__(self, arguments, log, environment=None, stdout=None, **options):
        self.arguments = [str(it) for it in arguments]
        self.log = log
        with open(log, "ab") as output:
            self.child = subprocess.Popen(
                self.arguments,
                stdout=stdout or output,
                stderr=output,
                env={**clean_environment(), **(environment or {})},
                # Also when this process is killed before it could stop the child.
                preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
                **options,
            )
        _running.append(self)

    def tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-1500:].decode(errors="replace")

    def kill(self):
        """SIGKILL, as a machine that loses its power."""
        self.child.kill()
        self._gone()

    def _gone(self):
        self.child.wait()
        if self in _running:
            _running.remove(self)


def stop_all():
    for child in list(_running):
        child.stop()


def stop_at_exit():
    """However this program ends, its children end with it."""
    atexit.register(stop_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + number))
