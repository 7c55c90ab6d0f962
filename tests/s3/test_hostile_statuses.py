"""Servers that answer with a redirect, or with a success that the operation does not have.

The server under test is one of these, so nothing here depends on versitygw or MinIO. Plaintext must not
leave, and bytes of the server's own must not be taken for an object."""

import http.server
import io
import os
import shutil
import sys
import threading

import botocore.exceptions
import minio
import pytest
import urllib3

from commands import run
from content import content, equal
from wire import Signer, quote
from world import boto

pytestmark = pytest.mark.needs_proxy

FOREIGN = b"EVIL!" * 20
SECRET = b"TOP-SECRET " + content(200_000, "hostile")
# By the bucket that is asked for: status, body, whether there is a Location.
ANSWERS = {
    "redirects": (307, b"", True),
    "accepts": (202, FOREIGN, False),
    "is-empty": (204, b"", False),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, content, redirects = self.server.decide(self.path, body)
        self.send_response(status)
        if redirects:
            self.send_header("Location", f"{self.server.elsewhere}{self.path}")
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", '"0123456789abcdef0123456789abcdef"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """The proxy resets connections whose answers it refuses."""


class Hostile(Listener):
    """The server behind the proxy, and where it would like its clients to go."""

    access, secret, name = "hostile", "hostile-secret", "hostile"
    trailers = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.caught = []
        other = Listener(("127.0.0.1", 0), Handler)
        other.decide = self.catch
        self.other = other
        self.elsewhere = f"http://127.0.0.1:{other.server_address[1]}"
        for one in (self, other):
            threading.Thread(target=one.serve_forever, daemon=True).start()

    def decide(self, path, _):
        return ANSWERS.get(path.split("/")[1].split("?")[0], (403, b"", False))

    def catch(self, path, body):
        self.caught.append((path, body))
        return 200, FOREIGN, False

    def close(self):
        for one in (self, self.other):
            one.shutdown()
            one.server_close()


class Before:
    """A proxy before such a server."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        self.server = Hostile()
        self.proxy = self.world.another_proxy(server=self.server)
        self.host = f"127.0.0.1:{self.proxy.port}"
        return self

    def __exit__(self, *failure):
        self.server.close()
        if failure[0] is None:
            equal(self.server.caught, [], "requests that went elsewhere")


def test_neither_redirects_nor_other_successes_pass(world):
    with Before(world) as before:
        s3 = boto(before.proxy.url, world.access, world.secret)
        for bucket in ANSWERS:
            where = {"Bucket": bucket, "Key": "key"}
            for ask in (
                lambda: s3.put_object(**where, Body=SECRET),
                lambda: s3.get_object(**where)["Body"].read(),
                lambda: s3.head_object(**where),
                lambda: s3.copy_object(**where, CopySource=f"{bucket}/other"),
                lambda: s3.create_multipart_upload(**where),
                lambda: s3.list_objects_v2(Bucket=bucket),
            ):
                try:
                    got = ask()
                except botocore.exceptions.ClientError as error:
                    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                    equal(status, 502, f"status ({bucket}, {error})")
                else:
                    raise AssertionError(f"{bucket}: {got!r} is taken for a success")


def test_neither_redirects_nor_other_successes_pass_to_it(world):
    with Before(world) as before:
        # It follows redirects, and tries 502 again unless it is configured not to.
        pool = urllib3.PoolManager(retries=urllib3.Retry(total=3, status_forcelist=()))
        client = minio.Minio(
            before.host,
            world.access,
            world.secret,
            secure=False,
            region="us-east-1",
            http_client=pool,
        )
        for bucket in ANSWERS:
            for ask in (
                lambda: client.put_object(bucket, "key", io.BytesIO(SECRET), len(SECRET)),
                lambda: client.get_object(bucket, "key").data,
                lambda: client.stat_object(bucket, "key"),
                lambda: list(client.list_objects(bucket)),
            ):
                try:
                    got = ask()
                except (minio.error.S3Error, minio.error.ServerError):
                    continue
                raise AssertionError(f"{bucket}: {got!r} is taken for a success")


def test_neither_redirects_nor_other_successes_pass_to_s5cmd(world):
    program = os.path.join(os.path.dirname(sys.executable), "s5cmd")
    if not os.access(program, os.X_OK):
        pytest.skip("s5cmd is missing")
    folder = world.temporary()
    path = os.path.join(folder, "secret")
    with open(path, "wb") as file:
        file.write(SECRET)
    with Before(world) as before:
        environment = {
            "AWS_ACCESS_KEY_ID": world.access,
            "AWS_SECRET_ACCESS_KEY": world.secret,
            "AWS_REGION": "us-east-1",
            "HOME": folder,
        }
        s5cmd = [program, "--endpoint-url", before.proxy.url, "--retry-count", "0"]
        for bucket in ANSWERS:
            there = f"s3://{bucket}/key"
            for arguments in (["cp", path, there], ["cat", there], ["cp", there, path + ".got"]):
                done = run(s5cmd + arguments, environment, folder, expect=None)
                said = f"{arguments[0]} ({bucket}): {done.stdout[:200]!r} {done.stderr[:300]!r}"
                assert done.returncode != 0, f"success of {said}"
                assert FOREIGN[:10] not in done.stdout, said
            assert not os.path.exists(path + ".got"), bucket


def test_neither_redirects_nor_other_successes_pass_to_curl(world):
    if not shutil.which("curl"):
        pytest.skip("curl is missing")
    folder = world.temporary()
    path = os.path.join(folder, "secret")
    with open(path, "wb") as file:
        file.write(SECRET)
    with Before(world) as before:
        for bucket in ANSWERS:
            for method, options in (("PUT", ["-T", path]), ("GET", [])):
                target = f"/{bucket}/{quote('key')}"
                signer = Signer(world.access, world.secret)
                signed = signer.presigned(method, target, before.host, 600)
                url = f"http://{before.host}{signed}"
                arguments = ["curl", "-sL", "--max-time", "60", "-w", "\n%{http_code}", url]
                done = run(arguments + options, folder=folder)
                body, _, status = done.stdout.rpartition(b"\n")
                equal(status, b"502", f"status of {method} ({bucket})")
                assert b"<Code>BadGateway</Code>" in body and FOREIGN[:10] not in body, body
