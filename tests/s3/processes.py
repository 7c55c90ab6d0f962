"""Child processes on free loopback ports, which never outlive this one."""

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

_running = []
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def clean_environment():
    """This environment less what would change how a client behaves."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "RCLONE_", "ENDSEAL_", "MINIO_", "VGW_", "ROOT_"))
        and name.lower() not in ("http_proxy", "https_proxy", "all_proxy")
    }


class Process:
    """A server with a log file and a port that answers."""

    def __init__(self, arguments, log, environment=None, ready=None, patience=60):
        self.arguments = [str(it) for it in arguments]
        self.log = log
        with open(log, "ab") as output:
            self.child = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**clean_environment(), **(environment or {})},
                # Also when this process is killed before it could stop the child.
                preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
            )
        _running.append(self)
        if ready:
            try:
                self._wait(ready, patience)
            except BaseException:
                self.stop()
                raise

    def _wait(self, ready, patience):
        end = time.monotonic() + patience
        while not ready():
            if self.child.poll() is not None:
                raise RuntimeError(f"{self.arguments[0]} ended early: {self.tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{self.arguments[0]} is not ready: {self.tail()}")
            time.sleep(0.05)

    def tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-1500:].decode(errors="replace")

    def alive(self):
        return self.child.poll() is None

    def kill(self):
        """SIGKILL, as a machine that loses its power."""
        self.child.kill()
        self.child.wait()
        if self in _running:
            _running.remove(self)

    def stop(self):
        """SIGTERM and, for who does not listen, SIGKILL. The exit status."""
        if self.alive():
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            try:
                self.child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()
        if self in _running:
            _running.remove(self)
        return self.child.returncode

    def pause(self):
        """SIGSTOP: alive for the kernel, mute for its clients."""
        self.child.send_signal(signal.SIGSTOP)

    def proceed(self):
        self.child.send_signal(signal.SIGCONT)

    def memory(self, which):
        """A figure of the process's status in bytes: VmHWM is the peak, VmRSS is now."""
        with open(f"/proc/{self.child.pid}/status") as status:
            for line in status:
                if line.startswith(f"{which}:"):
                    return int(line.split()[1]) * 1024
        raise RuntimeError(f"no {which}")


def stop_all():
    for process in list(_running):
        process.stop()


def stop_at_exit():
    """However this program ends, its children end with it."""
    atexit.register(stop_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + number))
