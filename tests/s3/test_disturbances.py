"""Minutes of overwriting writers and of readers (`--soak MINUTES`), while keys rotate, and the proxy and the server
behind it are restarted, killed and paused. No content is wrong, and no request fails without a reason."""

import collections
import os
import random
import signal
import threading
import time

import botocore.exceptions
import pytest
import urllib3.exceptions

import proxy as proxies
from content import KIB, MIB, equal
from world import boto, keys

pytestmark = [pytest.mark.soak, pytest.mark.needs_proxy]

WRITERS, READERS = 4, 4
KEYS_OF_A_WRITER = 6
LONGEST = 12 * MIB
# Seconds between two disturbances, and after one in which requests may still fail.
PERIOD, GRACE = 12, 8
# Amount by which the memory of later processes may exceed that of earlier ones.
GROWTH = 1.25
# What a client gets from a proxy that is gone, or whose server is.
BROKEN = (
    botocore.exceptions.ConnectionError,
    botocore.exceptions.HTTPClientError,
    botocore.exceptions.IncompleteReadError,
    botocore.exceptions.ResponseStreamingError,
    urllib3.exceptions.HTTPError,
    ConnectionError,
)


def written(key, count):
    """The content that a writer gives a key for the time `count`. It says so in its first line."""
    chosen = random.Random(f"{key}/{count}")
    length = chosen.choice([0, 1, 16_384, 5 * MIB, chosen.randrange(200 * KIB), chosen.randrange(LONGEST)])
    head = f"{key} {count}\n".encode()
    return head + chosen.randbytes(min(length, 64 * KIB)) * (1 + length // (64 * KIB))


class Key:
    """A key of one writer: the last content that was acknowledged, and the last that was tried."""

    def __init__(self, name):
        self.name = name
        self.acknowledged = self.tried = 0


class Soak:
    def __init__(self, world):
        self.world = world
        self.folder = world.temporary()
        self.ring = os.path.join(self.folder, "ring.key")
        proxies.new_ring(world.binary, self.ring)
        self.server = world.another_server()
        self.proxy = world.another_proxy(ring=self.ring, server=self.server)
        self.client().create_bucket(Bucket="soak")
        self.stop = threading.Event()
        self.disturbed = [time.monotonic(), time.monotonic()]
        self.faults, self.memory = [], []
        self.done = collections.Counter()
        self.keys = [
            [Key(f"{writer}/{number}") for number in range(KEYS_OF_A_WRITER)]
            for writer in range(WRITERS)
        ]

    def client(self):
        # As an SDK does by default: versitygw refuses a few of many writes at once.
        retries = {"total_max_attempts": 3, "mode": "standard"}
        return boto(self.proxy.url, proxies.ACCESS, proxies.SECRET, retries=retries, read_timeout=20)

    def is_explained(self, began):
        """Something was disturbed while a request was on its way."""
        start, end = self.disturbed
        return end is None or start <= time.monotonic() and began <= end + GRACE

    def attempt(self, what, work):
        """True if it succeeded, False if it failed with a reason."""
        began = time.monotonic()
        try:
            work()
        except botocore.exceptions.ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            if status not in (502, 503) or not self.is_explained(began):
                raise
        except BROKEN:
            if not self.is_explained(began):
                raise
        else:
            self.done[what] += 1
            return True
        self.done[f"{what} failed"] += 1
        time.sleep(0.2)
        return False

    def write(self, own):
        s3, chosen = self.client(), random.Random(own[0].name)
        while not self.stop.is_set():
            key = chosen.choice(own)
            count = key.tried + 1
            key.tried = count
            body = written(key.name, count)
            put = lambda: s3.put_object(Bucket="soak", Key=key.name, Body=body)
            if self.attempt("put", put):
                key.acknowledged = count

    def read(self, number):
        s3, chosen = self.client(), random.Random(number)
        while not self.stop.is_set():
            key = chosen.choice(chosen.choice(self.keys))
            if key.acknowledged:
                self.attempt("get", lambda: self.compare(s3, key))
            else:
                time.sleep(0.1)

    def compare(self, s3, key):
        """What is there is what was written last, or is being written."""
        least = key.acknowledged
        got = s3.get_object(Bucket="soak", Key=key.name)["Body"].read()
        name, count = got.split(b"\n", 1)[0].decode().split(" ")
        most = key.tried
        equal(name, key.name, "key")
        assert least <= int(count) <= most, f"{name}: {count}, and not from {least} to {most}"
        assert got == written(name, int(count)), f"{name} {count} is wrong: {len(got)} bytes"

    def rotate(self):
        proxies.rotate(self.world.binary, self.ring)
        self.proxy.process.child.send_signal(signal.SIGHUP)
        time.sleep(1)

    def restart_proxy(self):
        equal(self.proxy.stop(), 0, "status of the proxy")
        self.proxy.start()

    def kill_proxy(self):
        self.proxy.kill()
        self.proxy.start()

    def kill_server(self):
        self.server.kill()
        time.sleep(1)
        self.server.start()

    def pause_server(self):
        self.server.process.pause()
        time.sleep(3)
        self.server.process.proceed()

    def disturb(self, end):
        """Runs in the thread that started the processes: they end with it."""
        ways = [
            self.rotate,
            self.restart_proxy,
            self.kill_server,
            self.rotate,
            self.pause_server,
            self.kill_proxy,
        ]
        number = 0
        while not self.stop.wait(min(PERIOD, max(end - time.monotonic(), 0))):
            if time.monotonic() >= end:
                break
            way = ways[number % len(ways)]
            number += 1
            self.memory.append(self.proxy.memory() / MIB)
            # A rotation explains no failure.
            if way != self.rotate:
                self.disturbed = [time.monotonic(), None]
            way()
            if way != self.rotate:
                self.disturbed[1] = time.monotonic()
            self.done[way.__name__] += 1

    def run(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as fault:  # The others end, and the test fails with it.
            self.faults.append(fault)
            self.stop.set()


def test_nothing_is_lost_while_everything_is_disturbed(world, request):
    seconds = request.config.option.soak * 60
    soak = Soak(world)
    works = [(soak.write, own) for own in soak.keys]
    works += [(soak.read, number) for number in range(READERS)]
    running = [threading.Thread(target=soak.run, args=it, daemon=True) for it in works]
    for one in running:
        one.start()
    soak.disturb(time.monotonic() + seconds)
    soak.stop.set()
    for one in running:
        one.join(120)
    print(f"\n    {seconds:.0f} s: {dict(soak.done)}, memory {[round(it) for it in soak.memory]} MiB")
    if soak.faults:
        raise soak.faults[0]
    s3 = soak.client()
    all_keys = [key for own in soak.keys for key in own if key.acknowledged]

    def verify():
        for key in all_keys:
            soak.compare(s3, key)
        there = set(keys(s3, "soak"))
        assert {key.name for key in all_keys} <= there, there

    verify()
    configuration = soak.proxy.configuration
    for command in (["scrub"], ["rewrap", "--no-writers"]):
        proxies.command(world.binary, *command, "--config", configuration)
    # Nothing needs the old keys any more.
    for key in proxies.command(world.binary, "key", "list", soak.ring)["keys"]:
        if not key["wraps"]:
            proxies.command(world.binary, "key", "remove", soak.ring, key["id"])
    soak.restart_proxy()
    verify()
    half = len(soak.memory) // 2
    if half >= 3:
        first, last = max(soak.memory[:half]), max(soak.memory[half:])
        assert last <= first * GROWTH, f"{soak.memory} MiB: memory grows"
