"""The signer under test, and one of others to try these tests with.

    user                          public key that signs
    invite(name, allow)           a bunker:// URL
    connect(uri, name, allow)     answers a nostrconnect:// URL
    revoke(name)
    kill(), start()               SIGKILL, and a start with what is on the disk
    relay_restarted()             does what a signer needs when the relay is there again

`allow` is a list as the command line has it: `sign:1`, `nip44_encrypt`.
"""

import json
import os
import subprocess

from children import clean_environment
from places import NODE
from processes import Process

PASSPHRASE = "a passphrase of the tests"


def version(program):
    """The words of `endseal --version`."""
    return subprocess.run([program, "--version"], capture_output=True, check=True).stdout.decode().strip()


class Endseal:
    """`endseal signer`."""

    def __init__(self, folder, relay, program):
        self.program = program
        self.folder = folder
        self.relay = relay
        self.home = os.path.join(folder, "home")
        self.passphrase = os.path.join(folder, "passphrase")
        with open(self.passphrase, "w") as file:
            os.chmod(self.passphrase, 0o600)
            file.write(PASSPHRASE + "\n")
        # In the clear: it takes no passphrase.
        key = self._run("nostr", "key", "new", protected=False)
        self.user = key["public_key"]
        self.signer("init")
        self.signer("import", typed=key["secret"] + "\n")
        self.start()

    def _words(self, words, protected=True):
        passphrase = ["--passphrase-file", self.passphrase] if protected else []
        return [self.program, "--home", self.home, *passphrase, "--json", *words]

    def _run(self, *words, typed="", expect=0, protected=True):
        done = subprocess.run(
            self._words(words, protected),
            input=typed.encode(),
            capture_output=True,
            env=clean_environment(),
            # Headless: no terminal to ask on.
            start_new_session=True,
            timeout=60,
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        assert done.returncode == expect, f"{words[:3]} ended with {done.returncode}: {said[:1500]}"
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}

    def signer(self, *words, typed="", expect=0):
        """Runs `endseal signer …`; what it reports."""
        return self._run("signer", *words, typed=typed, expect=expect)

    def start(self):
        words = ["signer", "run", "--relay", self.relay.url, "--page", "127.0.0.1:0"]
        self.process = Process(self._words(words), os.path.join(self.folder, "signer.log"))
        self.page = self.process.line()["page"]

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()

    def relay_restarted(self):
        """It finds the relay by itself."""

    def sign_in(self):
        """A link that signs a browser in."""
        return self.signer("sign-in")["url"]

    def invite(self, name, allow, ask=(), options=()):
        words = [[option, ",".join(of)] for option, of in (("--allow", allow), ("--ask", ask)) if of]
        said = self.signer("invite", name, *sum(words, []), *options, "--for", "30d")
        return next(it for it in said.values() if str(it).startswith("bunker://"))

    def connect(self, uri, name, allow, options=()):
        self.signer("connect", uri, "--name", name, "--allow", ",".join(allow), *options)

    def revoke(self, name):
        self.signer("revoke", name)


class StandIn:
    """NDK's `NDKNip46Backend`."""

    def __init__(self, folder, relay, _):
        self.folder = folder
        self.relay = relay
        self.start()

    def start(self):
        state = os.path.join(self.folder, "state.json")
        words = ["node", os.path.join(NODE, "stand-in.mjs"), state, self.relay.url]
        self.process = Process(words, os.path.join(self.folder, "signer.log"))
        self.user = self.process.line()["user"]

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()

    def relay_restarted(self):
        """It does not find the relay within a minute."""
        self.kill()
        self.start()

    def invite(self, name, allow, ask=(), options=()):
        return self.process.ask({"do": "invite", "name": name, "allow": allow})["uri"]

    def connect(self, uri, name, allow, options=()):
        self.process.ask({"do": "connect", "uri": uri, "name": name, "allow": allow})

    def revoke(self, name):
        self.process.ask({"do": "revoke", "name": name})
