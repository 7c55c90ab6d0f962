"""A simulated device behind a pseudoterminal, as a board behind a serial port.

`python3 simulated.py IMAGE BOOTROM STORE PORT` runs one until ^C: PORT becomes a link to its
terminal, and Enter presses the button (a line `no` holds it, which refuses).
"""

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHORT, LONG = 300, 1500


class Device:
    """A board that is plugged in. `person` is the milliseconds of a press for each request, or None.

    `asked` counts the requests that waited for the button.
    """

    def __init__(self, image, bootrom, store, port, *options, person=None):
        self.port, self.person, self.asked = Path(port), person, 0
        self.lines = threading.Condition()
        self.events, self.traffic = [], bytearray()
        self.is_waiting, self.is_pressed = False, False
        self.terminal, slave = os.openpty()
        tty.setraw(slave)
        self.slave = slave
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        script = ["sh", "-c", f'exec 3<&{theirs.fileno()}; exec node "$@"', "node"]
        command = [*script, HERE / "run.mjs", image, bootrom, store, *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        atexit.register(self.process.kill)
        self.hand = ours
        for work in (self._to_device, self._from_device, self._watch):
            threading.Thread(target=work, daemon=True).start()
        self.port.unlink(missing_ok=True)
        self.port.symlink_to(os.ttyname(slave))

    def press(self, milliseconds=SHORT):
        # A button that is held still is released first, and the device sees that.
        with self.lines:
            self.lines.wait_for(lambda: not self.is_pressed, 30)
            self.is_pressed = True
        time.sleep(0.1)
        self.hand.sendall(f"press {milliseconds}\n".encode())

    def unplug(self):
        """Takes the board out of its port. Returns the exit code, 9 after a power cut."""
        self.port.unlink(missing_ok=True)
        try:
            self.process.stdin.close()
        except OSError:
            pass
        code = self.process.wait(timeout=20)
        os.close(self.slave)
        os.close(self.terminal)
        self.hand.close()
        return code

    def wait_for(self, event, timeout=20):
        """Waits for an event that was not waited for yet."""
        with self.lines:
            if not self.lines.wait_for(lambda: event in self.events, timeout):
                raise TimeoutError(f"no {event}")
            del self.events[: self.events.index(event) + 1]

    def _to_device(self):
        try:
            while data := os.read(self.terminal, 4096):
                self.traffic += data
                self.process.stdin.write(data)
                self.process.stdin.flush()
        except (OSError, ValueError):
            pass

    def _from_device(self):
        try:
            while data := os.read(self.process.stdout.fileno(), 4096):
                self.traffic += data
                self.is_waiting &= b"\n" not in data
                os.write(self.terminal, data)
        except OSError:
            pass

    def _watch(self):
        try:
            for line in self.hand.makefile():
                with self.lines:
                    self.events.append(line.strip())
                    self.is_pressed &= line != "released\n"
                    self.lines.notify_all()
                if line == "light\n" and not self.is_waiting:
                    self.asked += 1
                    self.is_waiting = True
                    if self.person is not None:
                        threading.Thread(target=self.press, args=[self.person]).start()
        except OSError:
            pass


def main():
    device = Device(*sys.argv[1:5])
    print(f"the device is at {sys.argv[4]}; Enter presses its button, no refuses")
    try:
        for line in sys.stdin:
            device.press(LONG if line.strip() == "no" else SHORT)
    except KeyboardInterrupt:
        pass
    device.unplug()


if __name__ == "__main__":
    main()
