"""Relays with limits: the signer's answers come, or the client gets an error."""

import secrets
import time

import pytest

from clients import draft
from relays import KhatruRate


@pytest.mark.check("12 at once")
def test_answers_beyond_the_rate_of_a_relay_are_sent_again(app, world):
    app.sign()
    # The relay has all its tokens again.
    time.sleep(1)
    begin = time.monotonic()
    events = app.result("sign_many", event=draft(), count=12, seconds=30)
    assert len(events) == 12 and all(it["pubkey"] == world.signer.user for it in events)
    # Eight answers had to wait for a token.
    assert time.monotonic() - begin >= (12 - KhatruRate.burst) / 5 - 0.1


@pytest.mark.check("large answer")
def test_answer_that_a_relay_would_not_take_is_an_error(app, other):
    """The request fits into the relay's longest message, but its answer is encrypted twice."""
    public = other("public_key", secret=secrets.token_hex(32))["public"]
    assert app.refused("encrypt", scheme="nip44", peer=public, text="x" * 9_000)
    app.sign()
