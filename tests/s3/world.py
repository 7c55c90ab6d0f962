"""Fixtures of a case: the endpoint under test, clients for it, and the server behind it."""

import contextlib
import copy
import itertools
import os
import re
import shutil
import tempfile

import boto3
import botocore.config
import botocore.exceptions
import pytest

import proxy as proxies
from servers import REGION
from wire import Wire


def boto(url, access, secret, authority=None, **options):
    """A boto3 client that does not try again: a second attempt would hide a fault."""
    config = botocore.config.Config(
        signature_version="s3v4",
        s3={"addressing_style": options.pop("addressing_style", "path")},
        retries=options.pop("retries", {"total_max_attempts": 1, "mode": "standard"}),
        connect_timeout=10,
        read_timeout=options.pop("read_timeout", 120),
        max_pool_connections=32,
        **options,
    )
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        region_name=REGION,
        config=config,
        verify=authority,
    )


class World:
    """A running server, and the proxy before it unless `binary` is None."""

    def __init__(self, server, folder, binary, quick, full, names=False):
        self.server = server
        self.folder = folder
        self.binary = binary
        self.quick, self.full = quick, full
        self.proxy = None
        self.ring = os.path.join(folder, "ring.key")
        # The file of the name secret, if names are encrypted.
        self.names = os.path.join(folder, "names.secret") if names else None
        # The authority that clients trust, if they use TLS.
        self.authority = None
        self._buckets = itertools.count(1)
        self._proxies = 0
        self._borrowed = []
        self._folders = []
        if self.binary:
            proxies.new_ring(self.binary, self.ring)
            if self.names:
                proxies.new_name_secret(self.binary, self.names)
            self.proxy = self._new_proxy(self.ring)
        self.front = self.proxy or self.server
        self.access, self.secret = (
            (proxies.ACCESS, proxies.SECRET)
            if self.proxy
            else (self.server.access, self.server.secret)
        )
        self.url = self.front.url
        self.s3 = boto(self.url, self.access, self.secret)
        self.wire = Wire(self.front.port, self.access, self.secret)
        # Behind the proxy's back. With --direct the same server under test.
        self.back = boto(self.server.url, self.server.access, self.server.secret)

    def stop(self):
        self.tidy_up()
        if self.proxy:
            self.proxy.stop()

    def _new_proxy(self, ring, extra=""):
        self._proxies += 1
        folder = os.path.join(self.folder, f"proxy-{self._proxies}")
        return proxies.Proxy(self.binary, self.server, folder, ring, extra, names=self.names)

    def another_proxy(self, ring=None, extra="", server=None, tls=None, backend=""):
        """One more proxy, which is stopped after the case."""
        if not self.binary:
            pytest.skip("is about the proxy")
        self._proxies += 1
        folder = os.path.join(self.folder, f"proxy-{self._proxies}")
        ring, server = ring or self.ring, server or self.server
        one = proxies.Proxy(
            self.binary, server, folder, ring, extra, names=self.names, tls=tls, backend=backend
        )
        self._borrowed.append(one)
        return one

    def another_server(self):
        """One more server of the kind with a folder of its own, for who wants to break it."""
        folder = self.temporary()
        one = type(self.server)(folder)
        one.start()
        self._borrowed.append(one)
        return one

    def raise_if_dead(self):
        """A case that kills the front must not take the others with it."""
        for one in (self.server, self.proxy):
            if one and not one.process.alive():
                raise RuntimeError(f"{type(one).__name__} died: {one.process.tail()}")

    def by_tls(self, files):
        """This world with clients that ask a proxy by TLS; certificate, key and authority as in `Proxy`."""
        one = copy.copy(self)
        one.front = self.another_proxy(tls=files)
        one.url, one.authority = one.front.url, files[2]
        one.s3 = one.client(one.url, authority=one.authority)
        one.wire = None
        return one

    def client(self, url=None, **options):
        """A boto3 client of another kind for the endpoint, or for another proxy."""
        return boto(url or self.url, self.access, self.secret, **options)

    def wire_to(self, front):
        return Wire(front.port, self.access, self.secret)

    def bucket(self, name="b"):
        """A fresh bucket."""
        bucket = re.sub(r"[^a-z0-9-]", "-", name.lower())[:40] + f"-{next(self._buckets):04}"
        self.s3.create_bucket(Bucket=bucket)
        return bucket

    def temporary(self):
        """A folder that is gone after the case."""
        folder = tempfile.mkdtemp(dir=self.folder)
        self._folders.append(folder)
        return folder

    def tidy_up(self):
        while self._borrowed:
            one = self._borrowed.pop()
            if one.process.alive():
                one.stop()
        while self._folders:
            shutil.rmtree(self._folders.pop(), ignore_errors=True)


@contextlib.contextmanager
def refused(status, *codes):
    """The body must be refused with one of the statuses and, if any are named, one of the codes."""
    statuses = (status,) if isinstance(status, int) else tuple(status)
    try:
        yield
    except botocore.exceptions.ClientError as error:
        got = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code = error.response["Error"]["Code"]
        if got not in statuses or (codes and code not in codes):
            raise AssertionError(
                f"refused with {got} {code} instead of {statuses} {codes or ''}"
            ) from error
        return
    raise AssertionError(f"not refused; expected {statuses} {codes or ''}")


def refusal(reply, status, *codes):
    """The same for an answer of `wire`."""
    statuses = (status,) if isinstance(status, int) else tuple(status)
    if reply.status not in statuses or (codes and reply.code() not in codes):
        raise AssertionError(f"answered {reply} instead of {statuses} {codes or ''}")


def absent(s3, bucket, key):
    """Nothing may have been stored there."""
    with refused(404):
        s3.head_object(Bucket=bucket, Key=key)


def objects(s3, bucket):
    """Keys at the server but those of what is recorded of uploads."""
    return [it for it in keys(s3, bucket) if not it.startswith(".endseal/upload/")]


def keys(s3, bucket, **options):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, **options)
    return [it["Key"] for page in pages for it in page.get("Contents", [])]
