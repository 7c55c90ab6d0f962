"""Applications: client libraries of others behind lines of JSON, all with the same orders."""

import os
import secrets
import sys
import time

import pytest

from limits import lateness
from places import CACHE, CHROMIUM, GO, NODE, PYTHON, RUST, SDKS
from processes import Process


def node(library, *arguments):
    return ["node", os.path.join(NODE, "client.mjs"), library, *arguments]


def python(version):
    return [os.path.join(CACHE, f"nostr-sdk-{version}/bin/python"), "-B", os.path.join(PYTHON, "client.py")]


# Current versions have no number in their names.
COMMANDS = {
    "nostr-tools": node("nostr-tools"),
    "ndk": node("ndk"),
    "go-nostr": [GO, "client"],
    "welshman": node("welshman"),
    "applesauce": node("applesauce"),
    "nostr-connect": [RUST, "client"],
    "nostr-login": node("nostr-login", CHROMIUM),
    "window-nostr": node("window-nostr", CHROMIUM),
}
VERSIONS = {
    "nostr-tools": "nostr-tools 2.25.2",
    "ndk": "@nostr-dev-kit/ndk 3.0.3",
    "go-nostr": "go-nostr 0.52.3",
    "welshman": "@welshman/signer 0.8.15",
    "applesauce": "applesauce-signers 6.2.2",
    "nostr-connect": "nostr-connect 0.45.2",
    "nostr-login": "nostr-login 1.7.12",
    "window-nostr": "window.nostr.js 0.4.9",
}
for short, full in {"2.5": "2.5.2", "2.7": "2.7.2", "2.10": "2.10.4", "2.17": "2.17.0"}.items():
    COMMANDS[f"nostr-tools-{short}"] = node("nostr-tools", short)
    VERSIONS[f"nostr-tools-{short}"] = f"nostr-tools {full}"
for short, full in {"2.10": "2.10.7", "2.14": "2.14.33", "2.18": "2.18.1"}.items():
    COMMANDS[f"ndk-{short}"] = node("ndk", short)
    VERSIONS[f"ndk-{short}"] = f"@nostr-dev-kit/ndk {full}"
for version in SDKS:
    COMMANDS[f"nostr-sdk-{version}"] = python(version)
    VERSIONS[f"nostr-sdk-{version}"] = f"nostr-sdk {version}"

# Clients in CI, and their checks. `None` means all.
_BRIEF = {"public key", "sign", "NIP-44", "other kind", "client restarts"}
USUAL = {
    "go-nostr": _BRIEF,
    "ndk": None,
    "nostr-tools": None,
    "ndk-2.18": _BRIEF,
    "nostr-login": _BRIEF,
    "nostr-tools-2.7": {"sign"},
}
BUNKER_ONLY = {"go-nostr", "ndk-2.10", "nostr-login", "window-nostr"}
BUNKER_ONLY |= {"nostr-tools-2.5", "nostr-tools-2.7", "nostr-tools-2.10"}
FLOWS = {name: ["bunker", "nostrconnect"][: 1 if name in BUNKER_ONLY else 2] for name in COMMANDS}

# Scripts for web pages.
WIDGETS = {"nostr-login", "window-nostr"}
# Clients that encrypt their requests by NIP-04.
NIP04 = {"nostr-tools-2.5", "nostr-tools-2.7", "ndk-2.10", "ndk-2.14", "ndk-2.18"}
# Clients that take the signer's key for the user's, by flow.
USER_KEY = {
    "bunker": {"nostr-tools-2.5", "nostr-tools-2.7", "nostr-login"},
    "nostrconnect": {"ndk-2.14", "ndk-2.18"},
}

# Attempts to connect.
ATTEMPTS = 5
# Longest time from an order to its answer, in milliseconds.
BOUND = 5_000
# Orders that send a request whenever they are given; others may be answered from memory.
REQUESTS = {"sign_event", "sign_many"}
# welshman keeps each error for three seconds. NDK and welshman ask for relays before they are ready.
SLOWER = {"welshman": 3_500}


