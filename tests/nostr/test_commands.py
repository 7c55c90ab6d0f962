"""Commands of our signer, without a terminal, while an application of another works with it."""

import concurrent.futures
import time

import pytest

from clients import draft

pytestmark = pytest.mark.ours


def test_invited_application_needs_nobody_at_the_terminal(pair):
    app = pair(["sign:1"])
    app.sign(kind=1)
    assert app.refused("sign_event", event=draft(kind=4))


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_request_waits_for_a_decision_and_blocks_no_other(app, world, decision):
    signer = world.signer.signer
    signer("grant", app.name, "--ask", "sign:7")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(app.ask, "sign_event", event=draft(kind=7), seconds=30)
        other = Twin(app)
        request = waiting(signer, app.name)
        other.sign()
        assert not asked.done()
        signer(decision, str(request))
        answer = asked.result()
    other.stop()
    assert answer.get("error") == (None if decision == "approve" else "refused"), answer


def waiting(signer, name):
    """The id of the request of an application that waits."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for request in signer("waiting")["waiting"]:
            if request["app"] == name:
                return request["id"]
        time.sleep(0.1)
    raise AssertionError(f"nothing of {name} waits")


class Twin:
    """Another process of the same application, with its key."""

    def __init__(self, app):
        self.app = type(app)(app.cell, app.world)
        self.app.uri, self.app.key = app.uri, app.key
        self.app.result("resume", uri=app.uri, key=app.key)

    def sign(self):
        return self.app.sign()

    def stop(self):
        self.app.stop()


def test_grant_is_valid_at_once(pair, world):
    app = pair(["sign:1"])
    assert app.refused("sign_event", event=draft(kind=30_023))
    world.signer.signer("grant", app.name, "--allow", "sign:30023")
    app.sign(kind=30_023)


def test_locked_signer_signs_again_after_its_passphrase(app, world):
    app.sign()
    world.signer.signer("lock")
    assert app.refused("sign_event", event=draft())
    world.signer.signer("unlock")
    app.sign()


def test_log_has_a_line_for_each_signature(app, world):
    before = world.signer.signer("log", "--verify")["lines"]
    for _ in range(3):
        app.sign()
    assert world.signer.signer("log", "--verify")["lines"] >= before + 3
