"""Docker's registry (distribution) with its S3 driver: images pushed and pulled by its API.

The driver finds an upload again by listing uploads before every piece, so nothing of it works unless the ids in
lists are those that were given.
"""

import hashlib
import http.client
import json
import shutil
import urllib.parse

import pytest

from children import free_port
from commands import write
from content import MIB, content, equal, same
from processes import Process
from servers import REGION, answers

pytestmark = [pytest.mark.other_client, pytest.mark.with_names]

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Registry:
    def __init__(self, world):
        if not shutil.which("docker-registry"):
            pytest.skip("docker-registry is missing")
        self.folder = world.temporary()
        self.port = free_port()
        driver = {
            "accesskey": world.access,
            "secretkey": world.secret,
            "region": REGION,
            "regionendpoint": world.url,
            "bucket": world.bucket("registry"),
            "secure": False,
            "chunksize": 5 * MIB,
        }
        settings = {
            "version": "0.1",
            "log": {"level": "warn"},
            "storage": {"s3": driver, "delete": {"enabled": True}, "redirect": {"disable": True}},
            "http": {"addr": f"127.0.0.1:{self.port}", "secret": "survives a restart"},
        }
        # JSON is YAML.
        self.configuration = write(self.folder, "registry.yml", json.dumps(settings).encode())
        self.start()

    def start(self):
        self.process = Process(
            ["docker-registry", "serve", self.configuration],
            f"{self.folder}/log",
            ready=lambda: answers(self.port, "/v2/", (200,)),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def __call__(self, method, target, expect, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        if answer.status != expect:
            text = f"{method} {target}: {answer.status} {answer.content[:300]}"
            raise AssertionError(f"{text}\n{self.process.tail()}")
        return answer

    def push(self, pieces, between=lambda: None):
        """Uploads a blob in pieces; its digest."""
        to = self("POST", "/v2/app/blobs/uploads/", 202).headers["Location"]
        begin, whole = 0, b"".join(pieces)
        for piece in pieces:
            end = begin + len(piece)
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Range": f"{begin}-{end - 1}",
            }
            to = self("PATCH", path(to), 202, piece, headers).headers["Location"]
            begin = end
            between()
        digest = f"sha256:{hashlib.sha256(whole).hexdigest()}"
        self("PUT", f"{path(to)}&digest={digest}", 201)
        return digest


def path(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.path}?{parts.query}"


def test_images_are_pushed_and_pulled(world):
    with Registry(world) as registry:
        layers = [content(size, "layer") for size in (1000, 100_000, 12 * MIB)]
        digests = [registry.push([layer]) for layer in layers]
        config = b"{}"
        described = [
            {"mediaType": "application/vnd.oci.image.layer.v1.tar", "size": len(it), "digest": name}
            for it, name in zip(layers, digests)
        ]
        image = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "size": len(config),
                "digest": registry.push([config]),
            },
            "layers": described,
        }
        pushed = json.dumps(image).encode()
        registry("PUT", "/v2/app/manifests/latest", 201, pushed, {"Content-Type": MANIFEST})
        pulled = registry("GET", "/v2/app/manifests/latest", 200, headers={"Accept": MANIFEST})
        equal(pulled.content, pushed, "manifest")
        for layer, digest in zip(layers, digests):
            head = registry("HEAD", f"/v2/app/blobs/{digest}", 200)
            equal(int(head.headers["Content-Length"]), len(layer), "length")
            same(registry("GET", f"/v2/app/blobs/{digest}", 200).content, layer, digest)
        some = registry(
            "GET", f"/v2/app/blobs/{digests[2]}", 206, headers={"Range": "bytes=70000-6000000"}
        )
        same(some.content, layers[2][70_000:6_000_001], "range")
        equal(json.loads(registry("GET", "/v2/_catalog", 200).content)["repositories"], ["app"])
        registry("DELETE", f"/v2/app/blobs/{digests[1]}", 202)
        registry("GET", f"/v2/app/blobs/{digests[1]}", 404)


def test_a_push_goes_on_after_a_restart(world):
    """Pieces of less than a part and of more; each finds the upload of the one before."""
    with Registry(world) as registry:

        def restart():
            registry.process.stop()
            registry.start()

        pieces = [content(size, "piece") for size in (6 * MIB, 1000, 7 * MIB)]
        digest = registry.push(pieces, restart)
        same(registry("GET", f"/v2/app/blobs/{digest}", 200).content, b"".join(pieces))
