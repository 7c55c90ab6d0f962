"""Key providers of clouds: AWS KMS, which moto plays, with the signatures that botocore makes."""

import http.client
import http.server
import importlib.util
import os
import subprocess
import sys
import threading
import time

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

import proxy as proxies
from children import clean_environment, free_port
from content import content, same
from world import refused

pytestmark = [
    pytest.mark.needs_proxy,
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("moto"), reason="moto comes with --all"),
]

REGION, ACCESS, SECRET = "eu-central-1", "KMSACCESS", "secret of the account"


class Front(http.server.BaseHTTPRequestHandler):
    """Before moto, which does not look at signatures: compares each with that of botocore."""

    moto = 0
    seen = []
    fault = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        credentials = botocore.credentials.Credentials(ACCESS, SECRET)
        names = ("host", "content-type", "x-amz-target", "x-amz-content-sha256")
        headers = {name: self.headers[name] for name in names}
        url = f"http://{self.headers['host']}{self.path}"
        request = botocore.awsrequest.AWSRequest("POST", url, headers, body)
        auth = botocore.auth.SigV4Auth(credentials, "kms", REGION)
        request.context["timestamp"] = self.headers["x-amz-date"]
        request.headers["X-Amz-Date"] = self.headers["x-amz-date"]
        signed = auth.signature(
            auth.string_to_sign(request, auth.canonical_request(request)), request
        )
        self.seen.append((self.headers["x-amz-target"], signed in self.headers["authorization"]))
        if self.fault:
            return self.answer(*self.fault)
        back = http.client.HTTPConnection("127.0.0.1", self.moto)
        back.request("POST", self.path, body, dict(self.headers))
        reply = back.getresponse()
        self.answer(reply.status, reply.read())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def kms(world):
    """The port of a service with one key, and the key."""
    port, front = free_port(), free_port()
    log = open(os.path.join(world.temporary(), "moto.log"), "wb")
    arguments = [sys.executable, "-m", "moto.server", "-p", str(port)]
    moto = subprocess.Popen(arguments, env=clean_environment(), stdout=log, stderr=log)
    options = {"region_name": REGION, "aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET}
    service = boto3.client("kms", endpoint_url=f"http://127.0.0.1:{port}", **options)
    try:
        for _ in range(100):
            try:
                key = service.create_key()["KeyMetadata"]["KeyId"]
                break
            except Exception:
                time.sleep(0.1)
        handler = type("Here", (Front,), {"moto": port, "seen": [], "fault": None})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", front), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield handler, f"http://127.0.0.1:{front}", key, service
        server.shutdown()
    finally:
        moto.kill()
        moto.wait()


def front_of(world, url, key):
    """A proxy whose keys are the service's."""
    folder = world.temporary()
    secret = proxies.secret_file(folder, "kms.secret", SECRET)
    keys = f'provider = "aws-kms"\nid = "kms-1"\nkey = "{key}"\nregion = "{REGION}"\nurl = "{url}"\n'
    keys += f'access_key = "{ACCESS}"\nsecret_key_file = "{secret}"'
    front = world.another_proxy()
    front.stop()
    with open(front.configuration) as file:
        text = file.read()
    start = text.index('provider = "ring"')
    end = text.index("[[client]]")
    path = os.path.join(folder, "kms.toml")
    with open(path, "w") as file:
        file.write(text[:start] + keys + "\n" + text[end:])
    return path


def serve(world, path):
    log = os.path.join(world.temporary(), "kms-proxy.log")
    child = subprocess.Popen(
        [world.binary, "s3", "serve", "--config", path],
        env=clean_environment(),
        stdout=open(log, "ab"),
        stderr=subprocess.STDOUT,
    )
    port = next(line for line in open(path) if line.startswith("listen")).split(":")[1].strip('"\n')
    for _ in range(100):
        try:
            reply = http.client.HTTPConnection("127.0.0.1", int(port), timeout=2)
            reply.request("GET", "/readyz")
            if reply.getresponse().status == 200:
                break
        except OSError:
            pass
        time.sleep(0.1)
    return child, f"http://127.0.0.1:{port}"


def test_objects_are_wrapped_by_aws_kms(world, kms):
    handler, url, key, service = kms
    child, proxy = serve(world, front_of(world, url, key))
    try:
        s3, bucket = world.client(proxy), world.bucket("kms")
        data = content(100_000, "kms")
        s3.put_object(Bucket=bucket, Key="k", Body=data)
        same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
        s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")
        same(s3.get_object(Bucket=bucket, Key="c")["Body"].read(), data)
        targets = {target for target, _ in handler.seen}
        assert "TrentService.Encrypt" in targets, targets
        assert all(signed for _, signed in handler.seen), handler.seen
        child.kill()
        child.wait()
        # Another process has nothing in memory.
        child, proxy = serve(world, front_of(world, url, key))
        s3 = world.client(proxy)
        same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
        assert "TrentService.Decrypt" in {target for target, _ in handler.seen}
        child.kill()
        child.wait()
        child, proxy = serve(world, front_of(world, url, key))
        s3 = world.client(proxy)
        # Down: try again. Disabled: refused.
        for fault, statuses in (
            ((500, b'{"__type":"KMSInternalException"}'), 503),
            ((400, b'{"__type":"ThrottlingException"}'), 503),
            ((400, b'{"__type":"DisabledException"}'), 403),
            ((400, b'{"__type":"InvalidCiphertextException"}'), 500),
        ):
            handler.fault = fault
            with refused(statuses):
                s3.get_object(Bucket=bucket, Key="c")
        handler.fault = None
        same(s3.get_object(Bucket=bucket, Key="c")["Body"].read(), data)
        for secret in (SECRET.encode(), data[:32]):
            for name in os.listdir(world.folder):
                path = os.path.join(world.folder, name)
                if name.endswith(".log") and os.path.isfile(path):
                    assert secret not in open(path, "rb").read(), name
    finally:
        child.kill()
        child.wait()
