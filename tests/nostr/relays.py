"""Relays: each serves at one URL, and can be killed and started again there."""

import os
import time
import urllib.request

from children import free_port
from places import CACHE, GO
from processes import Process


class Relay:
    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.url = f"ws://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, "relay.log")
        self.start()

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()


class Khatru(Relay):
    """In memory; sends OK for events of ephemeral kinds."""

    version = "khatru 0.17.4"
    notes = ""
    options = ()

    def start(self):
        words = [GO, "relay", "--listen", f"127.0.0.1:{self.port}", *self.options]
        self.process = Process(words, self.log)
        self.process.line()


class KhatruAuth(Khatru):
    """Demands a log-in (NIP-42) of those who read messages of remote signing."""

    notes = ", which demands a log-in (NIP-42) to read answers"
    options = ("--auth",)


class KhatruRate(Khatru):
    """Takes so many answers of the signer at once, and five a second beyond them."""

    burst = 4
    notes = f", which takes {burst} answers at once and five a second beyond them"
    options = ("--burst", str(burst))


class KhatruSmall(Khatru):
    """Ends connections that send messages of more bytes than NIP-11 says."""

    notes = ", which takes messages up to 16 KiB"
    options = ("--max-message", "16384")


class NostrRsRelay(Relay):
    """Sends no OK for events of ephemeral kinds."""

    version = "nostr-rs-relay 0.8.12"
    notes = ""

    def start(self):
        settings = os.path.join(self.folder, "relay.toml")
        with open(settings, "w") as file:
            file.write(f'[network]\naddress = "127.0.0.1"\nport = {self.port}\n')
            file.write('[database]\ndata_directory = "."\nin_memory = true\n')
        program = os.path.join(CACHE, "bin/nostr-rs-relay")
        self.process = Process([program, "--config", settings], self.log, self.folder)
        end = time.monotonic() + 30
        while not self._answers():
            if time.monotonic() > end:
                raise AssertionError(f"the relay is not ready: {self.process.tail()}")
            time.sleep(0.05)

    def _answers(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=2):
                return True
        except OSError:
            return False


RELAYS = {
    "khatru": Khatru,
    "khatru-auth": KhatruAuth,
    "khatru-rate": KhatruRate,
    "khatru-small": KhatruSmall,
    "nostr-rs-relay": NostrRsRelay,
}
