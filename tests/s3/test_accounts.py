"""The account that the proxy has at the server: a wrong one is no fault of clients."""

import signal

import pytest

from content import equal
from proxy import secret_file
from servers import answers
from test_breakdowns import eventually
from test_signatures import DATA, a_bucket
from world import refusal

pytestmark = [pytest.mark.needs_proxy]

REFUSED = 'endseal_s3_backend_account_refused_total{account="proxy"}'


def reloaded(front, change):
    """The configuration of a running proxy is changed and read again."""
    with open(front.configuration) as file:
        text = file.read()
    with open(front.configuration, "w") as file:
        file.write(change(text))
    front.process.child.send_signal(signal.SIGHUP)


@pytest.mark.parametrize("kind", ["secret", "access key", "region"])
def test_a_wrong_account_is_no_fault_of_clients(world, kind):
    if kind == "region" and world.server.name == "minio":
        pytest.skip("takes signatures of any region")
    bucket = a_bucket(world)
    front = world.another_proxy()
    http = world.wire_to(front)
    assert answers(front.port, "/readyz", (200,))
    folder = front.configuration.rsplit("/", 1)[0]
    if kind == "secret":
        secret_file(folder, "backend.secret", "another-secret-0123456789")
        front.process.child.send_signal(signal.SIGHUP)
    elif kind == "access key":
        known = f'access_key = "{world.server.access}"'
        reloaded(front, lambda text: text.replace(known, 'access_key = "nobody"'))
    else:
        reloaded(front, lambda text: text.replace("region = ", 'region = "eu-west-9"  # '))
    eventually(lambda: http.request("GET", f"/{bucket}/k").status == 503, "no 503", 30)
    for method, target, body in (
        ("GET", f"/{bucket}/k", b""),
        ("PUT", f"/{bucket}/new", DATA),
        ("GET", f"/{bucket}?list-type=2", b""),
        ("POST", f"/{bucket}/k?uploads", b""),
    ):
        refusal(http.request(method, target, None, body), 503, "ServiceUnavailable")
    for target in (f"/{bucket}/k", f"/{bucket}"):
        equal(http.request("HEAD", target).status, 503, f"status of HEAD {target}")
    assert '"kind":"backend_account"' in front.words(), front.words()[-2000:]
    assert answers(front.port, "/readyz", (503,)), "ready with a wrong account"
    assert answers(front.port, "/healthz", (200,)), "the process is well all the same"


def test_a_right_account_after_a_wrong_one(world):
    bucket = a_bucket(world)
    front = world.another_proxy()
    folder = front.configuration.rsplit("/", 1)[0]
    for secret, status in (("another-secret-0123456789", 503), (world.server.secret, 200)):
        secret_file(folder, "backend.secret", secret)
        front.process.child.send_signal(signal.SIGHUP)
        eventually(lambda: answers(front.port, "/readyz", (status,)), f"not {status}", 30)
    equal(world.wire_to(front).request("GET", f"/{bucket}/k").body, DATA)
