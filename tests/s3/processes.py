"""Servers on free loopback ports, which never outlive this process."""

import signal
import subprocess
import time

from children import Child


class Process(Child):
    """A server with a log file and a port that answers."""

    def __init__(self, arguments, log, environment=None, ready=None, timeout=60):
        super().__init__(arguments, log, environment, stdin=subprocess.DEVNULL)
        if ready:
            try:
                self._wait(ready, timeout)
            except BaseException:
                self.stop()
                raise

    def _wait(self, ready, timeout):
        end = time.monotonic() + timeout
        while not ready():
            if self.child.poll() is not None:
                raise RuntimeError(f"{self.arguments[0]} ended early: {self.tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{self.arguments[0]} is not ready: {self.tail()}")
            time.sleep(0.05)

    def alive(self):
        return self.child.poll() is None

    def stop(self):
        """SIGTERM and, for who does not listen, SIGKILL. The exit status."""
        if self.alive():
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            try:
                self.child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self._gone()
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
