"""Clients that encrypt their requests by NIP-04, as long as they have read no answer in NIP-44."""

import pytest

from clients import NIP04, draft

pytestmark = pytest.mark.ours
CLIENTS = NIP04


def test_requests_encrypted_by_nip04_are_answered(app, world):
    event = app.sign()
    assert event["content"] == draft()["content"] and event["pubkey"] == world.signer.user
    known = next(it for it in world.signer.signer("apps")["apps"] if it["name"] == app.name)
    assert known["legacy"], known
