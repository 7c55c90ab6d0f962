"""The haproxy.cfg of deploy/s3 before two proxies, with boto3; and what it says of its clients."""

import http.client
import json
import os
import shutil
import time

import pytest

from children import free_port
from commands import write
from content import MIB, content, equal, same
from processes import Process
from servers import answers
from test_breakdowns import eventually

pytestmark = [pytest.mark.other_client, pytest.mark.needs_proxy]

CONFIGURATION = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../deploy/s3/compose/haproxy.cfg"
)


def haproxy(world, proxies, server="", line=""):
    """haproxy before two proxies, with more words for its servers and one more line; its port."""
    if not shutil.which("haproxy"):
        pytest.skip("haproxy is missing")
    port = free_port()
    with open(CONFIGURATION) as file:
        text = file.read()
    changes = {
        "bind :9000": f"bind 127.0.0.1:{port}",
        " proxy-1:9000": f" 127.0.0.1:{proxies[0].port} {server}",
        " proxy-2:9000": f" 127.0.0.1:{proxies[1].port} {server}",
        "    balance leastconn": f"    balance leastconn\n    {line}",
    }
    for there, here in changes.items():
        assert text.count(there) == 1, there
        text = text.replace(there, here)
    folder = world.temporary()
    path = write(folder, "haproxy.cfg", text.encode())
    return port, Process(
        ["haproxy", "-db", "-f", path], f"{folder}/log", ready=lambda: answers(port, "/readyz")
    )


@pytest.fixture
def balanced(world):
    """Two proxies, and a client of the balancer before them."""
    proxies = [world.another_proxy(), world.another_proxy()]
    port, process = haproxy(world, proxies)
    yield proxies, world.client(f"http://127.0.0.1:{port}")
    process.stop()


def test_an_upload_goes_through_both_proxies(world, balanced):
    proxies, s3 = balanced
    bucket = world.bucket("balanced")
    data = content(15 * MIB)
    upload = {"Bucket": bucket, "Key": "k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    parts = []
    for number in range(1, 4):
        piece = data[(number - 1) * 5 * MIB : number * 5 * MIB]
        # A client of its own: one connection would stay with one proxy.
        tag = world.client(s3.meta.endpoint_url).upload_part(
            **upload, PartNumber=number, Body=piece
        )["ETag"]
        parts.append({"PartNumber": number, "ETag": tag})
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    for front in proxies:
        same(world.client(front.url).get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_requests_go_on_when_a_proxy_is_killed(world, balanced):
    proxies, s3 = balanced
    bucket = world.bucket("balanced")
    s3.put_object(Bucket=bucket, Key="k", Body=b"content")
    proxies[0].kill()
    # Four seconds until haproxy knows; meanwhile it takes the other when a connection is refused.
    end = time.monotonic() + 6
    while time.monotonic() < end:
        one = world.client(s3.meta.endpoint_url)
        same(one.get_object(Bucket=bucket, Key="k")["Body"].read(), b"content")
        time.sleep(0.05)


# The balancer has an address of its own, so that the test itself is no balancer.
BALANCER = "127.0.0.2"


@pytest.mark.parametrize(
    "source, server, line",
    [
        ("proxy-protocol", "send-proxy-v2", ""),
        ("proxy-protocol", "send-proxy", ""),
        ("x-forwarded-for", "", "option forwardfor"),
        ("forwarded", "", "http-request add-header Forwarded for=%[src]"),
    ],
)
def test_the_log_has_the_address_of_the_client(world, source, server, line):
    extra = f'[balancer]\naddresses = ["{BALANCER}"]\nclient_address = "{source}"'
    proxies = [world.another_proxy(extra=extra), world.another_proxy(extra=extra)]
    port, process = haproxy(world, proxies, f"source {BALANCER} {server}", line)
    bucket = world.bucket("balanced")
    s3 = world.client(f"http://127.0.0.1:{port}")
    s3.put_object(Bucket=bucket, Key="k", Body=content(MIB))
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), content(MIB))
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=30, source_address=("127.0.0.9", 0)
    )
    # What a client says of itself is not believed.
    said = {"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7"}
    connection.request("GET", "/of-another-client", headers=said)
    equal(connection.getresponse().status, 403, "status without a signature")
    connection.close()

    def lines():
        words = "".join(it.words() for it in proxies).splitlines()
        return [json.loads(it) for it in words if '"bucket":"of-another-client"' in it]

    eventually(lines, "no line of the log")
    found = lines()[0]
    equal(found["peer"].partition(":")[0], "127.0.0.9", "peer")
    equal(found["via"].partition(":")[0], BALANCER, "via")
    process.stop()
    # Without the balancer nothing is stated, and nothing believed.
    for front in proxies:
        equal(world.wire_to(front).request("GET", "/", said).status, 200, "status")
        eventually(lambda: '"operation":"Other"' in front.words(), "no line of the log")
        last = [it for it in front.words().splitlines() if '"operation":"Other"' in it][-1]
        assert '"peer":"127.0.0.1:' in last and "via" not in last, last
