"""Minutes of mixed requests from eight threads (`--soak MINUTES`): contents are compared, no request fails, and the
proxy's memory does not grow."""

import collections
import math
import random
import statistics
import threading
import time

import pytest

from content import MIB, content, equal, same
from world import keys

pytestmark = [pytest.mark.soak, pytest.mark.needs_proxy]

THREADS = 8
LONGEST = 64 * MIB
PART = 5 * MIB
# Objects of one thread at most.
KEPT = 12
# Amount by which the last quarter may exceed the second.
GROWTH = 1.10
WEIGHTS = {"put": 5, "get": 6, "part": 6, "listed": 2, "multipart": 2, "copied": 1, "deleted": 3}


class Thread:
    """One client with keys of its own, and what is to be under each."""

    def __init__(self, world, bucket, number, block):
        # As an SDK does by default: versitygw refuses a few of many writes at once (409, 503 of the proxy).
        self.s3 = world.client(retries={"total_max_attempts": 5, "mode": "standard"})
        self.bucket, self.block = bucket, block
        self.prefix = f"{number}/"
        self.random = random.Random(number)
        self.there = {}
        self.done = collections.Counter()
        self.bytes = 0

    def run(self, end):
        while time.monotonic() < end:
            what = self.random.choices(list(WEIGHTS), WEIGHTS.values())[0]
            if not self.there:
                what = "put"
            if len(self.there) >= KEPT and what in ("put", "multipart", "copied"):
                what = "deleted"
            getattr(self, what)()
            self.done[what] += 1

    def new(self, shortest=0):
        """A key and a content: lengths at the edges of chunks, or all magnitudes alike."""
        edges = [0, 1, 16383, 16384, 16385, PART - 1, PART, PART + 1]
        length = self.random.choice(edges)
        if length < shortest or self.random.random() < 0.8:
            length = int(math.exp(self.random.uniform(math.log(shortest or 1), math.log(LONGEST))))
        begin = self.random.randrange(len(self.block) - length)
        self.bytes += length
        return f"{self.prefix}{self.random.randrange(100)}", self.block[begin : begin + length]

    def one(self):
        return self.random.choice(sorted(self.there))

    def put(self):
        key, data = self.new()
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=bytes(data))
        self.there[key] = data

    def get(self):
        key = self.one()
        got = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        self.bytes += len(got)
        same(got, self.there[key], key)

    def part(self):
        key = self.one()
        data = self.there[key]
        if not data:
            return self.get()
        first = self.random.randrange(len(data))
        last = self.random.randrange(first, min(len(data), first + 3 * MIB))
        some = self.s3.get_object(Bucket=self.bucket, Key=key, Range=f"bytes={first}-{last}")
        same(some["Body"].read(), data[first : last + 1], f"{key} from {first} to {last}")

    def listed(self):
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=self.prefix, PaginationConfig={"PageSize": 5}
        )
        sizes = {it["Key"]: it["Size"] for page in pages for it in page.get("Contents", [])}
        equal(sizes, {key: len(data) for key, data in self.there.items()}, "list")

    def multipart(self):
        key, data = self.new(PART)
        upload = {"Bucket": self.bucket, "Key": key}
        upload["UploadId"] = self.s3.create_multipart_upload(**upload)["UploadId"]
        parts = []
        for number, begin in enumerate(range(0, len(data), PART), 1):
            piece = bytes(data[begin : begin + PART])
            tag = self.s3.upload_part(**upload, PartNumber=number, Body=piece)["ETag"]
            parts.append({"PartNumber": number, "ETag": tag})
        if self.random.random() < 0.2:
            self.s3.abort_multipart_upload(**upload)
            return
        self.s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        self.there[key] = data

    def copied(self):
        source = self.one()
        key = f"{self.prefix}copy {self.random.randrange(100)}"
        if key == source:  # S3 refuses a copy onto itself that changes nothing.
            return
        self.s3.copy_object(
            Bucket=self.bucket, Key=key, CopySource={"Bucket": self.bucket, "Key": source}
        )
        self.there[key] = self.there[source]

    def deleted(self):
        key = self.one()
        self.s3.delete_object(Bucket=self.bucket, Key=key)
        del self.there[key]


def test_mixed_requests_for_minutes(world, request):
    seconds = request.config.option.soak * 60
    block = memoryview(content(LONGEST + 8 * MIB, "soak"))
    bucket = world.bucket("soak")
    threads = [Thread(world, bucket, number, block) for number in range(THREADS)]
    faults, samples = [], []
    begin = time.monotonic()

    def run(thread):
        try:
            thread.run(begin + seconds)
        except Exception as fault:  # The others end, and the test fails with it.
            faults.append((time.monotonic() - begin, fault))

    running = [threading.Thread(target=run, args=(it,), daemon=True) for it in threads]
    for one in running:
        one.start()
    while any(it.is_alive() for it in running) and not faults:
        samples.append(world.proxy.memory())
        time.sleep(min(1, seconds / 100))
    quarter = len(samples) // 4
    quarters = [
        statistics.median(samples[at * quarter : (at + 1) * quarter]) / MIB for at in range(4)
    ]
    done = sum((it.done for it in threads), collections.Counter())
    gigabytes = sum(it.bytes for it in threads) / 1e9
    print(
        f"\n    {sum(done.values())} operations ({dict(done)}), {gigabytes:.1f} GB in {seconds:.0f} s; "
        f"memory in quarters {', '.join(f'{it:.1f}' for it in quarters)} MiB, "
        f"peak {world.proxy.peak_memory() / MIB:.1f} MiB"
    )
    if faults:
        raise AssertionError(f"after {faults[0][0]:.0f} s") from faults[0][1]
    expected = sorted(key for it in threads for key in it.there)
    equal(keys(world.s3, bucket), expected, "keys at the end")
    # A process that has served for half of the time has all that it keeps.
    assert quarters[3] <= max(quarters[:2]) * GROWTH, f"{quarters} MiB: memory grows"
