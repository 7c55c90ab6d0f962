"""Clients and servers that are slow: bounded memory, and other clients do not have to wait."""

import concurrent.futures
import os
import time

import botocore.exceptions
import pytest

from content import MIB, content, equal, same
from test_breakdowns import eventually, half_sent, own_server
from world import absent

pytestmark = pytest.mark.needs_proxy


def test_a_server_that_pauses(world):
    """Two seconds of silence are no fault, neither up nor down."""
    server, _, s3, http = own_server(world)
    data = content(48 * MIB, "pause")
    exchange = half_sent(http, "/broken/k", data)
    server.process.pause()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sending = pool.submit(exchange.send, data[len(data) // 2 :])
        time.sleep(2)
        server.process.proceed()
        sending.result()
    equal(exchange.reply().status, 200, "status")
    exchange = http.begin("GET", "/broken/k")
    response = exchange.head()
    got = response.read(MIB)
    server.process.pause()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reading = pool.submit(response.read)
        time.sleep(2)
        server.process.proceed()
        got += reading.result()
    exchange.close()
    same(got, data)


def test_slow_readers_cost_little_memory(world):
    """Forty clients ask for 32 MiB each and read nothing: it stays at the server."""
    front = world.another_proxy()
    s3, http = world.client(front.url), world.wire_to(front)
    bucket = world.bucket("slow")
    data = content(32 * MIB, "slow")
    s3.put_object(Bucket=bucket, Key="k", Body=data)
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)
    before = front.peak_memory()
    waiting = [http.begin("GET", f"/{bucket}/k") for _ in range(40)]
    time.sleep(2)
    same(s3.get_object(Bucket=bucket, Key="k", Range="bytes=0-99")["Body"].read(), data[:100])
    grown = front.peak_memory() - before
    for exchange in waiting[1:]:
        exchange.vanish()
    same(waiting[0].reply().body, data, "what the patient one got")
    assert grown <= 60 * MIB, f"{grown / MIB:.1f} MiB for 40 slow readers"
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data, "afterwards")


def test_slow_senders_and_a_slow_server_cost_little_memory(world):
    server, front, s3, http = own_server(world)
    data = content(16 * MIB, "slow")
    s3.put_object(Bucket="broken", Key="warm", Body=data)
    before = front.peak_memory()
    exchanges = [
        http.begin("PUT", f"/broken/k{number}", {"content-length": str(len(data))})
        for number in range(16)
    ]
    server.process.pause()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        sending = [pool.submit(it.send, data) for it in exchanges]
        time.sleep(2)
        grown = front.peak_memory() - before
        server.process.proceed()
        for one in sending:
            one.result()
    for exchange in exchanges:
        equal(exchange.reply().status, 200, "status")
    assert grown <= 24 * MIB, f"{grown / MIB:.1f} MiB for 16 stalled uploads"
    for number in range(16):
        same(s3.get_object(Bucket="broken", Key=f"k{number}")["Body"].read(), data)


def test_a_client_that_drips_is_served(world):
    bucket = world.bucket("drip")
    data = content(40_000, "drip")
    exchange = world.wire.begin("PUT", f"/{bucket}/k", {"content-length": str(len(data))})
    for at in range(0, len(data), 2000):
        exchange.send(data[at : at + 2000])
        time.sleep(0.05)
    equal(exchange.reply().status, 200, "status")
    same(world.s3.get_object(Bucket=bucket, Key="k")["Body"].read(), data)


def test_broken_requests_leave_no_connection_open(world):
    front = world.another_proxy()
    s3, http = world.client(front.url), world.wire_to(front)
    bucket = world.bucket("leak")
    data = content(8 * MIB, "leak")
    s3.put_object(Bucket=bucket, Key="k", Body=data)
    descriptors = f"/proc/{front.process.child.pid}/fd"
    before = len(os.listdir(descriptors))
    for _ in range(30):
        exchange = http.begin("GET", f"/{bucket}/k")
        exchange.socket.recv(1000)
        exchange.vanish()
        half_sent_fast(http, f"/{bucket}/new", data).vanish()
    eventually(
        lambda: len(os.listdir(descriptors)) <= before + 10,
        f"{len(os.listdir(descriptors))} descriptors instead of {before}",
    )
    absent(s3, bucket, "new")


def half_sent_fast(http, target, data):
    exchange = http.begin("PUT", target, {"content-length": str(len(data))})
    exchange.send(data[:100_000])
    return exchange


def test_a_stopping_process_ends_what_it_began(world):
    front = world.another_proxy()
    bucket = world.bucket("drain")
    data = content(48 * MIB, "drain")
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    exchange = world.wire_to(front).begin("GET", f"/{bucket}/k")
    response = exchange.head()
    got = response.read(MIB)
    front.process.child.terminate()
    time.sleep(0.5)
    try:
        world.client(front.url).list_buckets()
        raise AssertionError("a stopping process takes new requests")
    except botocore.exceptions.BotoCoreError:
        pass
    except botocore.exceptions.ClientError as error:
        equal(error.response["ResponseMetadata"]["HTTPStatusCode"], 503, "status")
    got += response.read()
    exchange.close()
    same(got, data)
    equal(front.process.child.wait(timeout=30), 0, "exit status")
