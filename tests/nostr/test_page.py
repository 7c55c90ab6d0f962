"""The approval page in browsers, with an application of others that sends its user there."""

import os
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from browsers import sign_in
from clients import App, draft

pytestmark = pytest.mark.ours
TEXT = "nobody was asked\nabout <b>this</b>"
# Milliseconds for which a page that has just appeared decides nothing, less the clocks' steps.
GUARD = 950
ATTEMPTS = 10


@pytest.fixture
def asking(world, cell):
    """An application for which a person decides each signature."""
    app = App(cell, world)
    app.pair([], ask=["sign", "sign:62", "nip44_decrypt"])
    yield app
    app.stop()


def asked(app, **event):
    """Sends a request, and returns its page once the signer has named it."""
    app.begin("sign_event", event={**draft(), "content": TEXT, **event})
    return app.page()


def test_a_person_signs_in_and_decides(browser, world, asking):
    url = asked(asking)
    # The user comes from the app before the browser is signed in, and gets back to the request.
    shown = browser.open(url)
    assert shown["status"] == 403 and "not signed in" in shown["text"], shown
    shown = sign_in(browser, world)
    assert shown["url"] == url, shown
    for words in (asking.name, "short text note", "nobody was asked", "<b>this</b>", "npub1", "sign:1"):
        assert words in shown["text"], words
    # The time of the draft is not that of the machine.
    assert "this machine's clock" in shown["text"], shown["text"]
    assert browser.faults() == []
    assert "Allowed" in browser.press("Allow")["text"]
    assert asking.end()["content"] == TEXT
    url = asked(asking)
    browser.open(url)
    assert "Denied" in browser.press("Deny")["text"]
    assert asking.failed() == "not allowed"
    shown = browser.open(url)
    assert shown["status"] == 404 and "no longer waits" in shown["text"]
    shown = browser.open(f"{world.signer.page}request/1")
    assert shown["status"] == 404


def test_a_decision_is_remembered(browser, world, asking):
    url = asked(asking)
    sign_in(browser, world)
    browser.open(url)
    browser.choose("86400")
    # By the keyboard alone.
    assert "Allowed" in browser.keyboard("Allow")["text"]
    asking.end()
    # Nobody is asked again.
    assert asking.sign()["kind"] == 1
    url = asked(asking, kind=7)
    shown = browser.open(world.signer.page)
    assert browser.faults() == []
    assert "reaction" in shown["text"]
    browser.open(url)
    browser.press("Deny")
    assert asking.failed() == "not allowed"


@pytest.mark.parametrize("features", ["popup,width=400,height=600", ""], ids=["popup", "tab"])
def test_an_app_opens_the_page_from_its_own_site(browser, world, asking, features):
    sign_in(browser, world)
    shown = browser.popup(asked(asking), features)
    assert "nobody was asked" in shown["text"], shown
    # Log-in widgets wait for their popup to be closed.
    assert shown["isClosedForApp"] is False
    assert "close this window" in browser.press("Allow")["text"]
    asking.end()


