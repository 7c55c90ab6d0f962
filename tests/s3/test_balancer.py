"""The haproxy.cfg of deploy/s3 before two proxies, with boto3."""

import os
import shutil
import time

import pytest

from children import free_port
from commands import write
from content import MIB, content, same
from processes import Process
from servers import answers

pytestmark = [pytest.mark.other_client, pytest.mark.needs_proxy]

CONFIGURATION = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../deploy/s3/compose/haproxy.cfg"
)


@pytest.fixture
def balanced(world):
    """Two proxies, and a client of the balancer before them."""
    if not shutil.which("haproxy"):
        pytest.skip("haproxy is missing")
    proxies = [world.another_proxy(), world.another_proxy()]
    port = free_port()
    with open(CONFIGURATION) as file:
        text = file.read()
    changes = {
        "bind :9000": f"bind 127.0.0.1:{port}",
        " proxy-1:9000": f" 127.0.0.1:{proxies[0].port}",
        " proxy-2:9000": f" 127.0.0.1:{proxies[1].port}",
    }
    for there, here in changes.items():
        assert text.count(there) == 1, there
        text = text.replace(there, here)
    folder = world.temporary()
    path = write(folder, "haproxy.cfg", text.encode())
    haproxy = Process(
        ["haproxy", "-db", "-f", path], f"{folder}/log", ready=lambda: answers(port, "/readyz")
    )
    yield proxies, world.client(f"http://127.0.0.1:{port}")
    haproxy.stop()


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