class App:
    """An application, which a pairing connects with the signer."""

    def __init__(self, cell, world):
        self.cell, self.world = cell, world
        self.key = secrets.token_hex(32)
        self.name = f"{cell.client}-{secrets.token_hex(4)}"
        self.slowest = 0
        self.late = lateness(cell)
        self._start()

    def pair(self, allow, ask=()):
        self.asks = ask
        self.uri = getattr(self, f"_{self.cell.flow}")(allow)

    def _start(self):
        log = os.path.join(self.world.folder, f"{self.cell.client}.log")
        self.process = Process(COMMANDS[self.cell.client], log, self.world.folder)

    def _bunker(self, allow):
        uri = self.world.signer.invite(self.name, allow, self.asks, self._options())
        self.connect(uri)
        return uri

    def connect(self, uri):
        """Connects by a bunker URL, which serves the same client again."""
        # Libraries do not wait for their subscription before they send the request, and khatru
        # serves the messages of a connection side by side. The relay keeps no answers: on a busy
        # machine the subscription may come after the answer. A person tries again.
        for _ in range(ATTEMPTS):
            answer = self.ask("connect", uri=uri, key=self.key)
            if answer.get("error") != "timeout":
                break
            print(f"{self.cell.client}: no answer to connect", file=sys.stderr)
            # Not at the same part of a second: most answers were lost at the end of one, where the
            # subscription is for events of the next.
            time.sleep(0.3)
        assert answer["ok"], f"connect: {answer}"

    def _nostrconnect(self, allow):
        relays = [self.world.relay.url]
        link = self.result("uri", relays=relays, key=self.key, name=self.name)
        # A person takes the URL to the signer meanwhile. Libraries do not tell when they listen.
        time.sleep(2)
        self.world.signer.connect(link, self.name, allow, self._options())
        return self.result("wait")

    def _options(self):
        return ["--as-user-key"] if self.cell.client in USER_KEY[self.cell.flow] else []

    def ask(self, do, seconds=10, **fields):
        # The library may connect first.
        seconds += 2 * self.late
        begin = time.monotonic()
        answer = self.process.ask({"do": do, "seconds": seconds, **fields}, seconds)
        took = time.monotonic() - begin
        if answer.get("error") == "unsupported":
            pytest.skip(f"{VERSIONS[self.cell.client]} has {answer['message']}")
        assert do not in REQUESTS or took >= self.late, f"{do}: after {took} s only: {answer}"
        return answer

    def result(self, do, **fields):
        """Returns the signer's answer. Fails if it is late or an error."""
        answer = self.ask(do, **fields)
        assert answer["ok"], f"{do}: {answer}"
        self.slowest = max(self.slowest, answer["ms"])
        bound = BOUND + SLOWER.get(self.cell.client, 0) + 2_000 * self.late
        assert answer["ms"] <= bound, f"{do}: {answer}"
        return answer["result"]

    def refused(self, do, **fields):
        """The text of the signer's error; silence is a failure."""
        answer = self.ask(do, **fields)
        assert answer.get("error") == "refused", f"{do}: {answer}"
        return answer["message"]

    def sign(self, kind=1, **options):
        return self.result("sign_event", event=draft(kind), **options)

    def begin(self, what, **fields):
        """Starts an order that a person decides: `page`, then `end` or `failed`."""
        self.result("begin", what=what, **fields)

    def page(self):
        return self.result("page")

    def end(self):
        return self.result("end")

    def failed(self):
        return self.refused("end")

    def restart(self):
        """The application ends and starts again with the key that it has kept."""
        self.process.kill()
        self._start()
        self.result("resume", uri=self.uri, key=self.key)

    def stop(self):
        self.process.stop()


def draft(kind=1, content="quotes \" and \\, a line\nend, an umlaut ü, 🔏"):
    # Old enough for every clock, and the same in every answer.
    return {"kind": kind, "created_at": 1_790_000_000, "tags": [["t", "endseal"]], "content": content}