def test_all_of_a_request_is_shown(browser, world, asking):
    sign_in(browser, world)
    tags = [["p", f"value {at}", "a b"] for at in range(30)]
    url = asked(asking, content="a" * 3000 + "the end", tags=tags, created_at=9007199254740991)
    browser.open(url)
    shown = browser.unfold()["text"]
    assert "the end" in shown and "value 29" in shown and "years ahead of" in shown
    for width, scheme in ((390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")):
        file = os.path.join(world.folder, f"{browser.name}-{width}-{scheme}.png")
        assert browser.look(width, scheme, file) <= 0, "it is wider than the window"
        if scheme == "light" or browser.name == "chrome":
            assert browser.faults() == []
        if "ENDSEAL_SCREENSHOTS" in os.environ:
            shutil.copy(file, os.environ["ENDSEAL_SCREENSHOTS"])
    browser.press("Deny")
    asking.failed()


def test_other_sites_decide_nothing(browser, world, asking):
    url = asked(asking)
    sign_in(browser, world)
    token = re.search(r'name="token" value="(\w+)"', browser.source(url))[1]
    for fields in ({"decision": "allow"}, {"decision": "allow", "token": token}):
        shown = browser.attack(url, fields)
        assert "another site" in shown["text"], shown
    assert "Waiting" not in browser.frame(url)
    # The same server by another name is another host, and does not say the name of the page.
    name, port = urlsplit(url).hostname, urlsplit(url).port
    for host in ("127.0.0.1", "localhost", "[::1]"):
        shown = browser.open(f"http://{host}:{port}/")
        assert shown["status"] == 421 and name not in shown["text"], shown
    browser.open(url)
    browser.press("Deny")
    assert asking.failed() == "not allowed"


def test_servers_of_other_accounts_get_no_cookie(browser, world):
    sign_in(browser, world)
    seen = []

    class Thief(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.headers["Host"], self.headers["Cookie"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    thief = ThreadingHTTPServer(("127.0.0.1", 0), Thief)
    Thread(target=thief.serve_forever, daemon=True).start()
    for host in ("127.0.0.1", "localhost", "other.localhost"):
        browser.open(f"http://{host}:{thief.server_port}/")
    thief.shutdown()
    hosts = {host for host, _ in seen}
    assert len(hosts) == 3, seen
    assert {cookie for _, cookie in seen} == {None}, seen
    # The browser is still signed in.
    assert browser.open(world.signer.page)["status"] == 200


def too_early(asking, other, act):
    """What the page of a request shows after an input within a second, and the request."""
    for _ in range(ATTEMPTS):
        shown = act(other)
        if shown["ms"] < GUARD:
            return shown, other
        # A busy machine: this input may have decided, and rightly so.
        other = asked(asking, kind=7)
    raise AssertionError(f"the browser never did it within {GUARD} ms: {shown}")


def test_a_page_that_has_just_appeared_decides_nothing(browser, world, asking):
    harmless, other = asked(asking), asked(asking, kind=7)
    sign_in(browser, world)
    shown, other = too_early(asking, other, lambda it: browser.swap(harmless, it))
    assert shown["url"] == other and "reaction" in shown["text"], shown
    for keys in [["Tab"] * tabs + [key] for tabs in range(6) for key in ("Enter", " ")]:
        shown, other = too_early(asking, other, lambda it: browser.hasty(it, keys))
        assert "Allowed" not in shown["text"] and "Denied" not in shown["text"], (keys, shown)

    def uncover(it):
        browser.open(it)
        return browser.uncover()

    shown, other = too_early(asking, other, uncover)
    assert shown["url"] == other and "reaction" in shown["text"], shown
    # A person who takes a second decides.
    browser.open(harmless)
    assert "Denied" in browser.press("Deny")["text"]
    browser.open(other)
    assert "Allowed" in browser.press("Allow")["text"]
    assert asking.end()["kind"] == 7


def test_a_kind_that_acts_elsewhere_needs_a_second_step(browser, world, asking):
    url = asked(asking, kind=62, tags=[["relay", "ALL_RELAYS"]])
    sign_in(browser, world)
    browser.open(url)
    assert browser.faults() == []
    shown = browser.try_to_allow()
    assert shown["url"] == url and "kind 62" in shown["text"], shown
    browser.check()
    assert "Allowed" in browser.press("Allow")["text"]
    assert asking.end()["kind"] == 62
    url = asked(asking, kind=62, tags=[["relay", "ALL_RELAYS"]])
    browser.open(url)
    assert "Denied" in browser.press("Deny")["text"]
    assert asking.failed() == "not allowed"


def test_a_sign_out_ends_all_sessions(browser, world, asking):
    sign_in(browser, world)
    url = asked(asking)
    assert browser.open(url)["status"] == 200
    assert world.signer.signer("sign-out")["signed_out"] >= 1
    assert browser.open(url)["status"] == 403
    sign_in(browser, world)
    browser.open(url)
    browser.press("Deny")
    assert asking.failed() == "not allowed"


def test_the_list_shows_new_requests_by_itself(browser, world, asking):
    sign_in(browser, world)
    shown = browser.open(world.signer.page)
    assert asking.name not in shown["text"]
    url = asked(asking)
    browser.wait(asking.name)
    browser.open(url)
    browser.press("Deny")
    asking.failed()


def test_a_sign_in_link_serves_one_browser(browser, world):
    link = world.signer.sign_in()
    for _ in range(2):
        # A messenger that shows a preview opens it, too.
        assert "Sign in" in browser.open(link)["text"]
    browser.press("Sign this browser in")
    browser.open(link)
    assert "already used" in browser.press("Sign this browser in")["text"]
