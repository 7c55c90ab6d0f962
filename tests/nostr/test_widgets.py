"""Log-in widgets of web pages, which open the approval page for their user."""

import pytest

from browsers import sign_in
from clients import WIDGETS, App, draft

pytestmark = pytest.mark.ours
CLIENTS = WIDGETS


@pytest.fixture
def asking(world, cell):
    """A page whose widget is logged in. A person decides each signature."""
    app = App(cell, world)
    app.pair([], ask=["sign"])
    yield app
    app.stop()


@pytest.mark.parametrize("decision", ["Allow", "Deny"])
def test_the_widget_opens_the_page_of_the_signer(browser, world, asking, decision):
    asking.begin("sign_event", event=draft())
    # It has pressed the widget's button, and the popup was shown.
    url = asking.page()
    assert url.startswith(world.signer.page), url
    sign_in(browser, world)
    assert asking.name in browser.open(url)["text"]
    browser.press(decision)
    if decision == "Allow":
        assert asking.end()["pubkey"] == world.signer.user
    else:
        assert asking.failed() == "not allowed"
