"""Requests without a grant get an error in time, and do not affect other requests."""

import secrets

import pytest

from clients import draft
from processes import Process


@pytest.mark.check("other kind")
def test_kind_without_a_grant_is_refused(pair):
    app = pair(["sign:1"])
    assert app.refused("sign_event", event=draft(kind=4))
    app.sign()


@pytest.mark.check("other method")
def test_method_without_a_grant_is_refused(pair, other):
    app = pair(["sign:1", "nip44_encrypt"])
    public = other("public_key", secret=secrets.token_hex(32))["public"]
    payload = app.result("encrypt", scheme="nip44", peer=public, text="text")
    assert app.refused("decrypt", scheme="nip44", peer=public, text=payload)
    assert app.refused("encrypt", scheme="nip04", peer=public, text="text")
    app.sign()


@pytest.mark.check("unknown method")
def test_unknown_method_is_refused(app):
    assert app.refused("call", method="no_such_method", params=[])
    app.sign()


@pytest.mark.check("bad event")
def test_request_that_is_no_event_is_refused(app):
    assert app.refused("call", method="sign_event", params=['{"kind":"one"}'])
    assert app.refused("call", method="sign_event", params=[])
    app.sign()


@pytest.mark.check("revoked")
def test_revoked_application_gets_nothing(app, world):
    app.sign()
    world.signer.revoke(app.name)
    answer = app.ask("sign_event", event=draft(), seconds=4)
    assert answer.get("error") in ("refused", "timeout"), answer


@pytest.mark.check("spent secret")
def test_secret_serves_one_application(app, world, cell):
    if cell.flow != "bunker":
        pytest.skip("secrets of nostrconnect:// are the client's")
    thief = Thief(app)
    answer = thief.ask("connect", uri=app.uri, key=secrets.token_hex(32), seconds=4)
    assert answer.get("error") in ("refused", "timeout"), answer
    thief.stop()
    app.sign()


class Thief:
    """Another program with the same library."""

    def __init__(self, app):
        self.process = Process(app.process.arguments, app.process.log)

    def ask(self, do, seconds, **fields):
        return self.process.ask({"do": do, "seconds": seconds, **fields}, seconds)

    def stop(self):
        self.process.stop()
