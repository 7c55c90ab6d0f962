"""Tests `endseal signer run --device` with simulated boards: `signer.py ENDSEAL IMAGE BOOTROM`."""

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulated import HERE, LONG, SHORT, Device

ENDSEAL, IMAGE, BOOTROM = sys.argv[1:4]
ABSENT = "the device with the key is not connected"
LOST = "the device with the key did not answer"


class Lines:
    """A program that is asked and answers in lines. It ends with this one."""

    def __init__(self, *command, log):
        self.log = log
        output = open(log, "ab")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output
        )
        output.close()
        atexit.register(self.process.kill)
        self.received = b""

    def say(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def line(self, seconds=60):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.received:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert data, f"no line; {Path(self.log).read_text()[-2000:]}"
            self.received += data
        line, _, self.received = self.received.partition(b"\n")
        return line.decode()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)


class Signer:
    """`endseal signer` in a folder, with its relay."""

    def __init__(self, folder):
        self.folder = folder
        self.relay = Lines("node", HERE / "relay.mjs", log=folder / "relay.log")
        self.url = self.relay.line()
        self.secret = folder / "passphrase"
        self.secret.write_text("a passphrase of the tests\n")
        self.secret.chmod(0o600)
        self.call("init", "--relay", self.url)

    def words(self, *words):
        home = ["--home", self.folder / "home", "--passphrase-file", self.secret]
        return [ENDSEAL, *home, "--json", "signer", *words]

    def call(self, *words, typed="", expect=0):
        done = subprocess.run(
            self.words(*words),
            input=typed.encode(),
            capture_output=True,
            timeout=100,
            start_new_session=True,
        )
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == expect, f"{words}: {done.returncode}: {said}"
        self.said = [json.loads(line) for line in said.splitlines()]
        return self.said[-1] if self.said else {}

    def run(self, port):
        log = self.folder / "signer.log"
        self.process = Lines(*self.words("run", "--device", port), log=log)
        self.process.line()

    def app(self, name, user):
        words = ["invite", name, "--user", user, "--allow", "sign:1", "--for", "1d"]
        link = next(it for it in self.call(*words).values() if str(it).startswith("bunker:"))
        app = Lines("node", HERE / "app.mjs", link, log=self.folder / f"{name}.log")
        assert json.loads(app.line()) == {"user": user}
        return app

    def wait_for_device(self, user, is_connected, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            users = self.call("status")["users"]
            found = next(it for it in users if it["public_key"] == user)
            if found["device_connected"] == is_connected:
                return
            time.sleep(0.2)
        raise TimeoutError(f"{found}: {(self.folder / 'signer.log').read_text()[-2000:]}")


def sign(app, user, content):
    app.say(content)
    event = app.line()
    assert json.loads(event).get("content") == content, event
    verify = ["node", HERE / "verify.mjs", user]
    subprocess.run(verify, input=event.encode(), check=True)


def refused(app, text):
    app.say("at noon")
    answer = json.loads(app.line())
    assert answer == {"error": text}, answer


def test(folder):
    port, store = folder / "port", folder / "store"
    plug = lambda person, it=store: Device(IMAGE, BOOTROM, it, port, person=person)
    signer = Signer(folder)
    missing = signer.call("import", "--device", port, expect=3)
    assert "No such file" in json.dumps(missing), missing

    device = plug(LONG)
    refusal = signer.call("import", "--device", port, "--create", expect=1)
    assert "not allowed" in json.dumps(refusal), refusal
    device.person = SHORT
    user = signer.call("import", "--device", port, "--create", "--label", "board")["public_key"]
    here = signer.call("import", typed="01" * 32 + "\n")["public_key"]

    signer.run(port)
    signer.wait_for_device(user, True)
    busy = signer.call("import", "--device", port, expect=3)
    assert "another program uses it" in json.dumps(busy), busy
    app, other = signer.app("phone", user), signer.app("desktop", here)
    sign(app, user, "from the chip")
    sign(other, here, "from the signer")
    print("the device signs for an app", flush=True)

    device.person = LONG
    refused(app, "not allowed")
    # No one presses: the app of another user is answered, and the board is unplugged meanwhile.
    device.person = None
    asked = device.asked
    app.say("nobody is there")
    while device.asked == asked:
        time.sleep(0.05)
    waiting = signer.call("waiting")["waiting"]
    assert [it["content"] for it in waiting] == ["nobody is there"], waiting
    sign(other, here, "meanwhile")
    device.unplug()
    answer = json.loads(app.line())
    assert answer == {"error": LOST}, answer
    refused(app, ABSENT)
    sign(other, here, "without the board")
    print("a refusal and an unplugged board reach the app", flush=True)

    # Two boards are mixed up.
    device = plug(SHORT, folder / "other")
    time.sleep(4)
    refused(app, ABSENT)
    device.unplug()
    device = plug(SHORT)
    signer.wait_for_device(user, True)
    sign(app, user, "the board is back")
    print("the signer finds its board again", flush=True)

    # Power fails and comes back while a request waits for the button.
    signer.process.stop()
    signer.run(port)
    signer.wait_for_device(user, True)
    sign(app, user, "the signer was started again")
    signer.call("log")
    verdicts = [it["verdict"] for it in signer.said if it["method"] == "sign_event"]
    for verdict in ("allowed", "denied", "failed", "asks"):
        assert verdict in verdicts, verdicts
    for program in (app, other, signer.process, signer.relay):
        program.stop()
    device.unplug()
    print("the log has what happened", flush=True)


started = time.monotonic()
with tempfile.TemporaryDirectory() as folder:
    test(Path(folder))
print(f"signer: ok, {time.monotonic() - started:.0f} s")
