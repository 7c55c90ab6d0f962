"""Clients of the past, which encrypt by NIP-04."""

import os
import secrets

import pytest

from places import NODE
from processes import Process

pytestmark = pytest.mark.ours


@pytest.mark.parametrize("library", ["nostr-tools-2.7", "ndk-2.18"])
def test_a_client_that_encrypts_by_nip04_connects_and_signs(world, cell, library):
    name = f"{library}-{secrets.token_hex(4)}"
    # nostr-tools takes the key of the bunker for that of the user.
    options = ["--as-user-key"] if library == "nostr-tools-2.7" else []
    uri = world.signer.invite(name, ["sign:1"], options=options)
    words = ["node", os.path.join(NODE, "legacy.mjs"), library, uri, secrets.token_hex(32)]
    process = Process(words, os.path.join(world.folder, f"{library}.log"))
    said = process.line(30)
    process.stop()
    assert said["ok"], said
    assert said["event"]["content"] == "from the past" and said["event"]["pubkey"] == world.signer.user
    apps = world.signer.signer("apps")["apps"]
    app = next(it for it in apps if it["name"] == name)
    # NDK follows to NIP-44 once it has read an answer in it; its requests stay in NIP-04 here.
    assert app["legacy"], app
