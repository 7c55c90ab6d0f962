"""README's client of a remote signer, with the signer of the program `ENDSEAL_PROGRAM` over the
relay `ENDSEAL_RELAY`."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from endseal.nostr import verify_event
from scene import clean_environment

README = Path(__file__).parents[1] / "README.md"


class Signer:
    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.children: list[subprocess.Popen[bytes]] = []
        self.passphrase = folder / "passphrase"
        self.passphrase.write_text("a passphrase of the tests\n")
        self.passphrase.chmod(0o600)
        self.relay = self.serve([os.environ["ENDSEAL_RELAY"], *options]).strip()
        self.run("init")
        self.user = json.loads(self.run("import", typed=secrets.token_hex(32) + "\n"))
        self.serve([*self.words("run"), "--relay", self.relay])

    def words(self, *words: str) -> list[str]:
        common = ["--home", str(self.folder / "home"), "--passphrase-file", str(self.passphrase)]
        return [os.environ["ENDSEAL_PROGRAM"], *common, "--json", "signer", *words]

    def run(self, *words: str, typed: str = "") -> str:
        done = subprocess.run(
            self.words(*words),
            input=typed.encode(),
            env=clean_environment(),
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def serve(self, words: list[str]) -> str:
        """Starts a program that prints a line when it runs."""
        pipe = subprocess.PIPE
        child = subprocess.Popen(
            words, env=clean_environment(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self.children.append(child)
        assert child.stdout is not None
        return child.stdout.readline().decode()

    def invite(self) -> str:
        said = json.loads(self.run("invite", "app", "--allow", "sign:1", "--for", "1d"))
        return next(str(it) for it in said.values() if str(it).startswith("bunker://"))

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe:
                    pipe.close()


@pytest.fixture(params=[[], ["--auth"]], ids=["open", "behind a log-in"])
def signer(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Signer]:
    made = Signer(tmp_path, *request.param)
    try:
        yield made
    finally:
        made.close()


def test_the_signer_answers_the_client_of_the_readme(signer: Signer) -> None:
    found = re.search(r"^```python signer\n(.*?)^```", README.read_text(), re.M | re.S)
    assert found
    uri = signer.invite()
    program = f"{found[1]}\nprint(json.dumps(event))"
    done = subprocess.run(
        [sys.executable, "-c", f"import json\n{program}"],
        env={**os.environ, "BUNKER": uri},
        cwd=signer.folder,
        capture_output=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr.decode()
    event = json.loads(done.stdout)
    verify_event(event)
    assert (event["kind"], event["content"]) == (1, "hello")
    assert event["pubkey"] in signer.user.values(), signer.user


INVITATION = """
import asyncio, json, sys
from endseal.nostr import NostrKey, RemoteSigner
from websockets.asyncio.client import connect

async def main(relay):
    signer = RemoteSigner.invite(NostrKey.generate(), [relay], name="app")
    print(signer.uri, flush=True)
    async with connect(relay) as socket:
        signer.connected(relay)
        request = None
        while True:
            for message in signer.outgoing(relay):
                await socket.send(message)
            answer = signer.receive(relay, await socket.recv())
            if answer and answer.request == request:
                answer.result()
                return answer.event
            if answer:
                request = signer.sign({"kind": 1, "content": "invited"})

print(json.dumps(asyncio.run(asyncio.wait_for(main(sys.argv[1]), 60))))
"""


def test_the_signer_accepts_an_invitation(signer: Signer) -> None:
    words = [sys.executable, "-c", INVITATION, signer.relay]
    pipe = subprocess.PIPE
    child = subprocess.Popen(words, cwd=signer.folder, stdin=pipe, stdout=pipe)
    signer.children.append(child)
    assert child.stdout is not None
    uri = child.stdout.readline().decode().strip()
    assert uri.startswith("nostrconnect://"), uri
    signer.run("connect", uri, "--name", "app", "--allow", "sign:1", "--for", "1d")
    event = json.loads(child.stdout.readline())
    verify_event(event)
    assert event["content"] == "invited" and event["pubkey"] in signer.user.values()
