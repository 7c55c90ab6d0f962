"""Ends of signer, relay and client: grants and connections outlive them."""

import time

import pytest

from clients import draft
from limits import DEAF

# Libraries wait between two attempts to connect.
TIMEOUT = 60
# Seconds that the relay is away.
OUTAGE = 3


def eventually(action):
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return action()
        except AssertionError:
            if time.monotonic() > end:
                raise


def signs(app, restarted):
    if restarted:
        app.restart()
    answer = app.ask("sign_event", event=draft(), seconds=5)
    assert answer["ok"], answer


@pytest.mark.check("signer restarts")
def test_killed_signer_knows_its_applications(app, world):
    app.sign()
    world.signer.kill()
    world.signer.start()
    app.sign()


@pytest.mark.check("relay restarts")
def test_killed_relay_is_found_again(app, world, cell):
    app.sign()
    world.relay.kill()
    time.sleep(OUTAGE)
    world.relay.start()
    world.signer.relay_restarted()
    # The signer may not be there yet when a restarted client sends its first request.
    eventually(lambda: signs(app, restarted=cell.client in DEAF))


@pytest.mark.check("client restarts")
def test_client_goes_on_with_its_key(app):
    app.sign()
    app.restart()
    # Libraries send a first request before the relay has their subscription: its answer may be lost.
    eventually(app.sign)


@pytest.mark.check("connects again")
def test_known_client_connects_again_with_its_secret(app, cell):
    if cell.flow != "bunker":
        pytest.skip("secrets of nostrconnect:// are the client's")
    app.connect(app.uri)
    app.sign()


@pytest.mark.check("logout")
def test_logged_out_application_gets_nothing(app):
    app.result("logout")
    app.restart()
    answer = app.ask("sign_event", event=draft(), seconds=4)
    assert not answer["ok"], answer
