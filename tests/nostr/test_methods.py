"""Each method, with everything granted."""

import json
import secrets

import pytest

from clients import draft


@pytest.mark.check("public key")
def test_public_key_is_the_users(app, world):
    assert app.result("get_public_key") == world.signer.user


@pytest.mark.check("ping")
def test_ping_is_answered(app):
    # Some libraries compare it themselves and drop it.
    assert app.result("ping") in ("pong", None)


@pytest.mark.check("sign")
def test_event_is_signed_by_the_user(app, world, other):
    event = app.sign()
    assert {name: event[name] for name in draft()} == draft()
    assert event["pubkey"] == world.signer.user
    assert other("verify", event=json.dumps(event))["valid"]


@pytest.mark.check("32 at once")
def test_requests_at_once_are_all_answered(app, world, other):
    events = app.result("sign_many", event=draft(), count=32, seconds=30)
    assert len(events) == 32
    assert all(other("verify", event=json.dumps(it))["valid"] for it in events)


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param("nip44", marks=pytest.mark.check("NIP-44")),
        pytest.param("nip04", marks=pytest.mark.check("NIP-04")),
    ],
)
def test_messages_go_both_ways(app, world, other, scheme):
    text = "\"quoted\" \\ and\nbroken, ü 🔏"
    peer = secrets.token_hex(32)
    public = other("public_key", secret=peer)["public"]
    encrypt, decrypt = ("encrypt", "decrypt") if scheme == "nip44" else ("nip04_encrypt", "nip04_decrypt")
    both = {"secret": peer, "public": world.signer.user}
    payload = app.result("encrypt", scheme=scheme, peer=public, text=text)
    assert other(decrypt, payload=payload, **both)["text"] == text
    payload = other(encrypt, text=text, **both)["payload"]
    assert app.result("decrypt", scheme=scheme, peer=public, text=payload) == text


@pytest.mark.check("60 KB")
def test_large_text_is_answered(app, other):
    """The answer may be an error: what is encrypted twice may not fit."""
    public = other("public_key", secret=secrets.token_hex(32))["public"]
    answer = app.ask("encrypt", scheme="nip44", peer=public, text="x" * 60_000)
    assert answer["ok"] or answer["error"] == "refused", answer
    app.sign()


@pytest.mark.check("switch relays")
def test_relays_are_told_and_requests_go_on(app):
    app.result("switch_relays")
    app.sign()
